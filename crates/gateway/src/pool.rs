//! Blocking clients of the store: a limited number, each lent to one request at a time.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use towtank_store::StoreError;
use towtank_store::client::Client;
use towtank_store::settings::Home;
use towtank_store::walk::Walk as StoreWalk;

use crate::fault::{Code, Fault};
use crate::shelf::{Found, Labels, Shelf, Walk};

/// The most clients: more would only wait for the same daemons.
const CLIENTS_MAX: usize = 8;

/// How long a request waits for a client.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// How long the store may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Idle {
    clients: Vec<Client>,
    /// The number of clients that are lent.
    lent: usize,
}

/// The clients of a cluster.
pub(crate) struct Pool {
    home: Home,
    idle: Mutex<Idle>,
    back: Condvar,
}

/// A lent client, which returns to the pool when dropped.
struct Lent<'p> {
    pool: &'p Pool,
    client: Option<Client>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.lock();
        idle.lent -= 1;
        idle.clients.extend(self.client.take());
        self.pool.back.notify_one();
    }
}

impl Lent<'_> {
    fn client(&mut self) -> &mut Client {
        self.client.as_mut().expect("it has one until it is given back")
    }
}

impl Pool {
    /// The pool of a cluster, which must answer once.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn open(home: &Home) -> Result<Pool, StoreError> {
        let first = Client::open(home, PATIENCE)?;
        let idle = Mutex::new(Idle { clients: vec![first], lent: 0 });
        Ok(Pool { home: home.clone(), idle, back: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        // The state is consistent at any time, even after a panic.
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn lend(&self) -> Result<Lent<'_>, Fault> {
        let is_out = |idle: &mut Idle| idle.lent >= CLIENTS_MAX;
        let waited = self.back.wait_timeout_while(self.lock(), WAIT_MAX, is_out);
        let (mut idle, timed_out) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if timed_out.timed_out() {
            return Err(Code::SlowDown.because("too many requests are waiting for the store"));
        }
        idle.lent += 1;
        let client = idle.clients.pop();
        drop(idle);
        let mut lent = Lent { pool: self, client };
        if lent.client.is_none() {
            lent.client = Some(Client::open(&self.home, PATIENCE)?);
        }
        Ok(lent)
    }
}

impl Shelf for Pool {
    fn put(&self, name: &str, labels: &Labels, data: &[u8]) -> Result<(), Fault> {
        Ok(self.lend()?.client().put(name, labels, data).map(|_| ())?)
    }

    fn get(&self, name: &str) -> Result<Option<Found>, Fault> {
        let object = self.lend()?.client().get(name)?;
        Ok(object.map(|object| (object.head.attributes, object.data)))
    }

    fn head(&self, name: &str) -> Result<Option<Labels>, Fault> {
        Ok(self.lend()?.client().head(name)?.map(|head| head.attributes))
    }

    fn remove(&self, name: &str) -> Result<(), Fault> {
        Ok(self.lend()?.client().remove(name).map(|_| ())?)
    }

    fn walk(&self, prefix: &str, from: &str) -> Result<Box<dyn Walk + '_>, Fault> {
        let mut lent = self.lend()?;
        let walk = StoreWalk::new(lent.client(), prefix, from);
        Ok(Box::new(Walking { lent, walk }))
    }
}

struct Walking<'p> {
    lent: Lent<'p>,
    walk: StoreWalk,
}

impl Walk for Walking<'_> {
    fn next(&mut self) -> Result<Option<(String, Labels)>, Fault> {
        let head = self.walk.next(self.lent.client())?;
        Ok(head.map(|head| (head.name, head.attributes)))
    }

    fn skip_to(&mut self, name: &str) {
        self.walk.skip_to(name);
    }
}

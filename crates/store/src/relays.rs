//! Relays between the processes of a cluster, which can be cut in either direction: a network partition on
//! one machine.
//!
//! There is one relay for each ordered pair of a daemon and a process that it connects to. Bytes in a
//! direction that is cut are held back, as by a network that loses packets under a transport that repeats
//! them. When the cut ends, either the bytes continue, or the connections are broken and the bytes held back
//! are lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::StoreError;
use crate::control::Daemon;
use crate::settings::Home;
use crate::ways::{RELAYS_FILE, Relayed, open};

/// A direction: bytes go from the first daemon to the second.
pub type Direction = (Daemon, Daemon);

/// How long a relay waits for the process that it connects to.
const CONNECT_TIME: Duration = Duration::from_secs(2);

const BUFFER_BYTES: usize = 1 << 16;

#[derive(Debug, Default)]
struct State {
    cut: BTreeSet<Direction>,
    /// Open streams by number, with the direction of their connection.
    streams: BTreeMap<u64, (Direction, TcpStream)>,
    opened: u64,
    stops: bool,
}

#[derive(Debug, Default)]
struct Network {
    state: Mutex<State>,
    news: Condvar,
}

impl Network {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread that holds it panics")
    }

    /// Waits while a direction is cut; returns whether the connection with this number is still in use.
    fn passes(&self, direction: Direction, number: u64) -> bool {
        let is_kept_back = |state: &mut State| {
            !state.stops && state.streams.contains_key(&number) && state.cut.contains(&direction)
        };
        let state = self.news.wait_while(self.lock(), is_kept_back).expect("no thread that holds it panics");
        !state.stops && state.streams.contains_key(&number)
    }

    /// Forgets a connection and closes both of its streams.
    fn end(&self, number: u64) {
        if let Some((_, stream)) = self.lock().streams.remove(&number) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.news.notify_all();
    }
}

/// All relays of a cluster.
#[derive(Debug)]
pub(crate) struct Relays {
    network: Arc<Network>,
    addresses: Vec<String>,
}

impl Relays {
    /// Opens the relays of `osds` device daemons, and writes their addresses to the file that the daemons
    /// read.
    ///
    /// # Errors
    /// When there are not enough ports, or the file cannot be written.
    pub fn open(home: &Home, osds: u32) -> Result<Relays, StoreError> {
        let network = Arc::<Network>::default();
        let mut addresses = Vec::new();
        let mut all: BTreeMap<u32, Relayed> = BTreeMap::new();
        for from in 0..osds {
            let mut relay_to = |to: Daemon| -> Result<String, StoreError> {
                let listener = TcpListener::bind(("127.0.0.1", 0))?;
                let address = listener.local_addr()?.to_string();
                addresses.push(address.clone());
                let network = Arc::clone(&network);
                std::thread::spawn(move || take(&network, &listener, (Daemon::Osd(from), to)));
                Ok(address)
            };
            let monitor = relay_to(Daemon::Monitor)?;
            let others = (0..osds).filter(|to| *to != from);
            let osds = others.map(|to| Ok((to, relay_to(Daemon::Osd(to))?)));
            let osds = osds.collect::<Result<_, StoreError>>()?;
            all.insert(from, Relayed { monitor, osds });
        }
        let text = serde_json::to_string_pretty(&all).expect("addresses are plain data");
        home.write(RELAYS_FILE, text.as_bytes())?;
        Ok(Relays { network, addresses })
    }

    /// Cuts these directions.
    pub fn cut(&self, directions: &[Direction]) {
        self.network.lock().cut.extend(directions);
    }

    /// Ends the cut of these directions. With `breaks`, the connections that use them end, and the bytes held
    /// back are lost.
    pub(crate) fn heal(&self, directions: &[Direction], breaks: bool) {
        let mut state = self.network.lock();
        state.cut.retain(|direction| !directions.contains(direction));
        if breaks {
            let is_of = |at: &Direction| directions.iter().any(|it| it == at || *it == (at.1, at.0));
            state.streams.retain(|_, (direction, stream)| {
                let ends = is_of(direction);
                if ends {
                    // It may be closed already.
                    let _ = stream.shutdown(Shutdown::Both);
                }
                !ends
            });
        }
        drop(state);
        self.network.news.notify_all();
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        self.heal(&[], false);
        self.network.lock().stops = true;
        self.network.news.notify_all();
        // Threads that wait for connections wake up once more, and end.
        self.addresses.iter().for_each(|address| drop(open(address, CONNECT_TIME)));
    }
}

fn take(network: &Arc<Network>, listener: &TcpListener, direction: Direction) {
    for stream in listener.incoming().flatten() {
        if network.lock().stops {
            return;
        }
        let network = Arc::clone(network);
        std::thread::spawn(move || {
            // A daemon whose connection fails connects again.
            let _ = relay(&network, stream, direction);
        });
    }
}

/// Relays one connection, until either side ends it.
fn relay(network: &Arc<Network>, mut near: TcpStream, (from, to): Direction) -> std::io::Result<()> {
    near.set_nodelay(true)?;
    let number = {
        let mut state = network.lock();
        state.opened += 1;
        let number = state.opened;
        let kept = near.try_clone()?;
        state.streams.insert(number, ((from, to), kept));
        number
    };
    let done = (|| {
        let mut length = [0];
        near.read_exact(&mut length)?;
        let mut address = vec![0; usize::from(length[0])];
        near.read_exact(&mut address)?;
        let address = String::from_utf8(address).map_err(|_| std::io::ErrorKind::InvalidData)?;
        if !network.passes((from, to), number) {
            return Ok(());
        }
        let far = open(&address, CONNECT_TIME)?;
        far.set_nodelay(true)?;
        let (back_from, back_to) = (far.try_clone()?, near.try_clone()?);
        let behind = Arc::clone(network);
        std::thread::spawn(move || pump(&behind, (to, from), number, (back_from, back_to)));
        pump(network, (from, to), number, (near, far));
        Ok(())
    })();
    network.end(number);
    done
}

fn pump(
    network: &Network,
    direction: Direction,
    number: u64,
    (mut source, mut sink): (TcpStream, TcpStream),
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(count) = source.read(&mut buffer) {
        // The end of a connection is also held back by a cut.
        if !network.passes(direction, number) || count == 0 || sink.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = sink.shutdown(Shutdown::Both);
    network.end(number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ways::Ways;

    const A: Daemon = Daemon::Osd(0);
    const B: Daemon = Daemon::Osd(1);
    const SOON: Duration = Duration::from_millis(300);

    /// A separate directory, two relays, and a connection from daemon 0 to a listener in place of daemon 1.
    fn connected(name: &str) -> (Home, Relays, TcpStream, TcpStream) {
        let directory = std::env::temp_dir().join(format!("towtank-relays-{}-{name}", std::process::id()));
        let home = Home::at(&directory);
        std::fs::create_dir_all(home.path("run")).expect("a directory can be made");
        let relays = Relays::open(&home, 2).expect("there are ports");
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let ways = Ways::of_daemon(&home, 0).expect("the file was just written");
        let near = ways.connect(B, &address, CONNECT_TIME).expect("the relay listens");
        let (far, _) = listener.accept().expect("the relay connects");
        for stream in [&near, &far] {
            stream.set_read_timeout(Some(SOON)).expect("a timeout is possible");
        }
        std::fs::remove_dir_all(&directory).expect("it was made here");
        (home, relays, near, far)
    }

    fn hears(stream: &mut TcpStream, byte: u8) -> bool {
        let mut heard = [0];
        stream.read_exact(&mut heard).is_ok() && heard[0] == byte
    }

    #[test]
    fn a_cut_keeps_back_one_direction_and_then_delivers() {
        let (_, relays, mut near, mut far) = connected("one-way");
        near.write_all(&[1]).expect("it is open");
        assert!(hears(&mut far, 1));
        relays.cut(&[(A, B)]);
        near.write_all(&[2]).expect("it is open");
        far.write_all(&[3]).expect("it is open");
        assert!(hears(&mut near, 3), "the other direction is not cut");
        assert!(!hears(&mut far, 2), "bytes cross a cut");
        relays.heal(&[(A, B)], false);
        assert!(hears(&mut far, 2), "what was kept back is delivered");
    }

    #[test]
    fn a_cut_that_breaks_loses_what_was_kept_back() {
        let (_, relays, mut near, mut far) = connected("broken");
        relays.cut(&[(A, B), (B, A)]);
        near.write_all(&[4]).expect("it is open");
        assert!(!hears(&mut far, 4));
        relays.heal(&[(A, B), (B, A)], true);
        assert!(!hears(&mut far, 4));
        assert_eq!(near.read(&mut [0]).ok(), Some(0), "the connection has ended");
    }
}

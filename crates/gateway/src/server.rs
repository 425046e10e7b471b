//! The gateway on the network: HTTP/1.1 by hyper in one thread, and a thread per request in progress.
//!
//! Everything is bounded: connections of each kind, requests in progress, waiting requests, the bytes of a
//! body that have arrived but not been taken, and the time that either side may be silent.
//!
//! A request that is not signed, or asks for what this gateway lacks, is refused once its head has arrived:
//! it waits for no other request, its body is not received, and its connection ends.

use std::convert::Infallible;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::doors::{Busy, Doors, Limits, Visit};
use crate::fault::{Code, Fault};
use crate::reply::{Body, Reply};
use crate::request::Request;
use crate::service::{Admitted, Service};
use crate::shelf::Shelf;
use crate::source::Source;

/// The most connections of strangers and of others. A stranger needs one only while the head of its request
/// arrives.
const LIMITS: Limits = Limits { strangers: 112, known: 384 };

/// The most sockets: all connections, and those that are to end and have not yet done so.
const SOCKETS_MAX: usize = LIMITS.strangers + LIMITS.known + 16;

/// The most requests in progress. Each holds a piece in memory.
const REQUESTS_MAX: usize = 24;

/// The most waiting requests; further ones are asked to retry later.
const WAITING_MAX: usize = 256;

/// How long either side of a connection may be silent within a request.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The longest time for the head of a request, and for an idle connection.
const HEAD_TIME: Duration = Duration::from_secs(75);

/// How long requests in progress may take to end at shutdown.
const END_TIME: Duration = Duration::from_secs(60);

/// How often `stopped` is checked.
const LOOK: Duration = Duration::from_millis(50);

/// The least rate of a body in bytes per second, once [`SILENCE_MAX`] has been waited for it: a client that
/// sends a byte a minute keeps a place from others. Slower than any link of our time.
const RATE_MIN: u64 = 1 << 10;

/// After a refusal a connection is read for this long, through silences and for bytes up to these limits. If
/// it were closed before the client has sent all, the client could lose the reply.
const LINGER_TIME: Duration = Duration::from_secs(30);
const LINGER_SILENCE: Duration = Duration::from_secs(2);
const LINGER_MAX: usize = 8 << 20;

/// The most runs of bytes in transit between the threads.
const RUNS: usize = 4;

struct Shared<S> {
    service: Arc<Service<S>>,
    doors: Arc<Doors>,
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    answered: AtomicU64,
}

impl<S> Shared<S> {
    fn new(service: Arc<Service<S>>) -> Shared<S> {
        Shared {
            service,
            doors: Doors::new(LIMITS),
            turns: Arc::new(Semaphore::new(REQUESTS_MAX)),
            waiting: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
        }
    }
}

/// Serves requests until `stopped` returns true, and then until requests in progress have ended.
///
/// # Errors
/// If the socket cannot be used.
pub fn serve<S: Shelf + 'static>(
    listener: TcpListener,
    service: Arc<Service<S>>,
    stopped: &dyn Fn() -> bool,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(REQUESTS_MAX + 1)
        .build()?;
    let shared = Arc::new(Shared::new(service));
    let served = runtime.block_on(accept(listener, &shared, stopped));
    // Whatever has not ended by now is abandoned.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

async fn accept<S: Shelf + 'static>(
    listener: TcpListener,
    shared: &Arc<Shared<S>>,
    stopped: &dyn Fn() -> bool,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (end, ending) = watch::channel(false);
    let room = Arc::new(Semaphore::new(SOCKETS_MAX));
    while !stopped() {
        let Ok(place) = timeout(LOOK, Arc::clone(&room).acquire_owned()).await else { continue };
        match timeout(LOOK, listener.accept()).await {
            Err(_) => {}
            // The client has disconnected already, or no file handles are left.
            Ok(Err(_)) => {
                shared.doors.make_room();
                tokio::time::sleep(LOOK).await;
            }
            Ok(Ok((stream, _))) => {
                let (shared, ending) = (Arc::clone(shared), ending.clone());
                let (visit, left) = shared.doors.enter();
                tokio::spawn(async move {
                    let mut served = std::pin::pin!(connection(stream, visit, shared, ending));
                    let mut left = std::pin::pin!(left);
                    // What it returns does not matter: either the connection has ended, or it is to end.
                    std::future::poll_fn(|context| match served.as_mut().poll(context) {
                        Poll::Pending => left.as_mut().poll(context).map(|_| ()),
                        ended => ended,
                    })
                    .await;
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    // Without connections there is no receiver.
    let _ = end.send(true);
    let _ = timeout(END_TIME, room.acquire_many(SOCKETS_MAX as u32)).await;
    Ok(())
}

async fn connection<S: Shelf + 'static>(
    stream: tokio::net::TcpStream,
    visit: Arc<Visit>,
    shared: Arc<Shared<S>>,
    ending: watch::Receiver<bool>,
) {
    // If this fails, replies are slightly delayed.
    let _ = stream.set_nodelay(true);
    let stream = converse(TokioIo::new(stream), Arc::clone(&visit), shared, ending).await;
    // If the client does not end it, time does; until then it has its place.
    let _ = timeout(LINGER_TIME, linger(stream.into_inner())).await;
    drop(visit);
}

/// Ends the sending side, and reads what still arrives.
async fn linger(mut stream: tokio::net::TcpStream) {
    let end =
        std::future::poll_fn(|context| tokio::io::AsyncWrite::poll_shutdown(Pin::new(&mut stream), context));
    if end.await.is_err() {
        return;
    }
    let (mut left, mut bytes) = (LINGER_MAX, vec![0; 16 << 10]);
    while left > 0 && matches!(timeout(LINGER_SILENCE, stream.readable()).await, Ok(Ok(()))) {
        match stream.try_read(&mut bytes) {
            Ok(0) => return,
            Ok(length) => left = left.saturating_sub(length),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Serves the requests of one connection, and returns it when no more will come.
async fn converse<S: Shelf + 'static, T: hyper::rt::Read + hyper::rt::Write + Unpin>(
    stream: T,
    visit: Arc<Visit>,
    shared: Arc<Shared<S>>,
    mut ending: watch::Receiver<bool>,
) -> T {
    let service =
        service_fn(move |request| Box::pin(handle(Arc::clone(&visit), Arc::clone(&shared), request)));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(stream, service);
    let mut ending = std::pin::pin!(async move { ending.wait_for(|ends| *ends).await.map(|_| ()) });
    let mut is_ending = false;
    let both = std::future::poll_fn(|context| {
        if !is_ending && ending.as_mut().poll(context).is_ready() {
            is_ending = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        connection.poll_without_shutdown(context)
    });
    // An error of a broken connection need not be reported.
    let _ = both.await;
    connection.into_parts().io
}

/// Serves the requests of one connection that is not a socket.
pub(crate) fn serve_one<S: Shelf + 'static>(
    service: Arc<Service<S>>,
    stream: impl hyper::rt::Read + hyper::rt::Write + Unpin,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (_end, ending) = watch::channel(false);
    let shared = Arc::new(Shared::new(service));
    let (visit, _left) = shared.doors.enter();
    runtime.block_on(converse(stream, visit, shared, ending));
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

type Answer = hyper::Response<Sent>;

/// Counts a waiting request until it is dropped.
struct Waits<'w>(&'w AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn handle<S: Shelf + 'static>(
    visit: Arc<Visit>,
    shared: Arc<Shared<S>>,
    request: hyper::Request<Incoming>,
) -> Result<Answer, Infallible> {
    let number = shared.answered.fetch_add(1, Ordering::Relaxed);
    let (parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let headers = parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let refused = |fault: Fault| Ok(refusal(&fault, parts.method.as_str(), parts.uri.path(), number));
    let admitted = Request::new(parts.method.as_str(), target, headers)
        .and_then(|request| shared.service.admit(&request).map(|admitted| (request, admitted)));
    let (request, admitted) = match admitted {
        Ok(admitted) => admitted,
        Err(fault) => return refused(fault),
    };
    let Some(busy) = visit.begin() else {
        return refused(Code::SlowDown.because("too many connections are busy: retry later"));
    };
    let turn = match Arc::clone(&shared.turns).try_acquire_owned() {
        Ok(turn) => turn,
        Err(_) => {
            let before = shared.waiting.fetch_add(1, Ordering::SeqCst);
            let _waits = Waits(&shared.waiting);
            if before >= WAITING_MAX {
                return refused(Code::SlowDown.because("too many requests are waiting: retry later"));
            }
            Arc::clone(&shared.turns).acquire_owned().await.expect("nobody closes it")
        }
    };
    let (start, started) = oneshot::channel();
    let (runs, taken) = mpsc::channel(RUNS);
    tokio::spawn(pump(body, started, runs));
    let (tell, answered) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let arriving = Arriving { start: Some(start), taken, is_whole: false };
        work(&shared.service, &request, admitted, arriving, number, tell);
        drop(turn);
    });
    match answered.await {
        Ok(mut answer) => {
            answer.body_mut().busy = Some(busy);
            Ok(answer)
        }
        // The thread has panicked, and has reported why.
        Err(_) => refused(Code::InternalError.because("the gateway failed on this request")),
    }
}

/// A reply to a request of which only the head was read: no more is read, so the connection ends with it.
fn refusal(fault: &Fault, method: &str, path: &str, number: u64) -> Answer {
    let reply = Reply::fault(fault, path);
    let reply = if method == "HEAD" { Reply::empty(reply.status) } else { reply };
    answer_of(reply.with("connection", "close"), number).0
}

/// Reads a body once it is wanted: until then a client that sent `Expect` waits.
async fn pump(mut body: Incoming, started: oneshot::Receiver<()>, runs: mpsc::Sender<Result<Bytes, Fault>>) {
    if started.await.is_err() {
        return;
    }
    let (mut waited, mut arrived) = (Duration::ZERO, 0);
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        // Only the client's time counts, and not that of the store behind `runs`.
        let since = tokio::time::Instant::now();
        let frame = timeout(patience(waited, arrived), frame).await;
        waited += since.elapsed();
        let run = match frame {
            Err(_) => Err(Code::RequestTimeout.because("the body did not arrive in time")),
            Ok(None) => return,
            Ok(Some(Err(_))) => Err(Code::IncompleteBody.because("the connection closed within the body")),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(run) if !run.is_empty() => {
                    arrived += run.len() as u64;
                    Ok(run)
                }
                _ => continue,
            },
        };
        let is_last = run.is_err();
        if runs.send(run).await.is_err() || is_last {
            return;
        }
    }
}

/// How long to wait for the next bytes of a body, of which `arrived` have come in the time `waited`.
fn patience(waited: Duration, arrived: u64) -> Duration {
    let all = SILENCE_MAX + Duration::from_secs(arrived / RATE_MIN);
    all.saturating_sub(waited).min(SILENCE_MAX)
}

/// A body that arrives over the network.
struct Arriving {
    start: Option<oneshot::Sender<()>>,
    taken: mpsc::Receiver<Result<Bytes, Fault>>,
    /// Whether all of it has arrived.
    is_whole: bool,
}

impl Source for Arriving {
    fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if let Some(start) = self.start.take() {
            // `pump` waits for this signal.
            let _ = start.send(());
        }
        let run = self.taken.blocking_recv();
        self.is_whole = !matches!(run, Some(Ok(_)));
        run.transpose()
    }

    fn trailer(&self, _: &str) -> Option<&str> {
        None
    }
}

/// Handles a request in its own thread.
fn work<S: Shelf>(
    service: &Service<S>,
    request: &Request,
    admitted: Admitted,
    mut arriving: Arriving,
    number: u64,
    tell: oneshot::Sender<Answer>,
) {
    let mut reply = service.perform(request, admitted, &mut arriving);
    // The rest of a body that nobody wanted is not waited for while others wait for this place: the
    // connection ends with the reply.
    if is_left(request, &arriving) {
        reply = reply.with("connection", "close");
    }
    if request.method == "HEAD" && reply.status >= 400 {
        reply.body = Body::Bytes(Bytes::new());
        reply.headers.retain(|(name, _)| name == "connection");
    }
    let (answer, stream) = answer_of(reply, number);
    // If there is no receiver, the connection has ended.
    let is_heard = tell.send(answer).is_ok();
    let Some((mut source, runs)) = stream.filter(|_| is_heard) else { return };
    let handle = tokio::runtime::Handle::current();
    loop {
        let Some(run) = source.next().transpose() else { return };
        let is_last = run.is_err();
        match handle.block_on(timeout(SILENCE_MAX, runs.send(run))) {
            Ok(Ok(())) if !is_last => {}
            _ => return,
        }
    }
}

/// Whether a part of the body has not been received.
fn is_left(request: &Request, arriving: &Arriving) -> bool {
    let length = request.number("content-length").ok().flatten();
    let has_body = length.is_some_and(|length| length > 0) || request.header("transfer-encoding").is_some();
    has_body && !arriving.is_whole
}

type Stream<'d> = (Box<dyn Source + 'd>, mpsc::Sender<Result<Bytes, Fault>>);

/// A reply as hyper sends it, and the stream to send after its head.
fn answer_of(reply: Reply<'_>, number: u64) -> (Answer, Option<Stream<'_>>) {
    let id = format!("{number:016X}");
    let reply = reply.with_request(&id);
    let declared = reply.headers.iter().find(|(name, _)| name == "content-length");
    let length = declared.and_then(|(_, length)| length.parse().ok()).unwrap_or_default();
    let (sent, stream) = match reply.body {
        Body::Bytes(bytes) => (Run::Whole(bytes), None),
        Body::Stream(source) => {
            // One piece waits to be sent while the next is read.
            let (runs, taken) = mpsc::channel(1);
            (Run::Stream { taken, left: length }, Some((source, runs)))
        }
    };
    let mut answer = hyper::Response::new(Sent { run: sent, busy: None });
    *answer.status_mut() =
        hyper::StatusCode::from_u16(reply.status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    let id = [("x-amz-request-id".to_owned(), id), ("server".to_owned(), "towtank".to_owned())];
    for (name, value) in reply.headers.into_iter().chain(id) {
        // Values that are not valid in a header are left out; metadata came from valid headers.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value.as_bytes()))
        {
            answer.headers_mut().insert(name, value);
        }
    }
    (answer, stream)
}

/// The body of a reply.
struct Sent {
    run: Run,
    /// The request, which is in progress until its reply has been sent.
    busy: Option<Busy>,
}

/// The bytes of a reply.
enum Run {
    Whole(Bytes),
    Stream { taken: mpsc::Receiver<Result<Bytes, Fault>>, left: u64 },
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        match &mut self.run {
            Run::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Run::Stream { taken, left } => taken.poll_recv(context).map(|run| match run {
                Some(Ok(run)) => {
                    *left = left.saturating_sub(run.len() as u64);
                    Some(Ok(Frame::data(run)))
                }
                Some(Err(fault)) => Some(Err(fault)),
                // The connection is closed early, so that the client notices the missing bytes.
                None => (*left > 0).then(|| Err(Code::InternalError.because("the object is incomplete"))),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.run {
            Run::Whole(bytes) => bytes.is_empty(),
            Run::Stream { left, .. } => *left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.run {
            Run::Whole(bytes) => bytes.len() as u64,
            Run::Stream { left, .. } => *left,
        })
    }
}

/// Whether an address can be reached only from this machine.
#[must_use]
pub fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().is_loopback()
}

#[cfg(test)]
mod tests;

//! The gateway on a socket of this machine, with clients that keep it waiting.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::dates::Moment;
use crate::depot::Depot;
use crate::service::tests::keys;
use crate::shelf::memory::Memory;
use crate::signature::sign;

/// How long a test waits for what must come at once. Nothing that a stranger does lasts as long.
const SOON: Duration = Duration::from_secs(20);

/// A gateway in a thread of its own, until it is dropped.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start() -> Running {
        let depot = Depot::open(Memory::new(), "run0").expect("it answers");
        let service = Arc::new(Service::new(depot, keys(), Moment::now));
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let address = listener.local_addr().expect("it is bound");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            serve(listener, service, &|| stopped.load(Ordering::SeqCst)).expect("the socket works");
        });
        Running { address, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(SOON)).expect("it can be set");
        stream
    }

    /// The status of a signed request.
    fn signed(&self, method: &str, path: &str, body: &str) -> u16 {
        let mut stream = self.connect();
        stream.write_all(signed(method, path, body.len()).as_bytes()).expect("it is sent");
        stream.write_all(body.as_bytes()).expect("it is sent");
        status(&mut stream)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_some_and(|it| it.is_ok()), "the gateway failed");
    }
}

/// The head of a signed request.
fn signed(method: &str, path: &str, length: usize) -> String {
    let mut request = Request::new(method, path, [("host", &b"x"[..])]).expect("it can be read");
    request.headers.insert("content-length".to_owned(), length.to_string());
    sign(&mut request, &keys(), Moment::now(), "UNSIGNED-PAYLOAD");
    let headers: Vec<String> =
        request.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\n{}\r\n", headers.concat())
}

/// The status of the next reply.
fn status(stream: &mut TcpStream) -> u16 {
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("a reply comes in time");
    String::from_utf8_lossy(&start[9..]).parse().expect("it is a number")
}

/// All that still comes, up to the end of the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the connection ends in time");
    text
}

/// Strangers who promise a body and send none had all the places, 24 of them, for a minute a byte.
#[test]
fn strangers_who_send_no_body_take_no_place() {
    let gateway = Running::start();
    assert_eq!(gateway.signed("PUT", "/bucket", ""), 200);
    let mut strangers: Vec<TcpStream> = (0..40).map(|_| gateway.connect()).collect();
    for stream in &mut strangers {
        stream
            .write_all(b"PUT /bucket/a HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n")
            .expect("it is sent");
    }
    assert_eq!(gateway.signed("PUT", "/bucket/a", "words"), 200);
    for mut stream in strangers {
        assert_eq!(status(&mut stream), 403, "it is refused before its body has come");
        let text = rest(stream);
        assert!(text.contains("AccessDenied") && text.contains("connection: close"), "{text}");
    }
}

/// The document of a refusal had no id.
#[test]
fn a_refusal_names_its_request_as_the_header_does() {
    let gateway = Running::start();
    let mut stream = gateway.connect();
    stream.write_all(b"GET /bucket HTTP/1.1\r\nhost: x\r\n\r\n").expect("it is sent");
    let text = rest(stream);
    let id = text.split("x-amz-request-id: ").nth(1).and_then(|rest| rest.lines().next()).expect("a header");
    assert!(text.ends_with(&format!("<RequestId>{id}</RequestId></Error>")), "{text}");
}

/// A client that signs gets a place among more silent connections than there are places.
#[test]
fn silent_connections_lock_nobody_out() {
    let gateway = Running::start();
    let mut silent: Vec<TcpStream> = (0..LIMITS.strangers * 3).map(|_| gateway.connect()).collect();
    let half = "GET / HTTP/1.1\r\nhost: x\r\n";
    // Those that are to end do not take it.
    silent.iter_mut().for_each(|stream| drop(stream.write_all(half.as_bytes())));
    assert_eq!(gateway.signed("GET", "/", ""), 200);
    let first = silent.remove(0);
    assert_eq!(first.set_read_timeout(Some(SOON)).map(|()| rest_or_reset(first)).ok(), Some(0));
}

/// The number of bytes that come before the end, which may be a reset.
fn rest_or_reset(mut stream: TcpStream) -> usize {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => bytes.len(),
        Err(error) => panic!("the connection does not end: {error}"),
    }
}

/// Nothing of the body of a refused request is needed for its refusal, and a client that sends it first gets
/// the refusal all the same.
#[test]
fn a_refusal_arrives_though_its_body_is_sent() {
    let gateway = Running::start();
    let body = "x".repeat(4 << 20);
    let head = |start: &str| format!("{start} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    for (head, want, code) in [
        (head("PUT /bucket/a"), 403, "AccessDenied"),
        (head("OPTIONS /bucket/a"), 501, "NotImplemented"),
        (signed("PUT", "/bucket/a?annotation", body.len()), 501, "`annotation`"),
        (signed("PUT", "/none/a", body.len()), 404, "NoSuchBucket"),
    ] {
        let mut stream = gateway.connect();
        stream.write_all(head.as_bytes()).expect("it is sent");
        stream.write_all(body.as_bytes()).expect("it is taken, and thrown away");
        assert_eq!(status(&mut stream), want, "{code}");
        let mut text = [0; 4096];
        let length = stream.read(&mut text).expect("more comes");
        assert!(String::from_utf8_lossy(&text[..length]).contains(code), "{code}");
    }
}

/// A connection stays open between signed requests, and is not closed for a stranger's sake.
#[test]
fn signed_connections_stay_while_strangers_come() {
    let gateway = Running::start();
    let mut kept = gateway.connect();
    let ask = |stream: &mut TcpStream| {
        stream.write_all(signed("PUT", "/bucket?x-id=CreateBucket", 0).as_bytes()).expect("it is sent");
        let found = status(stream);
        let mut text = [0; 4096];
        let length = stream.read(&mut text).expect("more comes");
        assert!(!String::from_utf8_lossy(&text[..length]).contains("connection: close"));
        found
    };
    assert_eq!(ask(&mut kept), 200);
    let silent: Vec<TcpStream> = (0..LIMITS.strangers * 2).map(|_| gateway.connect()).collect();
    assert_eq!(ask(&mut kept), 200);
    drop(silent);
}

/// A signed request whose body nobody wants gives its place back at once, and its client gets the reply.
#[test]
fn a_body_that_is_not_wanted_is_not_waited_for() {
    let gateway = Running::start();
    let mut all: Vec<TcpStream> = (0..REQUESTS_MAX * 2).map(|_| gateway.connect()).collect();
    for stream in &mut all {
        stream.write_all(signed("PUT", "/none/a", 99).as_bytes()).expect("it is sent");
    }
    assert_eq!(gateway.signed("GET", "/", ""), 200);
    for mut stream in all {
        assert_eq!(status(&mut stream), 404);
        assert!(rest(stream).contains("connection: close"));
    }
}

/// Silence was bounded, and a byte in each minute was none.
#[test]
fn patience_with_slow_bodies_ends() {
    let seconds = Duration::from_secs;
    assert_eq!(patience(seconds(0), 0), SILENCE_MAX);
    assert_eq!(patience(seconds(59), 2), seconds(1));
    assert_eq!(patience(seconds(61), 2), seconds(0));
    assert_eq!(patience(seconds(61), 64 << 10), SILENCE_MAX);
    assert_eq!(patience(seconds(3_600), 5 << 20), SILENCE_MAX);
    // Planted: a byte in each minute ends in the second minute, although no silence is as long as the limit.
    let minutes = (1..99).find(|minute| patience(seconds(59 * minute), *minute) < seconds(59));
    assert_eq!(minutes, Some(1));
}

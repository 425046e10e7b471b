//! The port on which the monitor serves metrics to Prometheus: one page, over a small subset of HTTP/1.1.
//!
//! Clients of the port are not authenticated. A request's head may have at most [`HEAD_MAX`] bytes and take
//! [`HEAD_TIME`]; a body is not read. Connections have a place each ([`doors`]): those that send nothing make
//! room for others. Each answer ends its connection. A page is made at most once in
//! [`KEPT`], whoever asks how often: while it is made, the monitor does nothing else for the cluster.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::now;
use crate::doors::{self, Kind, Limits, Visit};

/// The longest head of a request, in bytes.
const HEAD_MAX: usize = 4 << 10;

/// How long a head may take to arrive, and an answer to be received.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// How long a page is given out. Prometheus asks every few seconds at the most.
const KEPT: Duration = Duration::from_millis(200);

/// The last page, and when it was made.
#[derive(Debug, Default)]
struct Pages(Mutex<Option<(Instant, Arc<str>)>>);

impl Pages {
    fn page(&self, at: Instant, make: &dyn Fn() -> String) -> Arc<str> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, text)) = &*last
            && at.saturating_duration_since(*made) < KEPT
        {
            return Arc::clone(text);
        }
        let text = Arc::from(make());
        *last = Some((at, Arc::clone(&text)));
        text
    }
}

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Page,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    TooLarge,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Page => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::TooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// The status for a request's head, and whether the page's text is omitted (`HEAD`).
fn asked(head: &[u8]) -> (Status, bool) {
    let bad = (Status::BadRequest, false);
    let Some(line) = head.split(|byte| *byte == b'\n').next().map(<[u8]>::trim_ascii_end) else { return bad };
    let Ok(line) = std::str::from_utf8(line) else { return bad };
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else { return bad };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !target.starts_with('/') {
        return bad;
    }
    let path = target.split('?').next().unwrap_or_default();
    match method {
        _ if path != "/metrics" => (Status::NotFound, false),
        "GET" => (Status::Page, false),
        "HEAD" => (Status::Page, true),
        _ => (Status::MethodNotAllowed, false),
    }
}

/// Whether an empty line ends the head.
fn is_whole(head: &[u8]) -> bool {
    head.windows(4).any(|four| four == b"\r\n\r\n") || head.windows(2).any(|two| two == b"\n\n")
}

/// Serves requests as long as the process lives.
pub(crate) fn open(listener: TcpListener, page: impl Fn() -> String + Send + Sync + 'static) {
    let pages = Pages::default();
    doors::open(listener, "metrics".to_owned(), Limits::of_page(), move |visit| {
        // If the client breaks the connection, it does not want the answer.
        let _ = answer(&visit, &|| pages.page(now(), &page));
    });
}

fn answer(visit: &Visit, page: &dyn Fn() -> Arc<str>) -> std::io::Result<()> {
    let mut stream = &**visit.stream();
    stream.set_write_timeout(Some(HEAD_TIME))?;
    let head = read_head(stream)?;
    visit.begins();
    if !visit.becomes(Kind::Client) {
        return Ok(());
    }
    let (status, is_head) = match &head {
        Some(head) => asked(head),
        None => (Status::TooLarge, false),
    };
    let text = if status == Status::Page { page() } else { format!("{}\n", status.line()).into() };
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        status.line(),
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    if !is_head {
        stream.write_all(text.as_bytes())?;
    }
    stream.shutdown(Shutdown::Write)?;
    visit.ends();
    // Bytes that have arrived and are not read would reset the connection before the answer has arrived.
    let mut rest = [0; HEAD_MAX];
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    stream.read(&mut rest).map(|_| ())
}

/// The head of a request; none if it is too long.
fn read_head(mut stream: &TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let until = now() + HEAD_TIME;
    let mut head = Vec::new();
    let mut part = [0; 1 << 10];
    while !is_whole(&head) {
        let left = until.saturating_duration_since(now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            length => head.extend(&part[..length]),
        }
        if head.len() > HEAD_MAX {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_page_is_there_and_nothing_else() {
        for (head, want) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", (Status::Page, false)),
            ("GET /metrics?a=b HTTP/1.0\n\n", (Status::Page, false)),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", (Status::Page, true)),
            ("GET / HTTP/1.1\r\n\r\n", (Status::NotFound, false)),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", (Status::NotFound, false)),
            ("POST /metrics HTTP/1.1\r\n\r\n", (Status::MethodNotAllowed, false)),
            ("GET /metrics HTTP/2\r\n\r\n", (Status::BadRequest, false)),
            ("GET  /metrics HTTP/1.1\r\n\r\n", (Status::BadRequest, false)),
            ("GET metrics HTTP/1.1\r\n\r\n", (Status::BadRequest, false)),
            ("\r\n\r\n", (Status::BadRequest, false)),
        ] {
            assert_eq!(asked(head.as_bytes()), want, "{head}");
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_get_no_page(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(asked(&bytes).0 != Status::Page);
        }
    }

    /// Each request made a page, under the lock of the monitor.
    #[test]
    fn a_page_is_made_once_for_all_who_ask_at_a_time() {
        let (pages, made) = (Pages::default(), std::cell::Cell::new(0));
        let make = || {
            made.set(made.get() + 1);
            format!("page {}", made.get())
        };
        let began = now();
        for (ms, want) in [(0, "page 1"), (1, "page 1"), (199, "page 1"), (200, "page 2"), (399, "page 2")] {
            assert_eq!(&*pages.page(began + Duration::from_millis(ms), &make), want, "after {ms} ms");
        }
    }

    fn served(request: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let at = listener.local_addr().expect("it is bound");
        open(listener, || "page\n".to_owned());
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.write_all(request).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    #[test]
    fn answers_go_over_the_network() {
        let answer = served(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\npage\n"), "{answer}");
        assert!(served(b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        let long = [b"GET /metrics HTTP/1.1\r\nX: ", &[b'x'; HEAD_MAX][..], b"\r\n\r\n"].concat();
        assert!(served(&long).starts_with("HTTP/1.1 431"));
    }

    /// Connections that send nothing make room for one that asks.
    #[test]
    fn silent_connections_do_not_delay_an_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let at = listener.local_addr().expect("it is bound");
        open(listener, || "page\n".to_owned());
        let silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(at).expect("it listens")).collect();
        let began = now();
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.ends_with("page\n"), "{answer}");
        assert!(now() - began < HEAD_TIME, "nobody waited until silent connections end by themselves");
        drop(silent);
    }
}

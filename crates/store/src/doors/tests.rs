//! Places of connections, with listeners on loopback.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

use super::*;

const FEW: Limits = Limits { strangers: 4, clients: 2, daemons: 2, leaving: 2 };

/// A listener whose connections become what the first byte says, and are echoed from then on.
fn echo(limits: Limits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let at = listener.local_addr().expect("it is bound");
    open(listener, "test".to_owned(), limits, |visit| {
        let (mut stream, mut is_stranger) = (&**visit.stream(), true);
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            visit.begins();
            let kind = if byte == *b"d" { Kind::Daemon } else { Kind::Client };
            if is_stranger && !visit.becomes(kind) {
                return;
            }
            is_stranger = false;
            // A request of `w` does not end. The others end before who asked hears of it: a test that goes on
            // at once finds them idle.
            if byte != *b"w" {
                visit.ends();
            }
            if stream.write_all(&byte).is_err() {
                return;
            }
        }
    });
    at
}

fn connected(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("it can be set");
    stream
}

/// Whether a byte comes back.
fn is_served(mut stream: &TcpStream, byte: u8) -> bool {
    let mut answer = [0];
    stream.write_all(&[byte]).is_ok() && stream.read_exact(&mut answer).is_ok() && answer == [byte]
}

/// How many of the connections are still open.
fn still_open(streams: &[TcpStream]) -> usize {
    let is_open = |stream: &&TcpStream| {
        stream.set_nonblocking(true).expect("it can be set");
        let read = (&**stream).read(&mut [0]);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    streams.iter().filter(is_open).count()
}

#[test]
fn strangers_take_no_places_of_others() {
    let at = echo(FEW);
    let (daemon, client) = (connected(at), connected(at));
    assert!(is_served(&daemon, b'd') && is_served(&client, b'c'));
    let silent: Vec<TcpStream> = (0..40).map(|_| connected(at)).collect();
    let late = connected(at);
    assert!(is_served(&late, b'c'), "a new client gets in");
    assert!(is_served(&daemon, b'd') && is_served(&client, b'c'), "those that were there stay");
    // The late one needed one of the four places for a moment.
    assert_eq!(still_open(&silent), FEW.strangers - 1);
    // Planted: with as many places as there are strangers, none of them makes room.
    let at = echo(Limits { strangers: 99, ..FEW });
    let silent: Vec<TcpStream> = (0..40).map(|_| connected(at)).collect();
    assert!(is_served(&connected(at), b'c'));
    assert_eq!(still_open(&silent), 40);
}

/// A stranger that is about to say what it is has the time to do so, however many come after it.
#[test]
fn a_place_is_held_for_a_moment() {
    let at = echo(FEW);
    let began = now();
    let all: Vec<TcpStream> = (0..40).map(|_| connected(at)).collect();
    assert!(is_served(&connected(at), b'c'));
    assert!(now() - began >= STAY_MIN * 9, "40 strangers with 4 places take turns");
    drop(all);
}

#[test]
fn clients_take_no_places_of_daemons() {
    let at = echo(FEW);
    let daemon = connected(at);
    assert!(is_served(&daemon, b'd'));
    let clients: Vec<TcpStream> = (0..3).map(|_| connected(at)).collect();
    for client in &clients {
        assert!(is_served(client, b'c'));
    }
    assert!(is_served(&daemon, b'd'));
    assert_eq!(still_open(&clients), FEW.clients, "the one that was idle for longest has left");
    // Requests in progress keep their places.
    let waiting: Vec<TcpStream> = (0..2).map(|_| connected(at)).collect();
    for client in &waiting {
        assert!(is_served(client, b'c') && is_served(client, b'w'));
    }
    assert_eq!(still_open(&clients), 0);
    assert!(!is_served(&connected(at), b'c'), "no place is left");
    assert!(is_served(&daemon, b'd') && is_served(&connected(at), b'd'));
}

#[test]
fn limits_follow_from_the_descriptors() {
    for (files, want) in [(8, (1, 1)), (64, (2, 4)), (1_024, (32, 64)), (u64::MAX, (64, 64))] {
        assert_eq!((share(files, 32, 64), share(files, 16, 64)), want, "{files}");
    }
    let limits = Limits::of_port();
    assert!(limits.all() as u64 <= files_max() / 2, "{limits:?}");
}

#[test]
fn a_line_a_minute() {
    let (mut said, began) = (None, now());
    let lines = |said: &mut Option<Instant>, step: Duration| {
        (0..600).filter(|number| is_due(said, began + step * *number)).count()
    };
    assert_eq!(lines(&mut said, PAUSE), 1);
    // Planted: one that forgets what it said writes a line each time.
    assert_eq!((0..600).filter(|number| is_due(&mut None, began + PAUSE * *number)).count(), 600);
    assert_eq!(lines(&mut None, SAID_EVERY), 600);
}

/// The shipped daemon broke the rules for whoever set the variable, and said nothing.
#[test]
fn rules_are_broken_in_builds_for_tests_alone_and_not_in_silence() {
    assert_eq!(followed("", false), ("", None));
    let (kept, said) = followed("unbounded,restless", true);
    assert!(kept == "unbounded,restless" && said.is_some_and(|said| said.contains("on purpose")));
    let (kept, said) = followed("unbounded", false);
    assert!(kept.is_empty() && said.is_some_and(|said| said.contains("ignored")));
}

//! Frames between the processes of a cluster, encrypted and authenticated by the cluster's key.
//!
//! The handshake is Noise NNpsk0 (Perrin, The Noise Protocol Framework, revision 34): two messages, of which
//! nobody can make the first without the key. But it can be recorded and sent again, so the side that accepts
//! knows the other one only by its first sealed packet. Until that has arrived, at most [`HANDSHAKE_MAX`]
//! bytes of each message and one packet are read, all within [`HANDSHAKE_TIME`]. After it, a frame is divided
//! into packets of at most 65,535 bytes, each sealed with a number that counts up per direction: a packet
//! that is changed, omitted, repeated or reordered ends the connection.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use snow::{Builder, HandshakeState, StatelessTransportState};

use crate::clock::now;
use crate::doors;

/// The key of a cluster.
pub type ClusterKey = [u8; 32];

/// The largest frame: an object with its name, and the message around it.
pub(crate) const FRAME_MAX: usize = 80 << 20;

/// The longest message of a handshake.
const HANDSHAKE_MAX: usize = 256;

/// How long a handshake may take, with the first packet after it.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// Both sides must use the same prologue, so that incompatible versions fail in the handshake.
const PROLOGUE: &[u8] = b"towtank store, frames 3";

const PACKET_MAX: usize = 65_535;
const TAG_BYTES: usize = 16;
const PLAIN_MAX: usize = PACKET_MAX - TAG_BYTES;

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// An error of the network.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The other side has another key, or is not part of a store.
    #[error("the peer has a different cluster key or a different version")]
    Stranger,
    /// A packet is not as it was sent.
    #[error("a packet is damaged, repeated or out of order")]
    Forged,
    /// A frame exceeds the limit.
    #[error("a frame has {0} bytes, but the limit is {FRAME_MAX}")]
    TooLong(u64),
    /// A frame cannot be decoded.
    #[error("a frame cannot be decoded: {0}")]
    Unreadable(#[from] postcard::Error),
}

/// A socket that both halves share, so that a connection takes one descriptor.
#[derive(Debug)]
struct Stream {
    socket: Arc<TcpStream>,
    /// When the other side must have shown that it has the key.
    until: Option<Instant>,
}

impl Stream {
    fn new(socket: Arc<TcpStream>) -> std::io::Result<Stream> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(HANDSHAKE_TIME))?;
        let until = (!doors::is_planted("unbounded")).then(|| now() + HANDSHAKE_TIME);
        Ok(Stream { socket, until })
    }

    /// The other side has the key, and may be silent for any time.
    fn settle(&mut self) -> std::io::Result<()> {
        self.until = None;
        self.socket.set_write_timeout(None)?;
        self.socket.set_read_timeout(None)
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(now());
            if left.is_zero() {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left))?;
        }
        (&*self.socket).read(bytes)
    }
}

/// The receiving half of a connection.
#[derive(Debug)]
pub struct Receiver {
    stream: BufReader<Stream>,
    state: Arc<StatelessTransportState>,
    number: u64,
}

/// The sending half of a connection.
#[derive(Debug)]
pub struct Sender {
    stream: Arc<TcpStream>,
    state: Arc<StatelessTransportState>,
    number: u64,
    packet: Vec<u8>,
}

/// Performs the handshake as the side that connects.
///
/// # Errors
/// When the other side does not have the key, or the network fails.
pub fn connect(stream: impl Into<Arc<TcpStream>>, key: &ClusterKey) -> Result<(Sender, Receiver), WireError> {
    let mut state = builder(key)?.build_initiator().map_err(|_| WireError::Stranger)?;
    let mut stream = Stream::new(stream.into())?;
    say(&mut state, &stream)?;
    hear(&mut state, &mut stream)?;
    stream.settle()?;
    halves(state, stream)
}

/// Performs the handshake as the side that accepts. The connection ends unless the first frame arrives in
/// time.
///
/// # Errors When the other side does not have the key, or the network fails.
pub fn accept(stream: impl Into<Arc<TcpStream>>, key: &ClusterKey) -> Result<(Sender, Receiver), WireError> {
    let mut state = builder(key)?.build_responder().map_err(|_| WireError::Stranger)?;
    let mut stream = Stream::new(stream.into())?;
    hear(&mut state, &mut stream)?;
    say(&mut state, &stream)?;
    halves(state, stream)
}

fn builder(key: &ClusterKey) -> Result<Builder<'_>, WireError> {
    let pattern = PATTERN.parse().expect("the pattern is one of Noise");
    Builder::new(pattern)
        .psk(0, key)
        .and_then(|builder| builder.prologue(PROLOGUE))
        .map_err(|_| WireError::Stranger)
}

fn say(state: &mut HandshakeState, stream: &Stream) -> Result<(), WireError> {
    let mut message = [0; HANDSHAKE_MAX];
    let length = state.write_message(&[], &mut message).map_err(|_| WireError::Stranger)?;
    let mut socket = &*stream.socket;
    socket.write_all(&(length as u16).to_be_bytes())?;
    Ok(socket.write_all(&message[..length])?)
}

fn hear(state: &mut HandshakeState, stream: &mut Stream) -> Result<(), WireError> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > HANDSHAKE_MAX {
        return Err(WireError::Stranger);
    }
    let (mut message, mut payload) = ([0; HANDSHAKE_MAX], [0; HANDSHAKE_MAX]);
    stream.read_exact(&mut message[..length])?;
    state.read_message(&message[..length], &mut payload).map(|_| ()).map_err(|_| WireError::Stranger)
}

fn halves(state: HandshakeState, stream: Stream) -> Result<(Sender, Receiver), WireError> {
    let state = Arc::new(state.into_stateless_transport_mode().map_err(|_| WireError::Stranger)?);
    let socket = Arc::clone(&stream.socket);
    let receiver =
        Receiver { stream: BufReader::with_capacity(1 << 16, stream), state: Arc::clone(&state), number: 0 };
    Ok((Sender { stream: socket, state, number: 0, packet: vec![0; PACKET_MAX + 2] }, receiver))
}

impl Sender {
    /// Sends a frame.
    ///
    /// # Errors
    /// When the network fails.
    pub fn send<T: serde::Serialize>(&mut self, frame: &T) -> Result<(), WireError> {
        self.send_bytes(&postcard::to_stdvec(frame)?)
    }

    /// Sends an encoded frame.
    ///
    /// # Errors
    /// When the network fails.
    pub(crate) fn send_bytes(&mut self, frame: &[u8]) -> Result<(), WireError> {
        if frame.len() > FRAME_MAX {
            return Err(WireError::TooLong(frame.len() as u64));
        }
        // The first packet begins with the length.
        let mut plain = Vec::with_capacity(PLAIN_MAX.min(4 + frame.len()));
        plain.extend((frame.len() as u32).to_be_bytes());
        let (first, mut rest) = frame.split_at(frame.len().min(PLAIN_MAX - 4));
        plain.extend(first);
        self.send_packet(&plain)?;
        while !rest.is_empty() {
            let (part, others) = rest.split_at(rest.len().min(PLAIN_MAX));
            self.send_packet(part)?;
            rest = others;
        }
        Ok(())
    }

    fn send_packet(&mut self, plain: &[u8]) -> Result<(), WireError> {
        let sealed = self.state.write_message(self.number, plain, &mut self.packet[2..]);
        let length = sealed.map_err(|_| WireError::Forged)?;
        self.number += 1;
        self.packet[..2].copy_from_slice(&(length as u16).to_be_bytes());
        Ok((&*self.stream).write_all(&self.packet[..2 + length])?)
    }

    /// Closes the connection in both directions.
    pub fn close(&self) {
        // It may be closed already.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

impl Receiver {
    /// The next frame; none if the other side has closed the connection between two frames.
    ///
    /// # Errors
    /// When the network fails, or a packet or a frame is not as it was sent.
    pub(crate) fn receive<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, WireError> {
        Ok(self.receive_bytes()?.map(|bytes| postcard::from_bytes(&bytes)).transpose()?)
    }

    /// The bytes of the next frame.
    ///
    /// # Errors
    /// When the network fails, or a packet is not as it was sent.
    pub fn receive_bytes(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        let Some(first) = self.receive_packet()? else { return Ok(None) };
        let (length, first) = first.split_first_chunk::<4>().ok_or(WireError::Forged)?;
        let length = u32::from_be_bytes(*length) as usize;
        if length > FRAME_MAX {
            return Err(WireError::TooLong(length as u64));
        }
        // Memory is allocated as packets arrive, not from the stated length.
        let mut frame = first.to_vec();
        while frame.len() < length {
            frame.extend(self.receive_packet()?.ok_or(WireError::Forged)?);
        }
        if frame.len() == length { Ok(Some(frame)) } else { Err(WireError::Forged) }
    }

    fn receive_packet(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        let mut length = [0; 2];
        match self.stream.read(&mut length[..1])? {
            0 => return Ok(None),
            _ => self.stream.read_exact(&mut length[1..])?,
        }
        let mut sealed = vec![0; usize::from(u16::from_be_bytes(length))];
        self.stream.read_exact(&mut sealed)?;
        let mut plain = vec![0; sealed.len()];
        let opened = self.state.read_message(self.number, &sealed, &mut plain);
        plain.truncate(opened.map_err(|_| WireError::Forged)?);
        if self.number == 0 && self.stream.get_ref().until.is_some() {
            self.stream.get_mut().settle()?;
        }
        self.number += 1;
        Ok(Some(plain))
    }

    /// Sets the longest time to wait for a frame; `None` waits for ever. After a timeout the connection can
    /// no longer be used.
    ///
    /// # Errors
    /// When the system refuses it.
    pub(crate) fn wait_at_most(&self, span: Option<Duration>) -> Result<(), WireError> {
        Ok(self.stream.get_ref().socket.set_read_timeout(span)?)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    type Taken = Result<(Sender, Receiver), WireError>;

    fn pair(one: ClusterKey, other: ClusterKey) -> (Taken, Taken) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let at = listener.local_addr().expect("it is bound");
        let there = std::thread::spawn(move || accept(listener.accept().expect("it comes").0, &other));
        let here = connect(TcpStream::connect(at).expect("it listens"), &one);
        (here, there.join().expect("it does not panic"))
    }

    #[test]
    fn frames_of_all_lengths_arrive() {
        let (here, there) = pair([7; 32], [7; 32]);
        let ((mut sender, _), (_, mut receiver)) = (here.expect("one key"), there.expect("one key"));
        let lengths = [0, 1, PLAIN_MAX - 5, PLAIN_MAX - 4, PLAIN_MAX - 3, 3 * PLAIN_MAX, 1 << 20];
        let sending = std::thread::spawn(move || {
            for length in lengths {
                sender.send_bytes(&vec![length as u8; length]).expect("it is read");
            }
        });
        for length in lengths {
            let frame = receiver.receive_bytes().expect("it is sound").expect("there is one");
            assert_eq!(frame, vec![length as u8; length], "{length}");
        }
        sending.join().expect("it does not panic");
        assert!(receiver.receive_bytes().expect("it ended between frames").is_none());
    }

    #[test]
    fn another_key_is_refused() {
        let (here, there) = pair([7; 32], [8; 32]);
        assert!(matches!(there, Err(WireError::Stranger)), "{there:?}");
        assert!(here.is_err(), "{here:?}");
    }

    /// Random bytes from an unauthenticated sender end the connection, and take no more memory than a
    /// handshake.
    #[test]
    fn malformed_beginnings_are_refused() {
        let mut state = 1_u64;
        for length in 0..400_usize {
            let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
            let at = listener.local_addr().expect("it is bound");
            let there = std::thread::spawn(move || accept(listener.accept().expect("it comes").0, &[7; 32]));
            let mut stream = TcpStream::connect(at).expect("it listens");
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as u8
                })
                .collect();
            // The other side may have closed it already.
            let _ = stream.write_all(&bytes);
            drop(stream);
            assert!(there.join().expect("it does not panic").is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_changed_packet_ends_the_connection() {
        let (here, there) = pair([7; 32], [7; 32]);
        let ((mut sender, _), (_, mut receiver)) = (here.expect("one key"), there.expect("one key"));
        sender.send_bytes(b"sound").expect("it is sent");
        assert_eq!(receiver.receive_bytes().expect("it is sound").as_deref(), Some(&b"sound"[..]));
        // A packet is omitted: the next one has another number.
        sender.number += 1;
        sender.send_bytes(b"one later").expect("it is sent");
        assert!(matches!(receiver.receive_bytes(), Err(WireError::Forged)));
    }
}

//! Sends frames that no correct process sends to a running daemon: before the handshake, in it, and after it
//! with the right key.
//!
//! A process that has the key is trusted to follow the replication protocol, whose messages are not checked
//! one by one. So no well-formed message of a replica is forged here. Everything else is: truncated frames,
//! frames changed or drawn at random, frames of the wrong kind, and requests for things that cannot exist.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde::Serialize;
use towtank_replication::{Key, Operation, RequestId};
use towtank_streams::{Draws, Purpose, Seed, Uniform as _};

use crate::StoreError;
use crate::content::{self, Encoded};
use crate::frames::{Answer, Ask, Hello, PeerFrame, Taken, ToMonitor, Wanted};
use crate::identity::Shown;
use crate::names::address;
use crate::settings::{Home, Settings};
use crate::wire::{self, ClusterKey};

/// The number of frames sent, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Connections that send random bytes instead of a handshake.
    pub beginnings: u64,
    /// Handshakes with another key.
    pub wrong_keys: u64,
    /// How many of those handshakes were refused.
    pub wrong_keys_refused: u64,
    /// After a handshake: packets that are not sealed with the key, repeated or truncated.
    pub packets: u64,
    /// Sealed frames of random bytes.
    pub random: u64,
    /// Sealed frames that are valid except for changed bytes or a wrong length.
    pub changed: u64,
    /// Well-formed requests for things that cannot exist.
    pub impossible: u64,
}

impl Sent {
    /// The number of all frames sent.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.beginnings + self.wrong_keys + self.packets + self.random + self.changed + self.impossible
    }
}

/// The longest time for a connection.
const WAIT: Duration = Duration::from_secs(5);

/// The most frames sent over one connection: as many as a daemon takes while its answers are not read.
const FRAMES: u64 = 60;

/// The longest frame drawn.
const BYTES_MAX: u64 = 300;

const PURPOSE: Purpose = Purpose(91);

struct Sender<'a> {
    address: &'a str,
    key: ClusterKey,
    settings: &'a Settings,
    is_monitor: bool,
    draws: Draws,
    sent: Sent,
}

/// Sends this many malformed frames to a daemon, and returns how many of each kind were sent.
///
/// # Errors
/// When there is no cluster, or the daemon no longer accepts connections.
pub fn send(
    home: &Home,
    address: &str,
    is_monitor: bool,
    frames: u64,
    seed: u64,
) -> Result<Sent, StoreError> {
    let (settings, key) = (home.settings()?, home.key()?);
    let draws = Draws::new(Seed(seed), 0, 0);
    let mut sender = Sender { address, key, settings: &settings, is_monitor, draws, sent: Sent::default() };
    while sender.sent.all() < frames {
        match sender.below(16) {
            0 => sender.beginning()?,
            1 => sender.wrong_key()?,
            2 => sender.packets()?,
            _ => sender.frames()?,
        }
    }
    Ok(sender.sent)
}

impl Sender<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.draws.of(PURPOSE).below(bound.max(1))
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length).map(|_| self.below(256) as u8).collect()
    }

    fn connect(&self) -> Result<TcpStream, StoreError> {
        let stream = crate::ways::open(self.address, WAIT)?;
        stream.set_read_timeout(Some(WAIT))?;
        stream.set_write_timeout(Some(WAIT))?;
        Ok(stream)
    }

    fn beginning(&mut self) -> Result<(), StoreError> {
        let bytes = self.bytes(BYTES_MAX);
        let mut stream = self.connect()?;
        // The other side may close the connection before it has all bytes.
        let _ = stream.write_all(&bytes);
        self.sent.beginnings += 1;
        Ok(())
    }

    fn wrong_key(&mut self) -> Result<(), StoreError> {
        let mut key = self.key;
        key[self.below(32) as usize] ^= 1 << self.below(8);
        let refused = wire::connect(self.connect()?, &key).is_err();
        self.sent.wrong_keys += 1;
        self.sent.wrong_keys_refused += u64::from(refused);
        Ok(())
    }

    /// A valid handshake, then packets that were not sealed with the key.
    fn packets(&mut self) -> Result<(), StoreError> {
        let stream = self.connect()?;
        let mut raw = stream.try_clone()?;
        let (_sender, _receiver) = wire::connect(stream, &self.key)?;
        let mut bytes = self.bytes(BYTES_MAX);
        if self.below(2) == 0 {
            // A length that matches.
            let length = (bytes.len() as u16).to_be_bytes();
            bytes.splice(0..0, length);
        }
        let _ = raw.write_all(&bytes);
        self.sent.packets += 1;
        Ok(())
    }

    /// A valid handshake, then requests that are refused, and finally a frame that cannot be decoded, which
    /// ends the connection.
    fn frames(&mut self) -> Result<(), StoreError> {
        let stream = self.connect()?;
        let mut raw = stream.try_clone()?;
        let (mut sender, _receiver) = wire::connect(stream, &self.key)?;
        raw.set_read_timeout(Some(WAIT))?;
        raw.set_write_timeout(Some(WAIT))?;
        if !self.is_monitor && self.below(16) > 0 {
            let greets = sender.send(&Hello::Client).is_ok();
            for _ in 0..self.below(FRAMES) {
                let bytes = if self.below(4) == 0 { self.changed(true) } else { self.impossible() };
                if !greets || sender.send_bytes(&bytes).is_err() {
                    break;
                }
            }
        }
        if self.is_monitor {
            for _ in 0..self.below(FRAMES) {
                let bytes = self.impossible();
                if sender.send_bytes(&bytes).is_err() {
                    break;
                }
            }
        }
        let bytes = if self.below(2) == 0 { self.random() } else { self.changed(false) };
        // Reads answers until the other side closes the connection; a frame that is decodable by chance does
        // not close it.
        let _ = sender.send_bytes(&bytes);
        let _ = raw.shutdown(std::net::Shutdown::Write);
        let mut buffer = [0; 4096];
        while raw.read(&mut buffer).is_ok_and(|count| count > 0) {}
        Ok(())
    }

    fn random(&mut self) -> Vec<u8> {
        self.sent.random += 1;
        loop {
            let bytes = self.bytes(BYTES_MAX);
            if !self.is_forged(&bytes) {
                return bytes;
            }
        }
    }

    /// A frame that was truncated, extended or changed. With `is_request` it still decodes to a client's
    /// request, otherwise it does not; it never decodes to a replica's message.
    fn changed(&mut self, is_request: bool) -> Vec<u8> {
        self.sent.changed += 1;
        loop {
            let mut bytes = if is_request { self.ask() } else { self.sound() };
            match self.below(3) {
                0 => bytes.truncate(self.below(bytes.len() as u64) as usize),
                1 => bytes.extend(self.bytes(8)),
                _ => {
                    for _ in 0..1 + self.below(4) {
                        let at = self.below(bytes.len() as u64) as usize;
                        bytes[at] ^= 1 + self.below(255) as u8;
                    }
                }
            }
            let is_one = postcard::from_bytes::<Ask>(&bytes).is_ok();
            if is_one == is_request && !self.is_forged(&bytes) {
                return bytes;
            }
        }
    }

    /// Whether bytes decode to a replica's message, or to an order to the monitor, which a holder of the key
    /// may send.
    fn is_forged(&self, bytes: &[u8]) -> bool {
        let orders = self.is_monitor && postcard::from_bytes::<ToMonitor>(bytes).is_ok();
        let is_message = !self.is_monitor
            && postcard::from_bytes::<Ask>(bytes).is_err()
            && postcard::from_bytes::<PeerFrame>(bytes).is_ok();
        orders || is_message
    }

    fn sound(&mut self) -> Vec<u8> {
        let written = |frame: Result<Vec<u8>, postcard::Error>| frame.expect("plain data can be written");
        let (osd, instance) = (self.below(4) as u32, self.below(u64::MAX));
        match self.below(5) {
            0 => {
                written(postcard::to_stdvec(&Hello::Peer { osd, instance, to_instance: instance, first: 1 }))
            }
            1 => written(postcard::to_stdvec(&ToMonitor::Boot {
                osd,
                instance,
                address: "nowhere".to_owned(),
                shown: Shown::of_stranger(instance),
                known: None,
            })),
            2 => written(postcard::to_stdvec(&Taken(instance))),
            3 => written(postcard::to_stdvec(&Answer {
                request: RequestId { client: instance, number: 1 },
                reply: crate::frames::Reply::Refused("no".to_owned()),
            })),
            _ => self.ask(),
        }
    }

    /// A valid request for an object that is not used elsewhere.
    fn ask(&mut self) -> Vec<u8> {
        let name = format!("malformed {}", self.below(4));
        let at = address(&name, self.settings.groups);
        let request = RequestId { client: self.below(u64::MAX), number: self.below(u64::MAX) };
        let operation = match self.below(3) {
            0 => Operation::Write(content::encode(&name, &Default::default(), &self.bytes(64))),
            1 => Operation::Delete,
            _ => Operation::Read,
        };
        let what = Wanted::Object { key: at.key, operation };
        postcard::to_stdvec(&Ask { request, group: at.group, what }).expect("plain data can be written")
    }

    /// A well-formed request for a group or an object that cannot exist.
    fn impossible(&mut self) -> Vec<u8> {
        self.sent.impossible += 1;
        let request = RequestId { client: self.below(u64::MAX), number: self.below(u64::MAX) };
        let group = self.below(2 * u64::from(self.settings.groups)) as u32;
        let any = Key { position: self.below(1 << 32) as u32, id: self.below(u64::MAX) };
        let ours = content::encode("a name of another key", &Default::default(), b"");
        let what = match self.below(4) {
            0 => Wanted::Object { key: any, operation: Operation::Write(ours) },
            1 => Wanted::Object { key: any, operation: Operation::Write(Encoded(self.bytes(BYTES_MAX))) },
            2 => Wanted::Object { key: any, operation: Operation::Delete },
            _ => Wanted::Names { prefix: "\u{10ffff}".repeat(9), from: String::new(), most: u32::MAX },
        };
        if self.is_monitor {
            let ask = ToMonitor::Wants { group, epoch: 0, acting: vec![0; 3] };
            return postcard::to_stdvec(&ask).expect("plain data can be written");
        }
        postcard::to_stdvec(&Ask { request, group, what }).expect("plain data can be written")
    }
}

//! Gets of the unicast protocols: one holder is asked, reads the chunk, and sends it frame by frame.

use towtank_devices::{Lane, Service};
use towtank_units::{SimSpan, SimTime};

use crate::{Action, ChunkName, DoneGet, GatewayId, GetId, Message, Peer, ServerId, Size, Step, Wake};

/// The gets of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct UnicastGets {
    me: GatewayId,
    next_number: u32,
    gets: Vec<Get>,
}

/// A request for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedToSend {
    /// The get.
    pub get: GetId,
    /// The size of the chunk.
    pub size: Size,
    /// The number of the request.
    pub round: u8,
}

/// A get in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Get {
    number: u32,
    chunk: ChunkName,
    size: Size,
    created: SimTime,
    /// Servers that did not send in time.
    avoided: Vec<ServerId>,
    /// The server asked last.
    server: ServerId,
    bits_left: u64,
    /// Number of requests; frames of earlier ones are ignored.
    round: u8,
}

impl UnicastGets {
    /// A gateway without gets.
    #[must_use]
    pub fn new(me: GatewayId) -> UnicastGets {
        UnicastGets { me, next_number: 0, gets: Vec::new() }
    }

    /// Number of gets in progress.
    #[must_use]
    pub fn len(&self) -> usize {
        self.gets.len()
    }

    /// The numbers of the gets in progress.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.gets.iter().map(|get| get.number)
    }

    /// Whether no get is in progress.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gets.is_empty()
    }

    /// Starts a get that was requested at `created`.
    pub fn submit(&mut self, size: Size, created: SimTime, step: &mut Step<'_>) {
        let number = self.next_number;
        self.next_number += 1;
        let get = Get {
            number,
            chunk: ChunkName(step.draws.next_u64()),
            size,
            created,
            avoided: Vec::new(),
            server: ServerId(0),
            bits_left: 0,
            round: 0,
        };
        self.gets.push(get);
        self.ask(self.gets.len() - 1, step);
    }

    /// A frame has arrived.
    pub fn receive(&mut self, id: GetId, round: u8, bits: u64, step: &mut Step<'_>) {
        let current = |get: &Get| get.number == id.number && get.round == round;
        let Some(at) = self.gets.iter().position(current) else { return };
        let get = &mut self.gets[at];
        debug_assert!(get.bits_left > 0, "a frame arrives for a chunk that is complete");
        get.bits_left = get.bits_left.saturating_sub(bits);
        if get.bits_left == 0 {
            let get = self.gets.remove(at);
            step.act(Action::GetDone(get.done(self.me)));
        }
    }

    /// A timeout: asks another holder if the data have not arrived.
    pub fn wake(&mut self, wake: Wake, step: &mut Step<'_>) {
        let Wake::GetDataDue { number, attempt } = wake else { return };
        let due = |get: &Get| get.number == number && u32::from(get.round) == attempt;
        let Some(at) = self.gets.iter().position(due) else { return };
        let get = &mut self.gets[at];
        get.avoided.push(get.server);
        step.act(Action::GetRetried(GetId { gateway: self.me, number }));
        self.ask(at, step);
    }

    /// Asks a random holder that has not timed out; if there is none, the get has failed.
    fn ask(&mut self, at: usize, step: &mut Step<'_>) {
        let get = &mut self.gets[at];
        let mut holders = step.terms.holders(get.chunk);
        holders.retain(|server| !get.avoided.contains(server));
        if holders.is_empty() {
            let get = self.gets.remove(at);
            step.act(Action::GetFailed(get.done(self.me)));
            return;
        }
        get.server = holders[step.draws.below(holders.len() as u64) as usize];
        debug_assert!(!get.avoided.contains(&get.server), "a server that did not answer is asked again");
        debug_assert!(get.avoided.len() < step.terms.replicas(), "{} holders are avoided", get.avoided.len());
        get.round = get.round.wrapping_add(1);
        get.bits_left = step.terms.size(get.size).bytes.get() * 8;
        let message = Message::GetRequest {
            get: GetId { gateway: self.me, number: get.number },
            chunk: get.chunk,
            size: get.size,
            round: get.round,
            from: step.now,
        };
        step.act(Action::Send { to: Peer::Server(get.server), message, after: SimSpan::ZERO });
        if let Some(timeouts) = step.terms.fixed.timeouts {
            let wake = Wake::GetDataDue { number: get.number, attempt: u32::from(get.round) };
            step.act(Action::Wake { at: step.now.saturating_add(timeouts.acks), wake });
        }
    }
}

impl Get {
    fn done(&self, gateway: GatewayId) -> DoneGet {
        DoneGet { get: GetId { gateway, number: self.number }, size: self.size, created: self.created }
    }
}

/// The chunks that a server reads and sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct UnicastSends {
    sends: Vec<Send>,
}

/// A chunk that is being sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Send {
    get: GetId,
    size: Size,
    round: u8,
    frames_left: u64,
}

impl UnicastSends {
    /// Number of chunks being sent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sends.len()
    }

    /// Whether no chunk is being sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty()
    }

    /// Handles a request: the chunk is read after the work already queued for the disk.
    pub fn read(&self, me: ServerId, asked: AskedToSend, disk: &mut Lane, step: &mut Step<'_>) {
        let AskedToSend { get, size, round } = asked;
        let Service { begin, end } = disk.serve(step.now, step.terms.read(me, size));
        step.act(Action::Read { get, begin, end });
        step.act(Action::Wake { at: end, wake: Wake::HasRead { get, size, round } });
    }

    /// The chunk has been read: offers its first frame to the link.
    pub fn begin(&mut self, get: GetId, size: Size, round: u8, step: &mut Step<'_>) {
        let send = Send { get, size, round, frames_left: step.terms.size(size).frames };
        step.act(Action::GetOffer { get, round, bits: send.next_bits(step) });
        self.sends.push(send);
    }

    /// The link is free: sends a frame and offers the next one.
    pub fn frame_started(&mut self, get: GetId, round: u8, step: &mut Step<'_>) {
        let same = |send: &Send| send.get == get && send.round == round;
        let Some(at) = self.sends.iter().position(same) else { return };
        let send = &mut self.sends[at];
        debug_assert!(send.frames_left > 0, "a frame is sent of a chunk that is complete");
        step.act(Action::GetFrame { get, round, bits: send.next_bits(step) });
        send.frames_left -= 1;
        if send.frames_left > 0 {
            step.act(Action::GetOffer { get, round, bits: send.next_bits(step) });
        } else {
            self.sends.remove(at);
        }
    }
}

impl Send {
    fn next_bits(&self, step: &Step<'_>) -> u64 {
        if self.frames_left > 1 { step.terms.frame_bits } else { step.terms.size(self.size).last_bits }
    }
}

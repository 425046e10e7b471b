//! One step of a state machine: its inputs, and the actions that it returns.

use std::fmt;

use towtank_streams::Uniform;
use towtank_units::{SimSpan, SimTime};

use crate::{GatewayId, GetId, Message, PutId, ServerId, Size, Task, Terms, Window};

/// The inputs of a step: the parameters, the time, random draws, and a list for its actions.
pub struct Step<'a> {
    /// The parameters that all nodes share.
    pub terms: &'a Terms,
    /// The current time.
    pub now: SimTime,
    /// Random draws.
    pub draws: &'a mut dyn Uniform,
    /// The actions that the state machine requests, in this order.
    pub actions: Vec<Action>,
}

impl<'a> Step<'a> {
    /// A step at `now`.
    #[must_use]
    pub fn new(terms: &'a Terms, now: SimTime, draws: &'a mut dyn Uniform) -> Step<'a> {
        Step { terms, now, draws, actions: Vec::new() }
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.assert_sound(&action);
        self.actions.push(action);
    }

    /// Checks that no action lies in the past, moves no data, or has no receiver.
    fn assert_sound(&self, action: &Action) {
        let now = self.now;
        match action {
            Action::Wake { at, wake } => {
                debug_assert!(*at >= now, "{wake:?} is requested at {at}, before {now}")
            }
            Action::Multicast(to) => debug_assert!(!to.is_empty(), "a message has no receiver"),
            Action::Offer { bits, .. } | Action::GetOffer { bits, .. } | Action::GetFrame { bits, .. } => {
                debug_assert!(*bits > 0, "a frame of 0 bits");
                debug_assert!(
                    *bits <= self.terms.frame_bits,
                    "a frame has {bits} bits, more than a full one"
                );
            }
            Action::Frame { bits, .. } => {
                debug_assert!(*bits > 0 && *bits <= self.terms.frame_bits, "a frame of {bits} bits is sent");
            }
            Action::Planned { to, begin, .. } => {
                debug_assert!(!to.is_empty() && *begin >= now, "data for {to:?} are planned at {begin}");
            }
            Action::Data { to, began, .. } => {
                debug_assert!(!to.is_empty(), "data have no receiver");
                debug_assert!(*began <= now, "data that began at {began} end at {now}");
            }
            Action::Write { begin, end, .. } | Action::Read { begin, end, .. } => {
                debug_assert!(*begin >= now, "a disk began at {begin}, before {now}");
                debug_assert!(end >= begin, "a disk access ends at {end}, before it begins at {begin}");
            }
            Action::Deliver { window, .. } => {
                debug_assert!(window.left <= now, "data are sent before their window {window:?}");
            }
            Action::Done(Done { created, .. })
            | Action::GetDone(DoneGet { created, .. })
            | Action::Failed(Done { created, .. })
            | Action::GetFailed(DoneGet { created, .. }) => {
                debug_assert!(*created <= now, "an operation that ends at {now} was created at {created}");
            }
            Action::Send { .. }
            | Action::AtOnce { .. }
            | Action::Dropped(_)
            | Action::Retried(_)
            | Action::GetRetried(_) => {}
        }
    }

    pub(crate) fn tell(&mut self, gateway: GatewayId, message: Message, after: SimSpan) {
        self.act(Action::Send { to: Peer::Gateway(gateway), message, after });
    }
}

impl fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("now", &self.now).field("actions", &self.actions).finish_non_exhaustive()
    }
}

/// The receiver of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Peer {
    /// A gateway.
    Gateway(GatewayId),
    /// A server.
    Server(ServerId),
}

/// The reason for a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Wake {
    /// A frame of a flow can be sent now.
    Frame {
        /// The put.
        number: u32,
        /// Only the latest timer counts.
        generation: u32,
    },
    /// The last frame of a reserved transfer starts.
    LastFrame {
        /// The put.
        number: u32,
        /// The receiver, if the transfer is unicast; else the first receiver.
        server: ServerId,
        /// Only the latest timer counts.
        generation: u32,
    },
    /// The next round of a negotiation starts.
    Round {
        /// The put.
        number: u32,
        /// The round.
        round: u8,
    },
    /// Timeout for bids.
    BidsDue {
        /// The put.
        number: u32,
        /// The round.
        round: u8,
    },
    /// Timeout for acknowledgements.
    AcksDue {
        /// The put.
        number: u32,
        /// The attempt.
        attempt: u32,
    },
    /// The next round of a get starts.
    GetRound {
        /// The get.
        number: u32,
        /// The round before it.
        round: u8,
    },
    /// Timeout for replies to a get.
    GetBidsDue {
        /// The get.
        number: u32,
        /// The round.
        round: u8,
    },
    /// Timeout for the data of a get.
    GetDataDue {
        /// The get.
        number: u32,
        /// The attempt.
        attempt: u32,
    },
    /// At a server: the window of a get starts.
    Deliver {
        /// The get.
        get: GetId,
        /// The size of its chunk.
        size: Size,
    },
    /// At a server: a chunk has been read.
    HasRead {
        /// The get.
        get: GetId,
        /// The size of the chunk.
        size: Size,
        /// The attempt.
        round: u8,
    },
    /// At a server, after all other events of this instant: notify flows of a new rate.
    Settle,
}

impl Wake {
    /// The put or get that the timer belongs to; `gateway` is the one that set it, if a gateway did.
    #[must_use]
    pub fn task(&self, gateway: GatewayId) -> Option<Task> {
        match *self {
            Wake::Frame { number, .. }
            | Wake::LastFrame { number, .. }
            | Wake::Round { number, .. }
            | Wake::BidsDue { number, .. }
            | Wake::AcksDue { number, .. } => Some(Task::Put(PutId { gateway, number })),
            Wake::GetRound { number, .. }
            | Wake::GetBidsDue { number, .. }
            | Wake::GetDataDue { number, .. } => Some(Task::Get(GetId { gateway, number })),
            Wake::Deliver { get, .. } | Wake::HasRead { get, .. } => Some(Task::Get(get)),
            Wake::Settle => None,
        }
    }
}

/// A put that has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Done {
    /// The put.
    pub put: PutId,
    /// The size of its chunk.
    pub size: Size,
    /// When the chunk was created.
    pub created: SimTime,
}

/// A get that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DoneGet {
    /// The get.
    pub get: GetId,
    /// The size of its chunk.
    pub size: Size,
    /// When it was requested.
    pub created: SimTime,
}

/// An action that a state machine requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a control message, after a wait (for the disk) if that is not zero.
    Send {
        /// The receiver.
        to: Peer,
        /// The message.
        message: Message,
        /// The wait before it is sent.
        after: SimSpan,
    },
    /// Send one message that reaches several servers, each of which reads its own part.
    Multicast(Vec<(ServerId, Message)>),
    /// Change a server's own record without any delay, as SURGE's shared memory does.
    AtOnce {
        /// The server whose record changes.
        to: ServerId,
        /// The change.
        message: Message,
    },
    /// Call `wake` at this time.
    Wake {
        /// The time; never before now.
        at: SimTime,
        /// The reason for the timer.
        wake: Wake,
    },
    /// Ask the link to send one frame; `frame_started` is called when it can.
    Offer {
        /// The receiver.
        to: ServerId,
        /// The put.
        put: PutId,
        /// Length of the frame in bits.
        bits: u64,
    },
    /// Send one frame now.
    Frame {
        /// The receiver.
        to: ServerId,
        /// The put.
        put: PutId,
        /// Length of the frame in bits.
        bits: u64,
        /// Transmission time at its sender.
        span: SimSpan,
    },
    /// A reserved transfer is planned, all frames one after the other: for callers that send each frame
    /// separately. Not in SURGE, where control messages may delay it.
    Planned {
        /// The receivers.
        to: Vec<ServerId>,
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the first frame starts.
        begin: SimTime,
    },
    /// Send the last frame of a reserved transfer now.
    Data {
        /// The receivers.
        to: Vec<ServerId>,
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the first frame started.
        began: SimTime,
        /// Transmission time of the last frame.
        span: SimSpan,
        /// The accepted window.
        window: Window,
    },
    /// A server writes a replica.
    Write {
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the disk starts.
        begin: SimTime,
        /// When the disk is done.
        end: SimTime,
    },
    /// All replicas of a put are durable.
    Done(Done),
    /// No common window was found: the chunk is dropped, and another one should be created in its place.
    Dropped(PutId),
    /// A put continues with other servers, because some did not reply.
    Retried(PutId),
    /// A put has failed: no servers are left to try.
    Failed(Done),
    /// A server reads a chunk.
    Read {
        /// The get.
        get: GetId,
        /// When the disk starts.
        begin: SimTime,
        /// When the disk is done.
        end: SimTime,
    },
    /// Send a chunk from a server to its reader, in a reserved window that starts now.
    Deliver {
        /// The get.
        get: GetId,
        /// The size of the chunk.
        size: Size,
        /// Transmission time of the data.
        span: SimSpan,
        /// The accepted window.
        window: Window,
    },
    /// Ask a server's link to send one frame to a reader; `get_frame_started` is called when it can.
    GetOffer {
        /// The get.
        get: GetId,
        /// The attempt.
        round: u8,
        /// Length of the frame in bits.
        bits: u64,
    },
    /// Send one frame from a server to a reader now.
    GetFrame {
        /// The get.
        get: GetId,
        /// The attempt.
        round: u8,
        /// Length of the frame in bits.
        bits: u64,
    },
    /// A chunk has arrived at its reader.
    GetDone(DoneGet),
    /// A get continues with another server, because one did not reply.
    GetRetried(GetId),
    /// A get has failed: no holder replies.
    GetFailed(DoneGet),
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use towtank_streams::{Draws, Purpose, Seed};

    use super::*;
    use crate::Protocol;
    use crate::terms::tests::fixed;

    const NOW: SimTime = SimTime::from_ns(5_000);

    /// The panic message for an action requested at 5 us, if it is rejected.
    fn complaint(action: &Action) -> Option<String> {
        let terms = Terms::new(fixed(Protocol::ReplicastM));
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut source = draws.of(Purpose(0));
        let mut step = Step::new(&terms, NOW, &mut source);
        let acted = catch_unwind(AssertUnwindSafe(|| step.act(action.clone())));
        assert_eq!(step.actions.len(), usize::from(acted.is_ok()), "{action:?}");
        let panic = acted.err()?;
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        panic.downcast_ref::<String>().cloned().or(said)
    }

    fn check(action: &Action, want: &str) {
        let found = complaint(action).unwrap_or_else(|| panic!("{action:?} is refused"));
        assert!(found.contains(want), "{found}, not {want}");
    }

    const PUT: PutId = PutId { gateway: GatewayId(0), number: 7 };
    const GET: GetId = GetId { gateway: GatewayId(0), number: 8 };

    #[test]
    fn actions_that_cannot_be_are_noticed() {
        let (early, late) = (SimTime::from_ns(4_999), SimTime::from_ns(5_001));
        let window = Window { left: late, right: SimTime::from_ns(9_000) };
        let (size, span) = (Size(0), SimSpan::from_ns(1));
        let to = || vec![ServerId(1)];
        check(&Action::Wake { at: early, wake: Wake::Settle }, "is requested at");
        check(&Action::Multicast(Vec::new()), "a message has no receiver");
        check(&Action::Offer { to: ServerId(1), put: PUT, bits: 0 }, "a frame of 0 bits");
        check(&Action::GetFrame { get: GET, round: 1, bits: 72_001 }, "more than a full one");
        check(&Action::Frame { to: ServerId(1), put: PUT, bits: 72_001, span }, "a frame of 72001 bits");
        check(&Action::Planned { to: to(), put: PUT, size, begin: early }, "are planned at");
        check(
            &Action::Data { to: Vec::new(), put: PUT, size, began: early, span, window },
            "data have no receiver",
        );
        check(&Action::Data { to: to(), put: PUT, size, began: late, span, window }, "data that began at");
        check(&Action::Write { put: PUT, size, begin: early, end: late }, "a disk began at");
        check(&Action::Read { get: GET, begin: window.right, end: late }, "a disk access ends at");
        check(&Action::Deliver { get: GET, size, span, window }, "data are sent before their window");
        check(&Action::Done(Done { put: PUT, size, created: late }), "an operation that ends at");
        check(&Action::GetFailed(DoneGet { get: GET, size, created: late }), "an operation that ends at");
    }

    #[test]
    fn actions_that_can_be_are_kept() {
        let size = Size(0);
        for action in [
            Action::Wake { at: NOW, wake: Wake::Settle },
            Action::Frame { to: ServerId(1), put: PUT, bits: 72_000, span: SimSpan::ZERO },
            Action::Write { put: PUT, size, begin: NOW, end: NOW },
            Action::Done(Done { put: PUT, size, created: NOW }),
            Action::Dropped(PUT),
        ] {
            assert_eq!(complaint(&action), None, "{action:?}");
        }
    }

    #[test]
    fn reminders_name_what_they_are_about() {
        let me = GatewayId(3);
        let put = Some(Task::Put(PutId { gateway: me, number: 4 }));
        let get = Some(Task::Get(GetId { gateway: me, number: 4 }));
        assert_eq!(Wake::Round { number: 4, round: 1 }.task(me), put);
        assert_eq!(Wake::AcksDue { number: 4, attempt: 1 }.task(me), put);
        assert_eq!(Wake::GetRound { number: 4, round: 1 }.task(me), get);
        assert_eq!(Wake::GetDataDue { number: 4, attempt: 1 }.task(me), get);
        // A server's timer names the gateway of its get.
        assert_eq!(Wake::Deliver { get: GET, size: Size(0) }.task(me), Some(Task::Get(GET)));
        assert_eq!(Wake::Settle.task(me), None);
    }
}

//! One step of a machine: what it knows of the world, and what it wants done.

use std::fmt;

use towtank_streams::Uniform;
use towtank_units::{SimSpan, SimTime};

use crate::{GatewayId, GetId, Message, PutId, ServerId, Size, Task, Terms, Window};

/// What a machine gets when it is moved on: the numbers it was set up with, the time, chance, and a place for
/// its actions.
pub struct Step<'a> {
    /// The numbers that all nodes share.
    pub terms: &'a Terms,
    /// The time.
    pub now: SimTime,
    /// Chance.
    pub draws: &'a mut dyn Uniform,
    /// What the machine wants done, in this order.
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

    /// No action lies in the past, moves nothing, or is for nobody.
    fn assert_sound(&self, action: &Action) {
        let now = self.now;
        match action {
            Action::Wake { at, wake } => {
                debug_assert!(*at >= now, "{wake:?} is asked for at {at}, and it is {now}")
            }
            Action::Multicast(to) => debug_assert!(!to.is_empty(), "a message is for nobody"),
            Action::Offer { bits, .. } | Action::GetOffer { bits, .. } | Action::GetFrame { bits, .. } => {
                debug_assert!(*bits > 0, "a frame of no bits");
                debug_assert!(
                    *bits <= self.terms.frame_bits,
                    "a frame has {bits} bits, more than a full one"
                );
            }
            Action::Frame { bits, .. } => {
                debug_assert!(
                    *bits > 0 && *bits <= self.terms.frame_bits,
                    "a frame has {bits} bits and goes out"
                );
            }
            Action::Planned { to, begin, .. } => {
                debug_assert!(!to.is_empty() && *begin >= now, "data for {to:?} are planned at {begin}");
            }
            Action::Data { to, began, .. } => {
                debug_assert!(!to.is_empty(), "data are for nobody");
                debug_assert!(*began <= now, "data that began at {began} end at {now}");
            }
            Action::Write { begin, end, .. } | Action::Read { begin, end, .. } => {
                debug_assert!(*begin >= now, "a disk began at {begin}, before {now}");
                debug_assert!(end >= begin, "a disk is done at {end} with what it begins at {begin}");
            }
            Action::Deliver { window, .. } => {
                debug_assert!(window.left <= now, "data are sent before their window {window:?}");
            }
            Action::Done(Done { created, .. })
            | Action::GetDone(DoneGet { created, .. })
            | Action::Failed(Done { created, .. })
            | Action::GetFailed(DoneGet { created, .. }) => {
                debug_assert!(*created <= now, "what ends at {now} was wanted at {created}");
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

/// Who a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Peer {
    /// A gateway.
    Gateway(GatewayId),
    /// A server.
    Server(ServerId),
}

/// What a machine wants to be reminded of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Wake {
    /// A frame of a flow can go now.
    Frame {
        /// Of which put.
        number: u32,
        /// Only the latest reminder counts.
        generation: u32,
    },
    /// The last frame of a reserved transfer begins.
    LastFrame {
        /// Of which put.
        number: u32,
        /// To whom, where the transfer is unicast; else the first of them.
        server: ServerId,
        /// Only the latest reminder counts.
        generation: u32,
    },
    /// The next round of a negotiation.
    Round {
        /// Of which put.
        number: u32,
        /// Which one.
        round: u8,
    },
    /// Bids that have not come by now will not come.
    BidsDue {
        /// Of which put.
        number: u32,
        /// In which round.
        round: u8,
    },
    /// Acknowledgements that have not come by now will not come.
    AcksDue {
        /// Of which put.
        number: u32,
        /// For which attempt.
        attempt: u32,
    },
    /// The next round of a get.
    GetRound {
        /// Of which get.
        number: u32,
        /// Which one came before.
        round: u8,
    },
    /// Answers to a get that have not come by now will not come.
    GetBidsDue {
        /// Of which get.
        number: u32,
        /// In which round.
        round: u8,
    },
    /// Data of a get that have not come by now will not come.
    GetDataDue {
        /// Of which get.
        number: u32,
        /// For which attempt.
        attempt: u32,
    },
    /// A server: the window of a get begins.
    Deliver {
        /// The get.
        get: GetId,
        /// How large its chunk is.
        size: Size,
    },
    /// A server: a chunk is read.
    HasRead {
        /// For which get.
        get: GetId,
        /// How large it is.
        size: Size,
        /// For which attempt.
        round: u8,
    },
    /// A server, when all else that happens now has happened: tell flows of a new rate.
    Settle,
}

impl Wake {
    /// The put or get that it is about, where `gateway` is who asked to be reminded, if a gateway did.
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

/// A put that has ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Done {
    /// The put.
    pub put: PutId,
    /// The size of its chunk.
    pub size: Size,
    /// When the chunk came into being.
    pub created: SimTime,
}

/// A get that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DoneGet {
    /// The get.
    pub get: GetId,
    /// The size of its chunk.
    pub size: Size,
    /// When it was wanted.
    pub created: SimTime,
}

/// What a machine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a control message, after a wait of its own (for the disk) if that is not zero.
    Send {
        /// To whom.
        to: Peer,
        /// What.
        message: Message,
        /// When.
        after: SimSpan,
    },
    /// Send one message that reaches several servers, each of which reads its own part.
    Multicast(Vec<(ServerId, Message)>),
    /// Change a server's own record without any delay: what SURGE's shared memory does.
    AtOnce {
        /// Whose record.
        to: ServerId,
        /// How.
        message: Message,
    },
    /// Call `wake` again then.
    Wake {
        /// When; never before now.
        at: SimTime,
        /// What for.
        wake: Wake,
    },
    /// Ask the link for room for one frame; `frame_started` tells when there is.
    Offer {
        /// The receiver.
        to: ServerId,
        /// The put.
        put: PutId,
        /// How long the frame is.
        bits: u64,
    },
    /// One frame goes out now.
    Frame {
        /// The receiver.
        to: ServerId,
        /// The put.
        put: PutId,
        /// How long it is.
        bits: u64,
        /// How long its sender takes over it.
        span: SimSpan,
    },
    /// A reserved transfer will go out, all frames one after the other: for whoever sends each of them by
    /// itself. Not in SURGE, where control messages may hold it up.
    Planned {
        /// The receivers.
        to: Vec<ServerId>,
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the first frame goes out.
        begin: SimTime,
    },
    /// The last frame of a reserved transfer goes out now.
    Data {
        /// The receivers.
        to: Vec<ServerId>,
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the first frame went out.
        began: SimTime,
        /// How long the last frame takes.
        span: SimSpan,
        /// The window that was accepted for it.
        window: Window,
    },
    /// A server writes a replica.
    Write {
        /// The put.
        put: PutId,
        /// The size of the chunk.
        size: Size,
        /// When the disk begins.
        begin: SimTime,
        /// When it is done.
        end: SimTime,
    },
    /// All replicas of a put are on disk.
    Done(Done),
    /// No common window was found: the chunk is given up, and another one should come in its place.
    Dropped(PutId),
    /// A put goes on with other servers, since some did not answer.
    Retried(PutId),
    /// A put is given up: so many servers fail that no others are left.
    Failed(Done),
    /// A server reads a chunk.
    Read {
        /// For which get.
        get: GetId,
        /// When the disk begins.
        begin: SimTime,
        /// When it is done.
        end: SimTime,
    },
    /// A chunk goes from a server to its reader, in a reserved window that begins now.
    Deliver {
        /// The get.
        get: GetId,
        /// The size of the chunk.
        size: Size,
        /// How long the data take.
        span: SimSpan,
        /// The window that was accepted for it.
        window: Window,
    },
    /// Ask a server's link for room for one frame to a reader; `get_frame_started` tells when there is.
    GetOffer {
        /// The get.
        get: GetId,
        /// Which attempt.
        round: u8,
        /// How long the frame is.
        bits: u64,
    },
    /// One frame goes from a server to a reader now.
    GetFrame {
        /// The get.
        get: GetId,
        /// Which attempt.
        round: u8,
        /// How long it is.
        bits: u64,
    },
    /// A chunk has come to its reader.
    GetDone(DoneGet),
    /// A get goes on with another server, since one did not answer.
    GetRetried(GetId),
    /// A get is given up: no holder answers.
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

    /// What is said of an action that is wanted at 5 us, if it is refused.
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
        check(&Action::Wake { at: early, wake: Wake::Settle }, "is asked for at");
        check(&Action::Multicast(Vec::new()), "a message is for nobody");
        check(&Action::Offer { to: ServerId(1), put: PUT, bits: 0 }, "a frame of no bits");
        check(&Action::GetFrame { get: GET, round: 1, bits: 72_001 }, "more than a full one");
        check(&Action::Frame { to: ServerId(1), put: PUT, bits: 72_001, span }, "a frame has 72001 bits");
        check(&Action::Planned { to: to(), put: PUT, size, begin: early }, "are planned at");
        check(
            &Action::Data { to: Vec::new(), put: PUT, size, began: early, span, window },
            "data are for nobody",
        );
        check(&Action::Data { to: to(), put: PUT, size, began: late, span, window }, "data that began at");
        check(&Action::Write { put: PUT, size, begin: early, end: late }, "a disk began at");
        check(&Action::Read { get: GET, begin: window.right, end: late }, "a disk is done at");
        check(&Action::Deliver { get: GET, size, span, window }, "data are sent before their window");
        check(&Action::Done(Done { put: PUT, size, created: late }), "what ends at");
        check(&Action::GetFailed(DoneGet { get: GET, size, created: late }), "what ends at");
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
        // A server's reminder says whose get it is.
        assert_eq!(Wake::Deliver { get: GET, size: Size(0) }.task(me), Some(Task::Get(GET)));
        assert_eq!(Wake::Settle.task(me), None);
    }
}

//! What happens to clients, servers and metadata servers, and what they tell each other.

use serde::{Deserialize, Serialize};
use towtank_iosched::{About, Access, Feedback, Lengths, Phase, Record};
use towtank_units::{SimSpan, SimTime};

use crate::work::Operation;

/// One server's part of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Job {
    /// Whose.
    pub client: u32,
    /// Which of the client's requests under way.
    pub flow: u16,
    /// The client's application.
    pub application: u16,
    /// Whether it writes.
    pub write: bool,
    /// Of how many jobs of the window it is one.
    pub jobs: u32,
    /// What the server knows the file by.
    pub object: u64,
    /// The first byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// When the request began at the client.
    pub rose: SimTime,
    /// The client's number for the window.
    pub record: u64,
    /// The server that it is for.
    pub server: u32,
    /// Where the gate keeps it that let it go last, if one did.
    pub ticket: u32,
    /// Where the gate before that one keeps it.
    pub ticket_before: u32,
    /// What other servers did for the client, if it says that.
    pub feedback: Option<Box<Feedback>>,
}

impl Job {
    /// What schedulers are told of it.
    pub(crate) fn about(&self) -> About {
        About {
            client: self.client,
            server: self.server,
            object: self.object,
            offset: self.offset,
            access: if self.write { Access::Write } else { Access::Read },
            rose: self.rose,
            record: Record { id: u64::from(self.client) << 32 | self.record, jobs: self.jobs },
            feedback: self.feedback.as_deref().copied().unwrap_or_default(),
            ..About::default()
        }
    }
}

/// What a server says of a job that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Served {
    /// Where the gate keeps the job.
    pub ticket: u32,
    /// How many bytes it had.
    pub bytes: u64,
    /// Whether the server's scheduler let it go to keep a reservation.
    pub reserved: bool,
}

impl Served {
    /// For what the server's scheduler let it go.
    pub(crate) fn phase(&self) -> Phase {
        if self.reserved { Phase::Reservation } else { Phase::Share }
    }
}

/// What crosses the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A client asks a metadata server.
    Ask {
        /// Who.
        client: u32,
        /// For which of its requests.
        flow: u16,
        /// What.
        operation: Operation,
    },
    /// A metadata server answers.
    Told {
        /// For which request.
        flow: u16,
    },
    /// A client sends a job to a server, with its data if it writes and does not wait to be asked for them. A
    /// job is as large as all else in an event together, and pending events are moved often: it lies apart.
    Job(Box<Job>),
    /// A server is ready for the data of a job.
    Ready {
        /// Where the server keeps the job.
        slot: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// Some of a job's data, to a server.
    Data {
        /// Where it keeps the job.
        slot: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// Some of a job's data, or that it has been written, to a client.
    Answer {
        /// For which request.
        flow: u16,
        /// What there is to say of the job if it is done.
        done: Option<Served>,
    },
    /// A server tells a proxy that a job is done.
    Served(Served),
    /// A scheduler tells the others what its flows got or want.
    Report(Lengths),
    /// A client is through with a phase.
    Through,
    /// A phase begins.
    Begin {
        /// Which.
        phase: u16,
    },
}

// The set of pending events moves them more often than anybody reads them.
const _: () = assert!(size_of::<Event>() <= 72);

/// Something happens to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// The last byte of a message could be here.
    Comes {
        /// Who sent it.
        from: u32,
        /// How long it occupies a card.
        span: SimSpan,
        /// How many bytes it has.
        bytes: u64,
        /// What it says.
        message: Message,
    },
    /// A message is here.
    Here {
        /// Who sent it.
        from: u32,
        /// What it says.
        message: Message,
    },
    /// A message was lost, and it is time to send it again.
    Again {
        /// To whom.
        to: u32,
        /// How many bytes.
        bytes: u64,
        /// What it says.
        message: Message,
    },
    /// A client's flow has thought and begins its next request, if its phase is still on.
    Next {
        /// Which.
        flow: u16,
        /// In which phase it began to think.
        phase: u16,
    },
    /// A request arrives at a client that does not wait for the last one.
    Arrives,
    /// A client has done what comes before a request's jobs.
    Prepared {
        /// For which.
        flow: u16,
    },
    /// A server begins to work on a job.
    Work {
        /// Which.
        slot: u32,
    },
    /// Pages of a job have been copied.
    Copied {
        /// Which.
        slot: u32,
    },
    /// A job's answer leaves.
    Finish {
        /// Which.
        slot: u32,
    },
    /// The disk is done with what it served at a place.
    DiskDone {
        /// Which.
        place: u16,
    },
    /// The scheduler asked to be woken.
    Wake,
    /// A port of the switch has something through.
    Port,
    /// A metadata server has done what it was asked.
    Served {
        /// For whom.
        client: u32,
        /// For which of its requests.
        flow: u16,
    },
    /// A client's cache has done what was asked of it by itself.
    Local {
        /// For which request.
        flow: u16,
    },
    /// Recorded requests are due at a client.
    Due {
        /// When the phase began.
        began: SimTime,
    },
}

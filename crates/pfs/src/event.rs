//! Events of clients, servers and metadata servers, and the messages between them.

use serde::{Deserialize, Serialize};
use towtank_iosched::{About, Access, Feedback, Lengths, Phase, Record};
use towtank_units::{SimSpan, SimTime};

use crate::work::Operation;

/// The part of a request that goes to one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Job {
    /// The client that sent it.
    pub client: u32,
    /// The client's request under way (flow).
    pub flow: u16,
    /// The client's application.
    pub application: u16,
    /// Whether it writes.
    pub write: bool,
    /// The number of jobs in its window.
    pub jobs: u32,
    /// The server's number for the file.
    pub object: u64,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// When the request began at the client.
    pub rose: SimTime,
    /// The client's number for the window.
    pub record: u64,
    /// The server that it is for.
    pub server: u32,
    /// Its slot at the gate that let it go last, if there is one.
    pub ticket: u32,
    /// Its slot at the gate before that one.
    pub ticket_before: u32,
    /// The service of other servers to the client, if it sends that (dmClock).
    pub feedback: Option<Box<Feedback>>,
}

impl Job {
    /// The properties that schedulers see.
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

/// A server's report of a completed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Served {
    /// The job's slot at the gate.
    pub ticket: u32,
    /// The job's bytes.
    pub bytes: u64,
    /// Whether the server's scheduler served it under a reservation.
    pub reserved: bool,
}

impl Served {
    /// The phase in which the server's scheduler served it.
    pub(crate) fn phase(&self) -> Phase {
        if self.reserved { Phase::Reservation } else { Phase::Share }
    }
}

/// A message on the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A client's request to a metadata server.
    Ask {
        /// The client.
        client: u32,
        /// The client's flow.
        flow: u16,
        /// The operation.
        operation: Operation,
    },
    /// A metadata server's reply.
    MetadataAnswer {
        /// The client's flow.
        flow: u16,
    },
    /// A client's job for a server, with its data if it writes without a handshake. A job is as large as the
    /// rest of an event, and pending events are moved often, so it is boxed.
    Job(Box<Job>),
    /// A server is ready for the data of a job.
    Ready {
        /// The job's slot at the server.
        slot: u32,
        /// The number of bytes.
        bytes: u64,
    },
    /// Part of a job's data, sent to a server.
    Data {
        /// The job's slot at the server.
        slot: u32,
        /// The number of bytes.
        bytes: u64,
    },
    /// Part of a job's data, or the acknowledgement of a write, sent to a client.
    Answer {
        /// The client's flow.
        flow: u16,
        /// The report of the job, if it is done.
        done: Option<Served>,
    },
    /// A server tells a proxy that a job is done.
    Served(Served),
    /// A scheduler's report to other schedulers of what its flows got or want.
    Report(Box<Lengths>),
    /// A client has finished a phase.
    Through,
    /// A phase begins.
    Begin {
        /// The phase.
        phase: u16,
    },
}

// Events are small because the set of pending events moves them more often than they are read.
const _: () = assert!(size_of::<Event>() <= 56);

/// An event at a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// The last byte of a message arrives at the port.
    Comes {
        /// The sender.
        from: u32,
        /// How long it occupies a NIC.
        span: SimSpan,
        /// Its size in bytes.
        bytes: u64,
        /// Its content.
        message: Message,
    },
    /// A message has been received.
    Here {
        /// The sender.
        from: u32,
        /// Its content.
        message: Message,
    },
    /// The timeout of a lost message has passed: it is sent again.
    Again {
        /// The receiver.
        to: u32,
        /// Its size in bytes.
        bytes: u64,
        /// Its content.
        message: Message,
    },
    /// A client's flow has finished its think time and begins its next request, if the phase is still the
    /// same.
    Next {
        /// The flow.
        flow: u16,
        /// The phase in which the think time began.
        phase: u16,
    },
    /// A request arrives at a client whose requests come at a rate.
    Arrives,
    /// A client has done the processing that precedes a request's jobs.
    Prepared {
        /// The flow.
        flow: u16,
    },
    /// A server begins to work on a job.
    Work {
        /// The job's slot.
        slot: u32,
    },
    /// Pages of a job have been copied.
    Copied {
        /// The job's slot.
        slot: u32,
    },
    /// The reply of a job is sent.
    Finish {
        /// The job's slot.
        slot: u32,
    },
    /// The disk has completed the request at a slot.
    DiskDone {
        /// The slot.
        place: u16,
    },
    /// The wake-up that the scheduler requested.
    Wake,
    /// A message has passed a port of the switch.
    Port,
    /// A metadata server has completed a request.
    Served {
        /// The client.
        client: u32,
        /// The client's flow.
        flow: u16,
    },
    /// A client's cache has finished copying the bytes of a request.
    Local {
        /// The flow.
        flow: u16,
    },
    /// Recorded requests of a client are due.
    Due {
        /// When the phase began.
        began: SimTime,
    },
    /// The first byte of a message arrives at a router where senders share ports, its last one otherwise.
    Crosses {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
        /// How long it occupies a NIC.
        span: SimSpan,
        /// Its size in bytes.
        bytes: u64,
        /// Its content.
        message: Message,
    },
}

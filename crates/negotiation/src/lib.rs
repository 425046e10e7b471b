//! Put protocols of distributed stores as state machines: messages and time go in, actions come out.
//!
//! A *gateway* (the initiator) stores chunks, `replicas` copies each, on *servers* (the targets). How the two
//! agree on who sends what when is the protocol:
//!
//! - **UCH-CCP**: servers are drawn at random (consistent hashing as the network sees it), each replica is a
//!   unicast flow, and a server divides its link equally among its flows ([`unicast`]). **UCH-AIMD** lets
//!   senders find their rate by additive increase and multiplicative decrease; **serial** gives the whole
//!   link to one flow after another.
//! - **Replicast-M**: a chunk belongs to a group of servers. All of them bid a window of time for a multicast
//!   request, the gateway takes those whose windows have a sub-window in common, and multicasts the data then
//!   ([`negotiating`]).
//! - **Replicast-H**: bids as before, but the gateway takes windows that follow each other and sends to one
//!   server after the other, in several rounds if it must.
//!
//! Gets go on beside puts ([`getting`]).
//!
//! The source is Aizman and Bestler, "Scalable object storage with resource reservations and dynamic load
//! balancing", and the behaviour of its simulator SURGE at build d92018f. Where the two differ, [`Rules`]
//! says which one is followed.
//!
//! What a machine expects of its own node's disk and links it keeps in `towtank_devices`' terms: a lane that
//! it knows the end of, a bucket that fills at its rate.
//!
//! What is deliberately absent: sockets, clocks, queues of the network (who drives a machine says when a
//! message arrives), and ambient randomness (draws are an argument).

pub mod bids;
pub mod choice;
pub mod getting;
mod message;
pub mod negotiating;
mod step;
mod stored;
mod terms;
pub mod unicast;
mod window;

pub use message::{GatewayId, GetId, Message, PutId, ServerId, Size, Task};
pub use negotiating::{NegotiatingGateway, NegotiatingServer};
pub use step::{Action, Done, DoneGet, Peer, Step, Wake};
pub use stored::ChunkName;
pub use terms::{DiskTerms, Extension, Fixed, Protocol, Rules, SizeTerms, Terms, Timeouts};
pub use unicast::{UnicastGateway, UnicastServer};
pub use window::Window;

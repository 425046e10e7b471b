//! Put protocols of distributed stores as state machines: messages and time go in, actions come out.
//!
//! A *gateway* (the initiator) stores chunks, `replicas` copies each, on *servers* (the targets). The
//! protocol decides how they agree on who sends what when:
//!
//! - **UCH-CCP**: servers are drawn at random (consistent hashing as the network sees it), each replica is a
//!   unicast flow, and a server divides its link equally among its flows ([`unicast`]). In **UCH-AIMD**
//!   senders find their rate by additive increase and multiplicative decrease; **serial** gives the whole
//!   link to one flow after another.
//! - **Replicast-M**: a chunk belongs to a group of servers. All of them answer a multicast request with a
//!   bid for a window of time; the gateway accepts those whose windows have a common sub-window, and
//!   multicasts the data then ([`negotiating`]).
//! - **Replicast-H**: bids as before, but the gateway accepts consecutive windows and sends to one server
//!   after the other, in several rounds if necessary.
//!
//! Gets run concurrently with puts ([`getting`]). Two examples of the paper are drawn as message charts
//! ([`charts`]).
//!
//! The source is Aizman and Bestler, "Scalable object storage with resource reservations and dynamic load
//! balancing", and the behaviour of its simulator SURGE at build d92018f. Where the two differ, [`Rules`]
//! says which one is followed.
//!
//! A state machine models its own node's disk and links with types of `towtank_devices`: a lane whose end it
//! knows, a token bucket that fills at its rate.
//!
//! Left out on purpose: sockets, clocks, network queues (the caller decides when a message arrives), and
//! ambient randomness (draws are an argument).

pub mod bids;
pub mod charts;
pub mod choice;
mod getting;
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

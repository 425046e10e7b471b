//! Gets: how a gateway fetches a chunk that some servers hold, beside the puts that go on.
//!
//! In Replicast a get is negotiated like a put, as the paper sketches it: the request goes to the whole group
//! of the chunk; those who hold it bid a window in which it could be read from the disk and sent, the others
//! say that they lack it; the gateway takes one bid, as soon as as many bids are there as the chunk has
//! replicas, and tells all; the data go in that window. Two things the paper leaves open are settled here. A
//! gateway takes only windows in which nobody else sends to it. And since disks take writes as they come, a
//! server that is chosen and finds that it cannot have read by then says so at once and is asked again,
//! instead of sending outside of its window.
//!
//! The unicast protocols ask one holder, which reads and sends, with whatever queues there are.

mod negotiated;
mod serving;
mod unicast;

pub use negotiated::NegotiatedGets;
pub use serving::{Asked, Deliveries, answered};
pub use unicast::{UnicastGets, UnicastSends};

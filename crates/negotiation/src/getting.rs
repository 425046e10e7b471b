//! Gets: how a gateway fetches a chunk from the servers that hold it, concurrently with puts.
//!
//! In Replicast a get is negotiated like a put, as the paper sketches it. The request goes to the chunk's
//! whole group; the servers that hold the chunk bid a window in which they could read and send it, and the
//! others reply that they lack it. As soon as there are as many bids as the chunk has replicas, the gateway
//! accepts one and tells all; the data are sent in that window. Two things that the paper leaves open are
//! settled here. A gateway accepts only windows in which no other server sends to it. And since disks take
//! writes as they arrive, a chosen server that finds that it cannot read in time says so at once and is asked
//! again, instead of sending outside its window.
//!
//! The unicast protocols ask one holder, which reads and sends, behind whatever is queued.

mod negotiated;
mod serving;
mod unicast;

pub use negotiated::NegotiatedGets;
pub use serving::{Accepted, Asked, Deliveries, answered};
pub use unicast::{AskedToSend, UnicastGets, UnicastSends};

//! Replicast: groups of servers bid, the gateway takes some of the bids, and data go in the windows that were
//! taken.
//!
//! Replicast-M and Replicast-H share all but the choice: M takes one window that several servers have in
//! common and multicasts; H takes windows that follow each other and sends to one server after the other, in
//! as many rounds as it needs.

mod flow;
mod gateway;
mod server;

pub use flow::Flow;
pub use gateway::NegotiatingGateway;
pub use server::{NegotiatingServer, Reservations};

//! Replicast: groups of servers bid, the gateway accepts some of the bids, and data are sent in the accepted
//! windows.
//!
//! Replicast-M and Replicast-H share all but the choice: M accepts one window that several servers have in
//! common and multicasts; H accepts consecutive windows and sends to one server after the other, in as many
//! rounds as necessary.

mod flow;
mod gateway;
mod room;
mod server;

pub use flow::Flow;
pub use gateway::NegotiatingGateway;
pub use room::Room;
pub use server::{NegotiatingServer, Reservations};

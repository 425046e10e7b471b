//! Unicast to random servers: UCH-CCP, UCH-AIMD and the serial variant.
//!
//! A gateway sends the replicas of a chunk one after another, each to a server drawn at random, excluding
//! those of its previous chunk. It requests the next replica when the last frame of the one before is sent. A
//! server divides its link among its flows and tells them their rates (CCP), tells them to slow down (AIMD),
//! or serves one flow after another.

mod gateway;
mod server;

pub use gateway::UnicastGateway;
pub use server::UnicastServer;

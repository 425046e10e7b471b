//! A parallel discrete-event kernel: one model, four executors, one result.
pub mod key;
pub use key::{EntityId, EventKey, Keyed, Scheduled};

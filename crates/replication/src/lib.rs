//! x
mod action;
mod choice;
mod config;
mod durable;
mod key;
mod log;
mod message;
pub mod objects;
mod replica;
mod reserver;
mod summary;

pub use action::{Action, Input, Map, Note, Operation, Outcome, Tally, Work};
pub use choice::{Ballot, Info};
#[doc(hidden)]
pub use config::Planted;
pub use config::{Config, Discovery};
pub use durable::{Durable, Interval};
pub use key::{Cursor, DeviceId, Epoch, GroupId, Key, RequestId, Token, Version};
pub use log::{Change, Done, Entry, Log};
pub use message::{Activate, Body, Message, Run};
pub use objects::{Listed, Objects, Payload};
pub use replica::{Replica, View};
pub use reserver::{Holder, Lot, Request, Reserver, Verdict};
pub use summary::{Dirty, Summary};

//! How the replicas of a placement group stay equal, as a state machine without I/O: messages and time in,
//! actions out.
//!
//! It follows Ceph's design (the thesis on backfill with Merkle trees, chapters 2 and 3, and Ceph's own
//! documents), and gives backfill five ways to find out what to look at. A simulator that charges time for
//! [`Work`] and a store that does it run this same crate. In the order in which things happen:
//!
//! **1. Start.** A [`Replica`] is one device's part of one group. Its objects lie in the host's [`Objects`],
//! and what it must not forget is its [`Durable`] state. All that one [`Replica::handle`] changes is one
//! transaction, durable before the [`Action`]s of the call are carried out. A crash loses the rest.
//!
//! **2. An interval begins** with each [`Map`]. Its first acting replica is the primary. It asks the others
//! and all earlier holders what they have, and waits until nobody can have acknowledged a write of which it
//! has not heard ([`Ballot`]). The authoritative log is that of the complete replica that took part last. The
//! primary takes it over, undoes what it alone has, and has the others follow. Where others should act,
//! because it needs a backfill itself, it says so ([`Action::WantActing`]).
//!
//! **3. Clients** read and write at the primary. A write gets a [`Version`] and an [`Entry`] of the bounded
//! [`Log`]; it goes to all replicas, and is answered when all have committed it. A request that is repeated
//! is not done again. A read waits for writes of the same object, and with [`Config::lease`] for the replicas
//! to confirm the primary, so that no former primary answers what is out of date.
//!
//! **4. Log recovery.** What the log names and a replica does not have is missing there. The primary fetches
//! it if it misses it itself, and sends it to the others. Requests for such an object wait, and it goes
//! first.
//!
//! **5. Backfill.** A replica that the log does not reach is a target: in `up`, and not acting. With a slot
//! of each device's [`Reserver`], the primary finds out what differs ([`Discovery`]) and goes through it in
//! the order of [`Key`]s. Writes below its [`Cursor`] go to the target too. Writes above go to its log alone,
//! and open the range that was to be skipped. The target writes its cursor down batch by batch, and an
//! interrupted backfill goes on there if the log still reaches.
//!
//! **6. Clean.** When all replicas are complete and none misses anything, earlier intervals are forgotten and
//! bitmaps begin anew.
//!
//! ```
//! use towtank_merkle::Subspace;
//! use towtank_replication::objects::{Memory, Size};
//! use towtank_replication::{
//!     Action, Config, DeviceId, Durable, Input, Key, Map, Operation, Outcome, Replica, RequestId, Version,
//! };
//! use towtank_units::SimTime;
//!
//! let config = Config::new(1, Subspace::WHOLE, 10)?;
//! let me = DeviceId(0);
//! let mut replica = Replica::start(config, me, Durable::new(&config), SimTime::ZERO);
//! let (mut objects, mut actions) = (Memory::new(), Vec::new());
//! let map = Map { epoch: 1, up: vec![me], acting: vec![me], alive: vec![me] };
//! replica.handle(SimTime::ZERO, Input::Map(map), &mut objects, &mut actions);
//! let request = RequestId { client: 1, number: 1 };
//! let operation = Operation::Write(Size(4096));
//! let ask = Input::Client { request, key: Key::of_hash(0x1234, 1), operation };
//! replica.handle(SimTime::ZERO, ask, &mut objects, &mut actions);
//! // The write is to be made durable; then it is answered.
//! let Some(Action::Work { token, .. }) = actions.pop() else { panic!("a write is work") };
//! replica.handle(SimTime::ZERO, Input::Done(token), &mut objects, &mut actions);
//! let outcome = Outcome::Done(Version { epoch: 1, counter: 1 });
//! assert_eq!(actions.pop(), Some(Action::Reply { request, outcome }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What it takes from its surroundings.** Messages may be late, repeated and out of order, and are not lost
//! within an interval. Maps are told to each device in order. A device that restarts is out of the map before
//! it is in again, and one that lost its objects gets another [`DeviceId`]. For leases, clocks run equally
//! fast; they need not agree.
//!
//! **Erasure-coded groups** ([`Config::data_shards`]): each replica holds a shard of every object. An object
//! has one version, which all its shards have, so that logs, trees, sketches and bitmaps are of versions as
//! in any group, and equal at all positions that are up to date: what the primary expects of a position is
//! what its own tree says. A shard that is missing is made from others: the primary collects one from each of
//! as many replicas as make up an object, its own among them, and sends on what the host decodes
//! ([`Objects::decode`]). Payloads of writes are what each replica is to hold.
//!
//! What is deliberately absent: I/O, clocks, randomness, the code itself and reads that collect shards (a
//! client's read tells what the primary holds), undoing a write in place (a crash amid writes of a coded
//! group may leave too few shards of either version: [`Note::Unfound`]), snapshots, scrubbing, splitting and
//! merging of groups, and any trust in a peer's messages being checked: the store authenticates its peers,
//! and a message that no correct replica sends ends in a panic.

mod action;
mod choice;
mod config;
mod durable;
pub mod history;
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
pub use log::{Change, Done, Entry, Log, LogChange};
pub use message::{Activate, Body, Message, Run, WRITE_BYTES};
pub use objects::{Listed, Objects, Payload};
pub use replica::{Replica, View};
pub use reserver::{Holder, Lot, Request, Reserver, Verdict};
pub use summary::{Dirty, Summary};

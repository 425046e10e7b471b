//! The replication protocol of a placement group as a state machine without I/O: messages and time in,
//! actions out.
//!
//! It follows Ceph's design (the thesis on backfill with Merkle trees, chapters 2 and 3, and Ceph's own
//! documents), and offers five ways for a backfill to find out what to look at. The simulator, which charges
//! time for [`Work`], and the store, which performs it, run this same crate. In chronological order:
//!
//! **1. Start.** A [`Replica`] is one device's part of one group. Its objects are in the host's [`Objects`],
//! and the state that must survive a crash is [`Durable`]. All changes of one [`Replica::handle`] call are
//! one transaction, which is durable before the [`Action`]s of the call are carried out. A crash loses
//! everything else.
//!
//! **2. An interval begins** with each [`Map`]. Its first acting replica is the primary. The primary asks the
//! others and all earlier holders for their state, and waits until no device that has not answered can know
//! of an acknowledged write that the primary does not ([`Ballot`]). A device that came back without its
//! objects has another [`Incarnation`], and knows nothing of earlier intervals. The authoritative log is that
//! of the complete replica that took part last. The primary takes it over, undoes changes that only the
//! primary has, and has the others follow. If it needs a backfill itself, it asks for other acting replicas
//! ([`Action::WantActing`]).
//!
//! **3. Clients** send reads and writes to the primary. A write gets a [`Version`] and an [`Entry`] of the
//! bounded [`Log`]; it goes to all replicas, and is acknowledged when all have committed it. A repeated
//! request is not executed again. A read waits for writes of the same object, and with [`Config::lease`]
//! until the replicas confirm the primary, so that no former primary returns stale data.
//!
//! **4. Log recovery.** An object version that the log names and a replica does not have is missing there.
//! The primary fetches it if it is missing at the primary, and sends it to the others. Requests for such an
//! object wait, and the object is recovered first. While only some replicas are known to have had a version,
//! clients do not see it. If no available replica has it, and in each interval that may have served a replica
//! acted that has never had it, nobody learned of it: the primary reverts it ([`Change::Revert`]). Otherwise
//! the object is unfound until another holder returns.
//!
//! **5. Backfill.** A replica that cannot catch up from the log is a target: in `up`, but not acting. With a
//! slot of each device's [`Reserver`], the primary finds out what differs ([`Discovery`]) and goes through it
//! in the order of [`Key`]s. Writes below the [`Cursor`] go to the target too. Writes above it go to the
//! target's log only, and reopen the range that was to be skipped. The target stores its cursor batch by
//! batch, and an interrupted backfill continues there if the log still reaches back.
//!
//! **6. Clean.** When all replicas are complete and none misses anything, earlier intervals are forgotten and
//! new bitmaps begin.
//!
//! ```
//! use towtank_merkle::Subspace;
//! use towtank_replication::objects::{Memory, Size};
//! use towtank_replication::{
//!     Action, Config, DeviceId, Durable, Input, Key, Map, Member, Operation, Outcome, Replica, RequestId,
//!     Version,
//! };
//! use towtank_units::SimTime;
//!
//! let config = Config::new(1, Subspace::WHOLE, 10)?;
//! let me = DeviceId(0);
//! let member = Member::original(me);
//! let mut replica = Replica::start(config, member, Durable::new(&config), SimTime::ZERO);
//! let (mut objects, mut actions) = (Memory::new(), Vec::new());
//! let map = Map { epoch: 1, up: vec![me], acting: vec![me], alive: vec![member], gone: vec![] };
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
//! **Assumptions.** Messages may be late, repeated and out of order, but are not lost within an interval.
//! Each device receives maps in order. A device that restarts is out of the map before it is in again, and
//! one that lost its objects has another [`Incarnation`]. For leases, clocks must run at the same rate; they
//! need not agree.
//!
//! **Erasure-coded groups** ([`Config::data_shards`]): each replica holds a shard of every object. An object
//! has one version, shared by all its shards, so that logs, trees, sketches and bitmaps work as in any group,
//! and are equal at all positions that are up to date: the primary's own tree is what it expects of every
//! position. A missing shard is decoded from others: the primary collects one from each of as many replicas
//! as make up an object, including its own, and sends what the host decodes ([`Objects::decode`]). The
//! payload of a write is what each replica is to hold.
//!
//! What is deliberately absent: I/O, clocks, randomness, the erasure code itself, reads that collect shards
//! (a client's read returns what the primary holds), undoing a write in place (a crash amid writes of a coded
//! group may leave too few shards of either version: [`Note::Unfound`]), snapshots, scrubbing, splitting and
//! merging of groups, and checks of a peer's messages: the store authenticates its peers, and a message that
//! no correct replica sends causes a panic.

mod action;
mod choice;
mod config;
mod durable;
pub mod history;
mod key;
mod log;
mod message;
pub mod model;
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
pub use key::{Cursor, DeviceId, Epoch, GroupId, Incarnation, Key, Member, RequestId, Token, Version};
pub use log::{Change, Done, Entry, Log, LogChange};
pub use message::{Activate, Body, Message, Missed, Run, WRITE_BYTES};
pub use objects::{Listed, Objects, Payload};
pub use replica::{Replica, View};
pub use reserver::{Holder, Lot, Request, Reserver, Verdict};
pub use summary::{Dirty, Summary};

//! Merkle trees over the hash space: they find what changed between two replicas without reading every
//! object.
//!
//! After an outage that outlasts the log, two replicas of a placement group differ in some objects, and
//! neither knows in which. This crate updates a summary of the objects on each write, so that replicas
//! compare the summaries and not the objects. It follows the Ceph thesis on backfill with incrementally kept
//! Merkle trees, and adds two things that the thesis leaves open: groups are split and merged without reading
//! objects, and a sketch names exactly the objects that differ.
//!
//! **Keep a tree.** A [`Tree`] has 2^d leaves over the positions of a group ([`Shape`]). Each write passes it
//! the hash of the object's name, the id, and both versions:
//!
//! ```
//! use towtank_merkle::{ObjectId, Position, Shape, SkipSet, Subspace, Tree, Version};
//!
//! let group = Subspace::of_group(5, 128).expect("group 5 of 128");
//! let mut primary = Tree::new(Shape::new(group, 14)?);
//! let mut replica = primary.clone();
//! let (hash, id) = (0x0102_0305, ObjectId::of_name(b"photo"));
//! primary.update(hash, id, None, Some(Version(1)));
//! replica.update(hash, id, None, Some(Version(1)));
//! assert_eq!(primary.settle().root(), replica.settle().root());
//!
//! // The replica misses a write.
//! primary.update(hash, id, Some(Version(1)), Some(Version(2)));
//! let differing = primary.settle().difference(&replica.settle())?;
//! assert!(differing[0].contains(Position::of_hash(hash)));
//!
//! // A backfill walks the group in the order of positions, and skips what is equal.
//! let skipped = SkipSet::all_but(group.range(), &differing);
//! assert_eq!(skipped.next_to_look_at(group.range().first), Some(differing[0].first));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Compare by messages.** For replicas on two machines, [`exchange`] sends roots, then whole trees, levels,
//! or cells of a [`Sketch`], as messages in and messages out.
//!
//! **Recover it after a crash.** [`Saver`] makes a full image and records of changed leaves; [`restore`]
//! applies the records to the image.
//!
//! **Split and merge groups.** Trees are split and merged by their leaves; sketches by parts, as many as the
//! group will be split into ([`DividedSketch`]).
//!
//! **Choose its size.** [`sizing`] has the equations of the thesis, [`cost`] the expected cost of each way to
//! find differences, and [`plan`] combines both for a pool.
//!
//! What is deliberately absent: I/O, clocks, randomness, and any defence against someone who chooses ids and
//! versions so that digests collide.

mod bitmap;
mod codec;
pub mod cost;
mod divided;
pub mod exchange;
mod image;
mod marks;
mod object;
pub mod plan;
mod position;
pub mod rebuilt;
mod reshape;
mod settled;
pub mod sizing;
mod sketch;
mod skip;
mod tree;

pub use bitmap::Bitmap;
pub use codec::DecodeError;
pub use divided::DividedSketch;
pub use image::{Restorable, RestoreError, Restored, Saver, restore};
pub use object::{ObjectId, Version};
pub use position::{Position, PositionRange, Shape, Subspace, TooManyLeaves};
pub use reshape::ReshapeError;
pub use settled::{Settled, ShapesDiffer};
pub use sketch::{Cell, Decoder, Differing, Held, Outcome, Sketch};
pub use skip::{Cursor, SkipSet};
pub use tree::Tree;

//! How evenly a cluster is filled, why not, what that costs, and which moves win it back.
//!
//! - `shape`: what a rule may do; `ideal`: the shards that devices are expected to hold by weight and rule;
//! - `spread`: what each device holds; `causes`: why the fullest is as full as it is;
//! - `room`: what fits before the first device is full; `best`, over a largest `flow`: what would fit if all
//!   groups were placed as well as rules allow; `loss`: what fits after the loss of a host;
//! - `plan`: moves by explicit mappings; `audit`: applies a plan and checks it;
//! - `advice`: numbers of groups.
//!
//! Left out: what Ceph's balancer and autoscaler do by themselves, and the time that moves take.

mod advice;
mod audit;
mod best;
mod causes;
mod flow;
mod ideal;
mod loss;
mod plan;
mod room;
mod shape;
mod spread;

pub use advice::{Advice, GROUPS_MIN, advice};
pub use audit::{Applied, Broken, Stage, applied};
pub use best::Best;
pub use causes::{Cause, CauseKind, causes, together};
pub use ideal::{Picked, drawn, even};
pub use loss::{Loss, losses};
pub use plan::{Limits, Move, command, plan, unmappable};
pub use room::{Mix, Room, room};
pub use shape::{Branch, Node, Shape, Spot};
pub use spread::{Load, Placed, PoolSpread, Spread};

#[cfg(test)]
pub(crate) mod tests;

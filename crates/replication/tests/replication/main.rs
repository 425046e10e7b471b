//! Backfills of replicas, on the cluster of the example, and what the example prints. Schedules have a binary
//! of their own (`schedules`), which `make soak` runs alone.

#[allow(dead_code, reason = "`main` is for those who run it")]
#[path = "../../examples/stale_replica.rs"]
mod stale_replica;

mod backfill;
mod printed;
mod unfound;

//! What the studies of recoveries share: those of generated clusters and rings, and those of real clusters.
//!
//! The crate `towtank_rebuild` plans and simulates a recovery. This one has what lies between it and a study:
//!
//! - `keys`: keys of scenarios in blocks; `settings`: the values that they have; `checks`: their checks;
//! - `releases`: what is assumed of each release of Ceph; `queue`: the operation queue of its daemons;
//! - `log`: what the logs of its groups remember;
//! - `observed`, `work`, `resources`, `traffic`: what machines did, and its measures;
//! - `bottleneck`: what limited it; `running`: runs one;
//! - `levers`: changes that may help, each tried; `estimate`: large recoveries with some of their objects;
//! - `tables`, `figures`, `slowest`, `parts`: contents of reports.
//!
//! What it leaves out: clusters, failures, and what is asked about them.

pub mod bottleneck;
pub mod checks;
pub mod estimate;
pub mod figures;
pub mod keys;
pub mod levers;
pub mod log;
pub mod observed;
pub mod parts;
pub mod queue;
pub mod releases;
pub mod resources;
pub mod running;
pub mod settings;
pub mod slowest;
pub mod tables;
pub mod traffic;
pub mod work;

//! The keys that every scenario may have, whatever its study.

/// The keys of [`Header`](crate::Header), and the key of the sweep.
pub(crate) const KEYS: [&str; 5] = ["study", "title", "seed", "replicates", SWEEP];

/// The table of swept keys.
pub(crate) const SWEEP: &str = "sweep";

//! Points at which a test can end the process, as a crash would.
//!
//! A daemon that takes a write passes one before and after each step: each change of the transaction, its
//! commit, and each action and answer that follows. With `TOWTANK_CRASH_AT=n` in the environment the process
//! aborts at the n-th; without it a point costs one look.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of the variable in the environment.
pub const CRASH_AT: &str = "TOWTANK_CRASH_AT";

static LEFT: OnceLock<Option<AtomicU64>> = OnceLock::new();

/// A step of a write: the process ends here if it is the one that was asked for.
pub fn point() {
    let asked = || std::env::var(CRASH_AT).ok()?.parse().ok().map(AtomicU64::new);
    if let Some(left) = LEFT.get_or_init(asked)
        && left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        std::process::abort();
    }
}

//! Crash points: places at which a test can end the process, as a crash would.
//!
//! A daemon that handles a write passes a point before and after each step: each change of the transaction,
//! its commit, and each action and answer that follows. With `TOWTANK_CRASH_AT=n` in the environment the
//! process aborts at the n-th point; without it a point costs one check.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of the environment variable.
pub const CRASH_AT: &str = "TOWTANK_CRASH_AT";

static LEFT: OnceLock<Option<AtomicU64>> = OnceLock::new();

/// A crash point: ends the process if it is the one requested.
pub fn point() {
    let asked = || std::env::var(CRASH_AT).ok()?.parse().ok().map(AtomicU64::new);
    if let Some(left) = LEFT.get_or_init(asked)
        && left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        std::process::abort();
    }
}

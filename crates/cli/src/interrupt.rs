//! Ctrl-C, SIGTERM and SIGHUP: the first signal stops cleanly and keeps finished work, the second ends the
//! process at once. In both cases the exit code is 130, within a second; if the command has processes of its
//! own to end, or a check to finish, within the time that it names. A server that is stopped ends with 0,
//! once requests under way have ended.
//!
//! While no run is under way (a map is read, a scenario checked) there is nothing to report, and the first
//! signal ends the process. A run under way is asked to stop, and its partial result is reported; work that
//! cannot be stopped and reported in time is abandoned. Files are written atomically, so none is left
//! incomplete.
//!
//! Some parents (`timeout`, package runners) send a signal to a process and then to its whole group: signals
//! within a short time count as one. Under `nohup` SIGHUP is ignored, and stays so.

// The command line may read the clock; it does not affect results.
#![allow(clippy::disallowed_methods)]

use std::process::exit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use towtank_campaign::Stop;

use crate::exit::Exit;
use crate::{progress, screen};

/// Raised by the first signal.
static STOP: Stop = Stop::new();

/// The instant of the first signal.
static SINCE: OnceLock<Instant> = OnceLock::new();

/// Whether a command that checks the flag is under way.
static HEEDED: AtomicBool = AtomicBool::new(false);

/// Signals within this time count as one.
const ONE_MOMENT: Duration = Duration::from_millis(250);

/// The time that a run may take to stop and be reported, in milliseconds: a second, less the time to end the
/// process.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(900);

/// A server stops by itself, without a limit, which counts as success.
const ENDLESS: u64 = u64::MAX;

/// How a user ends processes that are left if a command is abandoned.
static LEFT: OnceLock<String> = OnceLock::new();

/// The time that a command may usually take to end processes of its own.
pub const TO_END_PROCESSES: Duration = Duration::from_secs(30);

/// Installs the signal handler. Called once, before threads start, since they inherit the signal mask.
///
/// If it cannot be installed, which does not happen in practice, a signal still ends the process, and
/// finished points are kept.
pub fn install() {
    keep_hangups_ignored();
    let _ = ctrlc::set_handler(|| {
        let since = SINCE.get_or_init(Instant::now);
        if STOP.raised() {
            if since.elapsed() >= ONE_MOMENT {
                end("");
            }
            return;
        }
        STOP.raise();
        if !HEEDED.load(Ordering::SeqCst) {
            end("interrupted\n");
        }
        progress::aside(|| screen::say("stopping; press Ctrl-C once more to end at once\n"));
        if is_endless() {
            return;
        }
        // If no thread can be started, a second signal ends the process.
        let _ = thread::Builder::new().spawn(|| {
            thread::sleep(Duration::from_millis(PATIENCE_MS.load(Ordering::SeqCst)));
            end("interrupted: what was under way did not stop in time, so it is not reported; \
                 what was finished is kept where there is an --out DIR\n");
        });
    });
}

/// From here on a signal raises the flag instead of ending the process: for commands that check it.
pub fn watch() -> &'static Stop {
    HEEDED.store(true, Ordering::SeqCst);
    &STOP
}

/// The same for a command that starts processes and ends them, which takes at most `patience`. If it takes
/// longer, or a second signal comes, the user is told `left`: how to end processes that still run.
pub fn watch_with_processes(patience: Duration, left: String) -> &'static Stop {
    PATIENCE_MS.store(patience.as_millis() as u64, Ordering::SeqCst);
    LEFT.get_or_init(|| left);
    watch()
}

/// The same for a command that serves until it is stopped: requests under way are completed first, and being
/// stopped is not a failure.
pub fn watch_to_the_end() -> &'static Stop {
    PATIENCE_MS.store(ENDLESS, Ordering::SeqCst);
    watch()
}

fn is_endless() -> bool {
    PATIENCE_MS.load(Ordering::SeqCst) == ENDLESS
}

/// The exit code of a command during which a signal came: it may not have been complete at that time.
pub fn marked(exit: Exit) -> Exit {
    match exit {
        Exit::Done | Exit::GateNotMet if STOP.raised() && !is_endless() => Exit::Interrupted,
        exit => exit,
    }
}

fn end(words: &str) -> ! {
    let left = LEFT.get().map_or("", String::as_str);
    progress::aside(|| screen::say(&[words, left].concat()));
    exit(code())
}

fn code() -> i32 {
    i32::from(Exit::Interrupted.code())
}

/// A parent that ignores SIGHUP (`nohup`) wants the run to continue after a hangup. The handler applies to
/// all three signals or to none, so SIGHUP is blocked instead.
#[cfg(unix)]
fn keep_hangups_ignored() {
    use nix::sys::signal::{SigSet, Signal};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if ignores_hangups(&status) {
        let mut hangups = SigSet::empty();
        hangups.add(Signal::SIGHUP);
        // Fails only for a mask that the system does not support.
        let _ = hangups.thread_block();
    }
}

#[cfg(not(unix))]
fn keep_hangups_ignored() {}

/// Whether SIGHUP is ignored according to `/proc/self/status`: its mask of ignored signals has one bit per
/// signal, starting with signal 1, which is SIGHUP.
#[cfg(unix)]
fn ignores_hangups(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_hangup_is_seen_in_the_mask() {
        for (status, want) in [
            ("Name:\tx\nSigIgn:\t0000000000000001\n", true),
            ("SigIgn:\t0000000000001001\n", true),
            ("SigIgn:\t0000000000001006\n", false),
            ("SigIgn:\t0000000000000000\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_hangups(status), want, "{status}");
        }
    }
}

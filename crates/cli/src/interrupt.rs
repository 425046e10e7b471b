//! Ctrl-C, SIGTERM and SIGHUP: the first one stops cleanly and keeps what is done, the second one ends the
//! process at once. However it ends, it ends with 130, and within a second; where it has processes of its own
//! to end, within half a minute. But a server that is stopped ends with 0, once requests under way have
//! ended.
//!
//! While no run is under way (a map is read, a scenario checked) there is nothing to report, and the first
//! signal ends the process. A run under way is asked to stop, and its part of the result is reported; what
//! cannot be stopped and reported in the time that a person waits for a prompt is given up. Files are put in
//! their places whole, so nothing is left half written.
//!
//! Some parents (`timeout`, package runners) send a signal to a process and then to its whole group: what
//! comes within the same moment is one signal, not two. Under `nohup` SIGHUP is ignored, and stays so.

// A face may look at the clock; nothing it reads there reaches a result.
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

/// When it was raised.
static SINCE: OnceLock<Instant> = OnceLock::new();

/// Something is under way that looks at the flag.
static HEEDED: AtomicBool = AtomicBool::new(false);

/// Nobody presses two keys twice in this time.
const ONE_MOMENT: Duration = Duration::from_millis(250);

/// How long a run may take to stop and be reported, in milliseconds: a second, less what it takes to end the
/// process.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(900);

/// A server ends by itself, however long that takes, and has then done what it was asked to.
const ENDLESS: u64 = u64::MAX;

/// The same for a command that has processes of its own to end, which otherwise would go on without it.
const PATIENCE_WITH_PROCESSES: Duration = Duration::from_secs(30);

/// From here on a signal is handled here. Called once, before there are threads: they inherit what is
/// blocked.
///
/// Without a handler (which no system refuses in practice) a signal still ends the process, and finished
/// points are kept.
pub fn install() {
    keep_hangups_ignored();
    let _ = ctrlc::set_handler(|| {
        let since = SINCE.get_or_init(Instant::now);
        if STOP.raised() {
            if since.elapsed() >= ONE_MOMENT {
                exit(code());
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
        // Without a thread to spare a second signal ends it.
        let _ = thread::Builder::new().spawn(|| {
            thread::sleep(Duration::from_millis(PATIENCE_MS.load(Ordering::SeqCst)));
            end("interrupted: what was under way did not stop in time, so it is not reported; \
                 what was finished is kept where there is an --out DIR\n");
        });
    });
}

/// From here on a signal raises the flag instead of ending the process: for commands that look at it.
pub fn watch() -> &'static Stop {
    HEEDED.store(true, Ordering::SeqCst);
    &STOP
}

/// The same for a command that starts processes and ends them again.
pub fn watch_with_processes() -> &'static Stop {
    PATIENCE_MS.store(PATIENCE_WITH_PROCESSES.as_millis() as u64, Ordering::SeqCst);
    watch()
}

/// The same, for a command that serves others until somebody stops it: requests under way are ended first,
/// and to have been stopped is no failure.
pub fn watch_to_the_end() -> &'static Stop {
    PATIENCE_MS.store(ENDLESS, Ordering::SeqCst);
    watch()
}

fn is_endless() -> bool {
    PATIENCE_MS.load(Ordering::SeqCst) == ENDLESS
}

/// How a command ended, where a signal came while it did: that it was complete by then, nobody can rely on.
pub fn marked(exit: Exit) -> Exit {
    match exit {
        Exit::Done | Exit::GateNotMet if STOP.raised() && !is_endless() => Exit::Interrupted,
        exit => exit,
    }
}

fn end(words: &str) -> ! {
    progress::aside(|| screen::say(words));
    exit(code())
}

fn code() -> i32 {
    i32::from(Exit::Interrupted.code())
}

/// Who started us with SIGHUP ignored (`nohup`) wants to hang up and have the run go on. The handler is for
/// all three signals or for none, so this one is kept from coming.
#[cfg(unix)]
fn keep_hangups_ignored() {
    use nix::sys::signal::{SigSet, Signal};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if ignores_hangups(&status) {
        let mut hangups = SigSet::empty();
        hangups.add(Signal::SIGHUP);
        // Refused only for masks that no system knows.
        let _ = hangups.thread_block();
    }
}

#[cfg(not(unix))]
fn keep_hangups_ignored() {}

/// Whether `/proc/self/status` says so: its mask of ignored signals has a bit for each, from signal 1, which
/// is SIGHUP.
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

//! Ctrl-C: the first one stops cleanly and keeps what is done, the second one ends the process at once.
//!
//! Some parents (`timeout`, package runners) send a signal to a process and then to its whole group: what comes within the
//! same moment is one signal, not two.
//!
//! SIGTERM and SIGHUP keep their usual meaning: they end the process, finished runs under `--out` stay, and `nohup` works.

// A face may look at the clock; nothing it reads there reaches a result.
#![allow(clippy::disallowed_methods)]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use campaign::Stop;

use crate::exit::Exit;
use crate::{progress, screen};

/// Raised by the first Ctrl-C.
static STOP: Stop = Stop::new();

/// When it was raised.
static SINCE: OnceLock<Instant> = OnceLock::new();

/// Nobody presses two keys twice in this time.
const ONE_MOMENT: Duration = Duration::from_millis(250);

/// From here on a signal raises the flag instead of ending the process. Called once, by the commands that heed it.
///
/// Without a handler (which no system refuses in practice) Ctrl-C still ends the process, and finished points are kept.
pub fn watch() -> &'static Stop {
    let _ = ctrlc::set_handler(|| {
        let since = SINCE.get_or_init(Instant::now);
        if STOP.raised() {
            if since.elapsed() < ONE_MOMENT {
                return;
            }
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        STOP.raise();
        progress::aside(|| screen::say("stopping; press Ctrl-C once more to end at once\n"));
    });
    &STOP
}

//! Ctrl-C: the first one stops cleanly and keeps what is done, the second one ends the process at once.
//!
//! SIGTERM and SIGHUP keep their usual meaning: they end the process, finished runs under `--out` stay, and `nohup` works.

use campaign::Stop;

use crate::exit::Exit;
use crate::{progress, screen};

/// Raised by the first Ctrl-C.
static STOP: Stop = Stop::new();

/// From here on a signal raises the flag instead of ending the process. Called once, by the commands that heed it.
///
/// Without a handler (which no system refuses in practice) Ctrl-C still ends the process, and finished points are kept.
pub fn watch() -> &'static Stop {
    let _ = ctrlc::set_handler(|| {
        if STOP.raised() {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        STOP.raise();
        progress::aside(|| screen::say("stopping; press Ctrl-C once more to end at once\n"));
    });
    &STOP
}

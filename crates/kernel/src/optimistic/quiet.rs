//! Suppresses the messages of panics under speculation, because the events may be undone.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static SPECULATING: Cell<bool> = const { Cell::new(false) };
}

/// Wraps the panic hook once, so that panics of speculating threads print nothing. The panics are kept, and
/// reported as errors if their events commit.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SPECULATING.get() {
                before(info);
            }
        }));
    });
}

/// While a value of this type lives, panics of this thread are not printed.
pub(super) struct Quiet;

impl Quiet {
    pub(super) fn begin() -> Quiet {
        SPECULATING.set(true);
        Quiet
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A panic of the executor itself unwinds past here after its message was due: only the message is
        // lost, which the owner of the thread reports.
        SPECULATING.set(false);
    }
}

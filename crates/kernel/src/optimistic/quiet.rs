//! Panics under speculation are not news: they may never have happened. So they must not be printed.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static SPECULATING: Cell<bool> = const { Cell::new(false) };
}

/// Wraps the panic hook once, so that panics of speculating threads pass in silence. They are kept, and
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

/// While this lives, panics of this thread are not printed.
pub(super) struct Quiet;

impl Quiet {
    pub(super) fn begin() -> Quiet {
        SPECULATING.set(true);
        Quiet
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A panic that leaves the executor itself unwinds past here after its message was due: nothing is
        // lost but the message, which the thread's owner reports.
        SPECULATING.set(false);
    }
}

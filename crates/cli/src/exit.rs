//! Exit codes of a command.

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything requested is done.
    Done,
    /// A failure that is not caused by the input.
    Failed,
    /// The input must be changed.
    BadInput,
    /// A gate was not met.
    GateNotMet,
    /// It was stopped by a signal.
    Interrupted,
}

impl Exit {
    /// The exit code.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::BadInput => 2,
            Exit::GateNotMet => 3,
            // 128 + SIGINT, as shells have it.
            Exit::Interrupted => 130,
        }
    }
}

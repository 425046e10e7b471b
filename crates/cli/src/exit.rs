//! How a command ends, and what stands in its way.

use std::process::ExitCode;

use scenario::{Problem, Problems};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for is done.
    Done,
    /// Something went wrong that is not the input's fault.
    Failed,
    /// The input must be changed.
    BadInput,
    /// A gate was not met.
    GateNotMet,
    /// Somebody stopped it.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
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

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command cannot go on.
#[derive(Debug)]
pub enum Trouble {
    /// The input must be changed.
    Input(Problems),
    /// It is not the input's fault.
    Failed(Problem),
}

impl From<Problems> for Trouble {
    fn from(problems: Problems) -> Trouble {
        Trouble::Input(problems)
    }
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Trouble {
        Trouble::Input(problem.into())
    }
}

impl Trouble {
    /// A failure told by an error's own words, which end in a next step where there is one.
    pub fn failed(error: impl std::fmt::Display) -> Trouble {
        Trouble::Failed(told(error))
    }

    /// The same, where the input is to blame.
    pub fn input(error: impl std::fmt::Display) -> Trouble {
        told(error).into()
    }
}

fn told(error: impl std::fmt::Display) -> Problem {
    let text = error.to_string();
    match text.split_once(units::HINT_MARK) {
        Some((message, hint)) => Problem::new(message).hint(hint),
        None => Problem::new(text),
    }
}

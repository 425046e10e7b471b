//! How a command ends, and what stands in its way.

use std::process::ExitCode;

use towtank_scenario::{Problem, Problems};

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

/// Libraries put the next step behind the message; `hint:` gives it a line of its own.
fn told(error: impl std::fmt::Display) -> Problem {
    let text = without_numbers(&error.to_string());
    match text.split_once(towtank_units::HINT_MARK).or_else(|| text.split_once("; ")) {
        Some((message, hint)) => Problem::new(message).hint(hint),
        None => Problem::new(text),
    }
}

/// A system's error in our form: lower case, and without its number, which says nothing that the words do not.
fn without_numbers(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once(" (os error ") {
        let (ours, theirs) = before
            .rsplit_once(": ")
            .map_or(("", before), |(_, theirs)| (&before[..before.len() - theirs.len()], theirs));
        out.push_str(ours);
        let mut chars = theirs.chars();
        out.extend(chars.next().map(|first| first.to_ascii_lowercase()));
        out.push_str(chars.as_str());
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_of_an_error_becomes_its_hint() {
        let problem = told("cannot write `a`: No space left (os error 28); free some; the rest is kept");
        assert_eq!(problem.message(), "cannot write `a`: no space left");
        assert_eq!(problem.next_step(), Some("free some; the rest is kept"));
    }
}

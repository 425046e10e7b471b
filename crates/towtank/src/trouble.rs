//! Errors of the library, with whether the input is at fault.

use std::fmt;
use std::io;

use towtank_campaign::{StoreError, WriteError};
use towtank_scenario::{Problem, Problems};

/// Why there is no result.
#[derive(Debug)]
pub enum Trouble {
    /// The input must be changed.
    Input(Problems),
    /// The input is not at fault.
    Failed(Problem),
}

/// Only the messages. Places and hints are in the problems.
impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Input(problems) => problems.fmt(f),
            Trouble::Failed(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for Trouble {}

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
    /// A failure with an error's own message, which may end in a hint.
    pub fn failed(error: impl std::fmt::Display) -> Trouble {
        Trouble::Failed(problem_of(error))
    }

    /// The same, where the input is at fault.
    pub fn input(error: impl std::fmt::Display) -> Trouble {
        problem_of(error).into()
    }
}

/// Decides whether the input is at fault for a directory that cannot be used.
impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        match error {
            StoreError::OtherCampaign { .. }
            | StoreError::Foreign { .. }
            | StoreError::NoCampaign { .. }
            | StoreError::NotALock { .. }
            | StoreError::DamagedManifest { .. }
            | StoreError::Write(WriteError::OverInput { .. }) => Trouble::input(error),
            StoreError::Write(WriteError::Directory { ref source, .. }) if is_in_the_way(source) => {
                Trouble::input(error)
            }
            error => Trouble::failed(error),
        }
    }
}

/// Whether a file is in the place of a directory.
fn is_in_the_way(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory)
}

/// Libraries append the hint to the message; this separates it.
fn problem_of(error: impl std::fmt::Display) -> Problem {
    let text = without_numbers(&error.to_string());
    match text.split_once(towtank_units::HINT_MARK).or_else(|| text.split_once("; ")) {
        Some((message, hint)) => Problem::new(message).hint(hint),
        None => Problem::new(text),
    }
}

/// An operating system's error in our form: lower case, and without its number, which adds nothing to the
/// words.
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
        let problem =
            problem_of("cannot write `a`: No space left (os error 28); free some; the rest is kept");
        assert_eq!(problem.message(), "cannot write `a`: no space left");
        assert_eq!(problem.next_step(), Some("free some; the rest is kept"));
    }

    #[test]
    fn trouble_says_all_its_problems() {
        let mut problems = Problems::from(Problem::new("`seed` is no number").hint("write one"));
        assert_eq!(Trouble::from(problems.clone()).to_string(), "`seed` is no number");
        problems.push(Problem::new("`span` is missing"));
        assert_eq!(Trouble::from(problems).to_string(), "`seed` is no number; `span` is missing");
        assert_eq!(Trouble::failed("a disk is full; free some").to_string(), "a disk is full");
    }
}

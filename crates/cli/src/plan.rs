//! The commands of a plan, in a file to paste from or to run: `--commands FILE`.

use std::path::Path;

use towtank::{Scenario, Trouble};
use towtank_report::{Label, Report, Standing, Status};
use towtank_scenario::Problem;

use crate::args::RunFlags;
use crate::output_flags::Format;
use crate::{replaced, screen};

/// Where the commands of the plan go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commands<'a>(pub &'a Path);

/// What must be known before the commands are run, as comments: a state that is not safe, at risk or not
/// known, and what the plan leaves out. Empty where there is nothing of it.
fn head(report: &Report) -> String {
    let graver = |standing: &&Standing| standing.status() > Status::Safe;
    let verdict = report.answer.verdict.as_ref().filter(graver).map(Standing::sentence);
    let left_out = report.answer.lines.iter().filter(|line| line.label == Label::LeavesOut);
    let left_out = left_out.map(|line| format!("{}: {}", line.label.word(), line.text));
    verdict.into_iter().chain(left_out).map(|line| format!("# {line}\n")).collect()
}

impl Commands<'_> {
    /// Refuses, before the runs, what has no single plan.
    ///
    /// # Errors
    /// If the study plans no commands, there are several plans or a part of one, or they have no place to go.
    pub fn check(self, scenario: &Scenario, flags: &RunFlags) -> Result<(), Problem> {
        let refused = |message: String, hint: &str| Err(Problem::new(message).hint(hint));
        let study = scenario.study();
        if !study.lists_commands() {
            let message = format!("--commands is given, but the study `{}` plans no commands", study.name());
            return refused(message, "leave it out; `towtank balance` plans commands");
        }
        let points = scenario.resolved().points().len();
        if points > 1 {
            let message = format!("--commands writes one plan, but the scenario has {points} points");
            return refused(message, "run one of them alone, with --set in place of the sweep");
        }
        if flags.shard.is_some() {
            return refused(
                "--commands needs a report, which a part has not".to_owned(),
                "leave out --shard",
            );
        }
        if self.0.is_dir() {
            let message = format!("`{}` is a directory", self.0.display());
            return refused(message, "name a file to write the commands to, or `-` for stdout");
        }
        if self.are_printed() && flags.output.format != Format::Text {
            let message = "`--commands -` and `--format` both print to stdout".to_owned();
            return refused(message, "leave one of them out, or name a file: --commands FILE");
        }
        // The directory is looked for before the run, which may take long.
        let directory = self.0.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(missing) = directory.filter(|parent| !parent.is_dir()) {
            let message =
                format!("cannot write `{}`: there is no directory `{}`", self.0.display(), missing.display());
            return refused(message, "make the directory, or name another file");
        }
        Ok(())
    }

    /// Whether stdout gets the commands, and nothing else.
    #[must_use]
    pub(crate) fn are_printed(self) -> bool {
        self.0 == Path::new("-")
    }

    /// Writes the commands that the report lists, one per line, below what must be known before they are run.
    ///
    /// # Errors
    /// If the file cannot be written, or is an input.
    pub fn write(self, report: &Report, scenario: &Scenario, quiet: bool) -> Result<(), Trouble> {
        let lines: Vec<String> =
            report.commands().map_or(Vec::new(), |all| all.map(|command| format!("{command}\n")).collect());
        let text = head(report) + &lines.concat();
        if self.are_printed() {
            return screen::print(&text)
                .map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")));
        }
        replaced::put(self.0, text.as_bytes(), scenario.inputs().clone())?;
        if !quiet {
            let count = lines.len();
            let what = if count == 1 { "command" } else { "commands" };
            screen::say(&format!("{count} {what}: {}\n", self.0.display()));
        }
        Ok(())
    }
}

//! The output of a study's own subcommand, as a report.

use serde_json::{Value, json};
use towtank_report::{Answer, Report};
use towtank_scenario::hash_of_bytes;
use towtank_study::{Given, Output, Study, Subcommand};

use crate::{Trouble, laws};

/// The report of an output: nothing was simulated, and the given values stand in place of a scenario.
///
/// # Errors
/// When the report breaks a law of reports, which is an error of ours.
pub fn report_of(
    study: &dyn Study,
    subcommand: &Subcommand,
    given: &Given<'_>,
    output: &Output,
) -> Result<Report, Trouble> {
    let flags = given.0.iter().map(|(flag, value)| ((*flag).to_owned(), json!(value)));
    let flags = Value::Object(flags.collect());
    let scenario = json!({ "study": study.name(), "subcommand": subcommand.name, "flags": flags });
    of_answer(study, (subcommand.name, subcommand.about), scenario, output)
}

/// The report of the result of a command with this name and purpose for a scenario.
pub(crate) fn of_answer(
    study: &dyn Study,
    (name, about): (&str, &str),
    scenario: Value,
    output: &Output,
) -> Result<Report, Trouble> {
    laws::hold(Report {
        study: format!("{}-{name}", study.name()),
        results_version: study.results_version(),
        title: about.to_owned(),
        answer: Answer::of(output.text.lines().next().unwrap_or_default()),
        scenario_hash: hash_of_bytes(scenario.to_string().as_bytes()),
        scenario,
        replicates: 0,
        tables: output.tables.clone(),
        figures: output.figures.clone(),
        ..Report::default()
    })
}

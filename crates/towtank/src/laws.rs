//! Checks the laws of reports on every report before it is returned.

use towtank_report::{Report, laws};
use towtank_scenario::Problem;

use crate::Trouble;

/// The report itself if it keeps all laws.
///
/// # Errors
/// When the report breaks a law: it is wrong and not returned, and the error is ours.
pub fn hold(report: Report) -> Result<Report, Trouble> {
    let broken = laws(&report);
    let Some(first) = broken.first() else { return Ok(report) };
    let more = match broken.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let Report { towtank, study, scenario_hash, seed, .. } = &report;
    let hint = format!(
        "this is an error in towtank and not in your input; please report it with the scenario and this line\n\
         replay: towtank {towtank}, study {study}, scenario {scenario_hash}, seed {seed}"
    );
    Err(Trouble::Failed(
        Problem::new(format!("the results cannot be right, so they are not shown: {first}{more}")).hint(hint),
    ))
}

#[cfg(test)]
mod tests {
    use towtank_report::Measure;

    use super::*;

    #[test]
    fn a_broken_law_is_reported_with_its_numbers_and_the_line_that_replays_it() {
        let mut report = Report { study: "rebuild".to_owned(), seed: 7, ..Report::default() };
        report.scenario_hash = "abc".to_owned();
        assert!(hold(report.clone()).is_ok());
        report.summary.insert("uplink_busy_max".to_owned(), Measure::new(1.03, "fraction", 1));
        report.summary.insert("transfer_s".to_owned(), Measure::new(-1.0, "s", 1));
        let Err(Trouble::Failed(problem)) = hold(report) else { panic!("it is no failure of ours") };
        let law = "a share is between 0 and 1, but `uplink_busy_max` is 1.03 (and 1 more)";
        assert_eq!(problem.message(), format!("the results cannot be right, so they are not shown: {law}"));
        let hint = problem.next_step().expect("it says what to do");
        let replay =
            format!("replay: towtank {}, study rebuild, scenario abc, seed 7", env!("CARGO_PKG_VERSION"));
        assert!(hint.ends_with(&replay), "{hint}");
    }
}

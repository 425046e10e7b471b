//! Gates over a whole report: an expression is evaluated at every point of a sweep, and one failure is
//! enough.

use towtank_report::{Measure, Ordered, Report};
use towtank_scenario::gate::{Gate, Judgement, Reading};

/// The reasons why a gate is not met, one line each, with the point if there is a sweep. Empty if it is met.
///
/// A report without finished runs has no values, and missing values never meet a gate.
#[must_use]
pub fn unmet(gate: &Gate, report: &Report) -> Vec<String> {
    // A report on measurements has no replicates; its intervals are of loads that were measured repeatedly.
    let once = (report.replicates == 0).then_some(MEASURED_ONCE);
    if report.sweep.is_empty() {
        return unmet_by(gate, &report.summary, once);
    }
    let lines = report.points.iter().flat_map(|point| {
        let at = move |reason: String| format!("{}: {reason}", point.label);
        unmet_by(gate, &point.summary, once).into_iter().map(at)
    });
    lines.collect()
}

/// Why a value from measurements has no interval.
const MEASURED_ONCE: &str =
    "an interval takes loads that were measured at least twice; repeat the measurements";

fn unmet_by(gate: &Gate, summary: &Ordered<Measure>, no_interval: Option<&str>) -> Vec<String> {
    match gate.judge(|name| summary.get(name).map(|measure| reading(measure, no_interval))) {
        Judgement::Met => Vec::new(),
        Judgement::NotMet(reasons) => reasons,
    }
}

fn reading(measure: &Measure, no_interval: Option<&str>) -> Reading {
    Reading {
        value: measure.value(),
        low: measure.low(),
        high: measure.high(),
        reason: measure
            .reason()
            .or(no_interval.filter(|_| measure.value().is_some()))
            .or(measure.no_interval().map(|spread| spread.reason.as_str()))
            .map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use towtank_scenario::gate::Known;

    use super::*;
    use crate::{Ledger, Task, assemble, examples};

    fn known() -> [Known<'static>; 2] {
        [Known::new("span_s", "s"), Known::new("lost_bytes", "bytes")]
    }

    fn report(servers: &[u32], replicates: u32) -> Report {
        let plan = examples::plan(servers, replicates);
        let mut ledger = Ledger::new(&plan);
        for Task { point, replicate } in plan.tasks() {
            ledger.enter(Task { point, replicate }, examples::outcome(&plan.points()[point], replicate));
        }
        assemble(&plan, ledger, "sequential").report
    }

    fn lines(text: &str, report: &Report) -> String {
        unmet(&Gate::parse("--fail-if", text, &known()).unwrap(), report).join("\n")
    }

    #[test]
    fn one_point_that_trips_is_enough() {
        let sweep = report(&[8, 16], 3);
        assert_eq!(lines("span_s > 1s", &sweep), "");
        insta::assert_snapshot!(lines("span_s > 50ms", &sweep), @"servers=8: `span_s` is 0.08333333333333333 s, which is > 50ms");
        insta::assert_snapshot!(lines("span_s.high > 80ms", &report(&[8], 3)), @"`span_s.high` is 0.2885641692817826 s, which is > 80ms");
    }

    #[test]
    fn what_has_no_value_meets_no_gate() {
        insta::assert_snapshot!(lines("lost_bytes < 1", &report(&[8], 1)), @"`lost_bytes` has no value: no disk failed");
        insta::assert_snapshot!(lines("span_s.low < 1", &report(&[9], 1)), @"`span_s.low` has no value: an interval takes at least 2 replicates");
        let measured = Report { replicates: 0, ..report(&[9], 1) };
        insta::assert_snapshot!(lines("span_s.low < 1", &measured), @"`span_s.low` has no value: an interval takes loads that were measured at least twice; repeat the measurements");
        let plan = examples::plan(&[8], 1);
        let nothing = assemble(&plan, Ledger::new(&plan), "sequential").report;
        insta::assert_snapshot!(lines("span_s < 1", &nothing), @"`span_s` has no value");
    }
}

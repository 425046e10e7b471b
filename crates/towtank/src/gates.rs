//! Gates (`--fail-if`): parsed before anything runs, judged on the finished report.

use towtank_campaign::Shard;
use towtank_report::Report;
use towtank_scenario::gate::{Gate, Known};
use towtank_scenario::{Problem, Problems};
use towtank_study::{MeasureSpec, Study};

/// A gate that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The gate as given to the command: `--fail-if 'span_s > 1s'`.
    pub gate: String,
    /// The reasons, one line for each point at which it is not met.
    pub reasons: Vec<String>,
}

/// Parses gates on the measures of a study. A measure that one of these points cannot have is refused;
/// without points, all that the study may have are known.
pub(crate) fn of_study<'a>(
    study: &dyn Study,
    points: impl Iterator<Item = &'a serde_json::Value>,
    texts: &[String],
) -> (Vec<Gate>, Problems) {
    if texts.is_empty() {
        return (Vec::new(), Problems::new());
    }
    let points: Vec<&serde_json::Value> = points.collect();
    let measures = with_reasons(study, &points);
    read(&known(&measures), texts)
}

/// The measures of a study, each with the reason why one of these points cannot have it.
pub(crate) fn with_reasons(
    study: &dyn Study,
    points: &[&serde_json::Value],
) -> Vec<(MeasureSpec, Option<String>)> {
    let of_points: Vec<Vec<MeasureSpec>> = points.iter().map(|point| study.measures_of(point)).collect();
    let lacking = |measure: &MeasureSpec| {
        let found: Vec<String> = points
            .iter()
            .zip(&of_points)
            .filter_map(|(point, own)| match own.iter().any(|one| one.name == measure.name) {
                true => study.lacks(point, measure.name),
                false => Some(not_of(study, measure, own)),
            })
            .collect();
        let first = found.first()?;
        Some(match (found.len(), points.len()) {
            (lacking, all) if lacking == all => first.clone(),
            (lacking, all) => format!("at {lacking} of {all} points, {first}"),
        })
    };
    let all = measures(study, points.iter().copied());
    all.into_iter().map(|measure| (measure, lacking(&measure))).collect()
}

/// Why a point does not have a measure that the study has elsewhere.
fn not_of(study: &dyn Study, measure: &MeasureSpec, own: &[MeasureSpec]) -> String {
    let alike = own.iter().find(|one| {
        measure.name.ends_with(&format!("_{}", one.name)) || one.name.ends_with(&format!("_{}", measure.name))
    });
    match alike {
        Some(alike) => format!("its name here is `{}`", alike.name),
        None => format!("other scenarios of `{}` have it", study.name()),
    }
}

/// Measures as gates know them.
pub(crate) fn known(measures: &[(MeasureSpec, Option<String>)]) -> Vec<Known<'_>> {
    measures
        .iter()
        .map(|(measure, never)| Known {
            name: measure.name,
            unit: measure.unit,
            domain: measure.interval.domain(measure.unit),
            never: never.as_deref(),
            no_interval: measure.interval.reason(),
            formerly: measure.formerly,
        })
        .collect()
}

/// The measures of a study: first those that every scenario has, then those of these points.
pub(crate) fn measures<'a>(
    study: &dyn Study,
    points: impl Iterator<Item = &'a serde_json::Value>,
) -> Vec<MeasureSpec> {
    let mut all = study.measures().to_vec();
    for measure in points.flat_map(|point| study.measures_of(point)) {
        if all.iter().all(|known| known.name != measure.name) {
            all.push(measure);
        }
    }
    all
}

/// Parses gates on these measures; also returns the problems.
#[must_use]
pub fn read(known: &[Known<'_>], texts: &[String]) -> (Vec<Gate>, Problems) {
    let (mut gates, mut problems) = (Vec::new(), Problems::new());
    for text in texts {
        match Gate::parse("--fail-if", text, known) {
            Ok(gate) => gates.push(gate),
            Err(found) => problems.extend(found),
        }
    }
    (gates, problems)
}

/// Refuses gates for a shard: it has only some of the replicates of each point, so its means are not final.
///
/// # Errors
/// When `shard` is not the whole, and there is a gate.
pub fn refuse_for_part(shard: Shard, first: Option<&str>) -> Result<(), Problem> {
    let Some(gate) = first.filter(|_| !shard.is_whole()) else { return Ok(()) };
    let message = format!("a gate cannot be evaluated on part {shard}: it applies to the whole campaign");
    let hint = format!("pass it to the command that joins the parts: towtank merge DIR… --fail-if '{gate}'");
    Err(Problem::new(message).hint(hint))
}

/// The gates that a whole report does not meet, with the reasons.
#[must_use]
pub fn judge(gates: &[Gate], report: &Report) -> Vec<Unmet> {
    let judged = gates
        .iter()
        .map(|gate| Unmet { gate: gate.text().to_owned(), reasons: towtank_campaign::unmet(gate, report) });
    judged.filter(|unmet| !unmet.reasons.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use towtank_report::Measure;

    use super::*;

    #[test]
    fn only_gates_that_are_not_met_are_named() {
        let known = [Known::new("span_s", "s")];
        let texts = ["span_s > 1s", "span_s > 3s", "span > 1s"].map(str::to_owned);
        let (gates, problems) = read(&known, &texts);
        assert_eq!((gates.len(), problems.len()), (2, 1));
        let mut report = Report::default();
        report.summary.insert("span_s".to_owned(), Measure::new(2.0, "s", 1));
        let unmet = judge(&gates, &report);
        assert_eq!(unmet.len(), 1);
        assert_eq!(unmet[0].gate, "--fail-if 'span_s > 1s'");
        assert_eq!(unmet[0].reasons, ["`span_s` is 2 s, which is > 1s"]);
    }

    #[test]
    fn a_part_has_no_gates() {
        let part = Shard::new(1, 2).unwrap();
        assert!(refuse_for_part(part, None).is_ok());
        assert!(refuse_for_part(Shard::WHOLE, Some("a > 1")).is_ok());
        let refused = refuse_for_part(part, Some("a > 1")).unwrap_err();
        assert_eq!(
            refused.message(),
            "a gate cannot be evaluated on part 1/2: it applies to the whole campaign"
        );
    }
}

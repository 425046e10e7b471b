//! The measures of each class of jobs, where there are several, with their closed forms.

use super::model::Times;
use super::observed::{NO_JOB, Seen, Shown, measures, quantile, seconds};
use super::scenario::Settled;
use super::theory::Theory;
use towtank_study::Measure;

/// A measure of every class, as [`super::observed::Row`] is one of all jobs.
struct Row {
    name: &'static str,
    about: &'static str,
    value: fn(&Times) -> Option<f64>,
    theory: fn(&Theory, usize) -> Option<f64>,
}

/// The measures of a class; all are times in seconds.
const ROWS: &[Row] = &[
    Row {
        name: "wait_mean",
        about: "mean wait of a visit to a station by jobs of this class",
        value: |class| seconds(class.waits.mean()),
        theory: Theory::wait_mean_of,
    },
    Row {
        name: "wait_p99",
        about: "99th percentile of the wait of a visit by jobs of this class",
        value: |class| quantile(&class.waits, 0.99),
        theory: |_, _| None,
    },
    Row {
        name: "sojourn_mean",
        about: "mean time of a job of this class from its first station to the end of its last service",
        value: |class| seconds(class.sojourns.mean()),
        theory: Theory::sojourn_mean_of,
    },
    Row {
        name: "sojourn_p99",
        about: "99th percentile of the sojourn time of jobs of this class",
        value: |class| quantile(&class.sojourns, 0.99),
        theory: |_, _| None,
    },
];

/// The measures of the classes, with their closed forms.
pub fn shown<'a>(settled: &'a Settled, theory: &'a Theory) -> impl Iterator<Item = Shown> + 'a {
    settled.classes.iter().enumerate().flat_map(move |(at, class)| {
        ROWS.iter().map(move |row| Shown {
            name: format!("{}[{}]", row.name, class.name),
            unit: "s",
            about: row.about,
            theory: (row.theory)(theory, at),
        })
    })
}

/// The measures of all jobs, and those of each class.
pub fn measures_of(settled: &Settled) -> Vec<Measure<Seen>> {
    let mut all = measures();
    for (at, class) in settled.classes.iter().enumerate() {
        all.extend(ROWS.iter().map(|row| {
            let value = move |seen: &Seen| {
                seen.observed.classes.get(at).and_then(row.value).ok_or_else(|| NO_JOB.to_owned())
            };
            Measure::new(format!("{}[{}]", row.name, class.name), "s", row.about, value)
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_metrics::Histogram;
    use towtank_study::testing::by_hand;
    use towtank_units::SimSpan;

    #[test]
    fn each_class_has_its_own_values() {
        let histogram = |seconds: &[u64]| {
            let mut histogram = Histogram::new();
            seconds.iter().for_each(|seconds| histogram.record(SimSpan::from_secs(*seconds).as_ns()));
            histogram
        };
        let class = |waits: &[u64], sojourns: &[u64]| Times {
            waits: histogram(waits),
            responses: histogram(&[9]),
            sojourns: histogram(sojourns),
        };
        let classes = vec![class(&[0, 1, 2], &[2, 3, 7]), class(&[4, 5, 18], &[10, 11, 30])];
        let observed = super::super::observed::Observed {
            span: SimSpan::from_secs(1),
            stations: Vec::new(),
            sojourns: Histogram::new(),
            classes,
        };
        let seen = Seen { observed, steps: Vec::new() };
        let text = "study = \"queue\"\nwarm_up = \"1s\"\nspan = \"1s\"\n\
            classes = [{ name = \"a\", share = \"50%\" }, { name = \"b\", share = \"50%\" }]\n\
            stations.s = { service_rate = \"1/s\", arrival_rate = \"0.5/s\" }";
        let settled = super::super::tests::settled(text);
        let of_classes = || measures_of(&settled).split_off(measures().len());
        let expected = [
            ("wait_mean[a]", 1.0),
            ("wait_p99[a]", 2.0),
            ("sojourn_mean[a]", 4.0),
            ("sojourn_p99[a]", 7.0),
            ("wait_mean[b]", 9.0),
            ("wait_p99[b]", 18.0),
            ("sojourn_mean[b]", 17.0),
            ("sojourn_p99[b]", 30.0),
        ];
        by_hand::hold(of_classes, &seen, &expected);
    }
}

//! Each law is broken on purpose once, and the violation is found.

use super::*;
use crate::{ClaimDraft, Column, PointSummary, Tolerance, sample};

fn with(measures: &[(&str, Measure)]) -> Report {
    let summary = measures.iter().map(|(name, measure)| ((*name).to_owned(), measure.clone())).collect();
    Report { summary, replicates: 3, ..Report::default() }
}

fn measure(value: f64, unit: &str) -> Measure {
    Measure::new(value, unit, 3)
}

/// The report breaks exactly one law, which begins with `law`.
fn breaks(report: &Report, law: &str, found: &str) {
    let broken = laws(report);
    assert_eq!(broken.len(), 1, "{broken:#?}");
    assert!(broken[0].law.starts_with(law), "{}", broken[0]);
    assert_eq!(broken[0].found, found);
}

fn keeps(report: &Report) {
    assert_eq!(laws(report), []);
}

#[test]
fn reports_that_are_right_break_nothing() {
    keeps(&sample::rebuild());
    keeps(&sample::queue());
    keeps(&Report::default());
}

#[test]
fn a_share_above_one_or_below_zero_is_found() {
    keeps(&with(&[("ideal_share", measure(1.0 + 1e-12, "fraction"))]));
    breaks(&with(&[("ideal_share", measure(6.27, "fraction"))]), "a share", "`ideal_share` is 6.27");
    breaks(&with(&[("busy", measure(-0.1, "fraction"))]), "a share", "`busy` is -0.1");
    keeps(&with(&[("load_max", measure(6.27, "ratio"))]));
}

#[test]
fn a_share_above_one_in_a_point_or_a_table_is_found() {
    let summary = with(&[("uplink_busy_max", measure(1.03, "fraction"))]).summary;
    let point = PointSummary {
        settings: Ordered::new(),
        label: "servers=8".to_owned(),
        summary,
        digest: None,
        partial: false,
    };
    let report = Report { points: vec![point], replicates: 3, ..Report::default() };
    breaks(&report, "a share", "`uplink_busy_max` at servers=8 is 1.03");
    let mut table = Table::new("uplinks", "Uplinks", vec![Column::number("busy", "fraction")]);
    table.push(vec![0.5.into()]);
    table.push(vec![Cell::missing("it was down")]);
    table.push(vec![1.9.into()]);
    let report = Report { tables: vec![table], ..Report::default() };
    breaks(&report, "a share", "`busy` in the table `uplinks` is 1.9");
}

#[test]
fn uneven_flows_and_names_that_do_not_tell_them_apart_are_found() {
    type Damage = fn(&mut Kind);
    let check = |damage: Damage, law: &str, said: &str| {
        let mut report = sample::rebuild();
        let chord = report.figures.iter_mut().find(|figure| matches!(figure.kind, Kind::Chord { .. }));
        damage(&mut chord.expect("the sample has one").kind);
        let broken = laws(&report);
        assert!(broken.len() == 1 && broken[0].law.starts_with(law), "{broken:#?}");
        assert!(broken[0].found.contains(said), "{}", broken[0]);
    };
    let uneven = "a chord diagram has a row and a column";
    check(
        |kind| {
            let Kind::Chord { matrix, .. } = kind else { return };
            matrix[3].pop();
        },
        uneven,
        "`replicate 1, the slowest` of the figure `flows`",
    );
    check(
        |kind| {
            let Kind::Chord { others, .. } = kind else { return };
            others[1].labels.pop();
        },
        uneven,
        "`replicate 2` of the figure `flows`",
    );
    let apart = "flows to choose from have different names";
    check(
        |kind| {
            let Kind::Chord { others, name, .. } = kind else { return };
            others[0].name.clone_from(name);
        },
        apart,
        "there twice",
    );
    check(
        |kind| {
            let Kind::Chord { name, .. } = kind else { return };
            name.clear();
        },
        apart,
        "is empty",
    );
}

#[test]
fn a_negative_count_or_time_is_found() {
    breaks(
        &with(&[("lost_objects", measure(-1.0, "objects"))]),
        "times, sizes",
        "`lost_objects` is -1 objects",
    );
    breaks(&with(&[("transfer_s", measure(-0.5, "s"))]), "times, sizes", "`transfer_s` is -0.5 s");
    keeps(&with(&[("difference", measure(-0.5, "ratio")), ("growth", measure(-3.0, "%"))]));
}

#[test]
fn a_value_outside_its_interval_is_found() {
    let outside = measure(5.0, "s").with_interval(1.0, 4.0);
    breaks(&with(&[("span", outside)]), "a value is within", "`span` is 5 in 1 to 4");
}

#[test]
fn a_mean_over_more_replicates_than_there_are_is_found() {
    let many = Measure::new(5.0, "s", 4);
    breaks(&with(&[("span", many)]), "a mean covers", "`span` is a mean over 4 of 3");
}

#[test]
fn a_rate_above_its_bound_is_found() {
    let rates = |rate: f64, n: u32| {
        let bound = Measure::new(9.0, "bytes/s", n);
        with(&[
            ("aggregate_rate_bytes_per_s", measure(rate, "bytes/s")),
            ("bound_rate_bytes_per_s", bound.clone()),
        ])
    };
    keeps(&rates(9.0, 3));
    let found = "`aggregate_rate_bytes_per_s` is 10 and `bound_rate_bytes_per_s` 9";
    breaks(&rates(10.0, 3), "a bound on a rate", found);
    // Means over different numbers of replicates are not compared.
    keeps(&rates(10.0, 2));
}

#[test]
fn quantiles_that_fall_are_found() {
    let names = ["wait_p50_us", "wait_p99_us", "wait_p999_us"];
    let of = |values: [f64; 3]| {
        let all: Vec<_> =
            names.iter().zip(values).map(|(name, value)| (*name, measure(value, "us"))).collect();
        with(&all)
    };
    keeps(&of([1.0, 2.0, 3.0]));
    breaks(&of([1.0, 4.0, 3.0]), "quantiles do not decrease", "`wait_p99_us` is 4 and `wait_p999_us` 3");
    breaks(&of([3.0, 2.0, 4.0]), "quantiles do not decrease", "`wait_p50_us` is 3 and `wait_p99_us` 2");
    let busy = [("disk_busy_max", measure(0.2, "fraction")), ("disk_busy_mean", measure(0.3, "fraction"))];
    breaks(&with(&busy), "quantiles do not decrease", "`disk_busy_mean` is 0.3 and `disk_busy_max` 0.2");
}

fn claim() -> Claim {
    ClaimDraft {
        name: "rate".to_owned(),
        source: "a paper".to_owned(),
        statement: "the rate is 1".to_owned(),
        unit: String::new(),
        published: Reading::of(1.0),
        ours: Reading::of(1.0),
        tolerance: Tolerance::AtLeast,
        fitted: false,
        note: None,
    }
    .judge()
}

#[test]
fn a_verdict_that_its_numbers_do_not_give_is_found() {
    let claims = |claim| Report { claims: vec![claim], ..Report::default() };
    keeps(&claims(claim()));
    let missing = Claim { ours: Reading::default(), ..claim() };
    breaks(
        &claims(missing),
        "a verdict",
        "the claim `rate` says `holds`, but its numbers give `cannot_tell`",
    );
    let hidden = Claim { verdict: Verdict::Fitted, ..claim() };
    assert_eq!(laws(&claims(hidden)).len(), 1);
    let law = "claims of a run that was stopped";
    let open = claim().not_judged();
    breaks(&claims(open.clone()), law, "the claim `rate` says `not_judged`");
    keeps(&Report { partial: true, ..claims(open.clone()) });
    let runs = Some(Table::new("runs", "Runs", vec![Column::number("replicate", "")]));
    let partial = Report { partial: true, runs, ..claims(claim()) };
    breaks(&partial, law, "the claim `rate` says `holds`");
    keeps(&Report { claims: vec![open], ..partial.clone() });
    // The report of several scenarios, of which one was stopped.
    keeps(&Report { runs: None, ..partial });
    let turned = Claim { ours: Reading::with_range(2.0, 3.0, 4.0), ..claim() };
    breaks(&claims(turned), "a value is within", "`ours` of the claim `rate` is 2 in 3 to 4");
}

#[test]
fn a_headline_or_main_figure_that_is_not_there_is_found() {
    let good = sample::queue();
    breaks(
        &Report { headline: Some("mean_weight".to_owned()), ..good.clone() },
        "the headline",
        "there is no `mean_weight`",
    );
    breaks(&Report { main_figure: Some("head".to_owned()), ..good }, "the main figure", "there is no `head`");
    let of_a_point = |name: &str| Report { headline: Some(name.to_owned()), ..sample::rebuild() };
    keeps(&of_a_point("rebuild_span"));
    breaks(&of_a_point("span"), "the headline", "there is no `span`");
}

#[test]
fn a_title_with_its_unit_or_of_no_measure_is_found() {
    let titled = |name: &str, text: &str| Report {
        titles: [(name.to_owned(), text.to_owned())].into_iter().collect(),
        ..with(&[("wait_mean_s", measure(1.0, "s"))])
    };
    keeps(&titled("wait_mean_s", "Mean wait"));
    breaks(
        &titled("wait_mean_s", "Mean wait s"),
        "a title is in words",
        "`Mean wait s`: it ends with a unit",
    );
    breaks(&titled("wait_s", "Wait"), "a title belongs", "there is no `wait_s`");
}

//! The measures of one replicate: the predictions of the method, their errors, and the results of each rule
//! of admission.

use serde::{Deserialize, Serialize};
use towtank_capacity::{Shares, SizeModel};
use towtank_report::title;

use super::mixes::{counted, model};
use super::runs::{Controlled, Measured, READS, size_model};
use super::scenario::Scenario;
use towtank_study::{Measure, Value};

/// The results of one replicate.
pub struct Seen {
    /// The measurements.
    pub measured: Measured,
    /// The model fitted to the two pure mixes, where both were measured.
    model: Option<SizeModel>,
    /// The results for the mix of sizes, one per way to hold its shares.
    mixed: Vec<Estimated>,
    /// Whether the scenario has a mix of sizes.
    mix: bool,
    /// The target of disk utilisation.
    target: f64,
    /// The reason for values that were not measured.
    nothing: &'static str,
    /// The reason for missing results of a rule of admission.
    uncontrolled: &'static str,
}

/// A run of the mix of sizes, with its estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// What the shares of the mix were held as.
    pub shares: Shares,
    /// Operations per second in the run.
    pub simulated: f64,
    /// The estimate with the shares counted in each way, in the order of [`Shares::ALL`].
    pub counted: [f64; 3],
}

impl Estimated {
    /// The estimate with the shares counted in one way.
    #[must_use]
    pub fn estimate(&self, shares: Shares) -> Option<f64> {
        let at = Shares::ALL.iter().position(|one| *one == shares);
        at.map(|at| self.counted[at])
    }

    /// The relative error of that estimate, positive where it exceeds the measurement.
    #[must_use]
    pub fn error(&self, shares: Shares) -> Option<f64> {
        self.estimate(shares).filter(|_| self.simulated > 0.0).map(|rate| rate / self.simulated - 1.0)
    }
}

/// The way to count shares that [`Shares`] of this way are most likely mistaken for: the paper counts any
/// share as one of capacity.
#[must_use]
pub(super) fn mistaken(shares: Shares) -> Shares {
    match shares {
        Shares::Operations | Shares::Concurrency => Shares::Capacity,
        Shares::Capacity => Shares::Operations,
    }
}

/// The runs of the mix of sizes with their estimates; empty without a mix, or without its measurements.
#[must_use]
pub fn estimated(scenario: &Scenario, measured: &Measured) -> Vec<Estimated> {
    let (Some(mix), Some(mixed)) = (scenario.mix_of_sizes(), &measured.mixed) else { return Vec::new() };
    let Some(model) = model(&mixed.pure) else { return Vec::new() };
    let one = |held: &super::runs::Held| {
        let [operations, concurrency, capacity] =
            Shares::ALL.map(|shares| Some(counted(&model, &mix, shares)?.total.value));
        let counted = [operations?, concurrency?, capacity?];
        Some(Estimated { shares: held.shares, simulated: held.per_second, counted })
    };
    mixed.held.iter().filter_map(one).collect()
}

/// The kept results of a replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The measurements.
    pub measured: Measured,
}

/// How the names of measures of a mix of sizes begin.
pub(super) const MIX: &str = "mix_by_";

/// The rules of admission.
const WAYS: [&str; 3] = ["budget", "fixed", "pid"];

const ONLY_DISKS: &str = "admission control is only for `system = \"disks\"`";
const STOPPED: &str = "the run was stopped before it was measured";
const NO_WINDOW: &str = "no window of `control.window` ends in the measured span";

impl Seen {
    /// The measurements with the model that the method fits to them.
    #[must_use]
    pub fn of(scenario: &Scenario, measured: Measured, partial: bool) -> Seen {
        let nothing = if partial { STOPPED } else { "one of the runs did no operation" };
        let uncontrolled = match scenario.protocol() {
            Some(_) => ONLY_DISKS,
            None => nothing,
        };
        let model = size_model(scenario, &measured.iops);
        let mixed = estimated(scenario, &measured);
        let target = scenario.control.target.fraction_f64();
        let mix = scenario.mix.is_some();
        Seen { measured, model, mixed, mix, target, nothing, uncontrolled }
    }

    /// Operations per second at a share of reads in percent.
    fn rate(&self, reads: u64) -> Value {
        let at = READS.iter().position(|one| *one == reads);
        let rate = at.and_then(|at| self.measured.iops.get(at).copied().flatten());
        self.or_nothing(rate)
    }

    fn reads(&self) -> Value {
        self.model.as_ref().map_or_else(|| self.rate(100), |model| Ok(model.reads.iops.value))
    }

    fn writes(&self) -> Value {
        self.model.as_ref().map_or_else(|| self.rate(0), |model| Ok(model.writes.iops.value))
    }

    fn f_rw(&self) -> Value {
        self.or_nothing(self.model.as_ref().map(SizeModel::f_rw))
    }

    /// The relative error of the estimate, positive where it exceeds the measurement.
    fn error(&self, reads: u64) -> Value {
        let estimate = self.model.as_ref().map(|model| model.straight(reads as f64 / 100.0));
        Ok(self.or_nothing(estimate)? / self.rate(reads)? - 1.0)
    }

    fn error_worst(&self) -> Value {
        [25, 50, 75].iter().try_fold(0.0_f64, |worst, reads| Ok(worst.max(self.error(*reads)?.abs())))
    }

    fn or_nothing(&self, value: Option<f64>) -> Value {
        value.ok_or_else(|| self.nothing.to_owned())
    }

    /// A value of the run of the mix of sizes with its shares held in one way.
    fn of_mix(&self, shares: Shares, value: impl Fn(&Estimated) -> Option<f64>) -> Value {
        let found = self.mixed.iter().find(|one| one.shares == shares);
        self.or_nothing(found.and_then(value))
    }

    /// The results of a rule of admission.
    fn way(&self, name: &str) -> Result<&Controlled, String> {
        let found = self.measured.controlled.iter().find(|one| one.name == name);
        found.ok_or_else(|| self.uncontrolled.to_owned())
    }
}

type Row = Measure<Seen>;

/// All measures: of the method, and of each rule of admission.
pub fn measures() -> Vec<Row> {
    let mut measures = of_the_method();
    measures.extend(WAYS.into_iter().flat_map(of_a_way));
    measures.extend(Shares::ALL.into_iter().flat_map(of_shares));
    measures
}

/// Why this scenario has no value of a measure, whatever happens in its runs.
#[must_use]
pub fn lacks(settled: &Scenario, measure: &str) -> Option<&'static str> {
    let of_a_way = WAYS.iter().any(|way| measure.strip_prefix(way).is_some_and(|rest| rest.starts_with('_')));
    if measure.starts_with(MIX) && settled.mix.is_none() {
        Some("there is no mix of sizes: `mix` is not set")
    } else if of_a_way && settled.protocol().is_some() {
        Some(ONLY_DISKS)
    } else {
        None
    }
}

/// The measures of the mix of sizes with its shares held in one way; left out without a mix.
fn of_shares(shares: Shares) -> [Row; 4] {
    let (name, other) = (shares.name(), mistaken(shares).name());
    let row = |what: &str, unit, about, title: String, value: fn(Shares, &Estimated) -> Option<f64>| {
        let measure = format!("{MIX}{name}_{what}");
        Row::new(measure, unit, about, move |seen: &Seen| seen.of_mix(shares, |one| value(shares, one)))
            .titled(title)
            .only_where(|seen| seen.mix)
    };
    let error = |what: &str, about, title: String, value: fn(Shares, &Estimated) -> Option<f64>| {
        row(what, "share", about, title, value).signed()
    };
    [
        row(
            "per_second",
            "operations/s",
            "rate of the mix of sizes, with its shares held in this way",
            format!("Rate of the mix, shares of {name}"),
            |_, one| Some(one.simulated),
        ),
        row(
            "estimate",
            "operations/s",
            "estimate of that rate, with the shares counted in the same way",
            format!("Estimate of the mix, shares of {name}"),
            |shares, one| one.estimate(shares),
        ),
        error(
            "error",
            "that estimate over the rate, minus 1",
            format!("Error of the mix, shares of {name}"),
            |shares, one| one.error(shares),
        ),
        error(
            "error_miscounted",
            "the same if shares of operations or concurrency are counted as of capacity, and those of capacity as of operations",
            format!("Error of the mix, shares of {name} counted as of {other}"),
            |shares, one| one.error(mistaken(shares)),
        ),
    ]
}

fn of_the_method() -> Vec<Row> {
    vec![
        Row::new(
            "reads_per_second",
            "operations/s",
            "rate of pure reads, T100r: the constant C",
            Seen::reads,
        )
        .titled("Rate of pure reads"),
        Row::new("writes_per_second", "operations/s", "rate of pure writes, T100w", Seen::writes)
            .titled("Rate of pure writes"),
        Row::new("f_rw", "", "cost of a write, in reads", Seen::f_rw).titled("Cost of a write, in reads"),
        Row::new("error_25", "share", "estimate at 25 % reads over the measured rate, minus 1", |seen| {
            seen.error(25)
        })
        .titled("Error at 25 % reads")
        .signed(),
        Row::new("error_50", "share", "the same at 50 % reads", |seen| seen.error(50))
            .titled("Error at 50 % reads")
            .signed(),
        Row::new("error_75", "share", "the same at 75 % reads", |seen| seen.error(75))
            .titled("Error at 75 % reads")
            .signed(),
        Row::new("error_worst", "share", "largest absolute value of the three", Seen::error_worst)
            .titled("Largest error of a mix"),
    ]
}

fn no_window(value: Option<f64>) -> Value {
    value.ok_or_else(|| NO_WINDOW.to_owned())
}

fn of_a_way(way: &'static str) -> [Row; 5] {
    let row = |name: &str, unit, about, value: fn(&Seen, &Controlled) -> Value| {
        let title = format!("{}, with {way}", title::of(name, unit));
        Row::new(format!("{way}_{name}"), unit, about, move |seen| value(seen, seen.way(way)?)).titled(title)
    };
    [
        row("utilisation", "fraction", "utilisation of the disks with this rule of admission", |_, one| {
            no_window(one.utilisation())
        }),
        row("deviation", "fraction", "mean absolute deviation of windows from the target", |seen, one| {
            no_window(one.deviation(seen.target))
        }),
        row("per_second", "operations/s", "operations done per second", |_, one| Ok(one.per_second)),
        row("sent_away", "fraction", "share of operations that were rejected", |seen, one| {
            seen.or_nothing(one.sent_away)
        }),
        row("latency_p99_us", "us", "99th percentile of latency", |seen, one| seen.or_nothing(one.p99_us)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_study::testing::by_hand;

    /// Four reads cost as much as a write, so the model predicts 160 per second for equal shares; three
    /// rules, each with two windows; and a mix of sizes whose ways are in another order than that of the
    /// rows.
    fn seen() -> Seen {
        let scenario: Scenario = serde_json::from_str("{}").expect("every key has a default");
        let way = |name: &str, busy: [f64; 2], rest: f64| Controlled {
            name: name.to_owned(),
            busy: busy.to_vec(),
            per_second: 1_000.0 * rest,
            sent_away: Some(rest / 100.0),
            p99_us: Some(10.0 * rest),
        };
        // In another order than that of the rows: a rule is found by its name.
        let controlled =
            vec![way("pid", [0.2, 0.4], 5.1), way("budget", [0.6, 0.7], 3.0), way("fixed", [0.9, 1.0], 7.0)];
        let iops = [100.0, 100.0, 320.0, 250.0, 400.0].map(Some).to_vec();
        let mut seen = Seen::of(&scenario, Measured { iops, controlled, mixed: None }, false);
        let held = |shares, simulated, counted| Estimated { shares, simulated, counted };
        seen.mixed = vec![
            held(Shares::Capacity, 90e3, [60e3, 61e3, 120e3]),
            held(Shares::Operations, 80e3, [70e3, 71e3, 130e3]),
            held(Shares::Concurrency, 95e3, [72e3, 76e3, 180.5e3]),
        ];
        seen
    }

    #[test]
    fn each_measure_has_its_own_value() {
        let expected = [
            ("reads_per_second", 400.0),
            ("writes_per_second", 100.0),
            ("f_rw", 4.0),
            ("error_25", 400.0 / 3.25 / 100.0 - 1.0),
            ("error_50", -0.5),
            ("error_75", 400.0 / 1.75 / 250.0 - 1.0),
            ("error_worst", 0.5),
            ("budget_utilisation", 0.65),
            ("budget_deviation", 0.05),
            ("budget_per_second", 3_000.0),
            ("budget_sent_away", 0.03),
            ("budget_latency_p99_us", 30.0),
            ("fixed_utilisation", 0.95),
            ("fixed_deviation", 0.25),
            ("fixed_per_second", 7_000.0),
            ("fixed_sent_away", 0.07),
            ("fixed_latency_p99_us", 70.0),
            ("pid_utilisation", 0.3),
            ("pid_deviation", 0.4),
            ("pid_per_second", 5_100.0),
            ("pid_sent_away", 0.051),
            ("pid_latency_p99_us", 51.0),
            ("mix_by_operations_per_second", 80e3),
            ("mix_by_operations_estimate", 70e3),
            ("mix_by_operations_error", -0.125),
            ("mix_by_operations_error_miscounted", 0.625),
            ("mix_by_concurrency_per_second", 95e3),
            ("mix_by_concurrency_estimate", 76e3),
            ("mix_by_concurrency_error", -0.2),
            ("mix_by_concurrency_error_miscounted", 0.9),
            ("mix_by_capacity_per_second", 90e3),
            ("mix_by_capacity_estimate", 120e3),
            ("mix_by_capacity_error", 1.0 / 3.0),
            ("mix_by_capacity_error_miscounted", -1.0 / 3.0),
        ];
        by_hand::hold(measures, &seen(), &expected);
    }
}

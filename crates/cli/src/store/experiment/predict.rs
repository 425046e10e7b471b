//! The simulation of each case: costs are fitted on one point, the smallest share of the same size, and a
//! backfill of one object; all other points are predicted.
//!
//! A point does not tell the start of a backfill from its recoveries, since all its cases recover the same
//! objects. A backfill of one object is its start, one look and one recovery.

use towtank::{Document, Options, Registry, Trouble};
use towtank_scenario::Problem;

use super::{Case, Measured, Point};

/// The costs of the store's steps, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The start of a backfill, before it examines any object.
    pub startup_s: f64,
    /// The examination of an object.
    pub look_s: f64,
    /// The recovery of an object.
    pub recovery_s: f64,
}

impl Costs {
    const COUNT: usize = 3;
    const LOOK: usize = 1;
    const RECOVERY: usize = 2;

    fn of(values: [f64; Costs::COUNT]) -> Costs {
        let [startup_s, look_s, recovery_s] = values;
        Costs { startup_s, look_s, recovery_s }
    }

    /// The time of a backfill of one object.
    fn of_one_object(&self) -> f64 {
        self.startup_s + self.look_s + self.recovery_s
    }
}

/// A case, all its runs, and the prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The case; its run is the first one.
    pub case: Case,
    /// The measurements, run by run.
    pub runs: Vec<Measured>,
    /// Seconds of the backfill in the simulation.
    pub backfill_s: f64,
    /// Objects examined in the simulation.
    pub looked_at: f64,
    /// Whether it belongs to the point on which costs were fitted.
    pub is_fitted: bool,
}

impl Predicted {
    /// The median of the measurements.
    #[must_use]
    pub(super) fn median(&self, of: fn(&Measured) -> f64) -> f64 {
        super::median(self.runs.iter().map(of)).expect("a case is made of its first run")
    }

    /// The error of the prediction relative to the median.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.backfill_s / self.median(|run| run.backfill_s) - 1.0
    }
}

/// All cases with their predictions, and the fitted costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The fitted costs.
    pub costs: Costs,
    /// All cases in order.
    pub cases: Vec<Predicted>,
}

/// Fits costs on the cases of one point, of the smallest share of its size and of a backfill of one object,
/// and predicts all others.
///
/// # Errors
/// When the methods of the points do not determine the costs, or a simulation fails.
pub fn all(measured: &[Measured], (objects, stale): Point) -> Result<Fitted, Trouble> {
    let registry = Registry::builtin();
    let of_size = measured.iter().filter(|run| run.case.objects == objects && !run.case.is_start());
    let smallest = of_size.map(|run| run.case.stale).min().unwrap_or(stale);
    let mut cases: Vec<Predicted> = Vec::new();
    for run in measured {
        let case = Case { repeat: 0, ..run.case };
        match cases.iter_mut().find(|known| known.case == case) {
            Some(known) => known.runs.push(*run),
            None => cases.push(Predicted {
                case,
                runs: vec![*run],
                backfill_s: f64::NAN,
                looked_at: f64::NAN,
                is_fitted: case.is_start()
                    || (case.objects == objects && [stale, smallest].contains(&case.stale)),
            }),
        }
    }
    let fitted: Vec<&Predicted> = cases.iter().filter(|case| case.is_fitted).collect();
    let costs = fit(&fitted, &|case, costs| simulate(&registry, case, costs).map(|found| found.0))?;
    for case in &mut cases {
        (case.backfill_s, case.looked_at) = if case.case.is_start() {
            (costs.of_one_object(), 1.0)
        } else {
            simulate(&registry, &case.case, costs)?
        };
    }
    Ok(Fitted { costs, cases })
}

/// The non-negative costs with the least sum of squared relative errors.
///
/// The time of a backfill is very nearly a sum of costs, each times a count; the counts come from comparing a
/// simulation with one cost increased to one with all costs as they are.
fn fit(
    cases: &[&Predicted],
    simulate: &dyn Fn(&Case, Costs) -> Result<f64, Trouble>,
) -> Result<Costs, Trouble> {
    let mut costs = [0.001; Costs::COUNT];
    // The part that is not such a sum is small, and after the first round it hardly matters.
    for _ in 0..3 {
        let mut rows = Vec::new();
        for case in cases {
            let time = case.median(|run| run.backfill_s);
            if case.case.is_start() {
                // The log of a simulated group would recover a single object without a backfill.
                rows.push(([1.0 / time; Costs::COUNT], 1.0));
                continue;
            }
            let base = simulate(&case.case, Costs::of(costs))?;
            let mut row = [0.0; Costs::COUNT];
            for (place, cell) in row.iter_mut().enumerate() {
                let mut more = costs;
                let step = more[place].max(1e-5);
                more[place] += step;
                *cell = (simulate(&case.case, Costs::of(more))? - base) / step;
            }
            let fixed = base - (0..Costs::COUNT).map(|place| row[place] * costs[place]).sum::<f64>();
            rows.push((row.map(|cell| cell / time), (time - fixed) / time));
        }
        costs = least_squares(&rows).ok_or_else(|| {
            Trouble::from(
                Problem::new("the point on which costs are fitted does not tell them apart")
                    .hint("--discovery must name `scan` and at least two others: what they look at differs"),
            )
        })?;
    }
    Ok(Costs::of(costs))
}

type Row = ([f64; Costs::COUNT], f64);

/// Of all solutions in which some costs are zero and none is negative, the one with the least squares.
fn least_squares(rows: &[Row]) -> Option<[f64; Costs::COUNT]> {
    if rows.len() < Costs::COUNT {
        return None;
    }
    let squares = |x: &[f64; Costs::COUNT]| -> f64 {
        let left = |(row, right): &Row| row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>() - right;
        rows.iter().map(|row| left(row) * left(row)).sum()
    };
    // All subsets; a singular one has no solution. Looks and recoveries must be distinguished.
    solve(rows, &[Costs::LOOK, Costs::RECOVERY])?;
    let mut best: Option<[f64; Costs::COUNT]> = None;
    for chosen in (1..1_u32 << Costs::COUNT).rev() {
        let places: Vec<usize> = (0..Costs::COUNT).filter(|place| chosen >> place & 1 == 1).collect();
        let Some(solution) = solve(rows, &places) else { continue };
        if solution.iter().all(|value| *value >= 0.0)
            && best.as_ref().is_none_or(|best| squares(&solution) < squares(best))
        {
            best = Some(solution);
        }
    }
    best
}

/// The least squares over these unknowns, by the normal equations.
fn solve(rows: &[Row], places: &[usize]) -> Option<[f64; Costs::COUNT]> {
    let count = places.len();
    let mut system = vec![vec![0.0; count + 1]; count];
    for (row, right) in rows {
        for (i, &one) in places.iter().enumerate() {
            for (j, &other) in places.iter().enumerate() {
                system[i][j] += row[one] * row[other];
            }
            system[i][count] += row[one] * right;
        }
    }
    let largest: Vec<f64> = (0..count).map(|i| system[i][i]).collect();
    for i in 0..count {
        let pivot = (i..count).max_by(|a, b| system[*a][i].abs().total_cmp(&system[*b][i].abs()))?;
        system.swap(i, pivot);
        if system[i][i].abs() <= 1e-9 * largest[i] {
            return None;
        }
        let row = system[i].clone();
        for (_, other) in system.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let factor = other[i] / row[i];
            other.iter_mut().zip(&row).for_each(|(cell, part)| *cell -= factor * part);
        }
    }
    let mut solution = [0.0; Costs::COUNT];
    for (i, &place) in places.iter().enumerate() {
        solution[place] = system[i][count] / system[i][i];
    }
    Some(solution)
}

/// The scenario of a case, as `towtank run` accepts it.
#[must_use]
pub fn scenario(case: &Case, costs: Costs) -> String {
    let span = |seconds: f64| format!("{}ns", (seconds * 1e9).round());
    format!(
        "study = \"backfill\"\n\
         replicates = 1\n\
         discovery = \"{}\"\n\
         groups = 1\n\
         replicas = 3\n\
         objects_per_group = {}\n\
         stale_objects = {}\n\
         ranges = {}\n\
         sketch_cells = {}\n\
         object_size = \"{}B\"\n\
         log_entries = 2\n\
         recovery_max_active = 3\n\
         scan_batch = 512\n\
         recovery_sleep = \"0s\"\n\
         cached_objects = 0\n\
         range_check_cost = \"0s\"\n\
         disk_rate = \"10GB/s\"\n\
         disk_seek = \"0s\"\n\
         nic = \"10GB/s\"\n\
         latency = \"20us\"\n\
         startup = \"{}\"\n\
         look_cost = \"{}\"\n\
         recovery_cost = \"{}\"\n",
        case.discovery.name(),
        case.objects,
        case.stale,
        1_u32 << case.leaf_bits.unwrap_or(0),
        case.sketch_cells(),
        case.object_bytes,
        span(costs.startup_s),
        span(costs.look_s),
        span(costs.recovery_s),
    )
}

/// Seconds of the backfill, and objects examined.
fn simulate(registry: &Registry, case: &Case, costs: Costs) -> Result<(f64, f64), Trouble> {
    let scenario = Document::parse(&scenario(case, costs))?.check(registry)?;
    let ran = towtank::run(&scenario, &Options::default(), &())?;
    let value = |name: &str| ran.report.as_ref().and_then(|report| report.summary.get(name)?.value());
    match (value("backfill_s"), value("objects_looked_at")) {
        (Some(seconds), Some(looked_at)) => Ok((seconds, looked_at)),
        _ => Err(Trouble::failed(format!("the simulation of {} has no result", super::name_of(case)))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Discovery;
    use super::*;

    fn case(discovery: Discovery, objects: u32, stale: u32) -> Case {
        let leaf_bits = matches!(discovery, Discovery::Merkle | Discovery::Bitmap).then_some(10);
        Case { objects, stale, discovery, leaf_bits, repeat: 0, object_bytes: 1_024, seed: 1 }
    }

    fn measured(case: Case, backfill_s: f64) -> Measured {
        Measured {
            case,
            backfill_s,
            discovery_s: None,
            looked_at: 0,
            recovered: u64::from(case.stale),
            exchanged_bytes: 0,
            cpu_s: 0.0,
            peak_bytes: 0,
            summary_bytes: 0,
            writes: (case.stale, 1.0),
        }
    }

    /// For simulated measurements the fit returns their costs, and all other points are predicted.
    #[test]
    fn costs_are_found_that_were_put_in() {
        let registry = Registry::builtin();
        let costs = Costs { startup_s: 0.004, look_s: 3e-6, recovery_s: 5e-4 };
        let methods = [Discovery::Scan, Discovery::Bitmap, Discovery::Merkle, Discovery::Sketch];
        let runs: Vec<Measured> = [(2_000, 100), (5_000, 50), (2_000, 400)]
            .into_iter()
            .flat_map(|(objects, stale)| methods.map(|method| case(method, objects, stale)))
            .map(|case| measured(case, simulate(&registry, &case, costs).expect("it runs").0))
            .chain([measured(case(Discovery::Sketch, 2_000, 1), costs.of_one_object())])
            .collect();
        let found = all(&runs, (2_000, 400)).expect("the points tell them apart");
        let near = |ours: f64, other: f64| (ours / other - 1.0).abs() < 0.02;
        assert!(near(found.costs.look_s, costs.look_s), "{:?}", found.costs);
        assert!(near(found.costs.recovery_s, costs.recovery_s), "{:?}", found.costs);
        assert!(near(found.costs.startup_s, costs.startup_s), "{:?}", found.costs);
        assert!(found.cases.iter().all(|case| case.error().abs() < 0.02), "{found:?}");
        assert_eq!(found.cases.iter().filter(|case| case.is_fitted).count(), 9);
        // Where the start takes twice as long, so says the fit.
        let mut slow = runs.clone();
        slow[12].backfill_s *= 2.0;
        let start = all(&slow, (2_000, 400)).expect("the points tell them apart").costs.startup_s;
        assert!(start > 1.5 * costs.startup_s, "{start}");
        // A planted fault: a run that took twice as long shows as an error.
        let mut wrong = runs.clone();
        wrong[7].backfill_s *= 2.0;
        let found = all(&wrong, (2_000, 400)).expect("the points tell them apart");
        assert!((found.cases[7].error() + 0.5).abs() < 0.02, "{:?}", found.cases[7]);
    }

    /// One share tells looks from recoveries; the start is left at zero, and falls to the recoveries.
    #[test]
    fn one_point_leaves_the_start_at_zero() {
        let registry = Registry::builtin();
        let costs = Costs { startup_s: 0.0, look_s: 3e-6, recovery_s: 5e-4 };
        let methods = [Discovery::Scan, Discovery::Merkle, Discovery::Sketch];
        let runs = methods.map(|method| {
            let case = case(method, 2_000, 100);
            measured(case, simulate(&registry, &case, costs).expect("it runs").0)
        });
        let found = all(&runs, (2_000, 100)).expect("the point tells looks from recoveries").costs;
        assert!((found.look_s / costs.look_s - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.recovery_s / costs.recovery_s - 1.0).abs() < 0.02, "{found:?}");
        assert!(found.startup_s < 1e-6, "{found:?}");
    }

    #[test]
    fn one_method_does_not_tell_costs_apart() {
        let runs = [measured(case(Discovery::Scan, 1_000, 10), 1.0)];
        assert!(all(&runs, (1_000, 10)).is_err());
    }

    #[test]
    fn no_cost_is_below_nothing() {
        let rows =
            [([1.0, 2.0, 0.5], 1.0), ([1.0, 0.1, 0.5], 3.0), ([1.0, 1.0, 0.1], 1.5), ([1.0, 0.2, 0.9], 2.5)];
        let found = least_squares(&rows).expect("they differ");
        assert!(found.iter().all(|cost| *cost >= 0.0), "{found:?}");
        let alike = [([1.0, 1.0, 1.0], 1.0); 4];
        assert_eq!(least_squares(&alike), None);
    }
}

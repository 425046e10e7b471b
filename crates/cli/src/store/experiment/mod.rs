//! `towtank store experiment`: measured backfills of real replicas, compared with their simulation.

mod predict;
mod present;

use towtank::{Trouble, gates};
use towtank_campaign::Stop;
use towtank_replication::Discovery;
use towtank_scenario::Problem;
use towtank_scenario::gate::Known;
use towtank_store::experiment::{Case, Measured, Plan, Watch, run, stale_of};
use towtank_units::{Percent, Quantity as _};

use super::flags::BackfillExperiment;
use super::{cluster, trouble};
use crate::exit::Exit;
use crate::interrupt;
use crate::{output, screen};
use present::MEASURES;

/// Measures, predicts and reports.
pub(super) fn backfill(flags: &BackfillExperiment) -> Result<Exit, Trouble> {
    let plan = plan(flags)?;
    let known = MEASURES.map(|measure| Known::new(measure.name, measure.unit));
    let program = cluster::program()?;
    let (gates, problems) = gates::read(&known, &flags.fail_if);
    problems.into_result(())?;
    let point = point(flags, &plan)?;
    let plan = Plan { start_with: Some(point.0), ..plan };
    std::fs::create_dir_all(&flags.dir)
        .map_err(|error| Trouble::failed(format!("`{}`: {error}", flags.dir.display())))?;
    let directory = std::path::absolute(&flags.dir)
        .map_err(|error| Trouble::failed(format!("`{}`: {error}", flags.dir.display())))?;
    let left = format!(
        "end daemons that still run: towtank store down --dir {}\n",
        directory.join("work").display()
    );
    let stop = interrupt::watch_with_processes(interrupt::TO_END_PROCESSES, left);
    let watching = Watching { stop, quiet: flags.output.quiet };
    let measured = run(&directory, &program, &plan, &watching).map_err(trouble)?;
    let is_whole = measured.len() == plan.cases().len();
    if !is_whole {
        screen::say(&format!(
            "stopped: {} of {} runs are measured; the same command goes on\n",
            measured.len(),
            plan.cases().len()
        ));
        return Ok(Exit::Interrupted);
    }
    let fitted = predict::all(&measured, point)?;
    let report = present::report(&plan, &fitted, point);
    if let Some(out) = &flags.report.out {
        towtank::write_report(&report, out, &[])?;
    }
    output::print(&report, &flags.output, flags.report.out.as_deref())?;
    Ok(output::gates(&gates::judge(&gates, &report)))
}

fn plan(flags: &BackfillExperiment) -> Result<Plan, Trouble> {
    let refuse = |text: String, hint: &str| Trouble::from(Problem::new(text).hint(hint.to_owned()));
    for &objects in &flags.objects {
        if !(10..=2_000_000).contains(&objects) {
            return Err(refuse(format!("--objects is {objects}"), "from 10 to 2000000"));
        }
    }
    let mut leaf_bits = Vec::new();
    for &ranges in &flags.ranges {
        if !ranges.is_power_of_two() || ranges > 1 << 20 {
            let near = ranges.next_power_of_two().min(1 << 20);
            return Err(refuse(format!("--ranges is {ranges}"), &format!("a power of two, such as {near}")));
        }
        leaf_bits.push(ranges.trailing_zeros() as u8);
    }
    let stale: Vec<f64> = flags.stale.iter().map(|share| share.fraction_f64()).collect();
    if let Some(place) = stale.iter().position(|share| *share <= 0.0 || *share > 1.0) {
        return Err(refuse(format!("--stale is {}", flags.stale[place]), "above 0% and at most 100%"));
    }
    let fewest = flags.objects.iter().copied().min().unwrap_or(0);
    let least = stale.iter().copied().fold(1.0, f64::min);
    if stale_of(fewest, least) < 2 {
        let text =
            format!("--objects has {fewest} and --stale {} %: that is less than two objects", 100.0 * least);
        return Err(refuse(text, "write at least two objects again; one is measured in any case"));
    }
    if let Some(text) = one_number(&once(flags.objects.clone()), &once(stale.clone())) {
        return Err(refuse(text, "leave one of the shares out, or use more objects"));
    }
    if flags.repeat == 0 || flags.repeat > 100 {
        return Err(refuse(format!("--repeat is {}", flags.repeat), "from 1 to 100"));
    }
    if !(8..=1 << 20).contains(&flags.size.get()) {
        return Err(refuse(format!("--size is {}", flags.size), "from 8B to 1MiB"));
    }
    Ok(Plan {
        objects: once(flags.objects.clone()),
        stale: once(stale),
        leaf_bits: once(leaf_bits),
        discoveries: once(flags.discovery.clone()),
        repeat: flags.repeat,
        object_bytes: flags.size.get() as usize,
        seed: flags.seed,
        start_with: None,
    })
}

/// Two shares that are the same number of objects: they would be measured and shown as one point.
fn one_number(objects: &[u32], stale: &[f64]) -> Option<String> {
    for &objects in objects {
        for (place, one) in stale.iter().enumerate() {
            let same = |other: &&f64| stale_of(objects, **other) == stale_of(objects, *one);
            if let Some(other) = stale[..place].iter().find(same) {
                let (one, other, number) = (100.0 * one, 100.0 * other, stale_of(objects, *one));
                return Some(format!(
                    "--stale has {other} % and {one} %, and both are {number} of {objects} objects"
                ));
            }
        }
    }
    None
}

/// Each value once, in the order of first occurrence.
fn once<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    all.into_iter().fold(Vec::new(), |mut kept, one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
        kept
    })
}

/// Objects of the group, and how many of them are written again: the point on which costs are fitted.
pub type Point = (u32, u32);

fn point(flags: &BackfillExperiment, plan: &Plan) -> Result<Point, Trouble> {
    let of = |objects: u32, share: f64| (objects, stale_of(objects, share));
    let Some(text) = &flags.fit_on else {
        let largest = plan.objects.iter().copied().max().unwrap_or(0);
        return Ok(of(largest, plan.stale.iter().copied().fold(0.0, f64::max)));
    };
    let named = text.split_once(':').and_then(|(objects, share)| {
        Some((objects.parse().ok()?, Percent::parse(share).ok()?.fraction_f64()))
    });
    match named {
        Some((objects, share)) if plan.objects.contains(&objects) && plan.stale.contains(&share) => {
            Ok(of(objects, share))
        }
        _ => {
            let problem = Problem::new(format!("--fit-on is `{text}`, which is no point of this experiment"));
            let example = format!("{}:{}", plan.objects[0], flags.stale[0]);
            Err(Trouble::from(
                problem.hint(format!("one of --objects and one of --stale, such as `{example}`")),
            ))
        }
    }
}

/// Reports progress on stderr.
struct Watching {
    stop: &'static Stop,
    quiet: bool,
}

impl Watch for Watching {
    fn begins(&self, case: &Case, number: usize, of: usize) {
        if !self.quiet {
            screen::say(&format!("{} of {of}: {}\n", number + 1, name_of(case)));
        }
    }

    fn fills(&self, objects: u32) {
        if !self.quiet {
            screen::say(&format!("filling a cluster with {objects} objects\n"));
        }
    }

    fn stops(&self) -> bool {
        self.stop.raised()
    }
}

/// A description of a case.
fn name_of(case: &Case) -> String {
    format!("{} of {} objects, {}", case.stale, case.objects, method_of(case))
}

/// Its discovery method, and the ranges where it has any.
fn method_of(case: &Case) -> String {
    let ranges = case.leaf_bits.map_or_else(String::new, |bits| format!(", {} ranges", 1_u32 << bits));
    format!("{}{ranges}", case.discovery.name())
}

/// The median: the middle value, or the mean of the two in the middle; `None` without values.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_lies_in_the_middle() {
        let of = |values: &[f64]| median(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0]), Some(3.0));
        assert_eq!(of(&[9.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(of(&[9.0, 1.0, 4.0, 2.0]), Some(3.0));
    }
}

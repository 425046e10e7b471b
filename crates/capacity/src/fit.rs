//! Fits a model to runs: each size needs pure reads and pure writes, and nothing else is needed.

use towtank_units::Bytes;

use crate::curvature::{Bent, Curvature};
use crate::estimate::{Asked, Beyond, estimate};
use crate::mix::{Mix, Shares, one_size_in_two_units};
use crate::model::{Measured, MeasuredMix, Mixture, Model, SizeModel};
use crate::run::{Group, Run, groups};
use crate::spread::Spread;

/// Why no model can be made from runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", .at.as_ref().map(|(file, place)| format!("`{file}`: `{place}`: ")).unwrap_or_default())]
pub struct FitError {
    /// The file, and the place in it, that the error is about.
    pub at: Option<(String, String)>,
    /// What is wrong.
    pub reason: String,
    /// What the user can do about it.
    pub hint: String,
}

/// Rates outside this range are mistakes: one per month, and more than all existing disks.
const RATES: std::ops::RangeInclusive<f64> = 3e-7..=1e15;

/// Sort key: single sizes first, the smallest first, each with pure reads, pure writes and mixes; then mixes
/// of sizes in the order given.
fn order(group: &Group) -> (bool, u64, f64) {
    match group.mix.single() {
        Some(part) if part.reads == 1.0 => (false, part.size_bytes, -1.0),
        Some(part) => (false, part.size_bytes, part.reads),
        None => (true, 0, 0.0),
    }
}

/// Fits a model to the runs of one system.
///
/// # Errors
/// If there is no run, more than one system, a size without pure reads or pure writes, or one size in two
/// units.
pub fn fit(runs: &[Run]) -> Result<Model, FitError> {
    let Some(first) = runs.first() else {
        let hint = "name the results of a benchmark".to_owned();
        return Err(FitError { at: None, reason: "there is no run".to_owned(), hint });
    };
    one_system(runs)?;
    if let Some(run) = runs.iter().find(|run| !RATES.contains(&run.iops)) {
        let reason = format!("{} operations per second are not a plausible rate", run.iops);
        let at = Some((run.file.clone(), run.place.clone()));
        return Err(FitError { at, reason, hint: "leave the run out, or measure it again".to_owned() });
    }
    let mut groups = groups(runs);
    // A fixed order, independent of the order of the runs, because the last digits of sums depend on it.
    groups.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    let sizes = sizes(runs)?;
    let spread = Spread::pooled(&groups);
    let sizes: Vec<SizeModel> =
        sizes.into_iter().map(|size| one_size(size, &groups, spread, runs)).collect::<Result<_, _>>()?;
    let mixtures: Vec<Mixture> = groups
        .iter()
        .filter(|group| group.mix.single().is_none())
        .map(|group| Mixture {
            mix: group.mix.clone(),
            shares: group.shares,
            iops: Measured::new(group.iops.clone(), spread),
        })
        .collect();
    let mut model = Model { system: first.system.clone(), spread, sizes, mixtures, curvature: None };
    model.curvature = Curvature::fit(&bent(&model));
    Ok(model)
}

/// Mixes of sizes with shares of operations, relative to the prediction from their parts.
fn bent(model: &Model) -> Vec<Bent> {
    let of_operations = model.mixtures.iter().filter(|mixture| mixture.shares == Shares::Operations);
    let one = |mixture: &Mixture| {
        let asked =
            Asked { mix: &mixture.mix, shares: Shares::Operations, beyond: Beyond::Refuse, curved: false };
        let straight = estimate(model, &asked).ok()?.total.value;
        Some(Bent { x: mixture.mix.diversity(), straight, measured: mixture.iops.iops.value })
    };
    of_operations.filter_map(one).collect()
}

fn one_system(runs: &[Run]) -> Result<(), FitError> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        let name = run.system.as_deref().unwrap_or("(unnamed)");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() < 2 {
        return Ok(());
    }
    let reason = format!("these runs are of {} systems: {}", names.len(), names.join(", "));
    Err(FitError { at: None, reason, hint: format!("choose one of them: --system {}", names[0]) })
}

/// The sizes that were measured alone, smallest first.
fn sizes(runs: &[Run]) -> Result<Vec<u64>, FitError> {
    let mut found: Vec<(u64, &Run)> = Vec::new();
    for run in runs {
        for part in run.mix.parts() {
            if !found.iter().any(|(size, _)| *size == part.size_bytes) {
                found.push((part.size_bytes, run));
            }
        }
    }
    found.sort_by_key(|(size, _)| *size);
    for pair in found.windows(2) {
        let ((small, _), (large, run)) = (pair[0], pair[1]);
        if one_size_in_two_units(small, large) {
            let reason = format!(
                "there are operations of {} and of {}, which look like one size in two units",
                Bytes::new(small),
                Bytes::new(large)
            );
            let hint = "give both in the same unit; a KiB is 1024 bytes and a kB 1000".to_owned();
            return Err(FitError { at: Some((run.file.clone(), run.place.clone())), reason, hint });
        }
    }
    let alone =
        |size: &u64| runs.iter().any(|run| run.mix.single().is_some_and(|part| part.size_bytes == *size));
    let sizes: Vec<u64> = found.into_iter().map(|(size, _)| size).filter(alone).collect();
    if sizes.is_empty() {
        let reason = "no size was measured alone, only mixes of sizes".to_owned();
        let hint = "measure pure reads and pure writes of each size".to_owned();
        return Err(FitError { at: Some((runs[0].file.clone(), runs[0].place.clone())), reason, hint });
    }
    Ok(sizes)
}

fn one_size(
    size_bytes: u64,
    groups: &[Group],
    spread: Option<Spread>,
    runs: &[Run],
) -> Result<SizeModel, FitError> {
    let of_size = || {
        groups.iter().filter_map(|group| {
            group.mix.single().filter(|part| part.size_bytes == size_bytes).map(|part| (part.reads, group))
        })
    };
    let pure = |reads: f64, what: &str| {
        let found = of_size().find(|(share, _)| *share == reads);
        found.map(|(_, group)| Measured::new(group.iops.clone(), spread)).ok_or_else(|| {
            let others: Vec<String> =
                of_size().map(|(share, _)| format!("{} %", crate::mix::tidy(100.0 * share))).collect();
            let run = runs.iter().find(|run| {
                run.mix.is(&Mix::alone(size_bytes, of_size().next().map_or(0.0, |(share, _)| share)))
            });
            let size = Bytes::new(size_bytes);
            FitError {
                at: run.map(|run| (run.file.clone(), run.place.clone())),
                reason: format!(
                    "there is no run of pure {what} of {size}; measured: {} reads",
                    others.join(", ")
                ),
                hint: format!("measure pure {what} of {size} too, and name that file as well"),
            }
        })
    };
    let (reads, writes) = (pure(1.0, "reads")?, pure(0.0, "writes")?);
    let mut mixes: Vec<MeasuredMix> = of_size()
        .filter(|(share, _)| *share > 0.0 && *share < 1.0)
        .map(|(share, group)| MeasuredMix { reads: share, iops: Measured::new(group.iops.clone(), spread) })
        .collect();
    mixes.sort_by(|a, b| a.reads.total_cmp(&b.reads));
    let mut size = SizeModel { size_bytes, reads, writes, mixes, curvature: None };
    size.curvature = Curvature::fit(&size.bent());
    Ok(size)
}

//! A mix of sizes with its shares held in each of three ways, beside the estimates for shares that are
//! counted in each of them.
//!
//! The method does not say what a share is of, and it makes a difference (`towtank_capacity::Shares`). So the
//! cluster is driven in each way: one stream draws the size of each operation by its share of **operations**;
//! or each size has a stream of its own, whose depth is its share of all operations in flight
//! (**concurrency**); or one stream draws sizes such that each uses its share of the **capacity**, where an
//! operation uses the reciprocal of the rate of its kind alone. The estimates are those of
//! [`towtank_capacity::estimate`], from pure reads and pure writes of each size on the same cluster.

use towtank_capacity::{Asked, Beyond, Estimate, Mix, Model, Run, Shares, estimate, fit};
use towtank_units::Bytes;

use super::runs::{Held, Mixed, Portion, Pure, Replicate, alone, cluster, per_second, run};
use super::scenario::Scenario;
use towtank_serving::cluster::{Counts, Load, Part};
use towtank_study::{RunContext, StudyError};

/// Runs the mix of sizes of a scenario, if it has one, and adds the results to those of the replicate.
///
/// # Errors
/// When a model fails.
pub fn measure(scenario: &Scenario, context: &RunContext<'_>, all: &mut Replicate) -> Result<(), StudyError> {
    let Some(mix) = scenario.mix_of_sizes().filter(|_| !all.partial) else { return Ok(()) };
    let mut mixed = Mixed { pure: Vec::new(), held: Vec::new() };
    for size_bytes in mix.sizes() {
        let [writes, reads] = [0, u64::MAX].map(|reads| (size_bytes, reads));
        let Some(writes) = pure_rate(scenario, writes, context, all)? else { return Ok(()) };
        let Some(reads) = pure_rate(scenario, reads, context, all)? else { return Ok(()) };
        mixed.pure.push(Pure { size_bytes, reads, writes });
    }
    let Some(model) = model(&mixed.pure) else { return Ok(()) };
    for shares in Shares::ALL {
        let (parts, load) = driven(scenario, &mix, &model, shares);
        let cluster = cluster(scenario, parts, load);
        let Some(counts) = run(&cluster, context, all)? else { return Ok(()) };
        let per_second = per_second(&cluster, &counts);
        let parts = portions(&mix, &mixed.pure, &counts);
        mixed.held.push(Held { shares, per_second, parts });
    }
    all.measured.mixed = Some(mixed);
    Ok(())
}

/// Operations per second of one size, all reads or all writes; none if the run was stopped.
fn pure_rate(
    scenario: &Scenario,
    (size_bytes, reads): (u64, u64),
    context: &RunContext<'_>,
    all: &mut Replicate,
) -> Result<Option<f64>, StudyError> {
    let parts = vec![Part { size: Bytes::new(size_bytes), reads, up_to: u64::MAX }];
    let load = Load::Closed(scenario.depth * scenario.servers);
    let cluster = cluster(scenario, parts, load);
    let counts = run(&cluster, context, all)?;
    Ok(counts.map(|counts| per_second(&cluster, &counts)))
}

/// The model of all sizes; none if a pure load did no operation.
#[must_use]
pub fn model(pure: &[Pure]) -> Option<Model> {
    let both =
        |one: &Pure| [(1.0, one.reads), (0.0, one.writes)].map(|(reads, iops)| (one.size_bytes, reads, iops));
    let runs: Vec<Run> =
        pure.iter().flat_map(both).map(|(size, reads, iops)| alone(size, reads, iops)).collect();
    fit(&runs).ok()
}

/// The estimate for a mix whose shares are counted in one way.
#[must_use]
pub fn counted(model: &Model, mix: &Mix, shares: Shares) -> Option<Estimate> {
    estimate(model, &Asked { mix, shares, beyond: Beyond::Refuse, curved: false }).ok()
}

/// The load that holds the shares of a mix in one way.
fn driven(scenario: &Scenario, mix: &Mix, model: &Model, shares: Shares) -> (Vec<Part>, Load) {
    let all = Load::Closed(scenario.depth * scenario.servers);
    let given: Vec<f64> = mix.parts().iter().map(|part| part.share).collect();
    match shares {
        Shares::Operations => (drawn(mix, &given), all),
        Shares::Concurrency => (drawn(mix, &given), Load::Streams(scenario.depths(mix))),
        Shares::Capacity => {
            let used = counted(model, mix, shares);
            let rates =
                used.map(|used| used.parts.iter().map(|one| one.reads.value + one.writes.value).collect());
            (drawn(mix, &rates.unwrap_or(given)), all)
        }
    }
}

/// The parts of a mix, drawn in proportion to these weights.
fn drawn(mix: &Mix, weights: &[f64]) -> Vec<Part> {
    let whole: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let part = |(part, weight): (&towtank_capacity::Part, &f64)| {
        sum += weight / whole;
        Part { size: Bytes::new(part.size_bytes), reads: words(part.reads), up_to: words(sum) }
    };
    let mut parts: Vec<Part> = mix.parts().iter().zip(weights).map(part).collect();
    // Sums of fractions may end below one.
    if let Some(last) = parts.last_mut() {
        last.up_to = u64::MAX;
    }
    parts
}

/// A share of the range of 64-bit words.
fn words(share: f64) -> u64 {
    (share * 18_446_744_073_709_551_616.0) as u64
}

/// The shares of each part of a run, counted in each way.
fn portions(mix: &Mix, pure: &[Pure], counts: &Counts) -> Vec<Portion> {
    let of = |(at, part): (usize, &towtank_capacity::Part)| {
        let seen = counts.parts.get(at).copied().unwrap_or_default();
        let rates = pure.iter().find(|one| one.size_bytes == part.size_bytes);
        let used = rates.map_or(0.0, |one| seen.reads as f64 / one.reads + seen.writes as f64 / one.writes);
        [(seen.reads + seen.writes) as f64, seen.waited_ns as f64, used]
    };
    let amounts: Vec<[f64; 3]> = mix.parts().iter().enumerate().map(of).collect();
    let share = |one: &[f64; 3], way: usize| {
        let whole: f64 = amounts.iter().map(|amount| amount[way]).sum();
        if whole > 0.0 { one[way] / whole } else { 0.0 }
    };
    let portion = |one: &[f64; 3]| Portion {
        operations: share(one, 0),
        concurrency: share(one, 1),
        capacity: share(one, 2),
    };
    amounts.iter().map(portion).collect()
}

#[cfg(test)]
mod tests;

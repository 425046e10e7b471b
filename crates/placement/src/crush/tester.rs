//! Tests a map as `crushtool --test` of Ceph 16.2.15 does: runs many inputs through each rule and prints the
//! results. Also compares two maps in this way.
//!
//! Prints byte for byte what crushtool prints, in single precision where it uses that. Two intended
//! differences: buckets among the results (on which crushtool crashes) are printed and not counted, and rules
//! are run by the fast mapper unless retries are to be counted.

mod compare;
mod expected;
mod tables;

use super::check::Fault;
use super::map::{ItemId, Map, NONE};
use super::mapper::{Ask, Mapper, Mappings, Workspace};
use super::reference::{Question, TryCounts, do_rule_counting};
use super::{hash, map::slot_of};
use expected::{Expectation, most_replicas};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

pub use compare::compare;
pub use tables::Table;

/// The maximum number of devices of a test, which limits its memory.
pub const DEVICES_MAX: i32 = 1 << 26;

/// The number of inputs that are mapped at once, and the maximum number of their results.
const BLOCK_INPUTS: usize = 4_096;
const BLOCK_RESULTS: usize = 1 << 22;

/// The number of ids without a device that is always allowed, and the number allowed per device. Clusters
/// that lost devices have a few unused ids per remaining device.
const HOLES_MAX: usize = 100_000;
const HOLES_EACH_MAX: usize = 8;

/// The parameters of a test.
#[derive(Clone, Debug, Default)]
pub struct TestPlan {
    /// The only rule to test; `None` for all.
    pub rule: Option<i32>,
    /// The minimum number of replicas; unless both ends are given, each rule's own range is used.
    pub min_rep: Option<i32>,
    /// The maximum number of replicas.
    pub max_rep: Option<i32>,
    /// The first input; unless both ends are given, inputs 0 to 1023 are used.
    pub min_x: Option<i32>,
    /// The last input.
    pub max_x: Option<i32>,
    /// The weights at which devices are in, in 16.16 fixed point; other devices are in if a bucket contains
    /// them.
    pub weights: BTreeMap<ItemId, u32>,
    /// If set, each input is hashed with this pool's id, as in Ceph.
    pub pool: Option<u32>,
}

/// The parts of the output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Show {
    /// Every mapping.
    pub mappings: bool,
    /// Mappings with fewer devices than requested.
    pub bad_mappings: bool,
    /// The number of mappings by number of devices.
    pub statistics: bool,
    /// The stored and the expected number per device, with the statistics.
    pub utilization: bool,
    /// The same, including devices that got nothing.
    pub utilization_all: bool,
    /// The number of choices by number of retries.
    pub choose_tries: bool,
    /// Tables, returned by the test.
    pub tables: bool,
}

/// Why a test failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// The map cannot be used for mapping.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The map has too many devices.
    #[error(
        "the map has {devices} devices, but a test supports at most {DEVICES_MAX}; give the devices smaller ids"
    )]
    Devices {
        /// The number of devices.
        devices: i32,
    },
    /// Too many ids have no device, so that a small map would give a very long output.
    #[error(
        "the map's device ids go up to {last}, but only {known} are devices; give the devices smaller ids"
    )]
    Sparse {
        /// The last id.
        last: i32,
        /// The number of ids that are named or contained in a bucket.
        known: usize,
    },
    /// The output cannot be written.
    #[error("the output cannot be written")]
    Output(#[from] fmt::Error),
}

/// Tests a map.
pub fn test(map: &Map, plan: &TestPlan, show: Show, out: &mut dyn Write) -> Result<Vec<Table>, TestError> {
    let weights = weights(map, plan)?;
    let show = Show { statistics: show.statistics || show.utilization || show.utilization_all, ..show };
    let mut answers = Answers::new(map, show)?;
    let mut tables = BTreeMap::new();
    for rule in plan.rules(map) {
        let Some(known) = map.rule(rule) else {
            if show.statistics {
                writeln!(out, "rule {rule} dne")?;
            }
            continue;
        };
        let (min, max) = plan.replicas(known);
        let name = name_of(map, rule);
        let (first, last) = plan.inputs();
        if show.statistics {
            writeln!(out, "rule {rule} ({name}), x = {first}..{last}, numrep = {min}..{max}")?;
        }
        for replicas in min..=max {
            let trial = Trial { map, plan, show, rule, name: &name, replicas, weights: &weights };
            if let Some(made) = trial.run(&mut answers, out)? {
                // Tables for a larger number of replicas replace those for a smaller one.
                tables.extend(made.into_iter().map(|table| (table.name.clone(), table)));
            }
        }
    }
    if show.choose_tries {
        for retries in 0..map.tunables.choose_total_tries {
            writeln!(out, "{retries:>2}: {:>9}", answers.counts.of(retries))?;
        }
    }
    Ok(tables.into_values().collect())
}

impl TestPlan {
    fn rules(&self, map: &Map) -> std::ops::Range<usize> {
        let slots = map.rules.len();
        match self.rule.and_then(|rule| usize::try_from(rule).ok()) {
            Some(rule) => rule.min(slots)..rule.saturating_add(1).min(slots),
            None => 0..slots,
        }
    }

    fn replicas(&self, rule: &super::map::Rule) -> (i32, i32) {
        match (self.min_rep, self.max_rep) {
            (Some(min), Some(max)) => (min, max),
            _ => (i32::from(rule.min_size), i32::from(rule.max_size)),
        }
    }

    fn inputs(&self) -> (i32, i32) {
        match (self.min_x, self.max_x) {
            (Some(min), Some(max)) => (min, max),
            _ => (0, 1023),
        }
    }

    /// The inputs in blocks that are mapped at once, of few enough that their results fit into memory.
    fn blocks(&self, result_max: usize) -> impl Iterator<Item = (std::ops::RangeInclusive<i32>, Vec<u32>)> {
        let (first, last) = self.inputs();
        let size = (BLOCK_RESULTS / result_max.max(1)).clamp(1, BLOCK_INPUTS);
        (first..=last).step_by(size).map(move |first| {
            let block = first..=first.saturating_add(size as i32 - 1).min(last);
            let inputs = block.clone().map(|x| self.placed(x)).collect();
            (block, inputs)
        })
    }

    /// The input of the rule for `x`.
    fn placed(&self, x: i32) -> u32 {
        self.pool.map_or(x as u32, |pool| hash::hash2(x as u32, pool))
    }
}

fn name_of(map: &Map, rule: usize) -> String {
    map.rule_names.get(&(rule as i32)).cloned().unwrap_or_default()
}

/// Refuses maps with too many unused device ids, because a listing or a test covers all ids: a map of a few
/// hundred bytes can have 2^31.
///
/// # Errors
/// If there are too many ids.
pub fn check_devices(map: &Map) -> Result<(), TestError> {
    if map.max_devices > DEVICES_MAX {
        return Err(TestError::Devices { devices: map.max_devices });
    }
    let all = 0..map.max_devices.max(0);
    let held = map.each_bucket().flat_map(|bucket| &bucket.items).filter(|item| all.contains(item));
    let named = map.item_names.range(all.clone()).map(|(id, _)| id);
    let known = held.chain(named).collect::<BTreeSet<_>>().len();
    if all.len().saturating_sub(known) > HOLES_MAX.max(HOLES_EACH_MAX * known) {
        return Err(TestError::Sparse { last: map.max_devices - 1, known });
    }
    Ok(())
}

/// The default weights of a test: every device that a bucket contains is fully in, the others are out.
pub fn present_weights(map: &Map) -> Result<Vec<u32>, TestError> {
    weights(map, &TestPlan::default())
}

/// The weight at which each device is in: from the plan, else fully if a bucket contains it.
fn weights(map: &Map, plan: &TestPlan) -> Result<Vec<u32>, TestError> {
    check_devices(map)?;
    let mut weights = vec![0; usize::try_from(map.max_devices).unwrap_or(0)];
    for &item in map.each_bucket().flat_map(|bucket| &bucket.items) {
        if let Some(weight) = usize::try_from(item).ok().and_then(|item| weights.get_mut(item)) {
            *weight = 0x1_0000;
        }
    }
    for (&item, &weight) in &plan.weights {
        if let Some(slot) = usize::try_from(item).ok().and_then(|item| weights.get_mut(item)) {
            *slot = weight;
        }
    }
    Ok(weights)
}

/// Computes mappings: with the fast mapper, or with the reference if retries are counted.
struct Answers<'a> {
    map: &'a Map,
    mapper: Mapper,
    workspace: Workspace,
    counting: bool,
    counts: TryCounts,
}

impl<'a> Answers<'a> {
    fn new(map: &'a Map, show: Show) -> Result<Self, Fault> {
        let counting = show.choose_tries;
        let counts = TryCounts::default();
        Ok(Self { map, mapper: map.compile()?, workspace: Workspace::default(), counting, counts })
    }

    /// The results for several inputs; `ask.x` is ignored.
    fn answer(&mut self, ask: Ask<'_>, inputs: &[u32], found: &mut Mappings) {
        if !self.counting {
            return self.mapper.map_all(ask, inputs, &mut self.workspace, found);
        }
        let Ask { rule, result_max, weights, pool, .. } = ask;
        let choose_args = self.map.choose_args_for(pool);
        found.restart(inputs.len());
        for (number, &x) in inputs.iter().enumerate() {
            let question = Question { x, result_max, weights, choose_args };
            found.set(number, &do_rule_counting(self.map, rule, question, &self.counts));
        }
    }
}

/// The test of one rule with one number of replicas.
struct Trial<'a> {
    map: &'a Map,
    plan: &'a TestPlan,
    show: Show,
    rule: usize,
    name: &'a str,
    replicas: i32,
    weights: &'a [u32],
}

impl Trial<'_> {
    /// Runs the trial; returns the tables if requested, and nothing if no device is in.
    fn run(&self, answers: &mut Answers<'_>, out: &mut dyn Write) -> Result<Option<Vec<Table>>, TestError> {
        let Self { rule, replicas, show, .. } = *self;
        let (first, last) = self.plan.inputs();
        let inputs = last.wrapping_sub(first).wrapping_add(1);
        let each = self.replicas.min(most_replicas(self.map, rule));
        let Some(expectation) = Expectation::new(self.weights, each.wrapping_mul(inputs)) else {
            return Ok(None);
        };
        let mut stored = vec![0i32; self.weights.len()];
        let mut sizes: BTreeMap<usize, u32> = BTreeMap::new();
        let mut placements = String::new();
        let result_max = usize::try_from(replicas).unwrap_or(0);
        let ask = Ask { rule, x: 0, result_max, weights: self.weights, pool: 0 };
        let mut found = Mappings::default();
        for (block, placed) in self.plan.blocks(result_max) {
            answers.answer(ask, &placed, &mut found);
            for (x, devices) in block.zip(found.iter()) {
                if show.tables {
                    tables::placement(&mut placements, x, devices);
                }
                for &device in devices {
                    // A bucket or a hole in the result is not counted as load of a device.
                    if slot_of(device).is_none() && device != NONE {
                        stored[device as usize] += 1;
                    }
                }
                *sizes.entry(devices.len()).or_default() += 1;
                self.mapping(x, devices, out)?;
            }
        }
        if show.statistics {
            self.statistics(&sizes, inputs, out)?;
            self.utilization(&stored, &expectation, out)?;
        }
        let made = tables::Contents { replicas, weights: self.weights, stored, expectation, placements };
        Ok(show.tables.then(|| made.tables(self.name)))
    }

    /// Prints a mapping if it is asked for.
    fn mapping(&self, x: i32, devices: &[ItemId], out: &mut dyn Write) -> fmt::Result {
        let Self { rule, replicas, show, .. } = *self;
        if show.mappings {
            writeln!(out, "CRUSH rule {rule} x {x} {}", List(devices))?;
        }
        let wanted = usize::try_from(replicas).unwrap_or(0);
        if show.bad_mappings && (devices.len() != wanted || devices.contains(&NONE)) {
            let result = List(devices);
            writeln!(out, "bad mapping rule {rule} x {x} num_rep {replicas} result {result}")?;
        }
        Ok(())
    }

    fn statistics(&self, sizes: &BTreeMap<usize, u32>, inputs: i32, out: &mut dyn Write) -> fmt::Result {
        let Self { rule, name, replicas, .. } = self;
        for (size, count) in sizes {
            writeln!(
                out,
                "rule {rule} ({name}) num_rep {replicas} result size == {size}:\t{count}/{inputs}"
            )?;
        }
        Ok(())
    }

    fn utilization(&self, stored: &[i32], expectation: &Expectation, out: &mut dyn Write) -> fmt::Result {
        if !self.show.utilization && !self.show.utilization_all {
            return Ok(());
        }
        for (device, &stored) in stored.iter().enumerate() {
            let expected = expectation.of(device);
            if !self.show.utilization || (expected > 0.0 && stored > 0) {
                let expected = expected::usual(expected);
                writeln!(out, "  device {device}:\t\t stored : {stored}\t expected : {expected}")?;
            }
        }
        Ok(())
    }
}

/// Prints items as crushtool prints a list.
struct List<'a>(&'a [ItemId]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (position, item) in self.0.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(f, "{comma}{item}")?;
        }
        f.write_str("]")
    }
}

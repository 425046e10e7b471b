//! The fast mapper: a map in a layout for mapping, and a workspace that is reused from input to input.
//!
//! Gives the same results as [`super::reference`], faster. Many inputs are mapped a try of each at a time
//! ([`scan`]), if the rule and the map are of the usual kinds. A general algorithm runs all rules
//! ([`paths`]); where it needs an item, either one input picks with lanes over the items of the bucket
//! ([`pick`]), or many inputs pick at once, one per lane ([`batch`]). Straws are compared before any
//! division, permutations store only the few places that moved, and nothing is cleared between inputs.
//! Multi-step-retry rules map one input after the other ([`msr`]).

mod batch;
mod group;
mod layout;
mod mappings;
mod msr;
mod paths;
mod pick;
mod program;
mod rows;
mod run;
mod scan;

use super::check::{Fault, check, check_tries};
use super::lanes::Lanes;
use super::map::{DEFAULT_CHOOSE_ARGS, ItemId, Map, Rule, slot_of};
use super::msr::MsrRule;
use batch::{Batch, Traffic};
use layout::{Args, Node};
pub use mappings::Mappings;
use msr::Strides;
use paths::Paths;
use pick::Scratch;
use program::Op;
use rows::Rows;
use run::Run;
use scan::Scan;
use std::collections::BTreeMap;

/// A map in a layout for mapping.
#[derive(Clone, Debug)]
pub struct Mapper {
    /// The steps of each rule; of a multi-step-retry rule none.
    programs: Vec<Option<Vec<Op>>>,
    /// The multi-step-retry rules that Ceph can run.
    retrying: BTreeMap<usize, MsrRule>,
    max_devices: i32,
    nodes: Vec<Option<Node>>,
    args: BTreeMap<i64, Args>,
    rows: Rows,
    /// Whether a bucket has the type of devices.
    has_buckets_as_devices: bool,
    /// Whether a rule can reach an item on several ways.
    has_several_ways: bool,
    lanes: Lanes,
}

/// The working memory of a mapping; use one per thread.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    scratch: Scratch,
    /// The way of a single input.
    single: Paths,
    batch: Batch,
    scan: Scan,
    msr: Strides,
}

/// The arguments of one mapping.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The rule.
    pub rule: usize,
    /// The input to place.
    pub x: u32,
    /// The maximum number of items in the result.
    pub result_max: usize,
    /// The weight at which each device is in, in 16.16 fixed point; devices beyond the end are out.
    pub weights: &'a [u32],
    /// The pool whose choose args apply; if it has none, the default set applies.
    pub pool: i64,
}

impl Map {
    /// Lays out the map for the fastest instruction set of this machine.
    pub fn compile(&self) -> Result<Mapper, Fault> {
        Mapper::new(self, Lanes::detect())
    }
}

impl Mapper {
    /// Lays out a map for one instruction set, which must come from [`Lanes::available`].
    pub fn new(map: &Map, lanes: Lanes) -> Result<Self, Fault> {
        check(map)?;
        check_tries(map)?;
        let program = |rule: &Rule| match rule.kind.msr_mode() {
            Some(_) => Vec::new(),
            None => program::program(map, rule),
        };
        let programs: Vec<Option<Vec<Op>>> =
            map.rules.iter().map(|rule| rule.as_ref().map(program)).collect();
        let mut starts = takes(&programs);
        let nodes: Vec<Option<Node>> =
            map.buckets.iter().map(|bucket| bucket.as_deref().map(Node::new)).collect();
        let has_several_ways = starts.iter().any(|&start| has_several_ways(&nodes, start));
        starts.truncate(STARTS_MAX);
        let mut rows = Rows::new(&nodes, map.max_devices, &starts);
        let laid = |(&index, args)| (index, rows::args(&nodes, args, &mut rows, &starts));
        let args = map.choose_args.iter().map(laid).collect();
        Ok(Self {
            programs,
            retrying: MsrRule::all(map),
            max_devices: map.max_devices,
            args,
            has_several_ways,
            has_buckets_as_devices: nodes.iter().flatten().any(|node| node.kind == 0),
            nodes,
            rows,
            lanes: if Lanes::available().contains(&lanes) { lanes } else { Lanes::Portable },
        })
    }

    /// The instruction set in use.
    #[must_use]
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    fn run<'a>(&'a self, ask: Ask<'a>) -> Option<Run<'a>> {
        Some(Run {
            mapper: self,
            program: self.programs.get(ask.rule)?.as_ref()?,
            args: self.args.get(&ask.pool).or_else(|| self.args.get(&DEFAULT_CHOOSE_ARGS)),
            result_max: ask.result_max,
            weights: ask.weights,
        })
    }

    /// Runs a rule and stores the result in `out`; an unknown rule gives an empty result.
    pub fn do_rule(&self, ask: Ask<'_>, workspace: &mut Workspace, out: &mut Vec<ItemId>) {
        out.clear();
        let Some(run) = self.run(ask) else { return };
        let Workspace { scratch, single, msr, .. } = workspace;
        scratch.start();
        if let Some(rule) = self.retrying.get(&ask.rule) {
            return msr.map(&run, rule, ask.x, scratch, out);
        }
        single.restart(1, run.items_max());
        let mut waits = single.start(&run, 0, (0, ask.x));
        while waits {
            let want = single.want(&run, 0);
            waits = if run.node(want.node).items.is_empty() {
                single.found_nothing(&run, 0)
            } else {
                single.picked(&run, 0, run.pick(want, ask.x, scratch))
            };
        }
        out.extend_from_slice(single.out(0));
    }

    /// Runs a rule for many inputs, which is faster than one by one; `ask.x` is ignored. `found` then has the
    /// result of each input, in their order.
    pub fn map_all(&self, ask: Ask<'_>, inputs: &[u32], workspace: &mut Workspace, found: &mut Mappings) {
        found.restart(inputs.len());
        let Some(run) = self.run(ask) else { return };
        let Workspace { scratch, batch, scan, msr, .. } = workspace;
        if let Some(rule) = self.retrying.get(&ask.rule) {
            let mut out = Vec::new();
            for (number, &x) in inputs.iter().enumerate() {
                scratch.start();
                msr.map(&run, rule, x, scratch, &mut out);
                found.set(number, &out);
            }
            return;
        }
        let left = if scan::can_map(&run) {
            scan.map(&run, inputs, found, scratch)
        } else {
            inputs.iter().copied().enumerate().collect()
        };
        batch.map(&run, Traffic { inputs: &left, next: 0, found }, scratch);
    }
}

/// The number of buckets that have a queue of their own because rules start there; maps with more rules than
/// that have one for each device class.
const STARTS_MAX: usize = 32;

/// The items that rules take, each once.
fn takes(programs: &[Option<Vec<Op>>]) -> Vec<ItemId> {
    let ops = programs.iter().flatten().flatten();
    let mut takes: Vec<ItemId> =
        ops.filter_map(|op| if let Op::Take(item) = op { Some(*item) } else { None }).collect();
    takes.sort_unstable();
    takes.dedup();
    takes
}

/// Whether there are several ways from a start down to one item: it is in several of the buckets there, or
/// several times in one. The trees of device classes share devices, but no start is above two of them.
fn has_several_ways(nodes: &[Option<Node>], start: ItemId) -> bool {
    let node_of = |item| nodes.get(slot_of(item)?)?.as_ref();
    let mut reached = vec![false; nodes.len()];
    let (mut below, mut devices) = (vec![start], Vec::new());
    while let Some(item) = below.pop() {
        let Some(node) = node_of(item) else { continue };
        for &item in &node.items {
            match slot_of(item) {
                Some(slot) if reached.get(slot).is_some_and(|&is_reached| is_reached) => return true,
                Some(slot) if slot < reached.len() => {
                    reached[slot] = true;
                    below.push(item);
                }
                Some(_) => {}
                None => devices.push(item),
            }
        }
    }
    devices.sort_unstable();
    devices.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests;

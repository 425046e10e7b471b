//! The fast mapper: a map in a layout for mapping, and a workspace that is reused from input to input.
//!
//! Gives the same results as [`super::reference`], faster: hashes are drawn for a whole bucket at once,
//! straws are compared before any division, permutations store only the few places that moved, and nothing is
//! cleared between inputs.

mod layout;
mod pick;
mod run;

use super::check::{Fault, check, check_tries};
use super::lanes::Lanes;
use super::map::{ItemId, Map, Rule, Tunables};
use super::reference::Question;
use layout::{Args, Node};
use pick::Scratch;
use std::collections::BTreeMap;

/// A map in a layout for mapping.
#[derive(Clone, Debug)]
pub struct Mapper {
    rules: Vec<Option<Rule>>,
    tunables: Tunables,
    max_devices: i32,
    nodes: Vec<Option<Node>>,
    args: BTreeMap<i64, Args>,
    lanes: Lanes,
}

/// The working memory of a mapping; use one per thread.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    scratch: Scratch,
    at_hand: Vec<ItemId>,
    found: Vec<ItemId>,
    leaves: Vec<ItemId>,
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
        let nodes: Vec<Option<Node>> =
            map.buckets.iter().map(|bucket| bucket.as_deref().map(Node::new)).collect();
        let args = map.choose_args.iter().map(|(&index, args)| (index, layout::args(&nodes, args))).collect();
        Ok(Self {
            rules: map.rules.clone(),
            tunables: map.tunables,
            max_devices: map.max_devices,
            nodes,
            args,
            lanes: if Lanes::available().contains(&lanes) { lanes } else { Lanes::Portable },
        })
    }

    /// The instruction set in use.
    #[must_use]
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Runs a rule and stores the result in `out`; an unknown rule gives an empty result.
    pub fn do_rule(&self, ask: Ask<'_>, workspace: &mut Workspace, out: &mut Vec<ItemId>) {
        out.clear();
        let Some(Some(rule)) = self.rules.get(ask.rule) else { return };
        workspace.scratch.start();
        let args = self.args.get(&ask.pool).or_else(|| self.args.get(&super::map::DEFAULT_CHOOSE_ARGS));
        let question =
            Question { x: ask.x, result_max: ask.result_max, weights: ask.weights, choose_args: None };
        let Workspace { scratch, at_hand, found, leaves } = workspace;
        run::Run::new(self, args, question, scratch).rule(rule, run::Lists { at_hand, found, leaves }, out);
    }
}

#[cfg(test)]
mod tests;

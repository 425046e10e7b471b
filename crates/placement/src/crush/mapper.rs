//! The fast mapper: a map laid out for mapping, and a workspace that is reused from input to input.
//!
//! Gives what [`super::reference`] gives, faster: hashes are drawn for a whole bucket at once, straws are
//! compared before anything is divided, permutations are kept as the few places that moved, and nothing is
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

/// A map laid out for mapping.
#[derive(Clone, Debug)]
pub struct Mapper {
    rules: Vec<Option<Rule>>,
    tunables: Tunables,
    max_devices: i32,
    nodes: Vec<Option<Node>>,
    args: BTreeMap<i64, Args>,
    lanes: Lanes,
}

/// What a mapping needs beside the map; one a thread.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    scratch: Scratch,
    at_hand: Vec<ItemId>,
    found: Vec<ItemId>,
    leaves: Vec<ItemId>,
}

/// One question to a mapper.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The rule.
    pub rule: usize,
    /// The input to place.
    pub x: u32,
    /// How many items to find at most.
    pub result_max: usize,
    /// How far each device is in, 16.16 fixed point; devices past the end are out.
    pub weights: &'a [u32],
    /// The pool whose choose args apply; the default set applies where it has none.
    pub pool: i64,
}

impl Map {
    /// Lays the map out for mapping, for the fastest instruction set of this machine.
    pub fn compile(&self) -> Result<Mapper, Fault> {
        Mapper::new(self, Lanes::detect())
    }
}

impl Mapper {
    /// Lays a map out for one instruction set; take it from [`Lanes::available`].
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

    /// Runs a rule, and puts what it finds into `out`; an unknown rule finds nothing.
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

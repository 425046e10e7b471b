//! The way of one input through a rule: the steps of [`crate::crush::reference`] as a machine that stops
//! wherever an item is to be picked, so that many inputs can pick at once.

mod firstn;
mod indep;

use super::Mapper;
use super::layout::{Args, Node};
use super::pick::{self, Draw, Scratch};
use super::program::{Choice, Op};
use crate::crush::hash::hash2;
use crate::crush::map::{ItemId, Mode, slot_of};

/// The mark of a position that is still open; no item has this id.
const OPEN: ItemId = 0x7fff_fffe;

/// What all inputs have in common.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub mapper: &'a Mapper,
    pub program: &'a [Op],
    pub args: Option<&'a Args>,
    pub result_max: usize,
    pub weights: &'a [u32],
}

impl<'a> Run<'a> {
    pub fn node(&self, slot: u32) -> &'a Node {
        self.mapper.nodes[slot as usize].as_ref().expect("a walk enters only buckets of the map")
    }

    /// The slot and the type of an item: 0 for a device. `None` for a bucket that the map does not contain.
    fn slot_and_kind(&self, item: ItemId) -> Option<(Option<u32>, i32)> {
        let Some(slot) = slot_of(item) else { return Some((None, 0)) };
        let node = self.mapper.nodes.get(slot)?.as_ref()?;
        Some((Some(slot as u32), node.kind))
    }

    /// The item that an input picks by itself.
    pub fn pick(&self, want: Want, x: u32, scratch: &mut Scratch) -> Option<ItemId> {
        let node = self.node(want.node);
        if want.is_permuted {
            return Some(pick::permuted(node, x, want.r, scratch));
        }
        let args = self.args.and_then(|args| args[want.node as usize].as_ref());
        let weights =
            args.and_then(|args| args.weight_sets.get(want.position as usize).or(args.weight_sets.last()));
        let ids = args.and_then(|args| args.ids.as_deref());
        pick::pick(node, Draw { lanes: self.mapper.lanes, x, r: want.r, weights, ids }, scratch)
    }

    fn is_out(&self, x: u32, device: ItemId) -> bool {
        match self.weights.get(device as usize) {
            None | Some(0) => true,
            Some(&weight) => weight < 0x1_0000 && (hash2(x, device as u32) & 0xffff) >= weight,
        }
    }
}

/// What a walk waits for: an item of a bucket that is not empty. With `None` it fits into two registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub node: u32,
    pub r: u32,
    /// The position in the result, which chooses the weight set.
    pub position: u32,
    /// Whether the item comes from the bucket's permutation, whatever its algorithm.
    pub is_permuted: bool,
}

/// What a walk does next.
enum Turn {
    /// Picks in the current bucket.
    Pick,
    /// The current try failed.
    Failed { collides: bool },
    /// No further try for the current item.
    GaveUp,
    /// Goes on after the current replica or position.
    Next,
    /// Goes on to the next bucket at hand.
    NextBucket,
    /// Goes on to the next step of the rule.
    NextStep,
}

/// A descent from a bucket to an item.
#[derive(Clone, Copy, Debug, Default)]
struct Descent {
    top: u32,
    node: u32,
    /// The number of failed tries; in `indep` the number of the round.
    failures: u32,
    /// The number of those since the descent last started at the top.
    failures_here: u32,
    parent_r: i32,
}

impl Descent {
    fn from(top: u32, parent_r: i32) -> Self {
        Self { top, node: top, failures: 0, failures_here: 0, parent_r }
    }
}

/// One input on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    pub x: u32,
    /// The next step of the rule, or the current one while it chooses.
    step: usize,
    /// The next item at hand to choose from.
    from: usize,
    /// Where the part of the current bucket begins in `found` and `leaves`.
    base: usize,
    wanted: i32,
    /// The number of the replica, or the position from `base` on.
    rep: usize,
    outer: Descent,
    leaf: Descent,
    is_in_leaf: bool,
    /// The attempt of the last pick.
    r: i32,
    /// The item below which a leaf is sought.
    item: ItemId,
    at_hand: Vec<ItemId>,
    found: Vec<ItemId>,
    leaves: Vec<ItemId>,
    pub out: Vec<ItemId>,
}

impl Walk {
    /// Starts with an input; returns its first pick, or `None` if it is done without one.
    pub fn start(&mut self, run: &Run<'_>, x: u32) -> Option<Want> {
        self.x = x;
        self.step = 0;
        self.is_in_leaf = false;
        self.at_hand.clear();
        self.out.clear();
        if self.steps(run) { self.go(run, Turn::NextBucket) } else { None }
    }

    /// Goes on with the item that was picked; `None` if a draw ended outside the bucket. Returns the next
    /// pick, or `None` at the end of the rule.
    #[inline]
    pub fn picked(&mut self, run: &Run<'_>, item: Option<ItemId>) -> Option<Want> {
        let Some(Op::Choose(choice)) = run.program.get(self.step) else { return None };
        let turn = match choice.mode {
            Mode::Firstn => self.firstn_picked(run, choice, item),
            Mode::Indep => self.indep_picked(run, choice, item),
        };
        self.go(run, turn)
    }

    /// Runs steps up to one that chooses from items at hand; returns whether there is one.
    fn steps(&mut self, run: &Run<'_>) -> bool {
        while let Some(op) = run.program.get(self.step) {
            match op {
                Op::Take(item) => {
                    self.at_hand.clear();
                    self.at_hand.push(*item);
                }
                Op::Emit => {
                    let room = run.result_max - self.out.len();
                    self.out.extend(self.at_hand.iter().take(room));
                    self.at_hand.clear();
                }
                Op::Choose(choice) if !self.at_hand.is_empty() => {
                    self.found.clear();
                    self.leaves.clear();
                    self.from = 0;
                    self.wanted = choice.wanted(run.result_max);
                    if self.wanted > 0 {
                        return true;
                    }
                    self.at_hand.clear();
                }
                Op::Choose(_) => {}
            }
            self.step += 1;
        }
        false
    }

    fn go(&mut self, run: &Run<'_>, mut turn: Turn) -> Option<Want> {
        while let Some(Op::Choose(choice)) = run.program.get(self.step) {
            turn = match (turn, choice.mode) {
                (Turn::Pick, Mode::Firstn) => match self.firstn_want(run, choice) {
                    Some(want) => return Some(want),
                    None => Turn::Failed { collides: false },
                },
                (Turn::Pick, Mode::Indep) => match self.indep_want(run) {
                    Some(want) => return Some(want),
                    None => Turn::Failed { collides: false },
                },
                (Turn::Failed { collides }, Mode::Firstn) => self.firstn_failed(run, choice, collides),
                (Turn::Failed { .. }, Mode::Indep) => self.indep_failed(choice),
                (Turn::GaveUp, Mode::Firstn) => self.firstn_gave_up(),
                (Turn::GaveUp, Mode::Indep) => self.indep_gave_up(choice),
                (Turn::Next, Mode::Firstn) => self.firstn_next(run),
                (Turn::Next, Mode::Indep) => self.indep_next(choice),
                (Turn::NextBucket, _) => self.next_bucket(run, choice),
                (Turn::NextStep, _) => {
                    let chosen = if choice.leaf { &mut self.leaves } else { &mut self.found };
                    std::mem::swap(&mut self.at_hand, chosen);
                    self.step += 1;
                    if !self.steps(run) {
                        return None;
                    }
                    Turn::NextBucket
                }
            };
        }
        None
    }

    /// Begins to choose from the next bucket at hand.
    fn next_bucket(&mut self, run: &Run<'_>, choice: &Choice) -> Turn {
        while let Some(&item) = self.at_hand.get(self.from) {
            self.from += 1;
            let Some((Some(top), _)) = run.slot_and_kind(item) else { continue };
            self.base = self.found.len();
            let room = run.result_max - self.base;
            if room == 0 {
                continue;
            }
            self.rep = 0;
            self.outer = Descent::from(top, 0);
            if choice.mode == Mode::Indep {
                let end = self.base + room.min(self.wanted as usize);
                self.found.resize(end, OPEN);
                if choice.leaf {
                    self.leaves.resize(end, OPEN);
                }
            }
            return Turn::Pick;
        }
        Turn::NextStep
    }

    fn now(&mut self) -> &mut Descent {
        if self.is_in_leaf { &mut self.leaf } else { &mut self.outer }
    }
}

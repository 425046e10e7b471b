//! Runs a rule fast: the steps of [`crate::crush::reference`] on laid-out buckets, without allocation.

use super::Mapper;
use super::layout::{Args, Node};
use super::pick::{self, Draw, Scratch};
use crate::crush::hash::hash2;
use crate::crush::map::{ItemId, Mode, NONE, Rule, Setting, Step, slot_of};
use crate::crush::mapper::layout::NodeShape;
use crate::crush::reference::Question;

/// The mark of a position that is still open; no item has this id.
const OPEN: ItemId = 0x7fff_fffe;

/// The lists of a run, whose memory is reused by the next one.
pub(super) struct Lists<'a> {
    pub at_hand: &'a mut Vec<ItemId>,
    pub found: &'a mut Vec<ItemId>,
    pub leaves: &'a mut Vec<ItemId>,
}

pub(super) struct Run<'a> {
    mapper: &'a Mapper,
    args: Option<&'a Args>,
    question: Question<'a>,
    scratch: &'a mut Scratch,
    total_tries: u32,
    leaf_tries: u32,
    local_tries: u32,
    fallback_tries: u32,
    vary_r: u32,
    stable: bool,
}

/// The goal of a descent.
#[derive(Clone, Copy)]
struct Goal {
    kind: i32,
    tries: u32,
    /// Tries for a leaf below the item; `None` if the item itself is the goal.
    leaf_tries: Option<u32>,
    parent_r: i32,
}

/// The position of a descent in the rounds of `indep`.
#[derive(Clone, Copy)]
struct Round {
    wanted: u32,
    first: usize,
    round: u32,
}

impl<'a> Run<'a> {
    pub fn new(
        mapper: &'a Mapper,
        args: Option<&'a Args>,
        question: Question<'a>,
        scratch: &'a mut Scratch,
    ) -> Self {
        let tunables = &mapper.tunables;
        Self {
            mapper,
            args,
            question,
            scratch,
            // Ceph once counted retries here rather than tries, and existing clusters depend on it.
            total_tries: tunables.choose_total_tries.wrapping_add(1),
            leaf_tries: 0,
            local_tries: tunables.choose_local_tries,
            fallback_tries: tunables.choose_local_fallback_tries,
            vary_r: u32::from(tunables.chooseleaf_vary_r),
            stable: tunables.chooseleaf_stable != 0,
        }
    }

    pub fn rule(&mut self, rule: &Rule, lists: Lists<'_>, out: &mut Vec<ItemId>) {
        let Lists { at_hand, found, leaves } = lists;
        at_hand.clear();
        for step in &rule.steps {
            match *step {
                Step::Noop => {}
                Step::Take(item) => {
                    if self.node(item).is_some() || (0..self.mapper.max_devices).contains(&item) {
                        at_hand.clear();
                        at_hand.push(item);
                    }
                }
                Step::Set(setting, value) => self.set(setting, value),
                Step::Emit => {
                    let room = self.question.result_max - out.len();
                    out.extend(at_hand.iter().take(room));
                    at_hand.clear();
                }
                Step::Choose { mode, leaf, count, kind } => {
                    if at_hand.is_empty() {
                        continue;
                    }
                    found.clear();
                    leaves.clear();
                    let result_max = self.question.result_max as i32;
                    let wanted = if count <= 0 { count.saturating_add(result_max) } else { count };
                    if wanted > 0 {
                        for &item in at_hand.iter() {
                            let goal = self.goal(mode, leaf, kind);
                            self.choose(item, mode, goal, wanted, (&mut *found, &mut *leaves));
                        }
                    }
                    std::mem::swap(at_hand, if leaf { leaves } else { found });
                }
            }
        }
    }

    fn set(&mut self, setting: Setting, value: i32) {
        let Ok(number) = u32::try_from(value) else { return };
        match setting {
            Setting::ChooseTries if number > 0 => self.total_tries = number,
            Setting::ChooseleafTries if number > 0 => self.leaf_tries = number,
            Setting::ChooseTries | Setting::ChooseleafTries => {}
            Setting::ChooseLocalTries => self.local_tries = number,
            Setting::ChooseLocalFallbackTries => self.fallback_tries = number,
            Setting::ChooseleafVaryR => self.vary_r = number,
            Setting::ChooseleafStable => self.stable = number != 0,
        }
    }

    fn goal(&self, mode: Mode, leaf: bool, kind: i32) -> Goal {
        let leaf_tries = match mode {
            _ if self.leaf_tries > 0 => self.leaf_tries,
            Mode::Indep => 1,
            Mode::Firstn if self.mapper.tunables.chooseleaf_descend_once != 0 => 1,
            Mode::Firstn => self.total_tries,
        };
        Goal { kind, tries: self.total_tries, leaf_tries: leaf.then_some(leaf_tries), parent_r: 0 }
    }

    fn choose(
        &mut self,
        from: ItemId,
        mode: Mode,
        goal: Goal,
        wanted: i32,
        (found, leaves): (&mut Vec<ItemId>, &mut Vec<ItemId>),
    ) {
        let Some(top) = self.node(from) else { return };
        let base = found.len();
        let room = self.question.result_max - base;
        match mode {
            Mode::Firstn => self.firstn(top, goal, wanted, room, Window { found, base }, leaves),
            Mode::Indep => {
                let end = base + room.min(wanted as usize);
                found.resize(end, OPEN);
                if goal.leaf_tries.is_some() {
                    leaves.resize(end, OPEN);
                }
                let leaf_base = base.min(leaves.len());
                self.indep(top, goal, wanted as u32, 0, &mut found[base..], &mut leaves[leaf_base..]);
            }
        }
    }

    fn node(&self, id: ItemId) -> Option<&'a Node> {
        self.mapper.nodes.get(slot_of(id)?)?.as_ref()
    }

    /// Appends the items found to the window (and leaves to `leaves`, if the goal has leaves).
    fn firstn(
        &mut self,
        top: &'a Node,
        goal: Goal,
        wanted: i32,
        room: usize,
        window: Window<'_>,
        leaves: &mut Vec<ItemId>,
    ) {
        let Window { found, base } = window;
        let mut room = room;
        let mut rep = if self.stable { 0 } else { (found.len() - base) as i32 };
        while rep < wanted && room > 0 {
            if let Some(item) = self.firstn_one(top, goal, rep, room, Window { found, base }, leaves) {
                found.push(item);
                room -= 1;
            }
            rep += 1;
        }
    }

    /// One replica: its item, or `None` if every try failed. Its leaf is appended to `leaves`.
    fn firstn_one(
        &mut self,
        top: &'a Node,
        goal: Goal,
        rep: i32,
        room: usize,
        window: Window<'_>,
        leaves: &mut Vec<ItemId>,
    ) -> Option<ItemId> {
        let Window { found, base } = window;
        let position = found.len() - base;
        let mut failures = 0u32;
        'from_the_top: loop {
            let mut node = top;
            let mut failures_here = 0u32;
            loop {
                let r = rep.wrapping_add(goal.parent_r).wrapping_add(failures as i32);
                let mut collides = false;
                if !node.items.is_empty() {
                    let item = self.firstn_pick(node, r, failures_here, position)?;
                    if item >= self.mapper.max_devices {
                        return None;
                    }
                    let inner = self.node(item);
                    let kind = if item >= 0 { 0 } else { inner?.kind };
                    if kind != goal.kind {
                        node = inner?;
                        continue;
                    }
                    collides = found[base..].contains(&item);
                    let good = !collides
                        && self.leaf_below(
                            item,
                            inner,
                            goal,
                            r,
                            room,
                            position,
                            Window { found: leaves, base },
                        )
                        && !(kind == 0 && self.is_out(item));
                    if good {
                        return Some(item);
                    }
                    leaves.truncate(base + position);
                }
                failures += 1;
                failures_here += 1;
                let again_here = (collides && failures_here <= self.local_tries)
                    || (self.fallback_tries > 0
                        && failures_here <= (node.items.len() as u32).wrapping_add(self.fallback_tries));
                if !again_here {
                    if failures < goal.tries {
                        continue 'from_the_top;
                    }
                    return None;
                }
            }
        }
    }

    fn firstn_pick(&mut self, node: &'a Node, r: i32, failures_here: u32, position: usize) -> Option<ItemId> {
        let fallback = self.fallback_tries;
        if fallback > 0 && failures_here >= node.items.len() as u32 >> 1 && failures_here > fallback {
            return Some(pick::permuted(node, self.question.x, r as u32, self.scratch));
        }
        self.pick(node, r, position)
    }

    /// Whether the goal needs no leaf, or one was found below `item` and appended to `leaves`.
    #[allow(
        clippy::too_many_arguments,
        reason = "the state of one descent, which a struct would only rename"
    )]
    fn leaf_below(
        &mut self,
        item: ItemId,
        inner: Option<&'a Node>,
        goal: Goal,
        r: i32,
        room: usize,
        position: usize,
        below: Window<'_>,
    ) -> bool {
        let Window { found: leaves, base } = below;
        let Some(leaf_tries) = goal.leaf_tries else { return true };
        if item >= 0 {
            leaves.push(item);
            return true;
        }
        let Some(node) = inner else { return false };
        let parent_r = if self.vary_r == 0 { 0 } else { r.wrapping_shr(self.vary_r - 1) };
        let wanted = if self.stable { 1 } else { position as i32 + 1 };
        let leaf_goal = Goal { kind: 0, tries: leaf_tries, leaf_tries: None, parent_r };
        self.firstn(node, leaf_goal, wanted, room, Window { found: leaves, base }, &mut Vec::new());
        leaves.len() > base + position
    }

    /// Fills the open positions of `out`; `first` is the number of the first one. `wanted` determines the
    /// attempt numbers.
    fn indep(
        &mut self,
        top: &'a Node,
        goal: Goal,
        wanted: u32,
        first: usize,
        out: &mut [ItemId],
        leaves: &mut [ItemId],
    ) {
        for round in 0..goal.tries {
            let mut open = false;
            for position in 0..out.len() {
                if out[position] == OPEN {
                    self.indep_one(top, goal, Round { wanted, first, round }, position, out, leaves);
                    open |= out[position] == OPEN;
                }
            }
            if !open {
                break;
            }
        }
        for hole in out.iter_mut().chain(leaves).filter(|item| **item == OPEN) {
            *hole = NONE;
        }
    }

    fn indep_one(
        &mut self,
        top: &'a Node,
        goal: Goal,
        at: Round,
        position: usize,
        out: &mut [ItemId],
        leaves: &mut [ItemId],
    ) {
        let Some((item, inner)) = self.indep_descend(top, goal, at, position) else { return };
        if item == NONE {
            return give_up(position, out, leaves);
        }
        if out.contains(&item) {
            return;
        }
        if let Some(leaf_tries) = goal.leaf_tries {
            leaves[position] = match inner {
                None => item,
                Some((below, r)) => {
                    let leaf_goal = Goal { kind: 0, tries: leaf_tries, leaf_tries: None, parent_r: r };
                    let mut leaf = [OPEN];
                    self.indep(below, leaf_goal, at.wanted, at.first + position, &mut leaf, &mut []);
                    leaf[0]
                }
            };
            if leaves[position] == NONE {
                return;
            }
        }
        if goal.kind == 0 && self.is_out(item) {
            return;
        }
        out[position] = item;
    }

    /// The item of the wanted type at which a descent ends, with its bucket and attempt; [`NONE`] to give up
    /// the position, `None` to try again.
    fn indep_descend(&mut self, top: &'a Node, goal: Goal, at: Round, position: usize) -> Option<Ended<'a>> {
        let mut node = top;
        loop {
            let size = node.items.len() as u32;
            if size == 0 {
                return None;
            }
            let uniform = matches!(node.shape, NodeShape::Uniform);
            let pace =
                if uniform && size.is_multiple_of(at.wanted) { at.wanted.wrapping_add(1) } else { at.wanted };
            let rep = (at.first + position) as u32;
            let r = rep.wrapping_add(goal.parent_r as u32).wrapping_add(pace.wrapping_mul(at.round)) as i32;
            let picked = self.pick(node, r, at.first).filter(|&item| item < self.mapper.max_devices);
            let Some(item) = picked else { return Some((NONE, None)) };
            let inner = self.node(item);
            let kind = match inner {
                _ if item >= 0 => 0,
                Some(inner) => inner.kind,
                None => return Some((NONE, None)),
            };
            if kind == goal.kind {
                return Some((item, inner.map(|inner| (inner, r))));
            }
            let Some(inner) = inner else { return Some((NONE, None)) };
            node = inner;
        }
    }

    fn is_out(&self, device: ItemId) -> bool {
        match self.question.weights.get(device as usize) {
            None | Some(0) => true,
            Some(&weight) => weight < 0x1_0000 && (hash2(self.question.x, device as u32) & 0xffff) >= weight,
        }
    }

    fn pick(&mut self, node: &'a Node, r: i32, position: usize) -> Option<ItemId> {
        let args = self.args.and_then(|args| args[(!node.id) as usize].as_ref());
        let weights = args.and_then(|args| args.weight_sets.get(position).or(args.weight_sets.last()));
        let draw = Draw {
            lanes: self.mapper.lanes,
            x: self.question.x,
            r: r as u32,
            weights,
            ids: args.and_then(|args| args.ids.as_deref()),
        };
        pick::pick(node, draw, self.scratch)
    }
}

/// The list to which `firstn` appends, and the begin of its own part: collisions are checked only there.
struct Window<'w> {
    found: &'w mut Vec<ItemId>,
    base: usize,
}

type Ended<'a> = (ItemId, Option<(&'a Node, i32)>);

fn give_up(position: usize, out: &mut [ItemId], leaves: &mut [ItemId]) {
    out[position] = NONE;
    if let Some(leaf) = leaves.get_mut(position) {
        *leaf = NONE;
    }
}

//! A rule with everything resolved that depends on neither the input nor the number of replicas.

use crate::crush::map::{ItemId, Map, Mode, Rule, Setting, Step};

/// A step of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Starts from one item.
    Take(ItemId),
    Choose(Choice),
    Emit,
}

/// A step that chooses, with the tunables that hold for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub mode: Mode,
    pub leaf: bool,
    pub kind: i32,
    /// As in the rule: 0 and negative numbers are relative to the number of replicas.
    pub count: i32,
    pub tries: u32,
    pub leaf_tries: u32,
    pub local_tries: u32,
    pub fallback_tries: u32,
    pub vary_r: u32,
    pub stable: bool,
}

impl Choice {
    /// The type to pick, as one that no item has if it is negative.
    #[inline]
    pub fn goal(&self) -> i32 {
        if self.kind < 0 { i32::MAX } else { self.kind }
    }

    /// Whether a failed try is followed by another in the same bucket.
    #[inline]
    pub(super) fn is_local(&self) -> bool {
        self.local_tries > 0 || self.fallback_tries > 0
    }

    /// What an attempt adds to those below the item that it found.
    #[inline]
    pub(super) fn parent_attempt(&self, attempt: u32) -> u32 {
        if self.vary_r == 0 { 0 } else { (attempt as i32).wrapping_shr(self.vary_r - 1) as u32 }
    }

    /// The first attempt to find a leaf below the item of an attempt, if so many were found before.
    #[inline]
    pub(super) fn leaf_attempt(&self, attempt: u32, found: u32) -> u32 {
        let parent = self.parent_attempt(attempt);
        if self.stable { parent } else { parent.wrapping_add(found) }
    }

    /// The number of items to choose.
    #[inline]
    pub fn wanted(&self, result_max: usize) -> i32 {
        if self.count <= 0 { self.count.saturating_add(result_max as i32) } else { self.count }
    }
}

/// The steps of a rule that do something.
pub(super) fn program(map: &Map, rule: &Rule) -> Vec<Op> {
    let tunables = &map.tunables;
    let mut leaf_tries = 0;
    let mut now = Choice {
        mode: Mode::Firstn,
        leaf: false,
        kind: 0,
        count: 0,
        // Ceph once counted retries here rather than tries, and existing clusters depend on it.
        tries: tunables.choose_total_tries.wrapping_add(1),
        leaf_tries: 0,
        local_tries: tunables.choose_local_tries,
        fallback_tries: tunables.choose_local_fallback_tries,
        vary_r: u32::from(tunables.chooseleaf_vary_r),
        stable: tunables.chooseleaf_stable != 0,
    };
    let mut ops = Vec::new();
    for step in &rule.steps {
        match *step {
            // Ceph ignores steps of multi-step-retry rules in others.
            Step::Noop
            | Step::ChooseMsr { .. }
            | Step::Set(Setting::MsrDescents | Setting::MsrCollisionTries, _) => {}
            Step::Take(item) => {
                if map.bucket(item).is_some() || (0..map.max_devices).contains(&item) {
                    ops.push(Op::Take(item));
                }
            }
            Step::Set(Setting::ChooseleafTries, value) => leaf_tries = set(leaf_tries, value, 1),
            Step::Set(Setting::ChooseTries, value) => now.tries = set(now.tries, value, 1),
            Step::Set(Setting::ChooseLocalTries, value) => now.local_tries = set(now.local_tries, value, 0),
            Step::Set(Setting::ChooseLocalFallbackTries, value) => {
                now.fallback_tries = set(now.fallback_tries, value, 0);
            }
            Step::Set(Setting::ChooseleafVaryR, value) => now.vary_r = set(now.vary_r, value, 0),
            Step::Set(Setting::ChooseleafStable, value) => {
                now.stable = set(u32::from(now.stable), value, 0) != 0;
            }
            Step::Emit => ops.push(Op::Emit),
            Step::Choose { mode, leaf, count, kind } => {
                let leaf_tries = match mode {
                    _ if leaf_tries > 0 => leaf_tries,
                    Mode::Indep => 1,
                    Mode::Firstn if tunables.chooseleaf_descend_once != 0 => 1,
                    Mode::Firstn => now.tries,
                };
                ops.push(Op::Choose(Choice { mode, leaf, count, kind, leaf_tries, ..now }));
            }
        }
    }
    ops
}

/// The value of a setting after a step; values below `least` have no effect.
fn set(now: u32, value: i32, least: i32) -> u32 {
    if value >= least { value as u32 } else { now }
}

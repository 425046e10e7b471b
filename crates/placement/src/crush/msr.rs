//! The form of multi-step-retry rules, which Ceph has from release 19 on: settings first, then blocks of
//! `take`, `choosemsr` steps and `emit`.
//!
//! Follows the notes on such rules in section h of the project's reference notes on Ceph by release
//! (`doc/dev/crush-msr.rst`, `mapper.c`). Ceph gives no device for a rule of another form; where its code
//! would fail an assertion or read out of bounds (no `choosemsr` step, a device or nothing to take, a
//! negative count), a rule gives no device here either, and says why.

use super::map::{ItemId, Map, Mode, Rule, Setting, Step};
use std::collections::BTreeMap;

/// The maximum number of passes, and of draws of one item in a pass: Ceph's default is 100, and a mapping
/// that cannot succeed makes all of them.
const TRIES_MAX: u32 = 1_000;

/// Why Ceph finds no device with a multi-step-retry rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MsrFault {
    /// A step is where the form has another.
    #[error("its step {number} is not `{wanted}`")]
    Step {
        /// The number of the step, counted from 1.
        number: usize,
        /// The step or steps that may be there.
        wanted: &'static str,
    },
    /// A block ends before it began.
    #[error("its block ends at step {number} without a `choosemsr`")]
    Empty {
        /// The number of the step, counted from 1.
        number: usize,
    },
    /// The last block has no end.
    #[error("its last block has no `emit`")]
    Open,
    /// A block starts from something else than a bucket of the map.
    #[error("its step {number} takes {item}, which is not a bucket of the map")]
    Take {
        /// The number of the step, counted from 1.
        number: usize,
        /// The item.
        item: ItemId,
    },
    /// A number is below 0.
    #[error("its step {number} chooses {count} items")]
    Count {
        /// The number of the step, counted from 1.
        number: usize,
        /// The count.
        count: i32,
    },
    /// A block can never fill a position, because `choosemsr` picks devices in another step than its last.
    #[error("the last `choosemsr` of its block {block} is not of type 0, or one before it is")]
    Leaf {
        /// The number of the block, counted from 1.
        block: usize,
    },
    /// So many tries would take too long.
    #[error("`{what}` is {tries}, but Towtank supports at most {TRIES_MAX}")]
    Tries {
        /// The tunable, which a step may override.
        what: &'static str,
        /// The number of tries.
        tries: u32,
    },
}

/// A multi-step-retry rule of the form that Ceph runs.
#[derive(Clone, Debug)]
pub(super) struct MsrRule {
    /// How its results are ordered.
    pub mode: Mode,
    /// Passes over a block.
    pub descents: u32,
    /// Draws of one item in a pass.
    pub collision_tries: u32,
    pub blocks: Vec<Block>,
}

/// From a `take` to its `emit`.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The bucket from which all descents start.
    pub take: ItemId,
    pub levels: Vec<Level>,
}

/// A `choosemsr` step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// The number of items; 0 means as many as requested.
    pub count: u32,
    pub kind: i32,
}

impl Level {
    /// Into how many strides it splits a range.
    pub fn strides(self, result_max: usize) -> usize {
        if self.count == 0 { result_max } else { self.count as usize }
    }
}

impl MsrRule {
    /// The form of a rule whose kind is one of the two.
    pub fn of(map: &Map, rule: &Rule) -> Result<Self, MsrFault> {
        let mode = rule.kind.msr_mode().unwrap_or(Mode::Firstn);
        let (mut descents, mut collision_tries) =
            (map.tunables.msr_descents, map.tunables.msr_collision_tries);
        let mut steps = rule.steps.iter().enumerate().map(|(at, step)| (at + 1, *step)).peekable();
        while let Some((_, Step::Set(setting, value))) = steps.next_if(|(_, step)| is_setting(step)) {
            match setting {
                Setting::MsrDescents => descents = value as u32,
                _ => collision_tries = value as u32,
            }
        }
        for (what, tries) in [("msr_descents", descents), ("msr_collision_tries", collision_tries)] {
            if tries > TRIES_MAX {
                return Err(MsrFault::Tries { what, tries });
            }
        }
        let mut blocks = Vec::new();
        while let Some((number, step)) = steps.next() {
            let Step::Take(take) = step else { return Err(MsrFault::Step { number, wanted: "take" }) };
            if map.bucket(take).is_none() {
                return Err(MsrFault::Take { number, item: take });
            }
            blocks.push(Block { take, levels: levels(&mut steps)? });
        }
        Ok(Self { mode, descents, collision_tries, blocks })
    }

    /// The rules of the map that Ceph can run, by number.
    pub fn all(map: &Map) -> BTreeMap<usize, Self> {
        let rules = map.rules.iter().enumerate().filter_map(|(id, rule)| Some((id, rule.as_ref()?)));
        let retrying = rules.filter(|(_, rule)| rule.kind.msr_mode().is_some());
        retrying.filter_map(|(id, rule)| Some((id, Self::of(map, rule).ok()?))).collect()
    }
}

impl Map {
    /// Why a multi-step-retry rule, or a block of it, can find no device; `None` if it may find some, or is
    /// no such rule.
    #[must_use]
    pub fn msr_fault(&self, rule: usize) -> Option<MsrFault> {
        let rule = self.rule(rule).filter(|rule| rule.kind.msr_mode().is_some())?;
        let blocks = match MsrRule::of(self, rule) {
            Ok(rule) => rule.blocks,
            Err(fault) => return Some(fault),
        };
        let ends_in_devices = |block: &Block| {
            block
                .levels
                .iter()
                .enumerate()
                .all(|(at, level)| (level.kind == 0) == (at + 1 == block.levels.len()))
        };
        let block = blocks.iter().position(|block| !ends_in_devices(block))? + 1;
        Some(MsrFault::Leaf { block })
    }
}

fn is_setting(step: &Step) -> bool {
    matches!(step, Step::Set(setting, _) if setting.is_msr())
}

/// The steps of a block after its `take`, up to and without its `emit`.
fn levels(steps: &mut impl Iterator<Item = (usize, Step)>) -> Result<Vec<Level>, MsrFault> {
    let mut levels = Vec::new();
    for (number, step) in steps {
        match step {
            Step::ChooseMsr { count, kind } => {
                let count = u32::try_from(count).map_err(|_| MsrFault::Count { number, count })?;
                levels.push(Level { count, kind });
            }
            Step::Emit if levels.is_empty() => return Err(MsrFault::Empty { number }),
            Step::Emit => return Ok(levels),
            _ => return Err(MsrFault::Step { number, wanted: "choosemsr` or `emit" }),
        }
    }
    Err(MsrFault::Open)
}

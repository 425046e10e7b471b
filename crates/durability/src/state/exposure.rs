//! How many members each group misses, and for how long groups could not serve.

use crate::fleet::System;

#[derive(Clone, Debug)]
pub(crate) struct Exposure {
    missing: Vec<u16>,
    /// Good members that are away.
    away: Vec<u16>,
    /// Groups that cannot serve now.
    below: usize,
    /// Their number, summed over time.
    pub(crate) below_h: f64,
}

impl Exposure {
    pub(crate) fn new(system: &System) -> Exposure {
        let groups = system.groups();
        Exposure { missing: vec![0; groups], away: vec![0; groups], below: 0, below_h: 0.0 }
    }

    pub(crate) fn copy(&mut self, other: &Exposure) {
        self.missing.clone_from(&other.missing);
        self.away.clone_from(&other.away);
        self.below = other.below;
        self.below_h = other.below_h;
    }

    pub(crate) fn advance(&mut self, span_h: f64) {
        self.below_h += self.below as f64 * span_h;
    }

    pub(crate) fn missing(&self, group: usize) -> usize {
        usize::from(self.missing[group])
    }

    pub(crate) fn set_missing(&mut self, system: &System, group: usize, missing: usize) {
        self.change(system, group, |exposure| exposure.missing[group] = missing.min(65_535) as u16);
    }

    pub(crate) fn away(&mut self, system: &System, group: usize, by: i32) {
        self.change(system, group, |exposure| {
            exposure.away[group] = (i32::from(exposure.away[group]) + by).max(0) as u16;
        });
    }

    fn change(&mut self, system: &System, group: usize, change: impl FnOnce(&mut Exposure)) {
        let limit = system.fleet.serves_without;
        let is_below = |all: &Exposure| usize::from(all.missing[group] + all.away[group]) > limit;
        let before = is_below(self);
        change(self);
        let after = is_below(self);
        self.below = self.below + usize::from(after) - usize::from(before);
    }
}

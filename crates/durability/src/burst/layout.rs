//! Regular layouts under a burst: racks in sets, places in a rack, a local group of devices at each place.
//! The local group is lost when more than its tolerance of devices failed; the groups at the same place of
//! all racks of a set are one network group, which is lost when more than its tolerance of local groups are.
//!
//! | layout | racks in a set | local group | its tolerance | tolerance of the network group |
//! | --- | --- | --- | --- | --- |
//! | groups within a rack | 1 | n | m | 0 |
//! | declustered pools, any m + 1 devices lose | 1 | the pool | m | 0 |
//! | groups over racks | n | 1 | 0 | m |
//! | both (MLEC) | n of the network | n of the group | m of the group | m of the network |
//!
//! The sets of failed devices that touch exactly so many racks are counted place by place: the state is the
//! number of racks of the set that are touched so far.

use super::polynomial::Ways;
use crate::error::{DurabilityError, within};
use crate::sums::choose;

/// At most so many failed devices: with more, weights may exceed the range of numbers.
const FAILED_MAX: f64 = 400.0;

/// A regular layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Sets of racks.
    pub sets: usize,
    /// Racks of a set.
    pub racks_per_set: usize,
    /// Local groups of a rack.
    pub places: usize,
    /// Devices of a local group.
    pub local: usize,
    /// Failed devices that a local group survives.
    pub local_tolerance: usize,
    /// Lost local groups that a network group survives.
    pub top_tolerance: usize,
}

impl Layout {
    /// P(loss) when `failed` devices fail at once, uniform among the sets of devices that touch exactly
    /// `racks` racks.
    ///
    /// # Errors
    /// If there is no such set.
    pub fn loss(&self, failed: usize, racks: usize) -> Result<f64, DurabilityError> {
        let touched = self.touched(failed, racks)?;
        let there = touched.get(racks).map_or((0.0, 0.0), |ways| (ways.safe[failed], ways.lost[failed]));
        if there.0 + there.1 == 0.0 {
            return Err(DurabilityError::NoSuchBurst { failed: failed as u64, racks: racks as u64 });
        }
        Ok(there.1 / (there.0 + there.1))
    }

    /// P(loss) when `failed` devices fail at once, uniform among all sets of that many.
    ///
    /// # Errors
    /// If there are fewer devices.
    pub fn loss_anywhere(&self, failed: usize) -> Result<f64, DurabilityError> {
        let racks = self.sets * self.racks_per_set;
        let touched = self.touched(failed, failed.min(racks))?;
        let all = touched
            .iter()
            .fold((0.0, 0.0), |(safe, lost), ways| (safe + ways.safe[failed], lost + ways.lost[failed]));
        if all.0 + all.1 == 0.0 {
            return Err(DurabilityError::NoSuchBurst { failed: failed as u64, racks: racks as u64 });
        }
        Ok(all.1 / (all.0 + all.1))
    }

    /// The ways to fail, by the number of touched racks.
    fn touched(&self, failed: usize, racks: usize) -> Result<Vec<Ways>, DurabilityError> {
        let devices = self.racks_per_set * self.sets * self.places * self.local;
        within("the number of devices of the layout", devices as f64, 1.0, 1e9)?;
        within("the number of failed devices", failed as f64, 1.0, (devices as f64).min(FAILED_MAX))?;
        let concerned = (racks.max(1) * self.places * self.local) as f64;
        let odds = (failed as f64 / concerned).min(1.0);
        let set = self.one_set(failed, racks, odds);
        let mut all = vec![Ways::one(failed)];
        for _ in 0..self.sets {
            let most = racks.min(all.len() - 1 + self.racks_per_set);
            let mut next = vec![Ways::none(failed); most + 1];
            for (i, before) in all.iter().enumerate() {
                for (j, here) in set.iter().enumerate().filter(|(j, _)| i + j <= most) {
                    next[i + j].add_product(before, here, 1.0);
                }
            }
            all = next;
        }
        Ok(all)
    }

    /// The ways within one set of racks, by the number of its racks that are touched.
    fn one_set(&self, failed: usize, racks: usize, odds: f64) -> Vec<Ways> {
        let steps = self.one_place(failed, odds);
        let most = self.racks_per_set.min(racks);
        let mut touched = vec![Ways::none(failed); most + 1];
        touched[0] = Ways::one(failed);
        for _ in 0..self.places {
            let mut next = vec![Ways::none(failed); most + 1];
            for (already, before) in touched.iter().enumerate().filter(|(_, ways)| !ways.is_none()) {
                for (hit, place) in steps.iter().enumerate() {
                    for new in hit.saturating_sub(already)..=hit.min(most - already) {
                        let ways = choose((self.racks_per_set - already) as u64, new as u64)
                            * choose(already as u64, (hit - new) as u64);
                        next[already + new].add_product(before, place, ways);
                    }
                }
            }
            touched = next;
        }
        touched
    }

    /// The ways at one place of a set, by the number of racks that are hit there, which racks given.
    fn one_place(&self, failed: usize, odds: f64) -> Vec<Ways> {
        let of = |range: std::ops::RangeInclusive<usize>| {
            let mut weights = vec![0.0; failed + 1];
            for count in range.filter(|count| *count <= failed) {
                weights[count] = choose(self.local as u64, count as u64) * libm::pow(odds, count as f64);
            }
            Ways { safe: weights, lost: vec![0.0; failed + 1] }
        };
        let hurt = of(1..=self.local_tolerance.min(self.local));
        let lost = of(self.local_tolerance + 1..=self.local);
        let power = |ways: &Ways, times: usize| (0..times).fold(Ways::one(failed), |all, _| all.with(ways));
        (0..=self.racks_per_set.min(failed))
            .map(|hit| {
                let mut place = Ways::none(failed);
                for gone in 0..=hit {
                    let which = choose(hit as u64, gone as u64);
                    let ways = power(&lost, gone).with(&power(&hurt, hit - gone));
                    let is_lost = gone > self.top_tolerance;
                    let to = if is_lost { &mut place.lost } else { &mut place.safe };
                    to.iter_mut().zip(&ways.safe).for_each(|(cell, weight)| *cell += which * weight);
                }
                place
            })
            .collect()
    }
}

//! A burst on groups as they are: each is a list of devices with a tolerance, devices lie in hosts, and hosts
//! in racks. Which method was used is part of the answer:
//!
//! - **Counted**: as many units fail as the least that a group does not survive. A losing set is then a
//!   subset of one group, and the distinct ones are counted.
//! - **Exhausted**: every set is looked at.
//! - **Drawn**: sets are drawn uniformly, with an exact interval (Clopper and Pearson) of 95 %.

use std::collections::BTreeSet;

use towtank_streams::{Draws, Purpose, Seed, Uniform};

use super::subsets;
use crate::error::{DurabilityError, within};
use crate::group::Group;
use crate::sums::{Bounds, binomial, choose, clopper_pearson};

/// At most so many sets are looked at or counted.
const SETS_MAX: f64 = 2e6;

/// What fails as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Single devices.
    Devices,
    /// Hosts with all their devices.
    Hosts,
}

/// How a probability was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Distinct losing sets were counted.
    Counted,
    /// Every set was looked at.
    Exhausted,
    /// Sets were drawn.
    Drawn {
        /// So many.
        sets: u64,
        /// Of them lose something.
        losses: u64,
    },
}

/// P(loss | burst).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The probability, or the share of drawn sets.
    pub loss: f64,
    /// Equal to it where it is exact, else an interval of 95 %.
    pub interval: Bounds,
    /// The expected share of groups that are lost, exactly or among the drawn sets.
    pub groups_lost: f64,
    /// How it was found.
    pub method: Method,
}

/// Groups on devices in hosts in racks.
#[derive(Clone, Debug)]
pub struct Explicit {
    host_of: Vec<usize>,
    rack_of: Vec<usize>,
    groups: Vec<Group>,
}

/// The smallest number of units that is at least such a share of all.
#[must_use]
pub fn share_of(share: f64, units: usize) -> usize {
    libm::ceil(share * units as f64 - 1e-9).max(0.0) as usize
}

/// Units of one kind, with the groups that each has members of.
struct Field {
    /// The rack of each unit.
    rack_of: Vec<usize>,
    /// For each unit, the groups of its devices; a group twice where two of its members are there.
    groups_of: Vec<Vec<u32>>,
    tolerance: Vec<usize>,
}

impl Explicit {
    /// The host of each device, the rack of each host, and the groups.
    ///
    /// # Errors
    /// If a device names a host, or a group a device, that is not there.
    pub fn new(
        host_of: Vec<usize>,
        rack_of: Vec<usize>,
        groups: Vec<Group>,
    ) -> Result<Explicit, DurabilityError> {
        let unknown = |what, index, named, there| DurabilityError::Unknown { what, index, named, there };
        if let Some((device, host)) = host_of.iter().enumerate().find(|(_, host)| **host >= rack_of.len()) {
            return Err(unknown("device", device, *host, rack_of.len()));
        }
        for (index, group) in groups.iter().enumerate() {
            if let Some(device) = group.devices.iter().find(|device| **device >= host_of.len()) {
                return Err(unknown("group", index, *device, host_of.len()));
            }
            let most = group.devices.len() as f64 - 1.0;
            within("the tolerance of a group", group.tolerance as f64, 0.0, most)?;
        }
        Ok(Explicit { host_of, rack_of, groups })
    }

    /// P(loss) when `failed` units fail at once, uniform among all sets of that many, or among those that
    /// touch exactly `racks` racks. At most `draws` sets are drawn, where the sets are too many to be looked
    /// at.
    ///
    /// # Errors
    /// If there is no such set.
    pub fn loss(
        &self,
        units: Units,
        burst: (usize, Option<usize>),
        draws: u64,
        seed: Seed,
    ) -> Result<Found, DurabilityError> {
        let (failed, racks) = burst;
        let field = self.field(units);
        let all = field.rack_of.len();
        within("the number of failed units", failed as f64, 1.0, all as f64)?;
        let bins = Bins::new(&field.rack_of, failed, racks);
        if bins.total == 0.0 {
            let racks = racks.unwrap_or(0) as u64;
            return Err(DurabilityError::NoSuchBurst { failed: failed as u64, racks });
        }
        if choose(all as u64, failed as u64) <= SETS_MAX {
            return Ok(field.exhausted(failed, racks));
        }
        let subsets: f64 =
            self.groups.iter().map(|group| choose(group.devices.len() as u64, failed as u64)).sum();
        let is_least = field.tolerance.iter().all(|tolerance| tolerance + 1 >= failed);
        if units == Units::Devices && is_least && subsets <= SETS_MAX {
            return Ok(self.counted(&field, failed, racks, bins.sets()));
        }
        within("the number of sets to draw", draws as f64, 100.0, 1e9)?;
        Ok(field.drawn(&bins, draws, seed))
    }

    fn field(&self, units: Units) -> Field {
        let (rack_of, unit_of): (Vec<usize>, Vec<usize>) = match units {
            Units::Devices => (
                self.host_of.iter().map(|host| self.rack_of[*host]).collect(),
                (0..self.host_of.len()).collect(),
            ),
            Units::Hosts => (self.rack_of.clone(), self.host_of.clone()),
        };
        let mut groups_of = vec![Vec::new(); rack_of.len()];
        for (index, group) in self.groups.iter().enumerate() {
            group.devices.iter().for_each(|device| groups_of[unit_of[*device]].push(index as u32));
        }
        Field { rack_of, groups_of, tolerance: self.groups.iter().map(|group| group.tolerance).collect() }
    }

    /// The distinct losing sets, where each is within one group.
    fn counted(&self, field: &Field, failed: usize, racks: Option<usize>, sets: f64) -> Found {
        let mut losing: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut lost_groups = 0.0;
        for group in self.groups.iter().filter(|group| group.tolerance + 1 == failed) {
            subsets::for_each(group.devices.len(), failed, |places| {
                let mut set: Vec<usize> = places.iter().map(|place| group.devices[*place]).collect();
                set.sort_unstable();
                if racks.is_none_or(|racks| field.racks(&set) == racks) {
                    losing.insert(set);
                    lost_groups += 1.0;
                }
            });
        }
        let loss = losing.len() as f64 / sets;
        let groups_lost = lost_groups / sets / self.groups.len() as f64;
        Found { loss, interval: Bounds { low: loss, high: loss }, groups_lost, method: Method::Counted }
    }
}

impl Field {
    fn racks(&self, set: &[usize]) -> usize {
        set.iter().map(|unit| self.rack_of[*unit]).collect::<BTreeSet<usize>>().len()
    }

    /// How many groups a set of failed units loses. `missing` is zero before and after.
    fn lost(&self, set: &[usize], missing: &mut [usize]) -> usize {
        let mut lost = 0;
        for group in set.iter().flat_map(|unit| &self.groups_of[*unit]) {
            let group = *group as usize;
            missing[group] += 1;
            lost += usize::from(missing[group] == self.tolerance[group] + 1);
        }
        for group in set.iter().flat_map(|unit| &self.groups_of[*unit]) {
            missing[*group as usize] = 0;
        }
        lost
    }

    fn exhausted(&self, failed: usize, racks: Option<usize>) -> Found {
        let mut missing = vec![0; self.tolerance.len()];
        let (mut sets, mut losses, mut lost_groups) = (0u64, 0u64, 0u64);
        subsets::for_each(self.rack_of.len(), failed, |set| {
            if racks.is_none_or(|racks| self.racks(set) == racks) {
                let lost = self.lost(set, &mut missing);
                sets += 1;
                losses += u64::from(lost > 0);
                lost_groups += lost as u64;
            }
        });
        let loss = losses as f64 / sets as f64;
        let groups_lost = lost_groups as f64 / sets as f64 / self.tolerance.len() as f64;
        Found { loss, interval: Bounds { low: loss, high: loss }, groups_lost, method: Method::Exhausted }
    }

    fn drawn(&self, bins: &Bins, sets: u64, seed: Seed) -> Found {
        let mut missing = vec![0; self.tolerance.len()];
        let (mut losses, mut lost_groups) = (0u64, 0u64);
        let mut set = Vec::new();
        for ordinal in 0..sets {
            let mut draws = Draws::new(seed, 0, ordinal);
            bins.draw(&mut draws.of(PURPOSE), &mut set);
            let lost = self.lost(&set, &mut missing);
            losses += u64::from(lost > 0);
            lost_groups += lost as u64;
        }
        Found {
            loss: losses as f64 / sets as f64,
            interval: clopper_pearson(losses, sets, 0.05),
            groups_lost: lost_groups as f64 / sets as f64 / self.tolerance.len() as f64,
            method: Method::Drawn { sets, losses },
        }
    }
}

const PURPOSE: Purpose = Purpose(0x6275_7273);

/// Units by rack, and the weights from which sets with a number of touched racks are drawn.
struct Bins {
    units: Vec<Vec<usize>>,
    failed: usize,
    racks: Option<usize>,
    p: f64,
    /// By rack from which the rest is drawn, racks still to be touched (none where any number may be), and
    /// units still to fail.
    weight: Vec<Vec<Vec<f64>>>,
    total: f64,
}

impl Bins {
    fn new(rack_of: &[usize], failed: usize, racks: Option<usize>) -> Bins {
        let count = rack_of.iter().max().map_or(0, |most| most + 1);
        let mut units = vec![Vec::new(); count];
        rack_of.iter().enumerate().for_each(|(unit, rack)| units[*rack].push(unit));
        let touched = racks.unwrap_or(count).clamp(1, count);
        let p = (failed as f64 * count as f64 / (touched as f64 * rack_of.len() as f64)).clamp(1e-9, 0.5);
        let layers = racks.unwrap_or(0) + 1;
        let mut weight = vec![vec![vec![0.0; failed + 1]; layers]; count + 1];
        weight[count][0][0] = 1.0;
        let mut bins = Bins { units, failed, racks, p, weight, total: 0.0 };
        for rack in (0..count).rev() {
            for (layer, left) in (0..layers).flat_map(|layer| (0..=failed).map(move |left| (layer, left))) {
                let ways =
                    (0..=left.min(bins.units[rack].len())).map(|here| bins.way(rack, layer, left, here));
                bins.weight[rack][layer][left] = crate::sums::sum(ways.collect::<Vec<f64>>());
            }
        }
        bins.total = bins.weight[0][layers - 1][failed];
        bins
    }

    /// The weight of `here` failed units in a rack.
    fn way(&self, rack: usize, layer: usize, left: usize, here: usize) -> f64 {
        let touches = usize::from(here > 0 && self.racks.is_some());
        let Some(next) = layer.checked_sub(touches) else { return 0.0 };
        let own = binomial(self.units[rack].len() as u64, here as u64, self.p);
        own * self.weight[rack + 1][next][left - here]
    }

    /// The number of sets.
    fn sets(&self) -> f64 {
        let all: usize = self.units.iter().map(Vec::len).sum();
        self.total
            / libm::pow(self.p, self.failed as f64)
            / libm::exp((all - self.failed) as f64 * libm::log1p(-self.p))
    }

    fn draw(&self, source: &mut impl Uniform, set: &mut Vec<usize>) {
        set.clear();
        let (mut layer, mut left) = (self.racks.unwrap_or(0), self.failed);
        for rack in 0..self.units.len() {
            let most = left.min(self.units[rack].len());
            let mut mark = source.unit_f64() * self.weight[rack][layer][left];
            let mut chosen = None;
            for here in 0..=most {
                let way = self.way(rack, layer, left, here);
                if way > 0.0 {
                    chosen = Some(here);
                    if mark < way {
                        break;
                    }
                    mark -= way;
                }
            }
            let here =
                chosen.expect("the weight of this rack is the sum of ways, of which one is above zero");
            subsets::draw(&self.units[rack], here, source, set);
            layer -= usize::from(here > 0 && self.racks.is_some());
            left -= here;
        }
    }
}

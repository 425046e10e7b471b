//! The load of each device if placement were proportional to weight: crushtool's estimate, in single
//! precision.

use crate::crush::general::{USUAL_DIGITS, general};
use crate::crush::map::{Map, Step};
use std::collections::BTreeMap;

/// The shares of the devices, and the number of objects.
pub(super) struct Expectation {
    /// The share of the total weight, by device.
    pub shares: Vec<f32>,
    objects: f32,
}

impl Expectation {
    /// For the given device weights and number of objects; `None` if no device is in.
    pub fn new(weights: &[u32], objects: i32) -> Option<Self> {
        let total = weights.iter().fold(0i32, |sum, &weight| sum.wrapping_add(weight as i32));
        let shares = weights.iter().map(|&weight| weight as f32 / total as f32).collect();
        (total != 0).then_some(Self { shares, objects: objects as f32 })
    }

    /// The expected number of objects of a device.
    pub fn of(&self, device: usize) -> f32 {
        self.shares[device] * self.objects
    }
}

/// Formats a number as crushtool does.
pub(super) fn usual(value: f32) -> String {
    general(f64::from(value), USUAL_DIGITS)
}

/// The maximum number of replicas that crushtool assumes a rule can place: the smallest number of buckets of
/// any type that it chooses, or fewer if it chooses fewer. A type that two steps choose counts double. Steps
/// that set a tunable count as choices of type 0, of which there are no buckets.
pub(super) fn most_replicas(map: &Map, rule: usize) -> i32 {
    let mut wanted: BTreeMap<i32, i32> = BTreeMap::new();
    let mut there: BTreeMap<i32, i32> = BTreeMap::new();
    let named: Vec<i32> = map
        .each_bucket()
        .filter(|bucket| map.item_names.contains_key(&bucket.id))
        .map(|bucket| i32::from(bucket.kind))
        .collect();
    for step in map.rule(rule).into_iter().flat_map(|rule| &rule.steps) {
        let (count, kind) = match *step {
            Step::Choose { count, kind, .. } | Step::ChooseMsr { count, kind } => (count, kind),
            Step::Set(_, value) => (value, 0),
            Step::Noop | Step::Take(_) | Step::Emit => continue,
        };
        wanted.insert(kind, count);
        let alike = named.iter().filter(|&&other| other == kind).count();
        *there.entry(kind).or_default() += i32::try_from(alike).unwrap_or(i32::MAX);
    }
    let slots = i32::try_from(map.buckets.len()).unwrap_or(i32::MAX);
    wanted
        .iter()
        .map(|(kind, &wanted)| if wanted > 0 { wanted.min(there[kind]) } else { there[kind] })
        .filter(|&most| most > 0)
        .fold(slots.max(map.max_devices), i32::min)
}

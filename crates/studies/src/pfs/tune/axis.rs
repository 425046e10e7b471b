//! The axes of a scheduler's settings, each from its current value to its extreme.

use towtank_iosched::{Description, Kind};
use towtank_scenario::gate::Gate;
use towtank_units::{Bytes, Frequency, Rate};

use super::{Key, Settings};
use crate::pfs::scenario::Settled;

/// The maximum number of doublings of a weight.
const WEIGHT_DOUBLINGS: u32 = 10;
/// The maximum weight.
const WEIGHT_MAX: u64 = 1_000_000;
/// The lowest rate that is tried is the capacity of a server, halved this often.
const RATE_HALVINGS: u32 = 12;
/// Reservations range from the capacity of a server, halved this often, to half of it.
const RESERVATION_HALVINGS: u32 = 8;
/// Where no depth is set, halving begins here.
const DEPTH_FIRST: u32 = 64;

/// One setting that can change. Level 0 is its current value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    what: What,
    /// The value of each level from 1 on.
    values: Vec<u64>,
    /// The value of level 0 for comparison with the first level where rates are refined.
    loosest: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Depth(Description),
    Of(String, Key),
}

impl Axis {
    /// The level of the greatest change.
    pub(super) fn levels(&self) -> usize {
        self.values.len()
    }

    /// The settings with this axis at a level.
    pub(super) fn at(&self, settings: &Settings, level: usize) -> Settings {
        match level.checked_sub(1).and_then(|index| self.values.get(index)) {
            Some(value) => self.with(settings, *value),
            None => settings.clone(),
        }
    }

    /// The settings with this axis at a value.
    pub(super) fn with(&self, settings: &Settings, value: u64) -> Settings {
        let mut settings = settings.clone();
        match &self.what {
            What::Depth(description) => {
                let depth = Some(value as u32);
                settings.scheduler = Description { depth, ..description.clone() }.to_string();
            }
            What::Of(name, key) => {
                settings.values.insert((name.clone(), *key), value);
            }
        }
        settings
    }

    /// The values at two levels, where values between them are possible too.
    pub(super) fn between(&self, low: usize, high: usize) -> Option<(u64, u64)> {
        if matches!(self.what, What::Depth(_) | What::Of(_, Key::Weight)) {
            return None;
        }
        let value = |level: usize| level.checked_sub(1).and_then(|index| self.values.get(index)).copied();
        Some((value(low).unwrap_or(self.loosest), value(high)?))
    }
}

/// Rounds to three digits: more precision is not worth a run.
pub(super) fn rounded(value: u64) -> u64 {
    let mut unit = 1;
    while value / unit >= 1_000 {
        unit *= 10;
    }
    (value + unit / 2) / unit * unit
}

/// The applications that should get more for the goals, and those that may get less.
struct Sides {
    more: Vec<String>,
    less: Vec<String>,
}

impl Sides {
    fn of(base: &Settled, goals: &[Gate]) -> Sides {
        let (mut more, mut less) = (Vec::new(), Vec::new());
        for (measure, below) in goals.iter().flat_map(Gate::sides) {
            let Some((measure, name)) = measure.strip_suffix(']').and_then(|text| text.split_once('['))
            else {
                continue;
            };
            // For these measures, lower is better.
            let is_cost = measure.starts_with("latency") || matches!(measure, "slowdown" | "share_sd");
            let side = if is_cost == below { &mut more } else { &mut less };
            if !side.iter().any(|known| known == name) {
                side.push(name.to_owned());
            }
        }
        let all = || base.applications.keys();
        if less.is_empty() {
            less = all().filter(|name| !more.contains(name)).cloned().collect();
        }
        if more.is_empty() {
            more = all().filter(|name| !less.contains(name)).cloned().collect();
        }
        Sides { more, less }
    }
}

/// The axes of a scheduler along which the goals could come nearer.
pub(super) fn of(base: &Settled, description: &Description, goals: &[Gate]) -> Vec<Axis> {
    let sides = Sides::of(base, goals);
    let weights = || sides.more.iter().filter_map(|name| weight(base, name));
    let down = |key: Key| sides.less.iter().filter_map(move |name| rate(base, name, key));
    let mut axes: Vec<Axis> = match description.kind {
        Kind::Sfq | Kind::Ssfq(_) | Kind::Wfq | Kind::Wf2q | Kind::Drr(_) | Kind::Wrr => weights().collect(),
        Kind::Dsfq(_) | Kind::Bfq(_) | Kind::Sfqrc(_) => weights().collect(),
        Kind::Mclock { .. } => {
            let reservations = sides.more.iter().filter_map(|name| reservation(base, name));
            weights().chain(reservations).chain(down(Key::Limit)).collect()
        }
        Kind::Tbf { .. } => down(Key::RequestRate).collect(),
        Kind::TokenBucket | Kind::BucketTree(_) => down(Key::Rate).collect(),
        _ => Vec::new(),
    };
    axes.extend(depth(description));
    axes.retain(|axis| axis.levels() > 0);
    axes
}

/// Fewer concurrent jobs: a job that the scheduler has released waits behind fewer others.
fn depth(description: &Description) -> Option<Axis> {
    // A fifo has no order that a depth could improve; `i2l` sets its own depth; rates hold at any depth.
    let none = matches!(
        description.kind,
        Kind::Fifo | Kind::I2l(_) | Kind::Tbf { .. } | Kind::TokenBucket | Kind::BucketTree(_)
    );
    if none {
        return None;
    }
    let mut at = description.depth.unwrap_or(DEPTH_FIRST);
    let mut values = Vec::new();
    while at > 1 {
        at /= 2;
        values.push(u64::from(at));
    }
    Some(Axis { what: What::Depth(description.clone()), values, loosest: 0 })
}

fn weight(base: &Settled, name: &str) -> Option<Axis> {
    let own = u64::from(base.applications.get(name)?.weight);
    let values = (1..=WEIGHT_DOUBLINGS).map(|step| own << step).filter(|weight| *weight <= WEIGHT_MAX);
    Some(Axis { what: What::Of(name.to_owned(), Key::Weight), values: values.collect(), loosest: own })
}

/// The maximum throughput of a server, in bytes per second.
fn capacity(base: &Settled) -> u64 {
    base.disk.read.bytes_per_second().max(base.disk.write.bytes_per_second())
}

fn reservation(base: &Settled, name: &str) -> Option<Axis> {
    let application = base.applications.get(name)?;
    let own = application.reservation.map_or(0, Rate::bytes_per_second);
    let limit = application.limit.map_or(u64::MAX, Rate::bytes_per_second);
    let values = (1..=RESERVATION_HALVINGS)
        .rev()
        .map(|halvings| rounded(capacity(base) >> halvings))
        .filter(|value| *value > own && *value <= limit);
    let what = What::Of(name.to_owned(), Key::Reservation);
    Some(Axis { what, values: values.collect(), loosest: own })
}

/// A decreasing rate: from its current value, or from the capacity of a server.
fn rate(base: &Settled, name: &str, key: Key) -> Option<Axis> {
    let application = base.applications.get(name)?;
    let (own, most) = match key {
        Key::Limit => (application.limit.map(Rate::bytes_per_second), capacity(base)),
        Key::RequestRate => {
            let own = application.request_rate.map(|rate: Frequency| rate.per_second_f64().round() as u64);
            (own, jobs(base, application.request_size))
        }
        _ => (application.rate.map(Rate::bytes_per_second), capacity(base)),
    };
    let least = if key == Key::Limit { application.reservation.map_or(1, Rate::bytes_per_second) } else { 1 };
    let loosest = own.unwrap_or(most);
    let values = (0..=RATE_HALVINGS)
        .map(|halvings| rounded(loosest >> halvings))
        .filter(|value| *value >= least && own.is_none_or(|own| *value < own));
    Some(Axis { what: What::Of(name.to_owned(), key), values: values.collect(), loosest })
}

/// The maximum number of jobs per second of a disk.
fn jobs(base: &Settled, request: Bytes) -> u64 {
    let part = request.get().min(base.stripe.get()).max(1) as f64;
    let each = base.disk.overhead.as_secs_f64() + part / capacity(base) as f64;
    (1.0 / each).ceil().clamp(1.0, 1e9) as u64
}

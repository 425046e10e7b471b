//! A second account of the work items of recovery, as Ceph's WPQ has them, and the model compared with it on
//! drawn cases. It is written from the rules (`OSD::queue_for_recovery`, `_recover_now`, `do_recovery`,
//! `PG::on_active_actmap` and `AsyncReserver`, of 17.2.7 and 18.2.7, in the words of docs/ceph.md) and shares
//! nothing with the model:
//!
//! - a group enters the list of its leader at a new map while it is not complete, when it has its
//!   reservations, and when its object ends or its item had none to start; it is in the list or in work once;
//! - while fewer than `active` items and objects are under way, the first of the list becomes an item, whose
//!   time is a sleep after that of the item before, or after now;
//! - an item starts an object if its group has its reservations; else the sleep was for nothing;
//! - a backfill has one item before its first object and two after its last; then it gives its reservations
//!   back and asks for two maps, one after the other.
//!
//! Left out: priorities, hardware (an object takes a constant time), and all that is not one phase.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use towtank_devices::{CardSpec, DiskSpec};
use towtank_units::Bytes;

use super::*;
use crate::hardware::Layout;

/// A group: who leads it, to where its objects go, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Group {
    leads: usize,
    to: usize,
    objects: u32,
}

/// A drawn case. Times in nanoseconds.
#[derive(Clone, Debug)]
struct Case {
    groups: Vec<Group>,
    devices: usize,
    sleep: u64,
    /// What an object takes besides the sleep.
    object: u64,
    /// `osd_max_backfills`.
    slots: usize,
    /// `osd_recovery_max_active`.
    active: usize,
    /// The least time between two maps, and from the request of one.
    apart: u64,
    soon: u64,
}

/// What of the rules is broken on purpose, or as the model has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    Ceph,
    /// No item for a group that waits.
    NoIdle,
    /// A group may be in the list more than once.
    Twice,
    /// One item after the last object.
    OneAfter,
    /// A map for each group that is complete, and no second one.
    OneMap,
    /// As the model: a group that gets its reservations has a new item, whatever waits of it; and a map gives
    /// an item only to groups that wait.
    LeftOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    ObjectEnds(usize),
    Item(usize),
    Map,
}

#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    left: u32,
    before: u32,
    after: u32,
    flying: u32,
    reserved: bool,
    complete: bool,
    queued: bool,
    /// Items that find nothing, where the group got its reservations while one waited (`LeftOut`).
    stale: u32,
}

/// Reservations that a device has granted, and who waits for one.
#[derive(Clone, Debug, Default)]
struct Reserver {
    held: usize,
    waiting: VecDeque<usize>,
}

#[derive(Clone, Debug, Default)]
struct Leader {
    list: VecDeque<usize>,
    /// Items that wait for their time, and objects under way.
    busy: usize,
    /// The time of the last item.
    last: u64,
    local: Reserver,
    remote: Reserver,
}

struct Account<'a> {
    case: &'a Case,
    rules: Rules,
    now: u64,
    sequence: u64,
    events: BinaryHeap<Reverse<(u64, u64, What)>>,
    groups: Vec<Standing>,
    leaders: Vec<Leader>,
    /// For each change that waits for a map: how many are to come.
    asked: Vec<u32>,
    due: bool,
    last_map: Option<u64>,
    /// When the last object ended.
    last_object: u64,
}

/// When the last object of a case ends by the rules.
fn account(case: &Case, rules: Rules) -> u64 {
    let after = if rules == Rules::OneAfter { 1 } else { 2 };
    let standing = |group: &Group| Standing { left: group.objects, before: 1, after, ..Standing::default() };
    let mut account = Account {
        case,
        rules,
        now: 0,
        sequence: 0,
        events: BinaryHeap::new(),
        groups: case.groups.iter().map(standing).collect(),
        leaders: vec![Leader::default(); case.devices],
        asked: Vec::new(),
        due: false,
        last_map: None,
        last_object: 0,
    };
    (0..case.groups.len()).for_each(|group| account.ask_local(group));
    while let Some(Reverse((at, _, what))) = account.events.pop() {
        account.now = at;
        match what {
            What::ObjectEnds(group) => account.object_ends(group),
            What::Item(group) => account.item(group),
            What::Map => account.map(),
        }
    }
    assert!(account.groups.iter().all(|group| group.complete), "{case:?}");
    account.last_object
}

impl Account<'_> {
    fn at(&mut self, when: u64, what: What) {
        self.sequence += 1;
        self.events.push(Reverse((when, self.sequence, what)));
    }

    fn ask_local(&mut self, group: usize) {
        let local = &mut self.leaders[self.case.groups[group].leads].local;
        if local.held == self.case.slots {
            return local.waiting.push_back(group);
        }
        local.held += 1;
        self.ask_remote(group);
    }

    fn ask_remote(&mut self, group: usize) {
        let remote = &mut self.leaders[self.case.groups[group].to].remote;
        if remote.held == self.case.slots {
            return remote.waiting.push_back(group);
        }
        remote.held += 1;
        self.granted(group);
    }

    fn granted(&mut self, group: usize) {
        self.groups[group].reserved = true;
        if self.rules == Rules::LeftOut && self.groups[group].queued {
            self.groups[group].stale += 1;
            self.groups[group].queued = false;
        }
        self.queue(group);
    }

    fn queue(&mut self, group: usize) {
        let once = self.rules != Rules::Twice;
        if self.groups[group].complete || (once && self.groups[group].queued) {
            return;
        }
        self.groups[group].queued = true;
        let leads = self.case.groups[group].leads;
        self.leaders[leads].list.push_back(group);
        self.take(leads);
    }

    /// Makes items of the list as long as there is room.
    fn take(&mut self, leads: usize) {
        while self.leaders[leads].busy < self.case.active {
            let leader = &mut self.leaders[leads];
            let Some(group) = leader.list.pop_front() else { return };
            leader.busy += 1;
            leader.last = leader.last.max(self.now) + self.case.sleep;
            let at = leader.last;
            self.at(at, What::Item(group));
        }
    }

    fn item(&mut self, number: usize) {
        let leads = self.case.groups[number].leads;
        self.leaders[leads].busy -= 1;
        let group = &mut self.groups[number];
        if group.stale > 0 {
            group.stale -= 1;
            return self.take(leads);
        }
        group.queued = false;
        if !group.reserved {
            return self.take(leads);
        }
        if group.before > 0 {
            group.before -= 1;
            self.queue(number);
        } else if group.left > 0 {
            group.left -= 1;
            group.flying += 1;
            self.leaders[leads].busy += 1;
            self.at(self.now + self.case.object, What::ObjectEnds(number));
        } else if group.flying == 0 && !group.complete {
            group.after -= 1;
            if group.after == 0 {
                self.complete(number);
            } else {
                self.queue(number);
            }
        }
        self.take(leads);
    }

    fn object_ends(&mut self, group: usize) {
        let leads = self.case.groups[group].leads;
        self.leaders[leads].busy -= 1;
        self.groups[group].flying -= 1;
        self.last_object = self.now;
        self.queue(group);
        self.take(leads);
    }

    fn complete(&mut self, number: usize) {
        let Group { leads, to, .. } = self.case.groups[number];
        self.groups[number].complete = true;
        self.groups[number].reserved = false;
        let remote = &mut self.leaders[to].remote;
        if let Some(next) = remote.waiting.pop_front() {
            self.granted(next);
        } else {
            remote.held -= 1;
        }
        let local = &mut self.leaders[leads].local;
        if let Some(next) = local.waiting.pop_front() {
            self.ask_remote(next);
        } else {
            local.held -= 1;
        }
        self.asked.push(if self.rules == Rules::OneMap { 1 } else { 2 });
        self.want_map();
    }

    fn want_map(&mut self) {
        if !self.due {
            self.due = true;
            let next = self.last_map.map_or(0, |last| last + self.case.apart);
            self.at((self.now + self.case.soon).max(next), What::Map);
        }
    }

    fn map(&mut self) {
        (self.due, self.last_map) = (false, Some(self.now));
        for group in 0..self.groups.len() {
            let waits = !self.groups[group].reserved;
            let takes = match self.rules {
                Rules::NoIdle => !waits,
                Rules::LeftOut => waits,
                _ => true,
            };
            if takes {
                self.queue(group);
            }
        }
        self.asked.iter_mut().for_each(|left| *left -= 1);
        self.asked.retain(|left| *left > 0);
        if !self.asked.is_empty() {
            self.want_map();
        }
    }
}

/// When the model ends the last object of a case.
fn modelled(case: &Case) -> u64 {
    let devices = case.devices as u32;
    let rate = sample::rate(1 << 50);
    let disk = DiskSpec {
        read: rate,
        write: rate,
        read_overhead: SimSpan::ZERO,
        write_overhead: SimSpan::ZERO,
        seeks: Vec::new(),
        extent: Bytes::new(0),
    };
    let rows = || (0..devices).collect::<Vec<u32>>();
    let layout =
        Layout { server_of: rows(), rack_of: vec![0; case.devices], class_of: vec![0; case.devices] };
    let card = CardSpec { rate, latency: SimSpan::from_ns(100), gap: SimSpan::ZERO };
    let hardware = Hardware::new(layout, vec![disk], card, None, Bytes::new(UNIT));
    let mut plan = Plan::new().of_groups(true);
    for leads in 0..case.devices {
        plan.next_driver();
        for (number, group) in (0u32..).zip(&case.groups).filter(|(_, group)| group.leads == leads) {
            let to = [DeviceId(group.to as u32)];
            plan.next_task(number, (0, false), &to);
            (0..group.objects).for_each(|_| plan.next_job(UNIT, 0, &[DeviceId(leads as u32)], &to));
        }
    }
    let [apart, soon] = [case.apart, case.soon].map(SimSpan::from_ns);
    let limits = Limits {
        streams: case.active as u32,
        reservations: Some(case.slots as u32),
        sleep: SimSpan::from_ns(case.sleep),
        job_cost: SimSpan::from_ns(case.object),
        serial: true,
        maps: Some(Maps { soon, apart, one_in: 1, at_once: false }),
        ..sample::limits()
    };
    let counts = outcome(&Rebuild::new(&hardware, &plan, &limits), RunOptions::default()).merged_statistics();
    counts.last.iter().max().expect("a row").as_ns()
}

/// What is drawn of a case.
#[derive(Clone, Copy)]
struct Range {
    leaders: u64,
    /// Groups of a leader.
    groups: u64,
    slots: u64,
    /// Values of `active`, and what an object takes in parts of 60 of the sleep.
    active: &'static [usize],
    object: &'static [u64],
}

/// What Ceph has if nothing is set: one reservation, three or ten objects, and transfers that take less than
/// a sleep.
const USUAL: Range = Range { leaders: 1, groups: 14, slots: 1, active: &[3, 10], object: &[0, 1, 5, 20] };

fn drawn_case(seed: u64, range: Range) -> Case {
    let mut state = seed;
    let mut draw = |below: u64| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = state;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % below
    };
    let ms = 1_000_000;
    let leaders = 1 + draw(range.leaders) as usize;
    let targets = 1 + draw(6) as usize;
    let most = 1 + draw(40);
    let mut groups = Vec::new();
    for leads in 0..leaders {
        for _ in 0..1 + draw(range.groups) {
            let to = leaders + draw(targets as u64) as usize;
            groups.push(Group { leads, to, objects: 1 + draw(most) as u32 });
        }
    }
    let sleep = [20, 50, 100, 200][draw(4) as usize] * ms + draw(ms);
    let part = range.object[draw(range.object.len() as u64) as usize];
    Case {
        groups,
        devices: leaders + targets,
        sleep,
        object: ms / 10 + sleep * part / 60,
        slots: 1 + draw(range.slots) as usize,
        active: range.active[draw(range.active.len() as u64) as usize],
        apart: [300, 1_000, 1_000, 3_000][draw(4) as usize] * ms,
        soon: 50 * ms,
    }
}

/// Cases of which the model is compared with the rules.
const CASES: u64 = 150;

/// How a case differs: what the model has, and what the rules give.
struct Differs {
    case: Case,
    model: u64,
    rules: u64,
}

impl Differs {
    /// One sleep and one object: where an item comes just before a map in one account, and behind it in the
    /// other.
    fn is_close(&self) -> bool {
        self.model.abs_diff(self.rules) <= self.case.sleep + self.case.object
    }

    /// A tenth of a sleep: messages take no time in the rules, and microseconds in the model.
    fn is_equal(&self) -> bool {
        self.model.abs_diff(self.rules) <= self.case.sleep / 10
    }

    fn later(&self) -> f64 {
        self.model as f64 / self.rules as f64 - 1.0
    }
}

fn compared(range: Range, rules: Rules) -> Vec<Differs> {
    let one = |seed| {
        let case = drawn_case(seed, range);
        let (model, rules) = (modelled(&case), account(&case, rules));
        Differs { case, model, rules }
    };
    (0..CASES).map(one).collect()
}

/// How many are close, and how much later the model ends on average and at most.
fn summed(all: &[Differs]) -> (usize, f64, f64) {
    let close = all.iter().filter(|one| one.is_close()).count();
    let later = all.iter().map(Differs::later);
    (close, later.clone().sum::<f64>() / all.len() as f64, later.map(f64::abs).fold(0.0, f64::max))
}

const MANY: Range = Range { groups: 60, ..USUAL };

/// With what the model leaves out left out of the rules too, both are the same.
#[test]
fn the_time_is_that_of_the_rules() {
    for range in [USUAL, MANY, Range { object: &[60, 120], ..USUAL }] {
        for one in compared(range, Rules::LeftOut) {
            assert!(one.is_equal(), "{} ns, and {} by the rules: {:?}", one.model, one.rules, one.case);
        }
    }
    let (close, mean, most) = summed(&compared(Range { leaders: 3, ..USUAL }, Rules::LeftOut));
    assert!(close >= 145 && mean.abs() < 0.001 && most < 0.03, "{close} of {CASES}, {mean}, {most}");
}

/// What the model leaves out makes it late, by this much.
#[test]
fn what_is_left_out_makes_little_difference() {
    let leaders = Range { leaders: 3, ..USUAL };
    for (range, at_least, on_average, at_most) in [
        (USUAL, 140, 0.004, 0.07),
        (MANY, 105, 0.003, 0.03),
        (leaders, 105, 0.01, 0.1),
        (Range { slots: 3, ..USUAL }, 125, 0.01, 0.06),
        // Objects that take longer than a sleep, of which a map starts a second one.
        (Range { object: &[60, 120], ..USUAL }, 60, 0.05, 0.5),
    ] {
        let all = compared(range, Rules::Ceph);
        let (close, mean, most) = summed(&all);
        println!("{close} of {CASES} are close, {mean:.4} later on average, {most:.4} at most");
        assert!(close >= at_least, "{close} of {CASES}");
        assert!(
            (0.0..on_average).contains(&mean) && most < at_most,
            "{mean} later on average, {most} at most"
        );
    }
}

#[test]
fn wrong_rules_are_noticed() {
    for wrong in [Rules::NoIdle, Rules::Twice, Rules::OneAfter, Rules::OneMap] {
        let (close, ..) = summed(&compared(MANY, wrong));
        assert!(close < 50, "{wrong:?}: {close} of {CASES} are close");
    }
}

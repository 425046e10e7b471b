//! The faults as they are carried out, and what an operator does about them.

use towtank_replication::Incarnation;
use towtank_store::frames::{FromMonitor, Then, ToMonitor};
use towtank_streams::{Purpose, Uniform};
use towtank_units::SimSpan;

use super::host::Directory;
use super::{Event, Node, Weather, World};
use crate::faults::{Fault, Kind};
use crate::planted::Shell;
use crate::twin::Failure;

/// The most machines of a run.
const HOSTS_MOST: usize = 7;

/// The weather while it is bad.
const BAD: Weather = Weather { lost: 80, doubled: 80, late: 150, overtaken: 60 };

/// How long a clock stands still at most, in milliseconds: leases have a margin for that, and for rates that
/// differ.
const CLOCK_STOP_MS: u64 = 5;

/// How long after its end the daemon of a machine without power is started again.
const AWAY: SimSpan = SimSpan::from_ms(100);

/// How far a fault is during which the others are away by turns, with the one that is away first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// One is away.
    First(u32),
    /// The rest is away, and the fragile device is not back yet.
    Rest(u32),
    /// The rest is away, and the others are there.
    Last(u32),
    Over,
}

impl World {
    pub(super) fn begin_fault(&mut self, at: usize) {
        let fault = self.faults[at];
        if self.is_calm {
            return;
        }
        if self.turns.contains_key(&at) {
            return self.next_turn(at);
        }
        if !self.is_possible(&fault) {
            return;
        }
        let is_crash = matches!(fault.kind, Kind::Kill | Kind::PowerCut | Kind::PowerCutAll);
        if is_crash && self.waited.insert(at) {
            match self.below(4) {
                // It comes while the device writes.
                0 if self.crash_in_commit.is_none() => return self.crash_in_commit = Some(at),
                // Or when a client has just heard that something is written.
                1 => return self.crash_after_answer.push(at),
                2 => return self.crash_when_alone.push(at),
                _ => {}
            }
        }
        self.disturbed_at = self.now;
        self.tell(|| format!("fault {at}: {fault}"));
        *self.outcome.faults.entry(fault.kind).or_default() += 1;
        self.is_harmed |= fault.kind.is_harm();
        if fault.by_turns {
            return self.begin_turns(at);
        }
        let strikes_again = self.strikes_again.remove(&at);
        self.kept = strikes_again.then_some(2);
        self.harm(&fault);
        self.kept = None;
        let span = if strikes_again { self.span_before_next(at) } else { fault.span };
        self.after(span, Event::Ends { at });
    }

    /// Does what a fault does when it begins.
    fn harm(&mut self, fault: &Fault) {
        let Fault { kind, device, span, .. } = *fault;
        match kind {
            Kind::Kill => self.down(device, false),
            Kind::PowerCut => self.down(device, true),
            Kind::PowerCutAll => {
                let is_aimed = std::mem::take(&mut self.is_aimed);
                self.kept = (is_aimed || self.below(2) == 0).then_some(0);
                self.late = (is_aimed || self.below(2) == 0).then_some(self.answered_by);
                self.osds().into_iter().for_each(|osd| self.down(osd, true));
                self.kept = None;
                self.cut_power_of_monitor();
            }
            Kind::Stop => {
                self.hold(device, 1);
                self.leave(device);
            }
            Kind::Pause => {
                let until = self.now.saturating_add(span);
                self.with_host(device, |host| host.paused_until = host.paused_until.max(until));
            }
            Kind::ClockStop => {
                let span = SimSpan::from_ms(1 + self.below(CLOCK_STOP_MS));
                let now = self.now;
                self.with_host(device, |host| host.stop_clock(now, span));
            }
            Kind::Partition | Kind::OneWay | Kind::Isolation => self.cut(fault, 1),
            Kind::Weather => self.weather = BAD,
            Kind::MonitorKill => self.kill_monitor(),
            Kind::MonitorOlder => drop(self.put_older_monitor()),
            Kind::DiskError => self.fail_disk(device),
            Kind::Full => self.fill(device, true),
            Kind::SlowDisk => self.with_host(device, |host| host.is_slow = true),
            Kind::RotObject | Kind::RotJournal => self.rot(device, kind),
            Kind::Empty | Kind::Replace | Kind::Lost => self.down(device, false),
            Kind::Older => self.put_older(device),
            Kind::Swapped => self.swap(fault),
            Kind::Out | Kind::Remove => {
                self.tell_monitor(ToMonitor::Mark { osd: device, is_in: false });
            }
            Kind::Add => self.add(),
            Kind::MonitorLost => self.lose_monitor(),
        }
        if matches!(kind, Kind::Empty) {
            let incarnation = Incarnation(self.give());
            self.with_host(device, |host| host.directory = Directory::empty(incarnation));
        }
    }

    /// The others are away by turns: one is away while the fragile device and the rest go on; then the rest
    /// is away, and only the one and the fragile device are there. So what was acknowledged meanwhile is on a
    /// device that comes back last, and on the fragile one, to which something happens.
    fn begin_turns(&mut self, at: usize) {
        let Fault { device, other, .. } = self.faults[at];
        let first = match self.osds().into_iter().find(|osd| *osd != device) {
            Some(osd) if other == device => osd,
            _ => other,
        };
        self.turns.insert(at, Turn::First(first));
        self.down(first, false);
        let span = SimSpan::from_ms(self.settings.grace_ms + 500 + self.below(3_000));
        self.after(span, Event::Ends { at });
    }

    fn next_turn(&mut self, at: usize) {
        let fault = self.faults[at];
        let others = |first: u32| move |osd: &u32| *osd != first && *osd != fault.device;
        match self.turns.get(&at).copied() {
            Some(Turn::First(first)) if !self.is_possible(&fault) => {
                self.turns.insert(at, Turn::Over);
                self.hold_less(first);
            }
            Some(Turn::First(first)) => {
                self.turns.insert(at, Turn::Rest(first));
                self.harm(&fault);
                self.osds().into_iter().filter(others(first)).for_each(|osd| self.down(osd, false));
                self.hold_less(first);
                let soon = self.around(400_000);
                self.after(soon, Event::Ends { at });
            }
            Some(Turn::Rest(first)) => {
                // Until it is replaced, if it is to be.
                if !self.is_over(at) {
                    return;
                }
                self.turns.insert(at, Turn::Last(first));
                let span = SimSpan::from_ms(1_000 + self.below(5_000));
                self.after(span, Event::Ends { at });
            }
            Some(Turn::Last(first)) => {
                self.turns.insert(at, Turn::Over);
                self.osds().into_iter().filter(others(first)).for_each(|osd| self.hold_less(osd));
            }
            Some(Turn::Over) | None => {}
        }
    }

    pub(super) fn end_fault(&mut self, at: usize) {
        self.disturbed_at = self.now;
        match self.turns.get(&at) {
            None => drop(self.is_over(at)),
            // It happens to the fragile device when something has just been acknowledged.
            Some(Turn::First(_)) if self.is_calm => {}
            Some(Turn::First(_)) => self.crash_after_answer.push(at),
            Some(_) => self.next_turn(at),
        }
    }

    /// Ends what a fault did; false if that is not possible yet, and is tried again.
    fn is_over(&mut self, at: usize) -> bool {
        let fault = self.faults[at];
        let Fault { kind, device, other, .. } = fault;
        match kind {
            Kind::Kill | Kind::PowerCut | Kind::Stop | Kind::RotObject | Kind::RotJournal | Kind::Empty => {
                self.hold_less(device);
            }
            Kind::PowerCutAll => {
                let spread = [1, 400_000, 4_000_000][self.below(3) as usize];
                for osd in self.osds() {
                    let is_late = self.late == Some(osd);
                    let late = self.around(if is_late { 6_000_000 } else { spread });
                    self.after(late, Event::HoldsLess { osd });
                }
                self.start_monitor();
            }
            Kind::Pause | Kind::ClockStop | Kind::DiskError | Kind::Add => {}
            Kind::Partition | Kind::OneWay | Kind::Isolation => self.cut(&fault, -1),
            Kind::Weather => self.weather = self.fair,
            Kind::MonitorKill => self.start_monitor(),
            Kind::MonitorOlder => self.put_newest_monitor(),
            Kind::MonitorLost => self.rebuild_monitor(),
            Kind::Remove => {
                if !self.remove(at) {
                    self.after(SimSpan::from_ms(500), Event::Ends { at });
                    return false;
                }
            }
            Kind::Full => self.fill(device, false),
            Kind::SlowDisk => self.with_host(device, |host| host.is_slow = false),
            Kind::Replace | Kind::Lost => {
                if !self.replace(device) {
                    // It still counts as up, or the monitor is away.
                    self.after(SimSpan::from_ms(500), Event::Ends { at });
                    return false;
                }
                self.hold_less(device);
            }
            Kind::Older => {
                self.put_back(device);
                self.hold_less(device);
            }
            Kind::Swapped => {
                self.put_back(device);
                self.put_back(other);
                self.hold_less(device);
                self.hold_less(other);
            }
            Kind::Out => {
                let answer = self.tell_monitor(ToMonitor::Mark { osd: device, is_in: true });
                if answer != Some(FromMonitor::Done) {
                    self.after(SimSpan::from_ms(500), Event::Ends { at });
                    return false;
                }
            }
        }
        true
    }

    /// Whether a fault makes sense now.
    fn is_possible(&self, fault: &Fault) -> bool {
        let free = |osd: u32| self.hosts.get(&osd).is_some_and(|host| host.held == 0 && host.aside.is_none());
        match fault.kind {
            Kind::Swapped => fault.device != fault.other && free(fault.device) && free(fault.other),
            Kind::Older => {
                let host = self.hosts.get(&fault.device);
                // A copy from before a start that nobody has seen is not older.
                let is_older = host.is_some_and(|host| host.older.is_some());
                free(fault.device) && is_older && self.serves(fault.device)
            }
            Kind::DiskError => self.is_running(fault.device),
            Kind::Out => self.keeper.state.is_some() && self.has_spare(),
            Kind::Add => self.keeper.state.is_some() && self.hosts.len() < HOSTS_MOST,
            Kind::Remove => self.has_spare() && free(fault.device),
            Kind::MonitorLost => !self.keeper.is_lost,
            Kind::MonitorKill => self.keeper.state.is_some(),
            Kind::MonitorOlder => self.keeper.state.is_some() && !self.has_older_monitor(),
            // Two ends of journals that are not decided look like a loss of power.
            Kind::RotJournal => {
                let is_rotten = |(osd, host): (&u32, &super::host::Host)| {
                    *osd != fault.device && host.directory.is_rotten
                };
                free(fault.device) && !self.hosts.iter().any(is_rotten)
            }
            Kind::RotObject | Kind::Empty | Kind::Replace | Kind::Lost => free(fault.device),
            _ => true,
        }
    }

    fn with_host(&mut self, osd: u32, change: impl FnOnce(&mut super::host::Host)) {
        if let Some(host) = self.hosts.get_mut(&osd) {
            change(host);
        }
    }

    pub(super) fn hold(&mut self, osd: u32, more: u32) {
        self.with_host(osd, |host| host.held += more);
    }

    /// One reason fewer not to start a daemon.
    pub(super) fn hold_less(&mut self, osd: u32) {
        self.with_host(osd, |host| {
            host.held = host.held.saturating_sub(1);
            // The machine has power again, and its daemon is started soon.
            host.is_dark &= host.held > 0;
        });
        self.after(AWAY, Event::Start { osd });
    }

    pub(super) fn down(&mut self, osd: u32, loses_power: bool) {
        self.hold(osd, 1);
        self.kill(osd, loses_power);
    }

    /// Machines do not reach each other any more, or do again.
    fn cut(&mut self, fault: &Fault, by: i32) {
        let is_from_monitor = fault.device == fault.other;
        let one = Node::Osd(fault.device);
        let other = if is_from_monitor { Node::Monitor } else { Node::Osd(fault.other) };
        let others = self.osds().into_iter().map(Node::Osd).chain([Node::Monitor]).filter(|it| *it != one);
        let pairs: Vec<(Node, Node)> = match fault.kind {
            Kind::Partition => vec![(one, other), (other, one)],
            Kind::OneWay => vec![(one, other)],
            // Clients still reach it.
            _ => others.flat_map(|other| [(one, other), (other, one)]).collect(),
        };
        for pair in pairs {
            let count = self.cut.entry(pair).or_default();
            *count = count.saturating_add_signed(by);
        }
    }

    fn fail_disk(&mut self, osd: u32) {
        let failure = if self.is_planted(Shell::HalfApplied) { Failure::HalfApplied } else { Failure::Error };
        let after = self.below(1 << 16);
        if let Some(run) = self.hosts.get(&osd).and_then(|host| host.run.as_ref()) {
            run.twin.fail_next(failure, after);
        }
    }

    fn fill(&mut self, osd: u32, is_full: bool) {
        self.with_host(osd, |host| {
            host.is_full = is_full;
            if let Some(run) = &host.run {
                run.twin.fill(is_full);
            }
        });
    }

    fn rot(&mut self, osd: u32, kind: Kind) {
        self.down(osd, false);
        let mut draws = self.draws.clone();
        self.with_host(osd, |host| {
            let mut draws = draws.of(Purpose(5));
            host.directory.words.forget();
            match kind {
                Kind::RotObject => host.directory.contents.rot_object(&mut draws),
                _ => {
                    host.directory.is_rotten = true;
                    for _ in 0..=draws.below(3) {
                        host.directory.contents.rot_journal(&mut draws);
                    }
                }
            }
        });
        self.draws = draws;
    }

    fn put_older(&mut self, osd: u32) {
        self.down(osd, false);
        self.with_host(osd, |host| {
            if let Some(older) = host.older.clone() {
                host.aside = Some(std::mem::replace(&mut host.directory, older));
                host.held = 0;
            }
        });
        self.after(AWAY, Event::Start { osd });
    }

    fn swap(&mut self, fault: &Fault) {
        let Fault { device, other, .. } = *fault;
        self.down(device, false);
        self.down(other, false);
        let of = |world: &World, osd: u32| world.hosts.get(&osd).map(|host| host.directory.clone());
        let (Some(first), Some(second)) = (of(self, device), of(self, other)) else { return };
        for (osd, directory) in [(device, second), (other, first)] {
            self.with_host(osd, |host| {
                host.aside = Some(std::mem::replace(&mut host.directory, directory));
                host.held = 0;
            });
            self.after(AWAY, Event::Start { osd });
        }
    }

    /// The directory that belongs here is put back, and the daemon may be started with it.
    pub(super) fn put_back(&mut self, osd: u32) {
        if self.hosts.get(&osd).is_none_or(|host| host.aside.is_none()) {
            return;
        }
        if self.is_running(osd) {
            self.kill(osd, false);
        }
        self.with_host(osd, |host| {
            if let Some(aside) = host.aside.take() {
                (host.directory, host.refused) = (aside, None);
            }
        });
    }

    /// The operator replaces a device that does not run; false if that is not possible yet.
    pub(super) fn replace(&mut self, osd: u32) -> bool {
        if self.is_running(osd) {
            return false;
        }
        let Some(FromMonitor::Loses(accepted)) = self.tell_monitor(ToMonitor::Losing { osd }) else {
            return false;
        };
        if self.is_beyond && !self.accepts(&accepted) {
            return false;
        }
        let incarnation = Incarnation(self.give());
        let then = Then::Begins(incarnation);
        let answer = self.tell_monitor(ToMonitor::Lose { osd, accepted, then });
        if answer != Some(FromMonitor::Done) {
            return false;
        }
        self.tell(|| format!("osd.{osd} is replaced"));
        self.is_harmed = true;
        self.with_host(osd, |host| {
            (host.directory, host.older, host.aside) = (Directory::empty(incarnation), None, None);
            host.refused = None;
        });
        true
    }
}

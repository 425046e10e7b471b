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

/// The weather while it is bad.
const BAD: Weather = Weather { lost: 80, doubled: 80, late: 150, overtaken: 60 };

/// How long a clock stands still at most, in milliseconds: leases have a margin for that, and for rates that
/// differ.
const CLOCK_STOP_MS: u64 = 5;

/// How long after its end the daemon of a machine without power is started again.
const AWAY: SimSpan = SimSpan::from_ms(100);

impl World {
    pub(super) fn begin_fault(&mut self, at: usize) {
        let fault = self.faults[at];
        if self.is_calm || !self.is_possible(&fault) {
            return;
        }
        let is_crash = matches!(fault.kind, Kind::Kill | Kind::PowerCut | Kind::PowerCutAll);
        if is_crash && self.waited.insert(at) && self.crash_in_commit.is_none() && self.below(2) == 0 {
            // It comes while some device writes.
            self.crash_in_commit = Some(at);
            return;
        }
        self.tell(|| format!("fault {at}: {fault}"));
        *self.outcome.faults.entry(fault.kind).or_default() += 1;
        self.is_harmed |= fault.kind.is_harm();
        let Fault { kind, device, span, .. } = fault;
        match kind {
            Kind::Kill => self.down(device, false),
            Kind::PowerCut => self.down(device, true),
            Kind::PowerCutAll => {
                self.all_lose = self.below(2) == 0;
                (0..self.settings.osds).for_each(|osd| self.down(osd, true));
                self.all_lose = false;
                self.kill_monitor();
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
            Kind::Partition | Kind::OneWay | Kind::Isolation => self.cut(&fault, 1),
            Kind::Weather => self.weather = BAD,
            Kind::MonitorKill => self.kill_monitor(),
            Kind::DiskError => self.fail_disk(device),
            Kind::Full => self.fill(device, true),
            Kind::SlowDisk => self.with_host(device, |host| host.is_slow = true),
            Kind::RotObject | Kind::RotJournal => self.rot(device, kind),
            Kind::Empty | Kind::Replace | Kind::Lost => self.down(device, false),
            Kind::Older => self.put_older(device),
            Kind::Swapped => self.swap(&fault),
            Kind::Out => drop(self.tell_monitor(ToMonitor::Mark { osd: device, is_in: false })),
        }
        if matches!(kind, Kind::Empty) {
            let incarnation = Incarnation(self.give());
            self.with_host(device, |host| host.directory = Directory::empty(incarnation));
        }
        self.after(span, Event::Ends { at });
    }

    pub(super) fn end_fault(&mut self, at: usize) {
        let fault = self.faults[at];
        let Fault { kind, device, other, .. } = fault;
        match kind {
            Kind::Kill | Kind::PowerCut | Kind::Stop | Kind::RotObject | Kind::RotJournal | Kind::Empty => {
                self.hold_less(device);
            }
            Kind::PowerCutAll => {
                (0..self.settings.osds).for_each(|osd| self.hold_less(osd));
                self.start_monitor();
            }
            Kind::Pause | Kind::ClockStop | Kind::DiskError => {}
            Kind::Partition | Kind::OneWay | Kind::Isolation => self.cut(&fault, -1),
            Kind::Weather => self.weather = self.fair,
            Kind::MonitorKill => self.start_monitor(),
            Kind::Full => self.fill(device, false),
            Kind::SlowDisk => self.with_host(device, |host| host.is_slow = false),
            Kind::Replace | Kind::Lost => {
                if !self.replace(device) {
                    // It still counts as up, or the monitor is away.
                    return self.after(SimSpan::from_ms(500), Event::Ends { at });
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
                }
            }
        }
    }

    /// Whether a fault makes sense now.
    fn is_possible(&self, fault: &Fault) -> bool {
        let free = |osd: u32| self.hosts.get(&osd).is_some_and(|host| host.held == 0 && host.aside.is_none());
        match fault.kind {
            Kind::Partition | Kind::OneWay => fault.device != fault.other,
            Kind::Swapped => fault.device != fault.other && free(fault.device) && free(fault.other),
            Kind::Older => {
                let host = self.hosts.get(&fault.device);
                // A copy from before a start that nobody has seen is not older.
                let is_older = host.is_some_and(|host| host.older.is_some());
                free(fault.device) && is_older && self.serves(fault.device)
            }
            Kind::DiskError => self.is_running(fault.device),
            Kind::Out => self.keeper.state.is_some() && self.settings.osds > self.settings.replicas,
            Kind::MonitorKill => self.keeper.state.is_some(),
            Kind::RotObject | Kind::RotJournal | Kind::Empty | Kind::Replace | Kind::Lost => {
                free(fault.device)
            }
            _ => true,
        }
    }

    fn with_host(&mut self, osd: u32, change: impl FnOnce(&mut super::host::Host)) {
        if let Some(host) = self.hosts.get_mut(&osd) {
            change(host);
        }
    }

    fn hold(&mut self, osd: u32, more: u32) {
        self.with_host(osd, |host| host.held += more);
    }

    /// One reason fewer not to start a daemon.
    pub(super) fn hold_less(&mut self, osd: u32) {
        self.with_host(osd, |host| host.held = host.held.saturating_sub(1));
        self.after(AWAY, Event::Start { osd });
    }

    fn down(&mut self, osd: u32, loses_power: bool) {
        self.hold(osd, 1);
        self.kill(osd, loses_power);
    }

    /// Machines do not reach each other any more, or do again.
    fn cut(&mut self, fault: &Fault, by: i32) {
        let (one, other) = (Node::Osd(fault.device), Node::Osd(fault.other));
        let others = (0..self.settings.osds).map(Node::Osd).chain([Node::Monitor]).filter(|it| *it != one);
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
            match kind {
                Kind::RotObject => host.directory.contents.rot_object(&mut draws),
                _ => {
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

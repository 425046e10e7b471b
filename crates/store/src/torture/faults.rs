//! The processes of a tortured cluster, and the faults injected into them: drawn one after the other, each
//! with its own duration.

use std::time::{Duration, Instant};

use super::{PATIENCE, Torture, Tortured, damage, load};
use crate::StoreError;
use crate::client::Client;
use crate::clock::now;
use crate::control::{Children, Daemon, Ending};
use crate::frames::{FromMonitor, Then, ToMonitor};
use crate::identity;
use crate::names::address;
use crate::rebuilding::{Ask, Outcome, rebuild};
use crate::relays::{Direction, Relays};
use crate::settings::Home;

/// How often due faults are checked.
const LOOK: Duration = Duration::from_millis(20);

/// The time between two faults: a minimum, and the range of a random addition, in milliseconds.
const PAUSE_MS: (u64, u64) = (80, 500);

/// How long a daemon is down, paused or cut off: a minimum, and the range of a random addition, in
/// milliseconds. The grace after which a daemon counts as down lies within this range; with one fault at a
/// time, most faults last longer than the grace.
const SPAN_DENSE_MS: (u64, u64) = (150, 2_850);
const SPAN_SPARSE_MS: (u64, u64) = (600, 2_600);

/// The only device that loses copies: a write that was acknowledged has a valid copy elsewhere.
const FRAGILE: u32 = 0;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A daemon is killed.
    Kill,
    /// A daemon is asked to end.
    Stop,
    /// A daemon is paused.
    Pause,
    /// The monitor is killed.
    Monitor,
    /// All daemons are killed at once, as in a power failure.
    Power,
    /// Some processes are cut off from others.
    Partition,
    /// The objects of a daemon are moved elsewhere; only with more daemons than replicas.
    Move,
    /// The directory of a daemon is removed, and it begins again with a new one; only where each write that
    /// was acknowledged is on two devices.
    Wipe,
    /// All daemons are killed at once, and the directory of the monitor is removed and made anew.
    LoseMonitor,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 9] = [
        Kind::Kill,
        Kind::Stop,
        Kind::Pause,
        Kind::Monitor,
        Kind::Power,
        Kind::Partition,
        Kind::Move,
        Kind::Wipe,
        Kind::LoseMonitor,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kill => "kill",
            Kind::Stop => "stop",
            Kind::Pause => "pause",
            Kind::Monitor => "monitor",
            Kind::Power => "power",
            Kind::Partition => "partition",
            Kind::Move => "move",
            Kind::Wipe => "wipe",
            Kind::LoseMonitor => "lose-monitor",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// One of these kinds: partitions and kills are the most frequent.
    fn drawn(kinds: &[Kind], draws: Draw<'_>) -> Option<Kind> {
        const TRIES: u32 = 1_000;
        let mut drawn = (0..TRIES).map(|_| match draws(20) {
            0..4 => Kind::Kill,
            4 => Kind::Stop,
            5..7 => Kind::Pause,
            7 => Kind::Monitor,
            8 => Kind::Power,
            9..17 => Kind::Partition,
            17 => Kind::Wipe,
            18 => Kind::LoseMonitor,
            _ => Kind::Move,
        });
        drawn.find(|kind| kinds.contains(kind))
    }
}

/// A fault that must end at some time.
enum Outage {
    Away(Daemon),
    Paused(Daemon),
    Cut(Vec<Direction>),
    MovedOff(u32),
    /// The device whose directory is not there.
    Wiped,
}

/// The cluster, and the faults that have not ended.
pub(super) struct Cluster {
    home: Home,
    children: Children,
    relays: Relays,
    outages: Vec<(Instant, Outage)>,
    span_ms: (u64, u64),
}

type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

impl Cluster {
    pub(super) fn start(plan: &Torture) -> Result<Cluster, StoreError> {
        let mut cluster = Cluster {
            home: plan.home.clone(),
            children: Children::new(&plan.home, &plan.program),
            relays: Relays::open(&plan.home, plan.settings.osds)?,
            outages: Vec::new(),
            span_ms: SPAN_DENSE_MS,
        };
        cluster.children.start_all(plan.settings.osds)?;
        let _ = Client::reach(&plan.home, PATIENCE)?;
        Ok(cluster)
    }

    /// Injects faults while `goes_on` returns true: several at a time if they are dense.
    pub(super) fn faults(
        &mut self,
        plan: &Torture,
        (draws, is_dense): (Draw<'_>, bool),
        goes_on: &dyn Fn() -> bool,
        found: &mut Tortured,
    ) -> Result<(), StoreError> {
        self.span_ms = if is_dense { SPAN_DENSE_MS } else { SPAN_SPARSE_MS };
        let mut next = now();
        while goes_on() {
            std::thread::sleep(LOOK);
            self.look(found)?;
            let at = now();
            let (due, later) =
                std::mem::take(&mut self.outages).into_iter().partition(|(until, _)| *until <= at);
            self.outages = later;
            let due: Vec<(Instant, Outage)> = due;
            for (_, outage) in due {
                self.end_outage(plan, draws, outage, found)?;
            }
            // Single faults reveal what several at a time hide: then hardly any request is served.
            let may_begin = is_dense || self.outages.is_empty();
            if at >= next && may_begin {
                next = at + Duration::from_millis(PAUSE_MS.0 + draws(PAUSE_MS.1));
                self.fault(plan, draws, found)?;
            }
        }
        Ok(())
    }

    /// Starts daemons that have ended by themselves, and records that as a fault.
    fn look(&mut self, found: &mut Tortured) -> Result<(), StoreError> {
        for (daemon, status) in self.children.ended_by_themselves()? {
            found.faults.push(format!("{daemon} ended unexpectedly: {status}"));
            self.children.start(daemon)?;
        }
        Ok(())
    }

    fn last(&mut self, draws: Draw<'_>, outage: Outage) {
        let span = self.span_ms.0 + draws(self.span_ms.1);
        self.outages.push((now() + Duration::from_millis(span), outage));
    }

    fn stands_still(&self, daemon: Daemon) -> bool {
        self.outages.iter().any(|(_, outage)| matches!(outage, Outage::Paused(it) if *it == daemon))
    }

    fn fault(&mut self, plan: &Torture, draws: Draw<'_>, found: &mut Tortured) -> Result<(), StoreError> {
        let osds = plan.settings.osds;
        let osd = Daemon::Osd(draws(osds.into()) as u32);
        let acts = self.children.has(osd) && !self.stands_still(osd);
        match Kind::drawn(&plan.kinds, draws) {
            Some(Kind::Kill) if acts => {
                self.children.end(osd, Ending::Killed)?;
                found.kills += 1;
                self.last(draws, Outage::Away(osd));
            }
            Some(Kind::Stop) if acts => {
                self.children.end(osd, Ending::Asked)?;
                found.stops += 1;
                self.last(draws, Outage::Away(osd));
            }
            Some(Kind::Pause) if acts => {
                self.children.pause(osd, true)?;
                found.pauses += 1;
                self.last(draws, Outage::Paused(osd));
            }
            Some(Kind::Monitor) if self.children.has(Daemon::Monitor) => {
                self.children.end(Daemon::Monitor, Ending::Killed)?;
                found.monitor_kills += 1;
                self.last(draws, Outage::Away(Daemon::Monitor));
            }
            Some(Kind::Power) if draws(3) == 0 => self.kill_all(osds, draws, found)?,
            Some(Kind::LoseMonitor) if draws(2) == 0 && self.can_lose_monitor() => {
                self.kill_all(osds, draws, found)?;
                self.lose_monitor(found)?;
            }
            Some(Kind::Partition) => {
                let directions = cut_of(osds, osd, draws);
                self.relays.cut(&directions);
                found.partitions += 1;
                self.last(draws, Outage::Cut(directions));
            }
            Some(Kind::Wipe) if plan.settings.config(0).size_min > 1 => self.wipe(draws, found)?,
            Some(Kind::Move) if osds > plan.settings.replicas => self.move_off(draws, osd, found),
            _ => {}
        }
        Ok(())
    }

    fn kill_all(&mut self, osds: u32, draws: Draw<'_>, found: &mut Tortured) -> Result<(), StoreError> {
        let acts = |osd: &Daemon| self.children.has(*osd) && !self.stands_still(*osd);
        let all: Vec<Daemon> = (0..osds).map(Daemon::Osd).filter(acts).collect();
        for osd in all {
            self.children.end(osd, Ending::Killed)?;
            found.kills += 1;
            self.last(draws, Outage::Away(osd));
        }
        Ok(())
    }

    /// Whether the monitor runs, each device has its directory and would end if it were killed, and some have
    /// heard of a map: of a cluster of which no device was ever up nothing is made anew.
    fn can_lose_monitor(&self) -> bool {
        let hinders = |outage: &Outage| matches!(outage, Outage::Paused(_) | Outage::Wiped);
        let heard = || {
            let standing = Client::open(&self.home, PATIENCE).and_then(|client| client.standing());
            standing.is_ok_and(|standing| standing.reports.values().any(|report| report.epoch > 0))
        };
        self.children.has(Daemon::Monitor)
            && !self.outages.iter().any(|(_, outage)| hinders(outage))
            && heard()
    }

    /// Removes the directory of the monitor, while no daemon runs, and makes it anew.
    fn lose_monitor(&mut self, found: &mut Tortured) -> Result<(), StoreError> {
        self.children.end(Daemon::Monitor, Ending::Killed)?;
        std::fs::remove_dir_all(self.home.path("monitor"))?;
        match rebuild(&self.home, &Ask::default())? {
            Outcome::Done { .. } => found.lost_monitors += 1,
            other => found.faults.push(format!("the monitor was lost, and not made anew: {other:?}")),
        }
        self.children.start(Daemon::Monitor)
    }

    /// Removes the directory of the device that may lose copies. It is replaced when the fault ends.
    fn wipe(&mut self, draws: Draw<'_>, found: &mut Tortured) -> Result<(), StoreError> {
        let osd = Daemon::Osd(FRAGILE);
        if self.children.has(osd) && !self.stands_still(osd) {
            self.children.end(osd, Ending::Killed)?;
            std::fs::remove_dir_all(self.home.path(&osd.to_string()))?;
            found.wipes += 1;
            self.last(draws, Outage::Wiped);
        }
        Ok(())
    }

    /// Replaces the device whose directory is not there; false while the monitor is away, or has not noticed
    /// that it is down.
    fn replace(&mut self, found: &mut Tortured) -> Result<bool, StoreError> {
        let asked = || -> Result<(), StoreError> {
            let client = Client::open(&self.home, PATIENCE)?;
            let FromMonitor::Loses(loss) = client.change(&ToMonitor::Losing { osd: FRAGILE })? else {
                return Err(StoreError::Refused("the monitor answers what was not asked".to_owned()));
            };
            let incarnation = identity::make(self.home.directory(), FRAGILE)?;
            let ask = ToMonitor::Lose { osd: FRAGILE, accepted: loss, then: Then::Begins(incarnation) };
            match client.change(&ask)? {
                FromMonitor::Done => Ok(()),
                _ => Err(StoreError::Refused("the cluster has changed".to_owned())),
            }
        };
        if asked().is_err() {
            return Ok(false);
        }
        self.children.start(Daemon::Osd(FRAGILE))?;
        found.restarts += 1;
        Ok(true)
    }

    fn move_off(&mut self, draws: Draw<'_>, osd: Daemon, found: &mut Tortured) {
        let Daemon::Osd(osd) = osd else { return };
        if self.mark(osd, false).is_ok() {
            found.moves += 1;
            self.last(draws, Outage::MovedOff(osd));
        }
    }

    fn mark(&self, osd: u32, is_in: bool) -> Result<(), StoreError> {
        let client = Client::open(&self.home, PATIENCE)?;
        client.change(&ToMonitor::Mark { osd, is_in }).map(drop)
    }

    fn end_outage(
        &mut self,
        plan: &Torture,
        draws: Draw<'_>,
        outage: Outage,
        found: &mut Tortured,
    ) -> Result<(), StoreError> {
        match outage {
            Outage::Away(daemon) => {
                if daemon == Daemon::Osd(FRAGILE) {
                    let object = load::name(draws(plan.objects.into()) as u32);
                    let at = address(&object, plan.settings.groups);
                    found.corruptions += u64::from(damage(&self.home, FRAGILE, at)?);
                }
                self.children.start(daemon)?;
                found.restarts += 1;
            }
            Outage::Wiped => {
                if !self.replace(found)? {
                    self.last(draws, Outage::Wiped);
                }
            }
            Outage::Paused(daemon) => self.children.pause(daemon, false)?,
            Outage::Cut(directions) => {
                let others = self.outages.iter().flat_map(|(_, outage)| match outage {
                    Outage::Cut(others) => &others[..],
                    _ => &[],
                });
                let others: Vec<Direction> = others.copied().collect();
                let healed: Vec<Direction> =
                    directions.into_iter().filter(|direction| !others.contains(direction)).collect();
                self.relays.heal(&healed, draws(2) == 0);
            }
            // While the monitor is away, the move is tried again later.
            Outage::MovedOff(osd) => {
                if self.mark(osd, true).is_err() {
                    self.last(draws, Outage::MovedOff(osd));
                }
            }
        }
        Ok(())
    }

    /// Ends all faults, and restarts all processes.
    pub(super) fn heal(&mut self, found: &mut Tortured) -> Result<(), StoreError> {
        let outages = std::mem::take(&mut self.outages);
        let (mut moved, mut is_wiped) = (Vec::new(), false);
        for (_, outage) in outages {
            match outage {
                Outage::Away(daemon) => {
                    self.children.start(daemon)?;
                    found.restarts += 1;
                }
                Outage::Paused(daemon) => self.children.pause(daemon, false)?,
                Outage::Cut(directions) => self.relays.heal(&directions, false),
                Outage::MovedOff(osd) => moved.push(osd),
                Outage::Wiped => is_wiped = true,
            }
        }
        self.look(found)?;
        let _ = Client::reach(&self.home, PATIENCE)?;
        let until = now() + PATIENCE;
        while is_wiped && !self.replace(found)? {
            if now() >= until {
                return Err(StoreError::Refused(format!("osd.{FRAGILE} cannot be replaced")));
            }
            std::thread::sleep(LOOK);
        }
        moved.into_iter().try_for_each(|osd| self.mark(osd, true))
    }

    pub(super) fn end(&mut self) -> Result<(), StoreError> {
        self.children.end_all()
    }
}

/// The directions that a partition cuts: between two daemons, one way or both; between a daemon and all
/// others and the monitor; or between a daemon and the monitor only, one way or both.
fn cut_of(osds: u32, osd: Daemon, draws: Draw<'_>) -> Vec<Direction> {
    let others: Vec<Daemon> = (0..osds).map(Daemon::Osd).filter(|other| *other != osd).collect();
    let other = others.get(draws(others.len() as u64) as usize).copied().unwrap_or(Daemon::Monitor);
    let both = |other: Daemon| [(osd, other), (other, osd)];
    match draws(8) {
        0 => both(other).to_vec(),
        1 => vec![(osd, other)],
        2 => others.into_iter().chain([Daemon::Monitor]).flat_map(both).collect(),
        3 => vec![(Daemon::Monitor, osd)],
        _ => both(Daemon::Monitor).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn draws() -> impl FnMut(u64) -> u64 {
        let mut state = 1_u64;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    #[test]
    fn only_the_kinds_that_were_chosen_are_drawn() {
        let mut draws = draws();
        for kinds in [&Kind::ALL[..], &[Kind::Kill, Kind::Power], &[Kind::Move], &[]] {
            let drawn: Vec<Option<Kind>> = (0..200).map(|_| Kind::drawn(kinds, &mut draws)).collect();
            assert!(kinds.iter().all(|kind| drawn.contains(&Some(*kind))), "{kinds:?}: {drawn:?}");
            assert!(drawn.iter().flatten().all(|kind| kinds.contains(kind)), "{kinds:?}: {drawn:?}");
        }
    }

    #[test]
    fn partitions_of_every_kind_are_drawn() {
        let mut draws = draws();
        let cuts: BTreeSet<Vec<Direction>> =
            (0..200).map(|_| cut_of(3, Daemon::Osd(1), &mut draws)).collect();
        let (one, two, monitor) = (Daemon::Osd(1), Daemon::Osd(2), Daemon::Monitor);
        for want in [vec![(one, two), (two, one)], vec![(one, two)], vec![(one, monitor), (monitor, one)]] {
            assert!(cuts.contains(&want), "{want:?} is never drawn: {cuts:?}");
        }
        assert!(cuts.iter().any(|cut| cut.len() == 6), "a daemon is never cut off from all: {cuts:?}");
    }
}

//! Devices that are added and removed, and a monitor whose directory is lost: what an operator does about
//! them. Nobody accepts that anything is lost, except with the fragile device of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towtank_replication::Incarnation;
use towtank_store::engine::{Engine, Sync, Tables};
use towtank_store::frames::{FromMonitor, Then, ToMonitor};
use towtank_store::loss::Loss;
use towtank_store::rebuilding::{self, Device, Left};
use towtank_units::SimSpan;

use super::host::Host;
use super::{Event, World};
use crate::planted::Shell;
use crate::twin::Twin;

impl World {
    /// The devices that are there.
    pub(super) fn osds(&self) -> Vec<u32> {
        self.hosts.keys().copied().collect()
    }

    /// Whether the groups can do without one of the devices.
    pub(super) fn has_spare(&self) -> bool {
        self.hosts.len() > self.settings.replicas as usize
    }

    /// Whether an operator goes on without a device with which this may be lost.
    pub(super) fn accepts(&self, loss: &Loss) -> bool {
        loss.is_nothing() || self.is_planted(Shell::AcceptsLoss)
    }

    /// A device with a new directory is added, if the monitor takes it.
    pub(super) fn add(&mut self) {
        let (osd, incarnation) = (self.next_osd, Incarnation(self.give()));
        if self.tell_monitor(ToMonitor::Add { osd, incarnation }) != Some(FromMonitor::Done) {
            return;
        }
        self.next_osd += 1;
        self.tell(|| format!("osd.{osd} is added"));
        self.hosts.insert(osd, Host::new(incarnation, 0));
        self.after(SimSpan::from_ms(1), Event::Start { osd });
    }

    /// Stops the device of a fault, and removes it if nothing is lost with it; false if that is to be tried
    /// again.
    pub(super) fn remove(&mut self, at: usize) -> bool {
        let osd = self.faults[at].device;
        if self.is_calm || !self.hosts.contains_key(&osd) {
            return true;
        }
        if self.removing.insert(at) {
            self.hold(osd, 1);
            self.leave(osd);
        }
        if self.is_running(osd) {
            return false;
        }
        let Some(FromMonitor::Loses(accepted)) = self.tell_monitor(ToMonitor::Losing { osd }) else {
            return false;
        };
        if !self.is_beyond && !self.is_clean_without(osd) {
            return false;
        }
        if !self.has_spare() || !self.accepts(&accepted) {
            self.hold_less(osd);
            self.tell_monitor(ToMonitor::Mark { osd, is_in: true });
            return true;
        }
        let answer = self.tell_monitor(ToMonitor::Lose { osd, accepted, then: Then::Goes });
        if answer != Some(FromMonitor::Done) {
            return false;
        }
        self.tell(|| format!("osd.{osd} is removed"));
        self.hosts.remove(&osd);
        true
    }

    /// A device was removed, and the monitor that knew it is lost.
    pub(super) fn remove_again(&mut self, osd: u32) {
        if let Some(FromMonitor::Loses(accepted)) = self.tell_monitor(ToMonitor::Losing { osd }) {
            self.tell_monitor(ToMonitor::Lose { osd, accepted, then: Then::Goes });
        }
    }

    /// The directory of the monitor is lost. The operator ends all daemons, and puts back what was mixed up.
    pub(super) fn lose_monitor(&mut self) {
        self.lose_directory();
        self.let_in_again();
        for osd in self.osds() {
            self.put_back(osd);
            self.down(osd, false);
        }
    }

    /// Makes the monitor anew from what the devices know, if it is lost, and starts all.
    pub(super) fn rebuild_monitor(&mut self) {
        if !self.keeper.is_lost {
            return;
        }
        let osds = self.osds();
        osds.iter().for_each(|osd| self.kill(*osd, false));
        let (left, twins) = self.left();
        let mut without = BTreeSet::new();
        let made = left.maps(&self.settings, &without).or_else(|wanting| {
            without = wanting.devices;
            left.maps(&self.settings, &without)
        });
        let (maps, lost) = match made {
            Ok(made) => made,
            // No map is left on any device.
            Err(error) if self.is_beyond && error.devices.is_empty() => {
                return self.tell(|| format!("the monitor cannot be built anew: {error}"));
            }
            Err(error) => return self.wrong(format!("the monitor cannot be built anew: {error}")),
        };
        if self.is_beyond && !lost.is_nothing() && !self.is_planted(Shell::AcceptsLoss) {
            return self.tell(|| format!("nobody accepts what is lost without {without:?}: {lost:?}"));
        }
        let is_sound = |osd: &&u32| self.fragile != Some(**osd) && self.hosts.contains_key(osd);
        if let Some(osd) = without.iter().find(is_sound).filter(|_| !self.is_beyond) {
            return self.wrong(format!("the monitor is built without osd.{osd}, though nothing harmed it"));
        }
        for (osd, twin) in twins.into_iter().filter(|(osd, _)| !without.contains(osd)) {
            let device = left.devices.get(&osd).expect("its tables are open");
            rebuilding::keep_in(&device.engine, &maps).expect("the twin can be written");
            if let Some(host) = self.hosts.get_mut(&osd) {
                host.directory.contents = twin.contents();
            }
        }
        self.tell(|| format!("the monitor is built anew without {without:?}"));
        self.make_directory(maps);
        self.start_monitor();
        osds.into_iter().for_each(|osd| self.hold_less(osd));
    }

    /// What is left without the monitor, and the tables of the devices.
    fn left(&self) -> (Left, BTreeMap<u32, Arc<Twin>>) {
        let mut left = Left { traces: (0..self.next_osd).collect(), ..Left::default() };
        let mut twins = BTreeMap::new();
        for (osd, host) in &self.hosts {
            let twin = match Twin::open(host.directory.contents.clone()) {
                Ok(twin) => Arc::new(twin),
                Err(error) => {
                    left.faults.insert(*osd, error.to_string());
                    continue;
                }
            };
            let tables: Arc<dyn Tables> = Arc::clone(&twin) as _;
            let engine = Engine::on(tables, Sync::Always).expect("the twin can be read");
            let (incarnation, runs) = (host.directory.incarnation, host.directory.runs.clone());
            left.devices.insert(*osd, Device { incarnation, runs, engine });
            twins.insert(*osd, twin);
        }
        if self.is_planted(Shell::RebuildsFromOne) {
            left.planted = left.devices.keys().copied().skip(1).collect();
        }
        (left, twins)
    }
}

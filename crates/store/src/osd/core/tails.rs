//! What a device does whose journal had an end that is undecided, and how it keeps its own from being that.

use towtank_replication::{Config, Durable, Epoch};

use super::{Core, Effect};

impl<D> Core<D> {
    /// Notes that the last transaction is synced, once the device has been idle for a moment.
    pub(super) fn mark_if_idle(&mut self) {
        if self.mark_at.is_some_and(|at| at <= self.now) {
            self.mark_at = None;
            self.effects.push(Effect::Mark);
        }
    }

    /// The state of a group that is new here. If the end of the journal was undecided, the group may have
    /// begun there.
    pub(super) fn new_durable(&self, config: &Config) -> Durable {
        let mut durable = Durable::new(config);
        if self.is_undecided {
            durable.doubt();
        }
        durable
    }

    /// The groups of which changes may have been lost, with the first interval of these.
    pub(super) fn undecided(&self) -> Vec<(u32, Epoch)> {
        let since = |(group, since): (&u32, Option<Epoch>)| Some((*group, since?));
        let groups = self.groups.iter();
        groups.map(|(group, held)| (group, held.replica.durable().undecided)).filter_map(since).collect()
    }

    /// Forgets what was cut off, once all groups know what was acknowledged. Groups that began there are
    /// known from the maps up to the one that names this start.
    pub(super) fn decide_if_all_know(&mut self) {
        let names_this_start = |(map, _): &(crate::map::ClusterMap, _)| {
            map.osds.get(&self.osd).is_some_and(|osd| osd.is_up && osd.instance == self.instance)
        };
        let is_open = !self.undecided().is_empty() || !self.maps.iter().any(names_this_start);
        if self.is_undecided && !is_open {
            self.effects.push(Effect::Decide);
            self.is_undecided = false;
            self.say("the end of the journal is decided: all groups know what was acknowledged".to_owned());
        }
    }
}

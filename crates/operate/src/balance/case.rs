//! A checked scenario, with its cluster.

use std::collections::BTreeSet;

use towtank_ceph::{Cluster, FillLimits, GroupStates, Joined, upmaps};
use towtank_placement::crush::ItemId;
use towtank_report::Warning;
use towtank_scenario::{Draft, Input, Problems};

use super::scenario::Scenario;
use crate::asked::Asked;
use crate::exports;
use crate::features;
use crate::flags::ClusterFlags;
use crate::names;
use crate::real::write_rate;
use crate::release::{self, GroupLimits};
use crate::states;
use crate::targets::{Split, Targets};

/// A checked scenario.
pub struct Ready {
    /// The scenario.
    pub scenario: Scenario,
    /// The cluster.
    pub cluster: Cluster,
    /// The cluster in the end of what the manager goes on with by itself, where groups get other places.
    reached: Option<Cluster>,
    /// Pools whose groups are split further.
    pub(super) splits: Vec<Split>,
    /// Its limits of fill.
    pub limits: FillLimits,
    /// How many groups a device is to have.
    pub groups: GroupLimits,
    /// What the exports say of the states of groups.
    pub states: GroupStates,
    /// Warnings about the exports.
    pub warnings: Vec<Warning>,
    /// The exports.
    pub inputs: Vec<Input>,
    /// The devices that may take data; none for all.
    pub destinations: Option<BTreeSet<ItemId>>,
}

/// States of groups in which the dump does not tell everything.
const STATES: [(&str, &str); 5] = [
    ("unknown", "their location is taken from the map"),
    ("stale", "they have not been reported for a while, so their sizes are old"),
    ("degraded", "the answer is for the cluster with all copies where the map puts them"),
    ("remapped", "the answer is for the cluster after these moves, which are under way"),
    ("incomplete", "their data may be lost, which no move repairs"),
];

/// Write rate of a class without known speeds: that of the fastest, so that times stay lower bounds.
const FASTEST: &str = "nvme";

impl Ready {
    /// Reads the exports.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        let loaded = exports::load(&scenario.exports, &STATES, draft)?;
        let groups = GroupLimits::of(release::Found::of(&loaded).release);
        let Joined { cluster, mut warnings, osd_dump, states, .. } = loaded;
        warnings.extend(features::named(&osd_dump));
        warnings.extend(states::of_sums(&states));
        let asked = Asked::default();
        let Targets { mut reached, splits } = Targets::of(&cluster, &osd_dump, &asked, &mut warnings);
        // The monitors look at explicit mappings again with each new map.
        if let Some(end) = &mut reached {
            upmaps::drop_broken(end);
        }
        let flags = ClusterFlags::of((&cluster, &osd_dump), &asked, draft, &mut warnings)?;
        warnings.extend(flags.of_moves().map(Warning::danger));
        let destinations = destinations(&scenario, &cluster, draft)?;
        if let Some(pool) =
            cluster.pools.iter().find(|pool| cluster.map.choose_args_for(pool.placed.id).is_some())
        {
            warnings.push(Warning::note(format!(
                "the map has weight sets (choose_args), which pool `{}` uses; what they change counts as `too_few_groups`",
                pool.name
            )));
        }
        let limits = FillLimits::of(&osd_dump);
        let inputs = draft.inputs();
        Ok(Ready {
            scenario,
            cluster,
            reached,
            splits,
            limits,
            groups,
            states,
            warnings,
            inputs,
            destinations,
        })
    }

    /// The cluster that the exports lead to: with the numbers of groups that the manager goes on to.
    pub fn end(&self) -> &Cluster {
        self.reached.as_ref().unwrap_or(&self.cluster)
    }

    /// Bytes per second that a device takes at most.
    pub fn rate(&self, class: Option<&str>) -> u64 {
        let own = || class.and_then(write_rate).or_else(|| write_rate(FASTEST));
        let asked = self.scenario.recovery_rate.map(|rate| rate.bytes_per_second());
        asked.or_else(own).unwrap_or(u64::MAX)
    }
}

fn destinations(
    scenario: &Scenario,
    cluster: &Cluster,
    draft: &Draft,
) -> Result<Option<BTreeSet<ItemId>>, Problems> {
    let texts = scenario.destination.all();
    if texts.is_empty() {
        return Ok(None);
    }
    let mut problems = Problems::new();
    let mut found = BTreeSet::new();
    for text in texts {
        let (kind, name) = match text.split_once('=') {
            Some((kind, name)) => (Some(kind.trim()), name.trim()),
            None => (None, text.trim()),
        };
        let item = cluster.item(name);
        match item {
            Some(item) if kind.is_none_or(|kind| kind == cluster.type_of(item)) => {
                found.extend(cluster.devices_below(item));
            }
            Some(item) => {
                let own = cluster.type_of(item);
                let message = format!("`destination` is \"{text}\": `{name}` is of type {own}");
                problems.refuse(draft, "destination", message, format!("write `{own}={name}`"));
            }
            None => {
                let message =
                    format!("`destination` is \"{text}\": there is no device or bucket called `{name}`");
                problems.refuse(draft, "destination", message, no_item(cluster, name));
            }
        }
    }
    problems.into_result(Some(found))
}

fn no_item(cluster: &Cluster, name: &str) -> String {
    names::hint(name, cluster.map.item_names.values().map(String::as_str).filter(|name| !name.contains('~')))
}

//! One chassis: a single server, whose disks are the failure domain, and arrays of its disks.
//!
//! Nothing crosses a network: a server reads, decodes and writes by itself, and its disks are all there is to
//! wait for, besides `server_rate_cap`. A RAID rebuilds whole disks; a dRAID rebuilds, in the order of its
//! rows, what is in use. Both are cut into rows, which take the places of objects, so that a population means
//! nothing to them.

use towtank_rebuild::arrays::{Arrays, Form, Reads};
use towtank_rebuild::failures::{Failing, Failure};
use towtank_rebuild::ledger::Source;
use towtank_rebuild::placing::Domain;
use towtank_rebuild::redundancy::Redundancy;
use towtank_recovery::keys::Seeks;
use towtank_scenario::{Draft, Problems};
use towtank_study::Texts;
use towtank_units::Bytes;

use super::complete::code;
use super::population::{Distribution, LayoutName, PopulationSpec};
use super::scenario::{Preset, Scenario};

/// The height of a row: what a dRAID of OpenZFS writes to a disk before its next one
/// (`VDEV_DRAID_ROWHEIGHT`).
const ROW: u64 = 16 << 20;
/// Larger arrays have taller rows, so that they have no more stripes than this: a choice.
const STRIPES_MAX: u64 = 1 << 19;
/// The most parity of a stripe: that of RAID-6, and of `draid3`.
const PARITY_MAX: [u32; 2] = [2, 3];

/// Rows that each disk leads at once: an array is rebuilt by one process, not by each disk for itself. With
/// so many the busiest disk of 50 works for more than 98 % of the time, with 8 for less.
const ROWS_AT_ONCE: u32 = 32;

/// Keys that say how objects are placed and grouped.
const OF_OBJECTS: [&str; 12] = [
    "placement",
    "vnodes",
    "groups",
    "groups_per_server",
    "pool",
    "lost_set",
    "objects",
    "population",
    "replicas",
    "order",
    "max_backfills",
    "returns",
];
/// Keys of seeks.
const OF_SEEKS: [&str; 3] = ["seeks", "io_cost", "seek_extent"];
/// Keys of a network.
const OF_NETWORK: [&str; 3] = ["nic", "latency", "uplink"];
/// Keys of clients.
const OF_CLIENTS: [&str; 5] = ["client_load", "client_depth", "client_read", "client_size", "client_weight"];

impl Scenario {
    /// Whether the disks of one server are the failure domain.
    #[must_use]
    pub(super) fn is_chassis(&self) -> bool {
        self.failure_domain == Domain::Disk
    }

    /// The arrays that its disks form; none where objects are placed one by one or in groups.
    #[must_use]
    pub(super) fn arrays(&self) -> Option<Arrays> {
        let redundancy = self.ec.as_deref().and_then(code)?;
        let (disks, spares) = (self.disks_per_server, self.spares.unwrap_or(0));
        Some(Arrays { form: self.array?, disks, spares, redundancy }).filter(fits)
    }

    /// Whether disks replace the failed ones after these were rebuilt to spares, and take back their data.
    #[must_use]
    pub(super) fn rebalances(&self) -> bool {
        self.replace.is_some() && self.array.is_some() && self.spares.is_some_and(|spares| spares > 0)
    }

    /// Sets what follows from the arrays: how much they hold, in rows; that their disks do not seek; and that
    /// enough of them are in progress.
    pub(super) fn fill_arrays(&mut self) {
        let Some(arrays) = self.arrays() else { return };
        let whole = self.disk_capacity.filter(|_| arrays.form == Form::Raid);
        if let Some(capacity) = whole {
            let all = u128::from(capacity.get()) * u128::from(arrays.filled());
            self.per_server = Some(Bytes::new(u64::try_from(all).unwrap_or(u64::MAX)));
        }
        let Some(raw) = self.per_server else { return };
        let Redundancy { data, width } = arrays.redundancy;
        let stripes = |row: u64| raw.get().div_ceil(row * u64::from(width));
        let mut row = ROW;
        while stripes(row) > STRIPES_MAX {
            row *= 2;
        }
        self.groups = Some(arrays.groups(stripes(row)));
        self.population = PopulationSpec {
            distribution: Some(Distribution::Constant),
            size: Some(Bytes::new(row * u64::from(data))),
            layout: Some(LayoutName::Whole),
            ..PopulationSpec::default()
        };
        self.keys.machines.seeks = Some(Seeks::None);
        let reads = if arrays.form == Form::Draid { Reads::All } else { Reads::Needed };
        self.reads.get_or_insert(reads);
        let pacing = &mut self.keys.pacing;
        if arrays.form == Form::Draid {
            // Else some disks lead a few rows more than others, and are the last to be done.
            pacing.source.get_or_insert(Source::LeastLoaded);
        }
        pacing.recovery_max_active.get_or_insert(ROWS_AT_ONCE);
    }

    /// In a chassis a disk fails, if nothing else is named.
    pub(super) fn fill_failure(&mut self, draft: &Draft) {
        if self.is_chassis() && !draft.says("fail") {
            self.fail = Texts::One("disk".to_owned());
        }
    }

    /// The keys of the resolved scenario that mean nothing here.
    #[must_use]
    pub(super) fn unused(&self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        if self.is_chassis() {
            keys.extend(OF_NETWORK);
        }
        if let Some(form) = self.array {
            keys.extend(OF_OBJECTS.into_iter().chain(OF_SEEKS));
            keys.extend((form == Form::Raid).then_some("per_server"));
        }
        keys
    }

    /// Refuses what one chassis and its arrays do not have.
    pub(super) fn check_chassis(&self, draft: &Draft, problems: &mut Problems) {
        if self.array.is_none() && draft.says("spares") {
            let message = "`spares` are those of an array, but `array` is left out";
            let hint = "set array = \"raid\" or \"draid\"; without one, all disks take what was lost";
            problems.refuse(draft, "spares", message, hint);
        }
        if self.array.is_none() && draft.says("reads") {
            let message = "`reads` is about the stripes of an array, but `array` is left out";
            let hint = "leave it out: of objects as many shards are read as are needed";
            problems.refuse(draft, "reads", message, hint);
        }
        match (self.servers, self.is_chassis()) {
            (1, true) => {}
            (1, false) => {
                let message = "`servers` is 1, but copies must lie on different servers or racks";
                let hint = "set failure_domain = \"disk\" and `disks_per_server`, or more servers";
                problems.refuse(draft, "servers", message, hint);
                return;
            }
            (servers, true) => {
                let message = format!(
                    "`failure_domain` is `disk`, which is modelled in one server, but there are {servers}"
                );
                let hint = "set servers = 1, or leave `failure_domain` out";
                problems.refuse(draft, "failure_domain", message, hint);
                return;
            }
            (_, false) => {
                if self.array.is_some() {
                    let message = "`array` is made of the disks of one server, but the failure domain is not";
                    let hint = "set servers = 1, failure_domain = \"disk\" and `disks_per_server`";
                    problems.refuse(draft, "array", message, hint);
                }
                return;
            }
        }
        for key in OF_NETWORK.into_iter().filter(|key| draft.says(key)) {
            let message = format!("`{key}` is about a network, but one server sends nothing");
            let hint = "leave it out; `server_rate_cap` limits all disks of the server together";
            problems.refuse(draft, key, message, hint);
        }
        for key in OF_CLIENTS.into_iter().filter(|key| draft.says(key)) {
            let message = format!("`{key}` describes clients, which are not modelled in one chassis");
            problems.refuse(draft, key, message, "leave it out, or set more servers");
        }
        if self.array.is_some() {
            self.check_array(draft, problems);
        }
    }

    /// Refuses failures that take the whole chassis.
    pub(super) fn check_failures(&self, failures: &[Failure], draft: &Draft, problems: &mut Problems) {
        let whole = |failure: &Failure| matches!(failure.what, Failing::Server(_) | Failing::Rack(_));
        if self.is_chassis() && failures.iter().any(whole) {
            let message = "`fail` takes the only server, and nothing would be left";
            problems.refuse(draft, "fail", message, "name disks: fail = \"disk\", or fail = [\"disk=3\"]");
        }
    }

    fn check_array(&self, draft: &Draft, problems: &mut Problems) {
        let Some(form) = self.array else { return };
        for key in OF_OBJECTS.into_iter().filter(|key| draft.says(key)) {
            let message = format!("`{key}` is about objects, but `array` lays out rows of whole disks");
            problems.refuse(draft, key, message, "leave it out, or leave out `array`");
        }
        for key in OF_SEEKS.into_iter().filter(|key| draft.says(key)) {
            let message = format!("`{key}` is about seeks, but an array is rebuilt in the order of its rows");
            problems.refuse(draft, key, message, "leave it out: disks of an array do not seek here");
        }
        if self.spares.unwrap_or(0) == 0 && self.replace.is_none() {
            let message = "an array without spares has no room for what is lost";
            problems.refuse(
                draft,
                "spares",
                message,
                "set `spares`, or replace = \"0s\" for a new disk in place",
            );
        }
        if self.preset != Preset::Paper {
            let message = "`preset` is Ceph, which has no arrays";
            problems.refuse(draft, "preset", message, "leave it out, or leave out `array`");
        }
        match (form, self.disk_capacity, self.per_server) {
            (Form::Raid, _, Some(_)) => {
                let message = "`per_server` is the data, but a RAID rebuilds whole disks, full or not";
                problems.refuse(draft, "per_server", message, "set `disk_capacity` in its place");
            }
            (Form::Raid, None, _) => {
                let message = "a RAID rebuilds whole disks, and their size is not known";
                problems.refuse(draft, "disk_capacity", message, "set `disk_capacity`");
            }
            (Form::Draid, _, None) => {
                let message = "a dRAID rebuilds what is in use, and that is not known";
                let hint = "set `per_server`: data with their parity, on all disks together";
                problems.refuse(draft, "per_server", message, hint);
            }
            (Form::Draid, Some(capacity), Some(data)) => {
                let disks = self.disks_per_server.saturating_sub(self.spares.unwrap_or(0));
                let room = u128::from(capacity.get()) * u128::from(disks);
                if u128::from(data.get()) > room {
                    let message =
                        format!("`per_server` is {data}, more than {disks} disks of {capacity} hold");
                    let hint = "set less; a distributed spare takes the room of a disk";
                    problems.refuse(draft, "per_server", message, hint);
                }
            }
            _ => {}
        }
        self.check_stripes(form, draft, problems);
    }

    fn check_stripes(&self, form: Form, draft: &Draft, problems: &mut Problems) {
        let Some(text) = &self.ec else {
            let message = "an array has data and parity, but `ec` is left out";
            problems.refuse(draft, "ec", message, "set ec = \"8+2\"");
            return;
        };
        let Some(redundancy @ Redundancy { data, width }) = code(text) else { return };
        let (disks, spares) = (self.disks_per_server, self.spares.unwrap_or(0));
        let (name, most) = match form {
            Form::Raid => ("a RAID", PARITY_MAX[0]),
            Form::Draid => ("a dRAID", PARITY_MAX[1]),
        };
        if width - data > most {
            let message = format!("`ec` is `{text}`, but {name} has at most {most} parity disks");
            problems.refuse(draft, "ec", message, format!("set at most +{most}"));
        } else if !fits(&Arrays { form, disks, spares, redundancy }) {
            let left = disks.saturating_sub(spares);
            let message = match form {
                Form::Raid => format!(
                    "{left} disks besides {spares} spares are no whole number of arrays of {width} disks"
                ),
                Form::Draid => format!("{left} disks besides {spares} spares are fewer than {width}"),
            };
            problems.refuse(
                draft,
                "disks_per_server",
                message,
                "change `disks_per_server`, `spares` or `ec`",
            );
        }
    }
}

/// Whether arrays can be laid out on their disks.
fn fits(arrays: &Arrays) -> bool {
    let width = arrays.redundancy.width;
    let left = arrays.disks.saturating_sub(arrays.spares);
    left >= width && (arrays.form == Form::Draid || left.is_multiple_of(width))
}

#[cfg(test)]
mod tests;

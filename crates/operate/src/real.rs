//! A real cluster: its machines, groups and data from the exports of Ceph, and what a recovery of them takes.
//!
//! Groups start on the devices that serve them (`acting`), so data that was missing or being moved before the
//! failure stays so. New targets are where Ceph 16.2 places a group once the failed devices are out, with
//! explicit mappings and primary affinities; a surviving copy moves too where its place has changed. What it
//! leaves out: scans of groups before their backfill (one operation in 512 objects).
//!
//! - `machines`: hosts, racks and disks, and their assumed speeds;
//! - `groups`: what is affected, and where it belongs;
//! - `failing`: failures by the names of the map;
//! - `factors`: machines other than assumed; `calibrated`: those whose constants were learned.

pub(crate) mod calibrated;
pub(crate) mod factors;
pub(crate) mod failing;
pub(crate) mod groups;
mod machines;

use std::collections::BTreeSet;
use std::sync::Arc;

use towtank_ceph::{Cluster, FillLimits, Joined, PoolState};
use towtank_scenario::{Draft, Problems};
use towtank_units::{Bytes, Percent, SimSpan};

use self::calibrated::{Calibration, Machine};
use self::failing::Failure;
use self::groups::{Groups, OnTheWay};
use self::machines::Machines;
pub(crate) use self::machines::write_rate;
use crate::exports;
use towtank_rebuild::affected::Affected;
use towtank_rebuild::failures::Struck;
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::ledger::{Order, Rules};
use towtank_rebuild::model::{Limits, Queues};
use towtank_rebuild::recovery::{Later, Recovery, Waiting};
use towtank_rebuild::redundancy::Redundancy;
use towtank_recovery::checks::Fleet;
use towtank_recovery::keys::{Exports, Keys};
use towtank_recovery::levers::{self, Other};
use towtank_recovery::queue::{Mclock, Profile};
use towtank_recovery::settings::{Settings, Usual, memory_of_machines};
use towtank_report::Warning;
use towtank_study::RunContext;

use crate::features;
use crate::flags::ClusterFlags;
use crate::learned::Learned;
use crate::release::{self, Paced};

/// What is asked about a cluster.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The keys that name its exports.
    pub exports: &'a Exports,
    /// Speeds, pacing, clients, delays.
    pub keys: &'a Keys,
    /// From a change of the map to the first object that moves.
    pub start: SimSpan,
    /// What was learned of the machines.
    pub learned: Option<&'a Learned>,
    /// Recoveries of at most so many objects are simulated with all of them, if this is given.
    pub exact_objects: Option<u64>,
    /// What fails.
    pub fail: &'a [failing::Asked<'a>],
    /// The flags of the cluster, now and as planned.
    pub flags: &'a ClusterFlags,
    /// Devices that are down, and replaced by empty ones later.
    pub replaced: &'a BTreeSet<i32>,
}

/// A checked scenario with the cluster of its exports.
pub struct Ready {
    keys: Keys,
    settings: Settings,
    /// Recoveries of at most so many objects are simulated with all of them, if this is given.
    pub(crate) exact_objects: Option<u64>,
    pub(crate) groups: Arc<Groups>,
    failures: Vec<Failure>,
    pub(crate) flags: ClusterFlags,
    /// The cluster, if the exports say which.
    pub(crate) fsid: Option<String>,
    /// Machines whose constants were learned, and what is said of them.
    pub(crate) calibrated: Option<(Vec<Machine>, Calibration)>,
    warnings: Vec<Warning>,
}

/// Changes of the map of a cluster.
pub(crate) struct Change {
    /// The cluster after each change, in order, with the explicit mappings that the monitors keep.
    pub after: Vec<Cluster>,
    /// The devices before and after each change, each in the class that its disk is of.
    pub disks: Vec<Cluster>,
    /// Maps that the manager makes after these.
    pub then: OnTheWay,
}

/// All that a recovery takes.
pub(crate) struct Staged {
    /// The machines.
    pub hardware: Hardware,
    /// The limits on concurrent work.
    pub limits: Limits,
    /// The groups that something is to be done about.
    pub affected: Affected,
    /// What fails.
    pub struck: Vec<Struck>,
    /// What happens later.
    pub later: Later,
    /// Whether each device fails.
    pub failing: Vec<bool>,
    /// Groups that lack copies or shards before anything fails.
    pub lacking: u64,
    /// Bytes on each device.
    pub used: Vec<u64>,
    /// The most bytes that each may hold.
    pub limit: Vec<u64>,
    /// The size of each, where the exports say it.
    pub capacity: Option<Vec<u64>>,
    /// Warnings about what fails.
    pub warnings: Vec<Warning>,
}

impl Ready {
    /// Checks what is asked about exports that have been read, and what their map is changed to.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub(crate) fn of(
        asked: Asked<'_>,
        joined: Joined,
        change: Change,
        draft: &Draft,
    ) -> Result<Ready, Problems> {
        let mut keys = asked.keys.clone();
        let found = release::Found::of(&joined);
        let Joined { cluster, mut warnings, osd_dump, down_for, .. } = joined;
        let fsid = Some(osd_dump.fsid.clone()).filter(|fsid| !fsid.is_empty());
        if !draft.says("backfillfull_ratio") {
            let ratio = FillLimits::of(&osd_dump).backfillfull;
            // Ceph stores the ratio as a 32-bit float; rounding to a millionth loses nothing that a user
            // means.
            keys.pacing.backfillfull_ratio =
                Some(Percent::from_billionths((ratio * 1e6).round() as u64 * 1_000));
        }
        if !draft.says("noout") && asked.flags.always("noout") {
            keys.delays.noout = Some(true);
            let text = "`noout` is set, so failed devices are not marked out; --unset-flag noout@2h shows what happens when \
                        it is unset, and noout = false what happens without it";
            warnings.push(Warning::note(text));
        }
        if keys.pacing.ceph_release.is_none() {
            keys.pacing.ceph_release = found.release;
            warnings.extend(found.warnings.into_iter().filter(|_| !draft.says("queue")));
        }
        let usual = Usual { of_ceph: true, grouped: true, has_queue: true, peering: asked.start };
        let settings = Settings::of(&mut keys, usual);
        let mut problems = check_pools(&cluster, exports::key_of_dump(asked.exports), draft);
        warnings.extend(features::check(
            &osd_dump,
            exports::key_of_dump(asked.exports),
            draft,
            &mut problems,
        ));
        settings.check_amounts(draft, &mut problems);
        if settings.order == Order::Object {
            let message = "`order` is `object`, but the objects of a group are copied together";
            problems.refuse(draft, "order", message, "set order = \"group\", or leave it out");
        }
        problems.into_result(())?;
        let mut problems = Problems::new();
        warnings.extend(settings.check_queue(&asked.keys.pacing, draft, &mut problems));
        warnings.extend(release::of_codes(&cluster, settings.mclock));
        let class = asked.learned.map(|learned| learned.event.class.as_str());
        let disks: Vec<&Cluster> = change.disks.iter().collect();
        let machines = Machines::of(&disks, (asked.keys, class), &settings);
        warnings.extend(machines.warnings.iter().cloned());
        let groups = Groups::new(cluster, machines);
        let groups = groups.and_then(|groups| groups.followed_to(change.after, change.then));
        let groups = groups.map_err(|fault| {
            draft.problem(exports::key_of_map(asked.exports), fault).hint("correct the map")
        })?;
        let groups = groups.with_replaced(asked.replaced);
        let mut failures = failing::resolve(asked.fail, &groups, draft, &mut problems);
        failing::add_down(&mut failures, &groups, asked.replaced, &down_for);
        let usual = usual_redundancy(&groups.cluster);
        settings.check_clients(&asked.keys.clients, usual, fleet(&groups), draft, &mut problems);
        problems.into_result(())?;
        let exact_objects = asked.exact_objects;
        let flags = asked.flags.clone();
        let groups = Arc::new(groups);
        let calibrated = None;
        let ready =
            Ready { keys, settings, exact_objects, groups, failures, flags, fsid, calibrated, warnings };
        Ok(ready.calibrated_on(asked.learned))
    }

    /// With machines as they were learned.
    fn calibrated_on(self, learned: Option<&Learned>) -> Ready {
        let machines = |learned: &Learned| {
            calibrated::machines(learned, &self, (&self.groups.machines.hardware, &self.limits()))
        };
        Ready { calibrated: learned.map(machines), ..self }
    }

    /// The bytes of a client's write, where they are given or follow from a load.
    pub(crate) fn bytes_of_a_write(&self) -> Option<u64> {
        self.keys.clients.client_size.map(Bytes::get)
    }

    /// Machines whose constants were learned: one for each row, and none where nothing was learned of these.
    pub(crate) fn calibrated_machines(&self) -> &[Machine] {
        self.calibrated.as_ref().map_or(&[], |(machines, _)| machines)
    }

    /// Whether the speed is assumed of disks that sleep after each object.
    pub(crate) fn guesses_pace(&self) -> bool {
        self.groups.machines.guesses_pace
    }

    /// The limits, with those of each device class.
    fn limits(&self) -> Limits {
        let paces = self.groups.machines.paces.clone();
        // The sleep that the report shows is the longest of all classes.
        let sleep = paces.iter().map(|pace| pace.sleep).max().unwrap_or_default();
        let queues = self.settings.mclock.map(|mclock| self.queues(&mclock));
        let limits = self.settings.limits(queues);
        // Disks that do not sleep lose no time to items that start nothing.
        let maps = limits.maps.filter(|_| limits.queues.is_some() || !sleep.is_zero());
        Limits { paces, sleep, maps, ..limits }
    }

    /// The queues of all devices.
    fn queues(&self, mclock: &Mclock) -> Queues {
        let machines = &self.groups.machines;
        mclock.queues(self.groups.first_of_pools(), machines.devices.get(&0).copied(), &machines.rotates)
    }

    /// What is known of the release, and the queue of its daemons.
    pub(crate) fn paced(&self) -> Paced {
        Paced { release: self.keys.pacing.ceph_release, queue: self.keys.pacing.queue }
    }

    /// What an operator could change.
    pub(crate) fn levers(&self) -> levers::Settings {
        levers::Settings { takes: self.settings.takes(), window: false, others: self.alternatives() }
    }

    /// Settings that an operator could change besides single limits, and the limits with each.
    fn alternatives(&self) -> Vec<Other> {
        let Some(mclock) = self.settings.mclock else { return Vec::new() };
        let others = [Profile::HighRecoveryOps, Profile::Balanced, Profile::HighClientOps];
        let usual = usual_redundancy(&self.groups.cluster);
        let changed = |profile: Profile| {
            // A profile limits recovery, and it divides a busy device between recovery and clients.
            let mut keys = self.keys.clone();
            keys.pacing.profile = Some(profile);
            let settings = Settings::of(&mut keys, self.settings.usual);
            let clients = settings.load(usual);
            if clients.is_some_and(|load| !settings.grants(&load, fleet(&self.groups))) {
                return None;
            }
            let queues = settings.mclock.map(|mclock| self.queues(&mclock));
            let limits = Limits { queues, ..self.limits() };
            let weights = clients.map(|load| load.weights);
            Some(Other { change: format!("osd_mclock_profile = {}", profile.name()), limits, weights })
        };
        others.into_iter().filter(|profile| *profile != mclock.profile).filter_map(changed).collect()
    }

    /// Per device: the bytes on it, the bytes it may hold, and its size; `u64::MAX` for the latter two where
    /// the exports do not give it.
    fn fill(&self) -> (Vec<u64>, Vec<u64>, Option<Vec<u64>>) {
        let machines = &self.groups.machines;
        let of = |osd: &i32| self.groups.cluster.fill.get(osd).filter(|fill| fill.size_bytes > 0);
        let size = |osd| of(osd).map_or(u64::MAX, |fill| fill.size_bytes);
        let limit =
            |osd| of(osd).map_or(u64::MAX, |fill| self.settings.backfillfull_ratio.of(fill.size_bytes));
        let used = machines.osds.iter().map(|osd| of(osd).map_or(0, |fill| fill.used_bytes)).collect();
        let known = machines.osds.iter().any(|osd| of(osd).is_some());
        let sizes = known.then(|| machines.osds.iter().map(size).collect());
        (used, machines.osds.iter().map(limit).collect(), sizes)
    }

    /// What fails.
    pub(crate) fn struck(&self) -> Vec<Struck> {
        failing::strike(&self.failures, &self.groups, self.waiting(), &self.flags)
    }

    /// The delays between a failure and its rebuild.
    pub(crate) fn waiting(&self) -> Waiting {
        self.settings.waiting()
    }

    /// All that a recovery takes; none if the user stopped it before anything was known.
    pub(crate) fn staged(&self, context: &RunContext<'_>) -> Option<Staged> {
        let hardware = self.groups.machines.hardware.clone();
        let struck = self.struck();
        let mut failing = vec![false; hardware.devices() as usize];
        struck.iter().flat_map(|struck| &struck.devices).for_each(|device| failing[device.index()] = true);
        let (affected, lacking) = self.groups.affected(&failing, context)?;
        let warnings = self.warnings_about(&struck);
        let (used, limit, capacity) = self.fill();
        let limits = self.limits();
        let later = Later::default();
        Some(Staged {
            hardware,
            limits,
            affected,
            struck,
            later,
            failing,
            lacking,
            used,
            limit,
            capacity,
            warnings,
        })
    }

    /// The recovery of what is staged.
    pub(crate) fn recovery<'a>(&self, staged: &'a Staged, context: &RunContext<'_>) -> Recovery<'a> {
        let (groups, settings) = (&self.groups, &self.settings);
        Recovery {
            hardware: &staged.hardware,
            limits: &staged.limits,
            affected: &staged.affected,
            struck: &staged.struck,
            later: &staged.later,
            waiting: self.waiting(),
            rules: Rules {
                source: settings.source,
                led_by_map: true,
                gather: settings.gather,
                reads_all: false,
                order: settings.order,
                ties: Some(context.seed),
                seed: context.seed,
                reserve: staged.limits.reservations.is_some(),
                backfill: settings.backfill,
                count_completed: false,
            },
            down: groups.down(),
            used: staged.used.clone(),
            limit: staged.limit.clone(),
            clients: settings.load(usual_redundancy(&groups.cluster)),
            quiet: true,
        }
    }

    /// Warnings about what fails.
    fn warnings_about(&self, struck: &[Struck]) -> Vec<Warning> {
        let mut warnings = self.warnings.clone();
        let down = self.groups.down();
        for struck in struck {
            let already = struck.devices.iter().filter(|device| down.contains(device)).count();
            if already > 0 {
                let (name, all) = (&struck.name, struck.devices.len());
                let which = if all == 1 { String::new() } else { format!("{already} of {all} devices of ") };
                warnings.push(Warning::note(format!(
                    "{which}{name} no longer served when the dump was made; the time still counts from the \
                     failure"
                )));
            }
        }
        warnings
    }

    /// Failures of whole racks, which the monitors do not mark out.
    pub(crate) fn warnings_about_racks(&self, struck: &[Struck]) -> Vec<Warning> {
        let applies = !self.settings.noout && !self.settings.rack_out;
        let stays = struck.iter().filter(|struck| applies && struck.rack && !struck.noout);
        let of = |struck: &Struck| {
            Warning::danger(format!(
                "{}: a whole rack is down then, which Ceph does not mark out by itself (`mon_osd_down_out_subtree_limit`); \
                 rack_out = true shows what happens if an operator does",
                struck.name
            ))
        };
        stays.map(of).collect()
    }
}

/// Checks for pools whose rebuild cannot be simulated.
fn check_pools(cluster: &Cluster, key: &str, draft: &Draft) -> Problems {
    let mut problems = Problems::new();
    for pool in cluster.pools.iter().filter(|pool| pool.data_shards > pool.placed.size) {
        let message = format!(
            "pool `{}` has {} shards, fewer than the {} data shards of an object",
            pool.name, pool.placed.size, pool.data_shards
        );
        problems.refuse(draft, key, message, "export the osd dump again, in full");
    }
    let groups = cluster.pools.iter().flat_map(|pool| &pool.groups);
    let objects: u64 = groups.map(Groups::objects).fold(0, u64::saturating_add);
    if objects > OBJECTS_MAX {
        let message = format!("the groups hold {objects} objects, more than the limit of {OBJECTS_MAX}");
        problems.refuse(draft, "pg_dump", message, "check `num_objects` of the dump");
    }
    problems
}

/// The machines, for checks of clients.
fn fleet(groups: &Groups) -> Fleet<'_> {
    Fleet { hardware: &groups.machines.hardware, rotates: &groups.machines.rotates }
}

/// The redundancy of clients' data: that of the pool that holds the most.
fn usual_redundancy(cluster: &Cluster) -> Redundancy {
    let bytes = |pool: &&PoolState| pool.groups.iter().map(|group| group.bytes).fold(0, u64::saturating_add);
    let of = |pool: &PoolState| Redundancy { data: pool.data_shards, width: pool.placed.size };
    cluster.pools.iter().max_by_key(bytes).map_or(Redundancy { data: 1, width: 3 }, of)
}

/// Objects are numbered in 32 bits.
const OBJECTS_MAX: u64 = u32::MAX as u64;

impl Ready {
    /// An estimate of the memory that the machines take in a replicate.
    pub(crate) fn memory_of_machines(&self) -> u64 {
        let hardware = &self.groups.machines.hardware;
        memory_of_machines(f64::from(hardware.servers()), f64::from(hardware.devices())) as u64
    }
}

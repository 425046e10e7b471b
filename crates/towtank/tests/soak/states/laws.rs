//! What must hold between an answer of `whatif` and the facts of the oracle. Each law has a name, so that its
//! violations can be counted.

use std::collections::BTreeMap;

use towtank_report::{Report, Status};

use super::cluster::{Cluster, Group, NONE, Shown, USUAL_FLAGS};
use super::oracle::{Count, Facts, facts, new_homes, to_copy, waits_for_itself};
use super::planted::Damage;

/// An answer, as far as laws look at it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) verdict: Status,
    pub(super) because: String,
    /// Values of measures, or why there is none.
    pub(super) measures: BTreeMap<String, Result<f64, String>>,
}

impl Said {
    pub(super) fn of(report: &Report) -> Said {
        let verdict = report.answer.verdict.as_ref().expect("whatif has a verdict");
        let value = |measure: &towtank_report::Measure| {
            measure.value().ok_or_else(|| measure.reason().unwrap_or_default().to_owned())
        };
        Said {
            verdict: verdict.status(),
            because: verdict.reason().to_owned(),
            measures: report.summary.iter().map(|(name, found)| (name.to_owned(), value(found))).collect(),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.measures.get(name)?.clone().ok()
    }

    /// Whether it has the measure, and says that its value is not known, and why.
    fn says_why_not(&self, name: &str) -> bool {
        matches!(self.measures.get(name), Some(Err(reason)) if !reason.is_empty())
    }
}

/// All laws, each with damage that breaks it.
pub(super) const LAWS: [(&str, Damage); 79] = [
    ("all: there is an answer", Damage::Export),
    ("now: short groups", Damage::Record),
    ("now: groups below min_size", Damage::More),
    ("now: not safe while below min_size", Damage::Verdict(Status::Safe)),
    ("now: not safe while data cannot be read", Damage::Verdict(Status::Safe)),
    ("now: not safe while groups are unknown", Damage::Verdict(Status::Safe)),
    ("now: not safe while one more device loses data", Damage::Verdict(Status::Safe)),
    ("now: lost is not safe", Damage::Verdict(Status::AtRisk)),
    ("now: what serves no requests is not safe", Damage::Verdict(Status::AtRisk)),
    ("now: not safe while copies are missing", Damage::Verdict(Status::Safe)),
    ("now: not safe while copies have no place", Damage::Verdict(Status::Safe)),
    ("now: not safe while a flag stops rebuilds", Damage::Verdict(Status::Safe)),
    ("now: bytes to move", Damage::Record),
    ("now: bytes pending", Damage::More),
    ("now: bytes written", Damage::More),
    ("now: groups to move", Damage::More),
    ("now: what is never clean has no time", Damage::Time(5)),
    ("now: a device without room leaves no time", Damage::Time(5)),
    ("now: a move takes time", Damage::Time(0)),
    ("now: what cannot be read is not clean at once", Damage::Time(0)),
    ("now: a rebuild takes time", Damage::Time(0)),
    ("now: a log recovery takes time", Damage::Time(0)),
    ("now: a flag that stops backfills leaves no time to clean", Damage::Time(5)),
    ("now: a flag that stops backfills leaves no time to redundancy", Damage::Time(5)),
    ("now: norebalance leaves no time to clean", Damage::Time(5)),
    ("now: objects that are not counted are not 0", Damage::Time(0)),
    ("now: bytes with two copies", Damage::More),
    ("now: a split under way takes time", Damage::Time(0)),
    ("now: a split to come leaves no time", Damage::Time(5)),
    ("held: misplaced objects", Damage::More),
    ("failed: bytes with two copies", Damage::More),
    ("moves only: short groups", Damage::More),
    ("moves only: incomplete groups", Damage::More),
    ("failed: no probability while nobody knows what is lost", Damage::Probability),
    ("moves only: inactive groups", Damage::More),
    ("moves only: unknown groups", Damage::More),
    ("moves only: not safe while below min_size", Damage::Verdict(Status::Safe)),
    ("moves only: not safe while data cannot be read", Damage::Verdict(Status::Safe)),
    ("moves only: not safe while groups are unknown", Damage::Verdict(Status::Safe)),
    ("moves only: not safe while one more device loses data", Damage::Verdict(Status::Safe)),
    ("moves only: lost is not safe", Damage::Verdict(Status::AtRisk)),
    ("moves only: what serves no requests is not safe", Damage::Verdict(Status::AtRisk)),
    ("failed: groups below min_size", Damage::More),
    ("now: groups without objects below min_size", Damage::Empty),
    ("failed: groups without objects below min_size", Damage::Empty),
    ("failed: groups below min_size in a recovery", Damage::More),
    ("failed: lost objects", Damage::More),
    ("failed: objects that are not counted are not 0", Damage::Time(0)),
    ("failed: bytes with one copy", Damage::More),
    ("failed: devices critical", Damage::More),
    ("failed: hosts critical", Damage::More),
    ("failed: not safe while below min_size", Damage::Verdict(Status::Safe)),
    ("failed: not safe while data cannot be read", Damage::Verdict(Status::Safe)),
    ("failed: not safe while groups are unknown", Damage::Verdict(Status::Safe)),
    ("failed: not safe while one more device loses data", Damage::Verdict(Status::Safe)),
    ("failed: lost is not safe", Damage::Verdict(Status::AtRisk)),
    ("failed: groups affected", Damage::Record),
    ("failed: objects affected", Damage::More),
    ("failed: bytes to move", Damage::More),
    ("failed: a rebuild takes time", Damage::Time(0)),
    ("failed: a flag that stops backfills leaves no time", Damage::Time(5)),
    ("failed: not safe while a flag stops rebuilds", Damage::Verdict(Status::Safe)),
    ("failed: noout leaves no time", Damage::Time(5)),
    ("failed: not safe under noout", Damage::Verdict(Status::Safe)),
    ("failed: nodown leaves no time", Damage::Time(5)),
    ("failed: not safe under nodown", Damage::Verdict(Status::Safe)),
    ("report alone: it is not refused", Damage::Export),
    ("report alone: not safe while below min_size", Damage::Verdict(Status::Safe)),
    ("report alone: not safe while data cannot be read", Damage::Verdict(Status::Safe)),
    ("report alone: not safe while groups are unknown", Damage::Verdict(Status::Safe)),
    ("report alone: not safe while one more device loses data", Damage::Verdict(Status::Safe)),
    ("report alone: lost is not safe", Damage::Verdict(Status::AtRisk)),
    ("report alone: not safe while copies are missing", Damage::Verdict(Status::Safe)),
    ("report alone: not safe while a log is made up for", Damage::Verdict(Status::Safe)),
    ("report alone: what cannot be read is never clean", Damage::Time(5)),
    ("report alone: no safer", Damage::Verdict(Status::Safe)),
    ("report alone: the same verdict", Damage::Verdict(Status::AtRisk)),
    ("report alone: the same short groups", Damage::More),
    ("report alone: the same groups below min_size", Damage::More),
];

/// What of an answer breaks a law: the name of the law, and how.
pub(super) type Broken = Vec<(&'static str, String)>;

/// An answer, what is true, and what is broken so far.
struct Judge<'a> {
    cluster: &'a Cluster,
    facts: Facts,
    said: &'a Said,
    broken: Broken,
}

impl Judge<'_> {
    fn law(&mut self, name: &'static str, holds: bool, how: impl FnOnce() -> String) {
        assert!(LAWS.iter().any(|(law, _)| *law == name), "{name} is not in the list");
        if !holds {
            self.broken.push((name, how()));
        }
    }

    /// A measure has a value within the bounds. Where groups are unknown, a device lacks objects that no
    /// export names, or nobody has decided whether data are lost, a reason is as true as 0.
    fn counts(&mut self, law: &'static str, measure: &str, want: Count) {
        let found = self.said.value(measure);
        let undecided = if measure == "lost_objects" { self.facts.undecided } else { 0 };
        let is_open = self.facts.unknown + self.facts.behind + undecided > 0 && want.sure == 0;
        let says_why = is_open && self.said.says_why_not(measure);
        let holds = says_why || found.is_some_and(|found| want.holds(found));
        let said = self.said.measures.get(measure).cloned();
        self.law(law, holds, || format!("{measure} is {said:?}, and the truth {want:?}"));
    }

    /// Groups that accept no writes; those without objects, which have nothing to lose, by an own law.
    fn below(&mut self, [law, of_empty]: [&'static str; 2]) {
        let (Count { sure, perhaps }, empty) = (self.facts.below, self.facts.empty);
        let found = self.said.value("below_min_size");
        // What is never marked down keeps all its groups from serving, so that there is no count of some.
        if self.cluster.has_flag("nodown") && found.is_none() && self.said.says_why_not("below_min_size") {
            return;
        }
        self.counts(law, "below_min_size", Count { sure: sure - empty, perhaps: perhaps + empty });
        let lacks = found.is_some_and(|found| found >= (sure - empty) as f64 && found < sure as f64);
        self.law(of_empty, !lacks, || format!("{found:?}, and the truth {sure}, of which {empty} are empty"));
    }

    /// A measure has a value within the bounds, where all groups are known.
    fn moved(&mut self, law: &'static str, measure: &str, want: Count) {
        let found = self.said.value(measure);
        let holds = self.facts.unknown > 0 || found.is_some_and(|found| want.holds(found));
        self.law(law, holds, || format!("{measure} is {found:?}, and the truth {want:?}"));
    }

    fn safe_is_said(&mut self, law: &'static str, danger: bool, what: &str) {
        let is_safe = self.said.verdict == Status::Safe;
        let because = self.said.because.clone();
        self.law(law, !(danger && is_safe), || format!("safe ({because}), though {what}"));
    }

    /// Data that clients cannot use are not safe, however they came to it. What a failure brings for a while
    /// is at risk only.
    fn serves(&mut self, law: &'static str) {
        let Said { verdict, because, .. } = self.said.clone();
        let holds = self.facts.below.sure == 0 || verdict == Status::NotSafe;
        self.law(law, holds, || format!("{verdict:?} ({because}), though groups serve no requests"));
    }

    /// Laws of the verdict, which hold whatever is asked.
    fn verdict(&mut self, prefix: [&'static str; 5]) {
        let facts = self.facts.clone();
        self.safe_is_said(prefix[0], facts.below.sure > 0, "groups are below min_size");
        self.safe_is_said(prefix[1], facts.unread.sure > 0, "groups cannot be read");
        self.safe_is_said(prefix[2], facts.unknown > 0, "the state of groups is not known");
        let single = facts.last.sure > 0 && !facts.next.devices.is_empty();
        self.safe_is_said(prefix[3], single, "one more device would lose data");
        let verdict = self.said.verdict;
        let because = self.said.because.clone();
        let holds = facts.lost.sure == 0 || verdict == Status::NotSafe;
        self.law(prefix[4], holds, || format!("{verdict:?} ({because}), though groups are lost"));
    }
}

/// The laws of an answer without a change.
pub(super) fn now(cluster: &Cluster, said: &Said) -> Broken {
    let facts = facts(cluster, &[]);
    let mut judge = Judge { cluster, facts: facts.clone(), said, broken: Vec::new() };
    judge.counts("now: short groups", "groups_short_now", facts.short);
    judge.below(["now: groups below min_size", "now: groups without objects below min_size"]);
    judge.verdict([
        "now: not safe while below min_size",
        "now: not safe while data cannot be read",
        "now: not safe while groups are unknown",
        "now: not safe while one more device loses data",
        "now: lost is not safe",
    ]);
    judge.serves("now: what serves no requests is not safe");
    judge.safe_is_said("now: not safe while copies are missing", facts.missing > 0, "copies are missing");
    judge.safe_is_said(
        "now: not safe while copies have no place",
        facts.homeless > 0,
        "copies have no place",
    );
    let held =
        (judge.cluster.has_flag("norecover") || judge.cluster.has_flag("nobackfill")) && facts.missing > 0;
    judge.safe_is_said("now: not safe while a flag stops rebuilds", held, "a flag stops the rebuild");
    judge.counts("now: bytes with two copies", "two_copies_bytes", facts.second_bytes);
    moves(&mut judge);
    times(&mut judge);
    objects(&mut judge, &facts);
    judge.broken
}

/// Data to move: what is missing and misplaced once devices that are down are marked out.
fn moves(judge: &mut Judge<'_>) {
    let later = to_move(judge.cluster, &judge.cluster.after(&[]));
    // Which explicit mappings are dropped depends on whether a step of `pgp_num` or the end of the time of a
    // device that is down comes first.
    let cluster = judge.cluster;
    if !(cluster.is_splitting() && cluster.has_mappings() && cluster.has_down_and_in()) {
        judge.moved("now: bytes to move", "moved_bytes", later.bytes);
    }
    judge.moved("now: bytes pending", "pending_bytes", later.bytes);
    // Groups without objects count too, as they do for Ceph.
    judge.moved("now: groups to move", "moved_groups", Count { sure: later.groups, perhaps: 0 });
    if is_free(cluster, &judge.facts) {
        judge.moved("now: bytes written", "written_bytes", later.bytes);
    }
    let never = judge.facts.unread.sure > 0 || later.homeless > 0;
    let holds = !never || judge.said.says_why_not("time_to_clean_s");
    let clean = judge.said.value("time_to_clean_s");
    judge.law("now: what is never clean has no time", holds, || format!("time_to_clean_s is {clean:?}"));
    let full = overfull(&judge.cluster.after(&[]));
    let holds = full.is_none() || judge.said.says_why_not("time_to_clean_s");
    judge.law("now: a device without room leaves no time", holds, || {
        format!("osd.{} would be too full, and time_to_clean_s is {clean:?}", full.unwrap_or_default())
    });
}

/// Whether all that is to move can, and nothing else happens meanwhile, so that each object is copied once.
fn is_free(cluster: &Cluster, facts: &Facts) -> bool {
    let is_open = facts.unknown + facts.behind + facts.unread.sure + facts.homeless > 0;
    let is_held = cluster.flags.len() > USUAL_FLAGS.len() || !cluster.is_roomy;
    let changes = cluster.has_down_and_in() || cluster.is_splitting() || cluster.is_to_be_split();
    !(is_open || is_held || changes || cluster.groups.iter().any(waits_for_itself))
}

/// Ceph moves nothing onto a device that is fuller (`mon_osd_backfillfull_ratio`, its default).
const BACKFILL_FULL: f64 = 0.9;

/// A device that would be too full once all groups are where the map puts them, and that is to get some.
fn overfull(cluster: &Cluster) -> Option<usize> {
    let mut used: Vec<i128> =
        cluster.held().into_iter().map(|bytes| (i128::from(bytes) / 1_024 + 1_024) * 1_024).collect();
    let mut gains = vec![false; used.len()];
    let moves = |group: &&Group| {
        group.shown == Shown::Now
            && to_copy(cluster, group, &group.up).of_all() > 0
            && !waits_for_itself(group)
    };
    for group in cluster.groups.iter().filter(moves) {
        let (live, shard) = (cluster.live(group), i128::from(cluster.shard(group)));
        for osd in live.iter().filter(|osd| !group.up.contains(osd)) {
            used[*osd as usize] -= shard;
        }
        for osd in group.up.iter().filter(|osd| **osd != NONE && !live.contains(osd)) {
            let has = group.part.get(osd).copied().unwrap_or(0);
            used[*osd as usize] += shard - shard * i128::from(has) / i128::from(group.objects.max(1));
            gains[*osd as usize] |= shard > 0;
        }
    }
    let most = cluster.size_kib as f64 * 1_024.0 * BACKFILL_FULL;
    (0..used.len()).find(|osd| gains[*osd] && used[*osd] as f64 > most)
}

/// What must be copied until all groups are where the map puts them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToMove {
    /// The bytes, and those of objects that new homes may have already, which exports do not show exactly.
    pub(super) bytes: Count,
    pub(super) groups: u64,
    pub(super) homeless: u64,
}

/// The same once a cluster is as `after`, from what the exports of it `now` show.
pub(super) fn to_move(now: &Cluster, after: &Cluster) -> ToMove {
    let mut all = ToMove::default();
    for (before, group) in now.groups.iter().zip(&after.groups) {
        let found = to_copy(after, group, &group.up);
        let (sure, perhaps) = left(now, before, after, group);
        all.bytes.sure += sure;
        all.bytes.perhaps += perhaps;
        all.groups += u64::from(found.of_all() > 0);
        all.homeless += if group.objects > 0 { found.homeless } else { 0 };
    }
    all
}

/// The bytes of a group that its homes lack, and how many more an answer may count.
fn left(now: &Cluster, before: &Group, after: &Cluster, group: &Group) -> (u64, u64) {
    let copies = to_copy(after, group, &group.up).of_all();
    let each = after.shard(group).checked_div(group.objects).unwrap_or(0);
    let homes = new_homes(after, group);
    let has = homes.iter().map(|osd| group.part.get(osd).copied().unwrap_or(0)).sum::<u64>();
    // Less than an object for each home where they have different parts, and all that is not shown.
    let open = if in_part(now, before, after, group) == 0 { has } else { has.min(homes.len() as u64 - 1) };
    ((copies * group.objects - has) * each, open * each)
}

/// The objects of a group that each of its homes has on average, as exports show them: none where some homes
/// are others later, or statistics are not known.
fn in_part(now: &Cluster, before: &Group, after: &Cluster, group: &Group) -> u64 {
    let homes = new_homes(after, group);
    let part = |osd: &i32| group.part.get(osd).copied().unwrap_or(0);
    let all = homes.iter().map(part).sum::<u64>();
    let shows = now.counts_objects && group.shown == Shown::Now && !group.invalid;
    if homes.is_empty() || !shows || homes != new_homes(now, before) {
        return 0;
    }
    all / homes.len() as u64
}

/// Whether groups with all their copies have some on other devices than the map says.
fn moves_only(cluster: &Cluster) -> bool {
    cluster.groups.iter().any(|group| {
        let found = to_copy(cluster, group, &group.up);
        let serving = group.acting.iter().filter(|osd| **osd != NONE).count();
        let whole = serving == cluster.pool(group).width as usize;
        whole && found.misplaced > 0 && group.objects > 0
    })
}

fn times(judge: &mut Judge<'_>) {
    let facts = judge.facts.clone();
    let [clean, full] = ["time_to_clean_s", "time_to_full_redundancy_s"].map(|name| judge.said.value(name));
    let stays = facts.unread.sure > 0 || to_move(judge.cluster, &judge.cluster.after(&[])).homeless > 0;
    judge.law("now: a move takes time", facts.waiting == 0 || clean != Some(0.0), || {
        format!("time_to_clean_s is 0, and {} groups are to be copied", facts.waiting)
    });
    judge.law("now: what cannot be read is not clean at once", !stays || clean != Some(0.0), || {
        format!(
            "time_to_clean_s is 0, {} groups cannot be read, {} copies have no place",
            facts.unread.sure, facts.homeless
        )
    });
    let moves = || to_move(judge.cluster, &judge.cluster.after(&[])).bytes.sure > 0;
    let splits = judge.cluster.is_splitting() && moves();
    judge.law("now: a split under way takes time", !splits || clean != Some(0.0), || {
        "time_to_clean_s is 0, and groups are still to move to places of their own".to_owned()
    });
    let is_split = judge.cluster.is_to_be_split();
    judge.law("now: a split to come leaves no time", !is_split || clean.is_none(), || format!("{clean:?}"));
    let lacks = facts.missing > 0 && facts.missing_bytes > 0;
    judge.law("now: a rebuild takes time", !lacks || full != Some(0.0), || {
        format!("time_to_full_redundancy_s is 0, and {} copies are missing", facts.missing)
    });
    judge.law("now: a log recovery takes time", facts.behind == 0 || full != Some(0.0), || {
        format!("time_to_full_redundancy_s is 0, and {} groups make up for their log", facts.behind)
    });
    let stopped = judge.cluster.has_flag("norecover") || judge.cluster.has_flag("nobackfill");
    let said = judge.said;
    let why_not = |name: &str| said.says_why_not(name);
    let holds = !stopped || facts.waiting == 0 || why_not("time_to_clean_s");
    judge.law("now: a flag that stops backfills leaves no time to clean", holds, || format!("{clean:?}"));
    let holds = !stopped || !lacks || why_not("time_to_full_redundancy_s");
    judge.law("now: a flag that stops backfills leaves no time to redundancy", holds, || format!("{full:?}"));
    let rests = judge.cluster.has_flag("norebalance") && moves_only(judge.cluster);
    let holds = !rests || why_not("time_to_clean_s");
    judge.law("now: norebalance leaves no time to clean", holds, || format!("{clean:?}"));
}

/// What the exports do not have is not 0.
fn objects(judge: &mut Judge<'_>, facts: &Facts) {
    let stop = ["norecover", "nobackfill", "norebalance"];
    if judge.cluster.counts_objects || stop.iter().any(|flag| judge.cluster.has_flag(flag)) {
        return;
    }
    let said = judge.said;
    let lost = (facts.lost_objects.sure > 0, "lost_objects");
    // What waits for itself is named, and not copied.
    let copied = |group: &Group| {
        group.shown == Shown::Now
            && group.objects > 0
            && to_copy(judge.cluster, group, &group.up).of_all() > 0
    };
    let waiting = judge.cluster.groups.iter().any(|group| copied(group) && !waits_for_itself(group));
    for (some, measure) in [(waiting, "moved_objects"), lost] {
        let holds = !some || said.value(measure) != Some(0.0);
        judge.law("now: objects that are not counted are not 0", holds, || format!("{measure} is 0"));
    }
}

/// The laws of the moves alone, which count what the dump says of groups.
pub(super) fn shown(cluster: &Cluster, said: &Said) -> Broken {
    let facts = facts(cluster, &[]);
    let mut judge = Judge { cluster, facts: facts.clone(), said, broken: Vec::new() };
    judge.counts("moves only: short groups", "groups_short_now", facts.short);
    judge.counts("moves only: incomplete groups", "groups_incomplete_now", facts.lost);
    judge.counts("moves only: inactive groups", "groups_inactive_now", facts.inactive);
    let of = |what: Shown| cluster.groups.iter().filter(|group| group.shown == what).count() as u64;
    let silent = Count { sure: of(Shown::Unknown) + of(Shown::Stale), perhaps: of(Shown::Left) };
    judge.counts("moves only: unknown groups", "groups_unknown_now", silent);
    judge.verdict([
        "moves only: not safe while below min_size",
        "moves only: not safe while data cannot be read",
        "moves only: not safe while groups are unknown",
        "moves only: not safe while one more device loses data",
        "moves only: lost is not safe",
    ]);
    judge.serves("moves only: what serves no requests is not safe");
    judge.broken
}

/// Objects of groups that have all their copies or shards, some of them on other devices than the map says,
/// once what is down has been marked out. Those of groups that wait for themselves may count or not.
pub(super) fn only_misplaced(cluster: &Cluster) -> Count {
    let (after, mut objects) = (cluster.after(&[]), Count::default());
    for (before, group) in cluster.groups.iter().zip(&after.groups) {
        let found = to_copy(&after, group, &group.up);
        let waits = found.misplaced > 0 && found.missing + found.homeless == 0;
        // What is missing now may be made again before anything is marked out, and elsewhere than later.
        let made = to_copy(cluster, before, &before.up).missing > 0 && found.of_all() > 0;
        let open = waits_for_itself(group) || made;
        objects.add(waits && !open, waits || made, group.objects - in_part(cluster, before, &after, group));
    }
    objects
}

/// The laws of an answer while `norebalance` is set: what is only misplaced stays, and what is missing is
/// made again.
pub(super) fn held(cluster: &Cluster, said: &Said) -> Broken {
    let facts = facts(cluster, &[]);
    let is_clear = facts.unknown + facts.behind == 0 && cluster.counts_objects && cluster.is_roomy;
    let mut judge = Judge { cluster, facts, said, broken: Vec::new() };
    // With `norebalance` the manager goes on until 5 % of objects are misplaced, and no further.
    if is_clear && !cluster.is_splitting() {
        judge.counts("held: misplaced objects", "halted_objects", only_misplaced(cluster));
    }
    judge.broken
}

/// The laws of an answer about devices that fail at once.
pub(super) fn failed(cluster: &Cluster, devices: &[i32], said: &Said) -> Broken {
    let facts = facts(cluster, devices);
    let mut judge = Judge { cluster, facts: facts.clone(), said, broken: Vec::new() };
    let at_rest = to_move(cluster, cluster).bytes == Count::default();
    let law =
        if at_rest { "failed: groups below min_size" } else { "failed: groups below min_size in a recovery" };
    judge.below([law, "failed: groups without objects below min_size"]);
    if cluster.counts_objects {
        judge.counts("failed: lost objects", "lost_objects", facts.lost_objects);
    } else {
        let holds = facts.lost_objects.sure == 0 || said.value("lost_objects") != Some(0.0);
        judge.law("failed: objects that are not counted are not 0", holds, || "lost_objects is 0".to_owned());
    }
    let sure = said.value("data_loss_probability_fraction") == Some(1.0);
    let law = "failed: no probability while nobody knows what is lost";
    let holds = !(sure && said.value("lost_objects").is_none());
    judge.law(law, holds, || format!("a loss is sure, and {} groups are undecided", facts.undecided));
    judge.counts("failed: bytes with one copy", "one_copy_bytes", facts.last_bytes);
    judge.counts("failed: bytes with two copies", "two_copies_bytes", facts.second_bytes);
    if facts.unknown + facts.behind == 0 {
        let (sure, perhaps) = (&facts.next, &facts.perhaps_next);
        let count = |sure: usize, more: usize| Count { sure: sure as u64, perhaps: more as u64 };
        let osds = count(sure.devices.len(), perhaps.devices.difference(&sure.devices).count());
        let hosts = count(sure.hosts.len(), perhaps.hosts.difference(&sure.hosts).count());
        judge.counts("failed: devices critical", "devices_critical", osds);
        judge.counts("failed: hosts critical", "hosts_critical", hosts);
    }
    judge.verdict([
        "failed: not safe while below min_size",
        "failed: not safe while data cannot be read",
        "failed: not safe while groups are unknown",
        "failed: not safe while one more device loses data",
        "failed: lost is not safe",
    ]);
    hits(&mut judge, devices);
    judge.broken
}

/// Laws of what must be rebuilt after a failure, and of flags that stop it.
fn hits(judge: &mut Judge<'_>, devices: &[i32]) {
    let (facts, said) = (judge.facts.clone(), judge.said);
    // Of a device that was down before, nothing need be said.
    let of_none = facts.hit.sure == 0 && said.says_why_not("groups_affected");
    if !of_none {
        judge.counts("failed: groups affected", "groups_affected", facts.hit);
    }
    if judge.cluster.counts_objects && !of_none {
        judge.counts("failed: objects affected", "objects_affected", facts.hit_objects);
    }
    // Under `nodown` what fails is never out, so that nothing moves away from it.
    // What is lost is not copied, though it counts: also of a group of which a log says what it lacks.
    // Which explicit mappings are dropped depends on whether a step of `pgp_num` or a failure comes first.
    let drops = judge.cluster.is_splitting() && judge.cluster.has_mappings();
    if facts.unread.sure + facts.unread.perhaps == 0 && !judge.cluster.has_flag("nodown") && !drops {
        let later = to_move(judge.cluster, &judge.cluster.after(devices));
        judge.moved("failed: bytes to move", "moved_bytes", later.bytes);
    }
    let full = said.value("time_to_full_redundancy_s");
    let hit = facts.hit.sure > 0;
    judge.law("failed: a rebuild takes time", !hit || full != Some(0.0), || {
        "time_to_full_redundancy_s is 0, and a device with data has failed".to_owned()
    });
    let why_not = said.says_why_not("time_to_full_redundancy_s");
    let stopped = hit && (judge.cluster.has_flag("norecover") || judge.cluster.has_flag("nobackfill"));
    judge.law("failed: a flag that stops backfills leaves no time", !stopped || why_not, || {
        format!("{full:?}")
    });
    judge.safe_is_said("failed: not safe while a flag stops rebuilds", stopped, "a flag stops the rebuild");
    for (flag, time, verdict) in [
        ("noout", "failed: noout leaves no time", "failed: not safe under noout"),
        ("nodown", "failed: nodown leaves no time", "failed: not safe under nodown"),
    ] {
        let stays = facts.bound > 0 && judge.cluster.has_flag(flag);
        judge.law(time, !stays || why_not, || format!("time_to_full_redundancy_s is {full:?}"));
        judge.safe_is_said(verdict, stays, "what failed is never marked out");
    }
}

/// The laws of the verdict of a report alone.
pub(super) fn alone(cluster: &Cluster, devices: &[i32], said: &Said) -> Broken {
    let facts = facts(cluster, devices);
    let mut judge = Judge { cluster, facts: facts.clone(), said, broken: Vec::new() };
    judge.verdict([
        "report alone: not safe while below min_size",
        "report alone: not safe while data cannot be read",
        "report alone: not safe while groups are unknown",
        "report alone: not safe while one more device loses data",
        "report alone: lost is not safe",
    ]);
    let clean = judge.said.value("time_to_clean_s");
    let stays = facts.unread.sure > 0 && clean.is_some();
    judge.law("report alone: what cannot be read is never clean", !stays, || format!("{clean:?}"));
    judge.safe_is_said(
        "report alone: not safe while copies are missing",
        facts.missing > 0,
        "copies are missing",
    );
    judge.safe_is_said(
        "report alone: not safe while a log is made up for",
        facts.behind > 0,
        "objects are missing",
    );
    judge.broken
}

/// A report alone gives the verdict and the counts of the whole set of exports.
pub(super) fn alike(cluster: &Cluster, whole: &Said, alone: &Said) -> Broken {
    let mut broken = Vec::new();
    // Of a full cluster, the report lacks the fill of each device; and of a group that is on too few devices,
    // that one of them lacks objects too.
    let serving = |group: &Group| group.acting.iter().filter(|osd| **osd != NONE).count();
    let is_hidden = |group: &Group| group.behind && serving(group) < cluster.pool(group).width as usize;
    let hides = cluster.groups.iter().any(is_hidden) && alone.verdict != Status::Safe;
    // Of groups that nobody reports, it does not say which they are.
    let hides = hides || (facts(cluster, &[]).unknown > 0 && alone.verdict == Status::Unknown);
    // Nor which groups are empty, so that one that is short or is to move, and has no objects, seems to have
    // some.
    let later = cluster.after(&[]);
    let moves = |group: &Group| to_copy(&later, group, &group.up).of_all() > 0;
    let short = |group: &Group| serving(group) < cluster.pool(group).width as usize;
    let is_empty = |group: &Group| group.objects == 0 && (short(group) || moves(group));
    let hides = hides || (later.groups.iter().any(is_empty) && alone.verdict > whole.verdict);
    if whole.verdict != alone.verdict && cluster.is_roomy && !hides {
        let how = format!(
            "{:?} ({}) with all exports, {:?} ({}) with the report",
            whole.verdict, whole.because, alone.verdict, alone.because
        );
        let is_bolder = alone.verdict == Status::Safe;
        let law = if is_bolder { "report alone: no safer" } else { "report alone: the same verdict" };
        broken.push((law, how));
    }
    // Of groups that serve nothing, the report does not say which they are.
    let facts = facts(cluster, &[]);
    let silent = (facts.unknown + facts.unread.sure + facts.behind) as f64;
    for (law, measure) in [
        ("report alone: the same short groups", "groups_short_now"),
        ("report alone: the same groups below min_size", "below_min_size"),
    ] {
        let [one, other] = [whole, alone].map(|said| said.value(measure));
        // Where its states show more than its maps do, the report has a reason in place of 0.
        let says_why = alone.says_why_not(measure) && one.is_none_or(|one| one <= silent);
        let holds =
            says_why || one.zip(other).map_or(one == other, |(one, other)| (one - other).abs() <= silent);
        if !holds {
            broken.push((law, format!("{measure}: {one:?} with all exports, {other:?} with the report")));
        }
    }
    broken
}

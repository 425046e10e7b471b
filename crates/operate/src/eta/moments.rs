//! Reports of one cluster in the order of time, and what changed between them.

use std::collections::{BTreeMap, BTreeSet};

use towtank_ceph::device_list;
use towtank_imports::ceph::{OsdEntry, PoolEntry, Report, read_report};
use towtank_imports::past::{Clock, Format, Sample, read};
use towtank_past::shown;
use towtank_report::Warning;
use towtank_scenario::{Draft, Problems};
use towtank_study::Texts;
use towtank_study::files::{Contents, Reader};

/// A report, and the counts in it.
pub(super) struct Moment {
    /// The name of the file.
    pub file: String,
    /// The key that names it.
    key: String,
    /// The counts.
    pub sample: Sample,
    /// The cluster, if the report says which.
    fsid: Option<String>,
    /// The report.
    pub report: Report,
}

impl Moment {
    /// Microseconds since 1970.
    pub fn at_us(&self) -> i64 {
        self.sample.at_us
    }

    /// Its time in words.
    pub fn when(&self) -> String {
        shown(Clock::Zoned, self.at_us())
    }

    /// Copies and shards that are missing or misplaced; none where the report does not say.
    pub fn left(&self) -> Option<u64> {
        self.sample.degraded?.checked_add(self.sample.misplaced?)
    }

    /// How long before another one it was made.
    pub(super) fn seconds_before(&self, other: &Moment) -> f64 {
        (other.at_us() - self.at_us()) as f64 / 1e6
    }
}

/// The report that a key names.
fn of_key(key: String, reader: &mut Reader<'_>) -> Option<Moment> {
    let Contents { file, value: record } = reader.read(&key, |file| read(file, None))?;
    let format = record.format;
    let sample = record.samples.into_iter().next().filter(|_| format == Format::Report);
    let Some(sample) = sample else {
        let message = format!("`{file}` is {}, and no report", format.name());
        reader.problems.refuse(reader.draft, &key, message, "give the output of `ceph report`");
        return None;
    };
    if record.clock != Clock::Zoned {
        let message = format!("the time of `{file}` has no zone: it is of Ceph before 15");
        reader.problems.refuse(reader.draft, &key, message, "give a report of Ceph 15 or later");
        return None;
    }
    let report = reader.read(&key, read_report)?.value;
    Some(Moment { file, key, sample, fsid: record.fsid, report })
}

/// The reports in the order of time.
///
/// # Errors
/// Each that cannot be read, is of another cluster, or has a time that cannot be.
pub(super) fn read_all(
    report: &Texts,
    draft: &Draft,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Moment>, Problems> {
    let mut problems = Problems::new();
    if report.is_empty() {
        problems.refuse(
            draft,
            "report",
            "`report` is missing",
            "name the file that `ceph report` wrote: --report FILE",
        );
    }
    let keys: Vec<String> = match report {
        Texts::One(_) => vec!["report".to_owned()],
        Texts::Many(all) => (0..all.len()).map(|number| format!("report[{number}]")).collect(),
    };
    let mut moments = Vec::new();
    for key in keys {
        moments.extend(of_key(key, &mut Reader { draft, warnings, problems: &mut problems }));
    }
    moments.sort_by_key(Moment::at_us);
    for pair in moments.windows(2) {
        check(&pair[0], &pair[1], draft, &mut problems);
    }
    problems.into_result(moments)
}

/// Refuses two reports that are not of one cluster, one after the other.
fn check(one: &Moment, next: &Moment, draft: &Draft, problems: &mut Problems) {
    if let (Some(of_one), Some(of_next)) = (&one.fsid, &next.fsid)
        && of_one != of_next
    {
        let message =
            format!("`{}` is of the cluster {of_one}, and `{}` of {of_next} (`fsid`)", one.file, next.file);
        problems.refuse(draft, &next.key, message, "give reports of one cluster");
        return;
    }
    if one.at_us() == next.at_us() {
        let message = format!("`{}` and `{}` are of the same time, {}", one.file, next.file, one.when());
        problems.refuse(
            draft,
            &next.key,
            message,
            "leave one of them out: speed is measured between two times",
        );
        return;
    }
    let epochs = [one, next].map(|moment| moment.report.osd_dump.epoch);
    if epochs[0] > epochs[1] {
        let message = format!(
            "`{}` is of {} and has the map of epoch {}, and `{}` of {} the older one of epoch {}: times go back",
            one.file,
            one.when(),
            epochs[0],
            next.file,
            next.when(),
            epochs[1]
        );
        problems.refuse(
            draft,
            &next.key,
            message,
            "the clock of a monitor was changed: leave out the reports before that",
        );
    }
}

/// By how much `pgp_num` of all pools changed from one report to a later one; none where anything else did.
pub(super) fn steps_made(one: &Report, next: &Report) -> Option<u32> {
    let pools = |report: &Report| -> Vec<PoolEntry> {
        let mut pools = report.osd_dump.pools.clone();
        pools.iter_mut().for_each(|pool| pool.pgp_num = 0);
        pools
    };
    let is_alone = changes(one, next).is_empty() && pools(one) == pools(next);
    let both = || one.osd_dump.pools.iter().zip(&next.osd_dump.pools);
    is_alone.then(|| both().map(|(one, next)| one.pgp_num.abs_diff(next.pgp_num)).sum())
}

/// What changed from one report to a later one, besides that objects were copied; none where nothing did.
pub(super) fn changed(one: &Report, next: &Report) -> Option<String> {
    let mut all = changes(one, next);
    if one.osd_dump.pools != next.osd_dump.pools {
        all.push("pools changed".to_owned());
    }
    (!all.is_empty()).then(|| all.join(", "))
}

/// What changed besides pools.
fn changes(one: &Report, next: &Report) -> Vec<String> {
    let entries = |report: &Report| -> BTreeMap<i32, OsdEntry> {
        report.osd_dump.osds.iter().map(|entry| (entry.id, entry.clone())).collect()
    };
    let (before, after) = (entries(one), entries(next));
    let those = |changes: &dyn Fn(&OsdEntry, &OsdEntry) -> bool| -> Vec<i32> {
        let both = before.iter().filter_map(|(id, entry)| Some((id, entry, after.get(id)?)));
        both.filter(|(_, one, next)| changes(one, next)).map(|(id, ..)| *id).collect()
    };
    let new: Vec<i32> = after.keys().filter(|id| !before.contains_key(id)).copied().collect();
    let gone: Vec<i32> = before.keys().filter(|id| !after.contains_key(id)).copied().collect();
    let named = [
        (those(&|one, next| one.up && !next.up), "went down"),
        (those(&|one, next| !one.up && next.up), "came up"),
        (those(&|one, next| one.up && next.up && one.up_from != next.up_from), "was restarted"),
        (those(&|one, next| one.weight != next.weight), "has another weight"),
        (new, "is new"),
        (gone, "is gone"),
    ];
    let mut all: Vec<String> = named
        .iter()
        .filter(|(devices, _)| !devices.is_empty())
        .map(|(devices, what)| format!("{} {what}", device_list(devices)))
        .collect();
    if one.map != next.map {
        all.push("the CRUSH map changed".to_owned());
    }
    let flags =
        |report: &Report| -> BTreeSet<String> { report.osd_dump.flags().map(str::to_owned).collect() };
    let (had, has) = (flags(one), flags(next));
    all.extend(has.difference(&had).map(|flag| format!("`{flag}` was set")));
    all.extend(had.difference(&has).map(|flag| format!("`{flag}` was unset")));
    all
}

//! `ceph report` and `ceph pg dump` as samples of a recovery: the sums of the time at which each was made.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::summary::is_fsid;
use super::{Clock, Format, Is, Record, Sample, Seen, Zone, instant, summary};
use crate::ceph::GroupsInState;
use crate::envelope::read_json;
use crate::{File, ImportError, Imported};

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    timestamp: String,
    osdmap: Map,
    pool_sum: Sum,
    #[serde(default)]
    num_pg: u64,
    #[serde(default)]
    num_pg_by_state: Vec<GroupsInState>,
}

#[derive(Deserialize)]
struct Map {
    #[serde(default)]
    fsid: String,
    #[serde(default)]
    osds: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    osd: i32,
    up: u8,
    #[serde(rename = "in")]
    is_in: u8,
}

#[derive(Deserialize)]
struct Sum {
    stat_sum: Counts,
}

/// Counts that are negative where the statistics of Ceph are wrong.
#[derive(Clone, Copy, Deserialize)]
struct Counts {
    num_object_copies: Option<i64>,
    num_objects_degraded: Option<i64>,
    num_objects_misplaced: Option<i64>,
    num_objects_unfound: Option<i64>,
}

impl Counts {
    fn sample(self) -> Result<Sample, String> {
        let count = |count: Option<i64>, what: &str| {
            let sound =
                |count: i64| u64::try_from(count).map_err(|_| format!("it has {count} {what} objects"));
            count.map(sound).transpose()
        };
        Ok(Sample {
            degraded: count(self.num_objects_degraded, "degraded")?,
            misplaced: count(self.num_objects_misplaced, "misplaced")?,
            unfound: count(self.num_objects_unfound, "unfound")?,
            copies: count(self.num_object_copies, "copies of")?,
            ..Sample::default()
        })
    }
}

/// The time of the export, and what it is counted from: before Ceph 15 it has no zone, and is of the machine
/// of the monitor or manager.
fn moment(
    (file, zone): (File<'_>, Option<Zone>),
    key: &str,
    text: &str,
) -> Result<(i64, Clock), ImportError> {
    let at = instant::of(text).map(|at| at.within(zone));
    let at = at.ok_or_else(|| {
        ImportError::new(file.name, format!("`{text}` is not a time"))
            .key(key)
            .hint("give `ceph -s` below the time at which it was asked")
    })?;
    Ok((at.at_us, if at.zoned { Clock::Zoned } else { Clock::Local }))
}

fn wrong(file: File<'_>) -> impl Fn(String) -> ImportError {
    move |reason| ImportError::new(file.name, reason).hint("export it again")
}

/// Reads a report.
///
/// # Errors
/// If it is damaged, or has no time.
pub(super) fn read_report(
    file: File<'_>,
    bytes: &[u8],
    zone: Option<Zone>,
) -> Result<Imported<Record>, ImportError> {
    let Imported { value: report, notes } = read_json::<Report>(file, bytes)?;
    let (at_us, clock) = moment((file, zone), "timestamp", &report.timestamp)?;
    let mut sample = report.pool_sum.stat_sum.sample().map_err(wrong(file))?;
    summary::set_states(&mut sample, report.num_pg, report.num_pg_by_state).map_err(wrong(file))?;
    let devices = &report.osdmap.osds;
    let count = |is: &dyn Fn(&Device) -> bool| Some(devices.iter().filter(|one| is(one)).count() as u64);
    sample.devices_up = count(&|one| one.up == 1);
    sample.devices_in = count(&|one| one.is_in == 1);
    let mut record = Record::new(Format::Report, clock);
    record.fsid = Some(report.osdmap.fsid).filter(|fsid| is_fsid(fsid));
    record.samples = vec![Sample { at_us, ..sample }];
    let of = |one: &Device| {
        let seen = |is| Seen { at_us, line: 0, device: one.osd, is, since_then: false };
        let (up, is_in) = (one.up == 1, one.is_in == 1);
        [seen(if up { Is::Up } else { Is::Down }), seen(if is_in { Is::In } else { Is::Out })]
    };
    record.seen = devices.iter().flat_map(of).collect();
    Ok(Imported { value: record, notes })
}

/// The whole dump has them in `pg_map`, and `pg dump_json pgs` and the like at the top.
#[derive(Deserialize)]
struct Dump {
    pg_map: Option<Groups>,
    #[serde(default)]
    stamp: String,
    pg_stats_sum: Option<Sum>,
    #[serde(default)]
    pg_stats: GroupSums,
}

#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    stamp: String,
    pg_stats_sum: Sum,
    #[serde(default)]
    pg_stats: GroupSums,
}

#[derive(Deserialize)]
struct Group {
    state: String,
    stat_sum: Counts,
}

/// What single groups add up to. They are added while they are read: a dump may have 300,000.
#[derive(Default)]
struct GroupSums {
    groups: u64,
    degraded: i64,
    states: BTreeMap<String, u64>,
}

impl<'de> Deserialize<'de> for GroupSums {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<GroupSums, D::Error> {
        deserializer.deserialize_seq(GroupsVisitor)
    }
}

struct GroupsVisitor;

impl<'de> Visitor<'de> for GroupsVisitor {
    type Value = GroupSums;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of groups")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<GroupSums, A::Error> {
        let mut sums = GroupSums::default();
        while let Some(Group { state, stat_sum }) = list.next_element::<Group>()? {
            sums.groups += 1;
            sums.degraded = sums.degraded.saturating_add(stat_sum.num_objects_degraded.unwrap_or(0));
            *sums.states.entry(state).or_default() += 1;
        }
        Ok(sums)
    }
}

/// Reads a dump of groups.
///
/// # Errors
/// If it is damaged, or has no time.
pub(super) fn read_groups(
    file: File<'_>,
    bytes: &[u8],
    zone: Option<Zone>,
) -> Result<Imported<Record>, ImportError> {
    let Imported { value: dump, notes } = read_json::<Dump>(file, bytes)?;
    let Dump { pg_map, stamp, pg_stats_sum, pg_stats } = dump;
    let groups = pg_map.or_else(|| Some(Groups { stamp, pg_stats_sum: pg_stats_sum?, pg_stats }));
    let groups = groups.ok_or_else(|| wrong(file)("it has no sums of its groups".to_owned()))?;
    let (at_us, clock) = moment((file, zone), "stamp", &groups.stamp)?;
    let mut sample = groups.pg_stats_sum.stat_sum.sample().map_err(wrong(file))?;
    let sums = groups.pg_stats;
    if sums.groups > 0 {
        let whole = groups.pg_stats_sum.stat_sum.num_objects_degraded;
        if let Some(whole) = whole.filter(|whole| *whole != sums.degraded) {
            let reason =
                format!("its groups have {} degraded objects, and their sum says {whole}", sums.degraded);
            return Err(wrong(file)(reason));
        }
        let states = sums.states.into_iter().map(|(state, groups)| GroupsInState { state, groups });
        summary::set_states(&mut sample, sums.groups, states.collect()).map_err(wrong(file))?;
    }
    let mut record = Record::new(Format::Groups, clock);
    record.samples = vec![Sample { at_us, ..sample }];
    Ok(Imported { value: record, notes })
}

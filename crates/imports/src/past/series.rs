//! Series of values by the names of the manager's metrics, as Prometheus and tables have them, made into
//! samples.

use std::collections::BTreeMap;

use super::summary::{device_id, is_fsid};
use super::{Is, Record, Sample, Seen, Work};
use crate::{File, ImportError};

/// What a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Degraded,
    Misplaced,
    Unfound,
    BytesPerS,
    ObjectsPerS,
    Groups,
    Clean,
    Backfilling,
    Recovering,
    DeviceUp,
    DeviceIn,
    DeviceObjects,
    DeviceBytes,
}

/// Names of metrics of the manager, then of our own columns.
pub(super) const NAMES: [(&str, Field); 18] = [
    ("ceph_num_objects_degraded", Field::Degraded),
    ("ceph_num_objects_misplaced", Field::Misplaced),
    ("ceph_num_objects_unfound", Field::Unfound),
    ("ceph_pool_recovering_bytes_per_sec", Field::BytesPerS),
    ("ceph_pool_recovering_objects_per_sec", Field::ObjectsPerS),
    ("ceph_pg_total", Field::Groups),
    ("ceph_pg_clean", Field::Clean),
    ("ceph_pg_backfilling", Field::Backfilling),
    ("ceph_pg_recovering", Field::Recovering),
    ("ceph_osd_up", Field::DeviceUp),
    ("ceph_osd_in", Field::DeviceIn),
    ("ceph_osd_recovery_ops", Field::DeviceObjects),
    ("ceph_osd_recovery_bytes", Field::DeviceBytes),
    ("degraded_objects", Field::Degraded),
    ("misplaced_objects", Field::Misplaced),
    ("unfound_objects", Field::Unfound),
    ("bytes_per_s", Field::BytesPerS),
    ("objects_per_s", Field::ObjectsPerS),
];

impl Field {
    pub(super) fn of(name: &str) -> Option<Field> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }

    fn name(self) -> &'static str {
        NAMES.iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    /// Whether each device has a series of its own.
    fn is_of_devices(self) -> bool {
        matches!(self, Field::DeviceUp | Field::DeviceIn | Field::DeviceObjects | Field::DeviceBytes)
    }

    /// Whether it counts, so that values are whole.
    fn counts(self) -> bool {
        !matches!(self, Field::BytesPerS | Field::ObjectsPerS)
    }
}

/// A series.
pub(super) struct Series {
    pub field: Field,
    pub labels: BTreeMap<String, String>,
    /// Microseconds, and the value.
    pub values: Vec<(i64, f64)>,
}

/// Values by time.
type Curve = BTreeMap<i64, f64>;

/// Above this, numbers of 64 bits with a fraction do not hold each whole number.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Adds what the series say to the record. Returns notes.
///
/// # Errors
/// If two of them say different things of one time, or are of different clusters.
pub(super) fn add(file: File<'_>, record: &mut Record, all: Vec<Series>) -> Result<Vec<String>, ImportError> {
    let mut curves: BTreeMap<(Field, String), Curve> = BTreeMap::new();
    for Series { field, labels, values } in all {
        record.fsid = one_cluster(file, record.fsid.take(), &labels)?;
        let part = if field.is_of_devices() { "ceph_daemon" } else { "pool_id" };
        let key = (field, labels.get(part).cloned().unwrap_or_default());
        let curve = curves.entry(key).or_default();
        for (at_us, value) in values {
            check(file, field, value)?;
            let before = curve.insert(at_us, value);
            if let Some(before) = before.filter(|before| *before != value) {
                let reason = format!("it is {before} and {value} at the same time, {} s", at_us / 1_000_000);
                return Err(ImportError::new(file.name, reason)
                    .key(field.name())
                    .hint("are there two clusters? ask for one of them: {cluster=\"…\"}"));
            }
        }
    }
    let mut notes = add_samples(file, record, &curves)?;
    let mut nameless = 0;
    for ((field, daemon), curve) in curves.iter().filter(|((field, _), _)| field.is_of_devices()) {
        match daemon.strip_prefix("osd.").and_then(device_id) {
            Some(device) => of_device(record, *field, device, curve),
            None => nameless += 1,
        }
    }
    if nameless > 0 {
        notes.push(format!(
            "`{}`: {nameless} series name no device in `ceph_daemon`, and are left out",
            file.name
        ));
    }
    Ok(notes)
}

/// What is said of the whole cluster.
const OF_CLUSTER: [Field; 9] = [
    Field::Degraded,
    Field::Misplaced,
    Field::Unfound,
    Field::BytesPerS,
    Field::ObjectsPerS,
    Field::Groups,
    Field::Clean,
    Field::Backfilling,
    Field::Recovering,
];

/// Adds a sample for each time at which something is said of the whole cluster.
fn add_samples(
    file: File<'_>,
    record: &mut Record,
    curves: &BTreeMap<(Field, String), Curve>,
) -> Result<Vec<String>, ImportError> {
    let of_cluster = curves.iter().filter(|((field, _), _)| !field.is_of_devices());
    let mut times: Vec<i64> = of_cluster.flat_map(|(_, curve)| curve.keys().copied()).collect();
    times.sort_unstable();
    times.dedup();
    super::has_room(file, times.len())?;
    let empty = |at_us: &i64| Sample { at_us: *at_us, ..Sample::default() };
    let mut samples: Vec<Sample> = times.iter().map(empty).collect();
    let mut notes = Vec::new();
    for field in OF_CLUSTER {
        let parts: Vec<&Curve> =
            curves.iter().filter(|((of, _), _)| *of == field).map(|(_, curve)| curve).collect();
        let (sum, partial) = sum_of(&parts);
        if partial > 0 {
            notes.push(format!(
                "`{}`: `{}` is missing at {partial} times, where some pools have no value",
                file.name,
                field.name()
            ));
        }
        for (at_us, value) in sum {
            if let Ok(at) = times.binary_search(&at_us) {
                set(&mut samples[at], field, value);
            }
        }
    }
    samples.retain(|sample| *sample != empty(&sample.at_us));
    record.samples = samples;
    Ok(notes)
}

fn check(file: File<'_>, field: Field, value: f64) -> Result<(), ImportError> {
    let is_sound = (0.0..=WHOLE_MAX).contains(&value);
    if is_sound && (!field.counts() || value.fract() == 0.0) {
        return Ok(());
    }
    let kind = if field.counts() { "a count" } else { "a rate" };
    Err(ImportError::new(file.name, format!("{value} is not {kind}"))
        .key(field.name())
        .hint("export the metric itself, without rate() or other functions"))
}

fn one_cluster(
    file: File<'_>,
    known: Option<String>,
    labels: &BTreeMap<String, String>,
) -> Result<Option<String>, ImportError> {
    let of = |label: &str| labels.get(label).filter(|text| is_fsid(text));
    let Some(now) = ["fsid", "cluster_fsid", "cluster"].into_iter().find_map(of) else { return Ok(known) };
    match known.filter(|known| known != now) {
        Some(known) => {
            Err(ImportError::new(file.name, format!("it has series of two clusters, {known} and {now}"))
                .hint("ask for one of them"))
        }
        None => Ok(Some(now.clone())),
    }
}

/// The sum of the parts where all have a value, and how often some have none.
fn sum_of(parts: &[&Curve]) -> (Curve, usize) {
    let mut sums: BTreeMap<i64, (usize, f64)> = BTreeMap::new();
    for (at_us, value) in parts.iter().flat_map(|curve| curve.iter()) {
        let (count, sum) = sums.entry(*at_us).or_default();
        *count += 1;
        *sum += value;
    }
    let all = sums.len();
    let whole: Curve = sums
        .into_iter()
        .filter(|(_, (count, _))| *count == parts.len())
        .map(|(at_us, (_, sum))| (at_us, sum))
        .collect();
    let partial = all - whole.len();
    (whole, partial)
}

fn set(sample: &mut Sample, field: Field, value: f64) {
    let count = Some(value as u64);
    match field {
        Field::Degraded => sample.degraded = count,
        Field::Misplaced => sample.misplaced = count,
        Field::Unfound => sample.unfound = count,
        Field::Groups => sample.groups = count,
        Field::Clean => sample.clean = count,
        Field::Backfilling => sample.backfilling = count,
        Field::Recovering => sample.recovering = count,
        Field::BytesPerS => sample.bytes_per_s = Some(value),
        Field::ObjectsPerS => sample.objects_per_s = Some(value),
        Field::DeviceUp | Field::DeviceIn | Field::DeviceObjects | Field::DeviceBytes => {}
    }
}

/// What is known of a device: the first value, and each change with the value before it.
fn of_device(record: &mut Record, field: Field, device: i32, curve: &Curve) {
    let mut last: Option<(i64, f64)> = None;
    for (&at_us, &value) in curve {
        let changed = last.is_none_or(|(_, before)| before != value);
        match field {
            Field::DeviceUp | Field::DeviceIn if changed => {
                let seen = |(at_us, value): (i64, f64)| {
                    let is = match (field, value > 0.0) {
                        (Field::DeviceUp, true) => Is::Up,
                        (Field::DeviceUp, false) => Is::Down,
                        (_, true) => Is::In,
                        (_, false) => Is::Out,
                    };
                    Seen { at_us, line: 0, device, is, since_then: false }
                };
                record.seen.extend(last.map(seen).into_iter().chain([seen((at_us, value))]));
            }
            Field::DeviceObjects | Field::DeviceBytes if changed => {
                let (at_us, device, count) = (Some(at_us), Some(device), Some(value as u64));
                let work = Work { at_us, device, objects: None, bytes: None, rebuilt: None };
                record.work.push(match field {
                    Field::DeviceObjects => Work { objects: count, ..work },
                    _ => Work { bytes: count, ..work },
                });
            }
            _ => {}
        }
        last = Some((at_us, value));
    }
}

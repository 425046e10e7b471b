//! What `ceph` printed, each time below a line with the time: `ceph -s`, `ceph pg stat`, both as text or
//! JSON, and `perf dump`.

use serde::Deserialize;

use super::instant::{self, Instant, Order, Zone};
use super::summary::is_fsid;
use super::{Clock, Format, LeftOut, MAY_BE_CUT, Record, Sample, perf, summary};
use crate::ceph::GroupsInState;
use crate::{File, ImportError, Imported};

pub(super) const TIME_FIRST: &str =
    "put the time before it on a line of its own, as `date -u +%FT%TZ; ceph -s` prints it";

/// Whether some line is one of `ceph -s` or `ceph pg stat`.
pub(super) fn looks_like_status(text: &str) -> bool {
    let is_status = |line: &str| line.trim() == "cluster:" || summary::of_line(line.trim()).is_ok();
    text.lines().take(super::MANY_LINES).any(is_status)
}

/// Reads the file: what is below each time.
///
/// # Errors
/// If its times go back, or it is about several clusters.
pub(super) fn read(file: File<'_>, text: &str, zone: Option<Zone>) -> Result<Imported<Record>, ImportError> {
    let mut record = Record::new(Format::Status, Clock::Zoned);
    let (mut order, mut left_out) = (Order::new(file.name), LeftOut::default());
    let lines: Vec<(usize, &str)> = (1..).zip(text.trim_start_matches('\u{feff}').lines()).collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| instant::of_line(lines[at].1).is_some()).collect();
    for (nth, &start) in starts.iter().enumerate() {
        let is_last = nth + 1 == starts.len();
        let end = starts.get(nth + 1).copied().unwrap_or(lines.len());
        let (line, stated_at) = lines[start];
        let Some(at) = instant::of_line(stated_at).map(|at| at.within(zone)) else { continue };
        order.next(line, at)?;
        let block: Vec<(usize, &str)> =
            lines[start + 1..end].iter().copied().filter(|(_, line)| !line.trim().is_empty()).collect();
        let may_be_cut = is_last && !text.ends_with('\n');
        match of_block(&lines[start + 1..end], &block, at, may_be_cut) {
            Ok(said) => add(&mut record, file, line, said)?,
            Err((line, reason)) => left_out.add(line, reason),
        }
    }
    record.clock = order.clock();
    let notes = left_out.note(file.name, "output").into_iter().collect();
    Ok(Imported { value: record, notes })
}

/// What a block says.
#[derive(Default)]
struct Said {
    sample: Option<Sample>,
    fsid: Option<String>,
    work: Vec<super::Work>,
}

fn add(record: &mut Record, file: File<'_>, line: usize, said: Said) -> Result<(), ImportError> {
    let Said { sample, fsid, work } = said;
    if let (Some(before), Some(now)) = (&record.fsid, &fsid)
        && before != now
    {
        let reason = format!("it is of the cluster {now}, and what is before it of {before}");
        return Err(ImportError::new(file.name, reason)
            .key(format!("line {line}"))
            .hint("put each cluster into a file of its own"));
    }
    record.fsid = fsid.or(record.fsid.take());
    record.samples.extend(sample.map(|sample| Sample { line, ..sample }));
    record.work.extend(work);
    Ok(())
}

/// Reads a block; `all` has its blank lines too.
fn of_block(
    all: &[(usize, &str)],
    block: &[(usize, &str)],
    at: Instant,
    may_be_cut: bool,
) -> Result<Said, (usize, String)> {
    let Some(&(line, first)) = block.first() else {
        return Err((all.first().map_or(0, |(line, _)| *line), "there is nothing below its time".to_owned()));
    };
    let at_us = at.at_us;
    if perf::begins(first) {
        let text: Vec<&str> = block.iter().map(|(_, line)| *line).collect();
        let work = perf::of_text(&text.join("\n"), Some(at_us)).map_err(|reason| (line, reason))?;
        return Ok(Said { work, ..Said::default() });
    }
    if first.starts_with('{') {
        let text: Vec<&str> = block.iter().map(|(_, line)| *line).collect();
        return of_json(&text.join("\n"), at_us).map_err(|reason| (line, reason));
    }
    if block.iter().any(|(_, line)| line.trim() == "cluster:") {
        let (sample, fsid) = summary::of_paragraph(all.iter().copied())?;
        if may_be_cut {
            return Err((line, MAY_BE_CUT.to_owned()));
        }
        let fsid = fsid.filter(|fsid| is_fsid(fsid));
        return Ok(Said { sample: Some(Sample { at_us, ..sample }), fsid, ..Said::default() });
    }
    if may_be_cut {
        return Err((line, MAY_BE_CUT.to_owned()));
    }
    let sample = summary::of_line(first.trim()).map_err(|reason| (line, reason))?;
    Ok(Said { sample: Some(Sample { at_us, ..sample }), ..Said::default() })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Printed {
    Status { fsid: Option<String>, osdmap: Option<Devices>, pgmap: Box<Summary> },
    PgStat { pg_summary: Box<Summary> },
}

/// `osdmap` of `ceph -s`: releases up to 14 have it one level deeper.
#[derive(Default, Deserialize)]
struct Devices {
    num_up_osds: Option<u64>,
    num_in_osds: Option<u64>,
    osdmap: Option<Box<Devices>>,
}

/// `pgmap` of `ceph -s`, and `pg_summary` of `ceph pg stat`.
#[derive(Deserialize)]
struct Summary {
    #[serde(default, alias = "num_pg_by_state")]
    pgs_by_state: Vec<InState>,
    num_pgs: u64,
    degraded_objects: Option<u64>,
    degraded_total: Option<u64>,
    degraded_ratio: Option<f64>,
    misplaced_objects: Option<u64>,
    misplaced_total: Option<u64>,
    misplaced_ratio: Option<f64>,
    unfound_objects: Option<u64>,
    unfound_total: Option<u64>,
    unfound_ratio: Option<f64>,
    recovering_objects_per_sec: Option<f64>,
    recovering_bytes_per_sec: Option<f64>,
}

#[derive(Deserialize)]
struct InState {
    #[serde(alias = "name")]
    state_name: String,
    #[serde(alias = "num")]
    count: u64,
}

fn of_json(text: &str, at_us: i64) -> Result<Said, String> {
    let printed: Printed = serde_json::from_str(text)
        .map_err(|error| format!("it is no JSON of `ceph -s` or `ceph pg stat` ({error})"))?;
    let (fsid, devices, summary) = match printed {
        Printed::Status { fsid, osdmap, pgmap } => (fsid, osdmap.unwrap_or_default(), pgmap),
        Printed::PgStat { pg_summary } => (None, Devices::default(), pg_summary),
    };
    let devices = devices.osdmap.map_or(
        Devices { num_up_osds: devices.num_up_osds, num_in_osds: devices.num_in_osds, osdmap: None },
        |inner| *inner,
    );
    let sample = Sample {
        at_us,
        devices_up: devices.num_up_osds,
        devices_in: devices.num_in_osds,
        ..summary.sample()?
    };
    Ok(Said { sample: Some(sample), fsid: fsid.filter(|fsid| is_fsid(fsid)), work: Vec::new() })
}

impl Summary {
    fn sample(self) -> Result<Sample, String> {
        let mut sample = summary::nothing_left();
        let part = |count: Option<u64>, all: Option<u64>, ratio: Option<f64>| {
            let Some(count) = count else { return Ok(0) };
            if let (Some(all), Some(ratio)) = (all, ratio) {
                summary::check_share(count, all, ratio, 1e-12)?;
            }
            Ok::<u64, String>(count)
        };
        sample.degraded = Some(part(self.degraded_objects, self.degraded_total, self.degraded_ratio)?);
        sample.misplaced = Some(part(self.misplaced_objects, self.misplaced_total, self.misplaced_ratio)?);
        sample.unfound = Some(part(self.unfound_objects, self.unfound_total, self.unfound_ratio)?);
        sample.copies = self.degraded_total.or(self.misplaced_total);
        let rate = |rate: Option<f64>| rate.filter(|rate| *rate >= 0.0);
        sample.objects_per_s = rate(self.recovering_objects_per_sec);
        sample.bytes_per_s = rate(self.recovering_bytes_per_sec);
        let states = self.pgs_by_state.into_iter();
        let states = states.map(|one| GroupsInState { state: one.state_name, groups: one.count });
        summary::set_states(&mut sample, self.num_pgs, states.collect())?;
        Ok(sample)
    }
}

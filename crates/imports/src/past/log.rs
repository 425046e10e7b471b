//! `ceph.log`, the cluster log: summaries of groups every 2 s, and what became of devices. Also `ceph log
//! last` and `ceph -w`, which show parts of it, and the same lines with words of a journal in front. Where
//! summaries are not logged, as in `ceph -w`, counts are those of the health checks, which change each 5 s.

use serde::Deserialize;

use super::instant::{self, Instant, Order, Zone};
use super::summary::is_fsid;
use super::{Clock, Format, Is, LeftOut, MAY_BE_CUT, Record, Sample, Seen, has_room, summary};
use crate::{File, ImportError, Imported};

/// An entry of the log.
struct Entry<'a> {
    at: Instant,
    /// What comes after the channel and the priority.
    text: &'a str,
}

/// Words before the time of an entry: of a journal, or the name of the channel.
const WORDS_BEFORE_MAX: usize = 9;

/// Reads `[words] TIME WHO (RANK) NUMBER : CHANNEL [DBG] TEXT`; from 17 on the priority may be a number, and
/// the first entry of a cluster has no channel.
fn entry(line: &str) -> Option<Entry<'_>> {
    let (words, text) = in_file(line).or_else(|| watched(line))?;
    let at = (0..words.len().min(WORDS_BEFORE_MAX)).find_map(|at| {
        let date_and_time = || Some(format!("{} {}", words[at], words.get(at + 1)?));
        instant::of(words[at]).or_else(|| instant::of(&date_and_time()?))
    })?;
    Some(Entry { at, text })
}

/// The words before the channel, and the text.
fn in_file(line: &str) -> Option<(Vec<&str>, &str)> {
    let (head, rest) = line.split_once(" : ")?;
    let mut parts = rest.splitn(3, ' ');
    let (_channel, _priority, text) = (parts.next()?, parts.next()?, parts.next()?);
    let words: Vec<&str> = head.split(' ').collect();
    summary::whole(words.last()?).ok()?;
    Some((words, text))
}

/// The same of `ceph -w`: `TIME WHO [INF] TEXT`.
fn watched(line: &str) -> Option<(Vec<&str>, &str)> {
    let levels = ["DBG", "INF", "SEC", "WRN", "ERR"];
    let (head, rest) = line.split_once(" [")?;
    let (level, text) = rest.split_once("] ")?;
    let words: Vec<&str> = head.split(' ').collect();
    (levels.contains(&level) && words.len() >= 2).then_some((words, text))
}

/// Whether the line is an entry of the log.
pub(super) fn is_entry(line: &str) -> bool {
    entry(line).is_some()
}

/// Reads the log.
///
/// # Errors
/// If its times go back, or some have a zone and others have none.
pub(super) fn read(file: File<'_>, text: &str, zone: Option<Zone>) -> Result<Imported<Record>, ImportError> {
    let mut record = Record::new(Format::Log, Clock::Zoned);
    let (mut order, mut left_out) = (Order::new(file.name), LeftOut::default());
    let mut checks = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let Some(Entry { at, text }) = entry(line.trim_end()) else {
            // `ceph -w` begins with a status, which has no time.
            let fsid = line.trim().strip_prefix("id:").map(str::trim).filter(|fsid| is_fsid(fsid));
            record.fsid = fsid.map(str::to_owned).or(record.fsid);
            continue;
        };
        let at = at.within(zone);
        let is_whole = line.ends_with('\n');
        if let Some((_, summary)) = text.strip_prefix("pgmap v").and_then(|rest| rest.split_once(": ")) {
            let read = if is_whole { summary::of_line(summary) } else { Err(MAY_BE_CUT.to_owned()) };
            match read {
                Ok(sample) => {
                    order.next(number, at)?;
                    record.has_room(file)?;
                    record.samples.push(Sample { at_us: at.at_us, line: number, ..sample });
                }
                Err(reason) => left_out.add(number, reason),
            }
        } else if is_whole {
            order.same_clock(number, at)?;
            of_monitor(&mut record, number, at.at_us, text);
            let known = text.strip_prefix("Health check ").map(of_health);
            match known {
                Some(Ok(Some(sample))) => {
                    checks.push(Sample { at_us: at.at_us, line: number, ..sample });
                    has_room(file, checks.len())?;
                }
                Some(Err(reason)) => left_out.add(number, reason),
                _ => {}
            }
        }
    }
    if !record.samples.iter().any(|sample| sample.groups.is_some()) {
        record.samples.append(&mut checks);
        record.samples.sort_by_key(|sample| sample.at_us);
    }
    record.clock = order.clock();
    let notes = left_out.note(file.name, "summary").into_iter().collect();
    Ok(Imported { value: record, notes })
}

/// What the monitors say of devices, and of the cluster.
fn of_monitor(record: &mut Record, line: usize, at_us: i64, text: &str) {
    if let Some(sample) = text.strip_prefix("osdmap e").and_then(of_map) {
        record.samples.push(Sample { at_us, line, ..sample });
    }
    if let Some(fsid) = text.strip_prefix("mkfs ").filter(|fsid| is_fsid(fsid)) {
        record.fsid = Some(fsid.to_owned());
    }
    let all = commanded(text).or_else(|| became(text).map(|(device, is)| (vec![device], is)));
    let Some((devices, is)) = all else { return };
    record.seen.extend(devices.into_iter().map(|device| Seen { at_us, line, device, is, since_then: true }));
}

/// `update: Degraded data redundancy: 280/1800 objects degraded (15.556%), 16 pgs degraded (PG_DEGRADED)`,
/// `failed: 30/1800 objects misplaced (1.667%) (OBJECT_MISPLACED)`, `cleared: PG_DEGRADED (was: …)`.
fn of_health(text: &str) -> Result<Option<Sample>, String> {
    let mut sample = Sample::default();
    if let Some(cleared) = text.strip_prefix("cleared: ") {
        match cleared.split(' ').next() {
            Some("PG_DEGRADED") => sample.degraded = Some(0),
            Some("OBJECT_MISPLACED") => sample.misplaced = Some(0),
            _ => return Ok(None),
        }
        return Ok(Some(sample));
    }
    let Some((_, said)) = text.split_once(": ") else { return Ok(None) };
    let said = said.strip_prefix("Degraded data redundancy: ").unwrap_or(said);
    if !said.contains(" objects degraded (") && !said.contains(" objects misplaced (") {
        return Ok(None);
    }
    let end = said.find("%)").ok_or_else(|| format!("`{said}` is no count of objects"))?;
    summary::set_share(&mut sample, &said[..end + 2])?;
    Ok(Some(sample))
}

/// `30: 6 total, 5 up, 5 in`.
fn of_map(text: &str) -> Option<Sample> {
    let (_, counts) = text.split_once(": ")?;
    let count = |word: &str| {
        let of = |part: &str| summary::whole(part.strip_suffix(word)?.trim_end()).ok();
        counts.split(", ").find_map(of)
    };
    Some(Sample { devices_up: Some(count("up")?), devices_in: Some(count("in")?), ..Sample::default() })
}

/// The device of a text that begins with its name.
fn device(text: &str) -> Option<(i32, &str)> {
    let (id, rest) = text.strip_prefix("osd.")?.split_once(' ')?;
    Some((summary::device_id(id)?, rest))
}

/// What a device became by itself, or by the monitors.
fn became(text: &str) -> Option<(i32, Is)> {
    if let Some((device, rest)) = device(text) {
        let is_down = rest.starts_with("failed (")
            || rest.starts_with("marked itself down")
            || rest.starts_with("marked down after no beacon");
        let is = if is_down { Some(Is::Down) } else { rest.ends_with(" boot").then_some(Is::Up) };
        return Some((device, is?));
    }
    let (_, marked) = text.split_once("arking ").or_else(|| text.split_once(" marked "))?;
    let (device, rest) = device(marked)?;
    rest.starts_with("out").then_some((device, Is::Out))
}

/// A command of an operator that was carried out.
#[derive(Deserialize)]
struct Command {
    prefix: String,
    #[serde(default)]
    ids: Vec<String>,
}

/// `from='client…' cmd='[{"prefix": "osd out", "ids": ["3"]}]': finished`.
fn commanded(text: &str) -> Option<(Vec<i32>, Is)> {
    if !text.ends_with("finished") {
        return None;
    }
    let json = text.get(text.find("[{")?..text.rfind("}]")? + 2)?;
    let commands: Vec<Command> = serde_json::from_str(json).ok()?;
    let Command { prefix, ids } = commands.first()?;
    let is = match prefix.as_str() {
        "osd out" => Is::Out,
        "osd in" => Is::In,
        "osd down" => Is::Down,
        _ => return None,
    };
    let id = |text: &String| summary::device_id(text.strip_prefix("osd.").unwrap_or(text));
    Some((ids.iter().filter_map(id).collect(), is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_all_releases_have_a_time() {
        let check = |line: &str, want: Option<(&str, bool, &str)>| {
            let found = entry(line);
            let got = found.map(|entry| (entry.at, entry.text));
            let want = want.map(|(at, zoned, text)| (instant::of(at).unwrap(), zoned, text));
            assert_eq!(got, want.map(|(at, _, text)| (at, text)), "{line}");
            assert_eq!(got.map(|(at, _)| at.zoned), want.map(|(_, zoned, _)| zoned), "{line}");
        };
        let pacific = "2026-11-28T09:48:57.256760+0000 mgr.x (mgr.4166) 34 : cluster [DBG] pgmap v28: 1 pgs";
        check(pacific, Some(("2026-11-28T09:48:57.256760+0000", true, "pgmap v28: 1 pgs")));
        check(
            &format!("cluster {pacific}"),
            Some(("2026-11-28T09:48:57.256760+0000", true, "pgmap v28: 1 pgs")),
        );
        let journal = format!("Nov 28 09:48:57 host1 ceph-mon[51]: {pacific}");
        check(&journal, Some(("2026-11-28T09:48:57.256760+0000", true, "pgmap v28: 1 pgs")));
        let container = format!("Nov  8 09:48:57 host1 docker[847573]: cluster {pacific}");
        check(&container, Some(("2026-11-28T09:48:57.256760+0000", true, "pgmap v28: 1 pgs")));
        let mimic =
            "2026-11-28 09:48:57.25 mgr.x client.1 127.0.0.1:0/85 16170 : cluster [DBG] pgmap v28: 1 pgs";
        check(mimic, Some(("2026-11-28 09:48:57.25", false, "pgmap v28: 1 pgs")));
        let reef = "2026-11-28T09:48:57.2+0100 mgr.x (mgr.4166) 34 : cluster 0 pgmap v28: 1 pgs";
        check(reef, Some(("2026-11-28T09:48:57.2+0100", true, "pgmap v28: 1 pgs")));
        let nautilus = "2026-11-28 09:48:57.256760 mgr.x (mgr.4166) 34 : cluster [DBG] pgmap v28: 1 pgs";
        check(nautilus, Some(("2026-11-28 09:48:57.256760", false, "pgmap v28: 1 pgs")));
        let watched = "2026-11-28T10:40:42.357516+0000 mon.a [INF] osd.2 failed (root=default)";
        check(watched, Some(("2026-11-28T10:40:42.357516+0000", true, "osd.2 failed (root=default)")));
        check("2026-11-28T10:40:42.357516+0000 mon.a [XYZ] osd.2 failed (root=default)", None);
        let first = "2026-11-28T09:48:57Z mon.a (mon.0) 0 :  [INF] mkfs 4cdcc9f4";
        check(first, Some(("2026-11-28T09:48:57Z", true, "mkfs 4cdcc9f4")));
        check("2026-11-28T09:48:57.256760+0000 7f3f92ffd6c0  0 log_channel(cluster) do_log", None);
    }

    #[test]
    fn a_line_that_is_cut_between_two_parts_is_left_out() {
        let whole = "2026-11-28T09:48:57Z mgr.x (mgr.1) 34 : cluster [DBG] pgmap v28: 1 pgs: 1 active+clean+remapped; 1 B data, \
                     2 GiB used, 4 GiB / 8 GiB avail; 1/4 objects degraded (25.000%); 2/4 objects misplaced (50.000%)";
        let misplaced = |text: &str| {
            let Imported { value, notes } = read(File { name: "ceph.log", bytes: &[] }, text, None).unwrap();
            (value.samples.iter().map(|sample| sample.misplaced).collect::<Vec<_>>(), notes.len())
        };
        assert_eq!(misplaced(&format!("{whole}\n")), (vec![Some(2)], 0));
        assert_eq!(misplaced(whole), (vec![], 1));
        let cut = &whole[..whole.find("; 2/4").unwrap()];
        assert_eq!(misplaced(cut), (vec![], 1));
        // Planted: the same part as a whole line says that nothing was misplaced.
        assert_eq!(misplaced(&format!("{cut}\n")), (vec![Some(0)], 0));
    }

    #[test]
    fn health_checks_count_where_summaries_are_not_logged() {
        let line = |second: u32, text: &str| {
            format!("2026-11-28T10:45:{second:02}Z mon.a [WRN] Health check {text}\n")
        };
        let text = line(
            1,
            "failed: Degraded data redundancy: 280/1800 objects degraded (15.556%), 16 pgs degraded (PG_DEGRADED)",
        ) + &line(2, "failed: 30/1800 objects misplaced (1.667%) (OBJECT_MISPLACED)")
            + &line(
                3,
                "update: Degraded data redundancy: 980/1800 objects degraded (15.556%), 16 pgs degraded (PG_DEGRADED)",
            )
            + &line(4, "update: Degraded data redundancy: 1 pg undersized (PG_DEGRADED)")
            + &line(9, "cleared: PG_DEGRADED (was: Degraded data redundancy: 1 pg undersized)");
        let counts = |text: &str| {
            let Imported { value, notes } = read(File { name: "w", bytes: &[] }, text, None).unwrap();
            let counts = value.samples.iter().map(|sample| (sample.degraded, sample.misplaced));
            (counts.collect::<Vec<_>>(), notes.len())
        };
        let want = vec![(Some(280), None), (None, Some(30)), (Some(0), None)];
        assert_eq!(counts(&text), (want, 1), "980 of 1800 is damaged, and no count is none");
        let summary = "2026-11-28T10:45:00Z mgr.x (mgr.1) 34 : cluster [DBG] pgmap v28: 1 pgs: 1 active+clean; 1 B data, 2 GiB used, \
                       4 GiB / 8 GiB avail\n";
        assert_eq!(counts(&format!("{summary}{text}")).0, [(Some(0), Some(0))], "summaries say more");
    }

    #[test]
    fn what_became_of_devices() {
        for (text, want) in [
            (
                "osd.3 failed (root=default,host=host3) (connection refused reported by osd.1)",
                Some((3, Is::Down)),
            ),
            ("osd.3 marked itself down and dead", Some((3, Is::Down))),
            ("osd.3 v2:127.0.0.1:6813/13666 boot", Some((3, Is::Up))),
            ("Marking osd.3 out (has been down for 32 seconds)", Some((3, Is::Out))),
            ("Client client.admin marked osd.2 out, after it was down for 14 seconds", Some((2, Is::Out))),
            ("Client client.admin marked osd.12 out, while it was still marked up", Some((12, Is::Out))),
            ("osd.3 reported immediately failed by osd.1", None),
            ("osd.x failed (", None),
            ("osd.3000000 failed (", None),
        ] {
            assert_eq!(became(text), want, "{text}");
        }
        let done = |what: &str, end: &str| {
            commanded(&format!(
                "from='client.1 ' entity='client.admin' cmd='[{{\"prefix\": \"{what}\", \"ids\": [\"3\", \"osd.4\"]}}]': {end}"
            ))
        };
        assert_eq!(done("osd out", "finished"), Some((vec![3, 4], Is::Out)));
        assert_eq!(done("osd in", "finished"), Some((vec![3, 4], Is::In)));
        assert_eq!(done("osd out", "dispatch"), None, "it may still be refused");
        assert_eq!(done("osd set", "finished"), None);
    }
}

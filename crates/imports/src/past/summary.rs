//! The summaries of groups that Ceph prints: in a line (`ceph pg stat`, the cluster log) and in a paragraph
//! (`ceph -s`). Counts are checked against the sums and shares beside them.

use super::Sample;
use crate::ceph::GroupsInState;

/// The words of states of groups, of Ceph 14 to 20: a word that is none of them is a damaged one.
const WORDS: [&str; 34] = [
    "activating",
    "active",
    "backfill_toofull",
    "backfill_unfound",
    "backfill_wait",
    "backfilling",
    "clean",
    "creating",
    "deep",
    "degraded",
    "down",
    "failed_repair",
    "forced_backfill",
    "forced_recovery",
    "incomplete",
    "inconsistent",
    "laggy",
    "peered",
    "peering",
    "premerge",
    "recovering",
    "recovery_toofull",
    "recovery_unfound",
    "recovery_wait",
    "remapped",
    "repair",
    "scrubbing",
    "snaptrim",
    "snaptrim_error",
    "snaptrim_wait",
    "stale",
    "undersized",
    "unknown",
    "wait",
];

/// Adds the states, and what follows from them; `groups` is how many there are in all.
pub(super) fn set_states(sample: &mut Sample, groups: u64, states: Vec<GroupsInState>) -> Result<(), String> {
    let sum = states.iter().try_fold(0_u64, |sum, one| sum.checked_add(one.groups));
    if sum != Some(groups) {
        return Err(format!("it says {groups} groups, but the states have {}", sum.unwrap_or(u64::MAX)));
    }
    for state in &states {
        if let Some(word) = state.state.split('+').find(|word| !WORDS.contains(word)) {
            return Err(format!("`{word}` is no known state of a group"));
        }
    }
    sample.groups = Some(groups);
    let in_state = |word: &str| states.iter().filter(|state| state.is(word)).map(|state| state.groups).sum();
    sample.clean = Some(in_state("clean"));
    sample.backfilling = Some(in_state("backfilling"));
    sample.recovering = Some(in_state("recovering"));
    sample.states = states;
    Ok(())
}

/// `33 pgs: 31 active+clean, 2 …; … avail; 50/2700 objects degraded (1.852%); 3.0 MiB/s, 12 objects/s
/// recovering`.
pub(super) fn of_line(text: &str) -> Result<Sample, String> {
    let mut sample = nothing_left();
    let (count, rest) = text.split_once(" pgs: ").ok_or("it has no number of groups")?;
    let mut parts = rest.split("; ");
    let states = parts.next().unwrap_or_default().split(", ").filter(|state| !state.is_empty());
    set_states(&mut sample, whole(count)?, states.map(in_state).collect::<Result<_, _>>()?)?;
    let mut is_whole = false;
    for part in parts {
        if part.ends_with(" avail") {
            is_whole = true;
        } else if let Some(rates) = part.strip_suffix(" recovering") {
            set_rates(&mut sample, rates)?;
        } else if part.contains(" objects ") {
            set_share(&mut sample, part)?;
        } else if !part.split(", ").all(is_of_clients) {
            return Err(format!("`{part}` is no known part of a summary"));
        }
    }
    if is_whole { Ok(sample) } else { Err("it ends before the space that is available".to_owned()) }
}

/// A summary that names no objects: Ceph names those of which there are some.
pub(super) fn nothing_left() -> Sample {
    Sample { degraded: Some(0), misplaced: Some(0), unfound: Some(0), ..Sample::default() }
}

fn is_of_clients(rate: &str) -> bool {
    [" rd", " wr", "op/s", " flush", " evict", " promote"].iter().any(|end| rate.ends_with(end))
}

/// `31 active+clean`.
pub(super) fn in_state(text: &str) -> Result<GroupsInState, String> {
    let (count, state) = text.trim().split_once(' ').ok_or_else(|| format!("`{text}` is no state"))?;
    Ok(GroupsInState { state: state.trim_start().to_owned(), groups: whole(count)? })
}

/// `50/2700 objects degraded (1.852%)`.
pub(super) fn set_share(sample: &mut Sample, text: &str) -> Result<(), String> {
    let wrong = || format!("`{text}` is no count of objects");
    let (counts, rest) = text.split_once(" objects ").ok_or_else(wrong)?;
    let (count, all) = counts.split_once('/').ok_or_else(wrong)?;
    let (count, all) = (whole(count)?, whole(all)?);
    let (what, percent) = rest.split_once(" (").ok_or_else(wrong)?;
    let percent = decimal(percent.strip_suffix("%)").ok_or_else(wrong)?)?;
    check_share(count, all, percent / 100.0, 1e-5)?;
    match what {
        "degraded" => sample.degraded = Some(count),
        "misplaced" => sample.misplaced = Some(count),
        "unfound" => {
            sample.unfound = Some(count);
            return Ok(());
        }
        _ => return Err(wrong()),
    }
    sample.copies = Some(all);
    Ok(())
}

/// Refuses a count whose share is another than is said, by more than `most` and what numbers of 32 bits lose.
pub(super) fn check_share(count: u64, all: u64, share: f64, most: f64) -> Result<(), String> {
    let want = count as f64 / all as f64;
    if all > 0 && (want - share).abs() <= most + 1e-6 * want {
        return Ok(());
    }
    Err(format!("{count} of {all} are not {:.3} %", 100.0 * share))
}

/// `3.0 MiB/s, 88 keys/s, 12 objects/s`.
pub(super) fn set_rates(sample: &mut Sample, text: &str) -> Result<(), String> {
    for part in text.split(", ") {
        if let Some(objects) = part.strip_suffix("objects/s") {
            sample.objects_per_s = Some(scaled(objects)?);
        } else if let Some(keys) = part.strip_suffix("keys/s") {
            scaled(keys)?;
        } else {
            let bytes = part.strip_suffix("/s").and_then(bytes);
            sample.bytes_per_s = Some(bytes.ok_or_else(|| format!("`{part}` is no rate of a recovery"))?);
        }
    }
    Ok(())
}

/// `3.0 MiB`, also without the blank; Ceph up to 12 wrote `MB` for the same.
fn bytes(text: &str) -> Option<f64> {
    let at = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(at);
    let power = match unit.trim_end_matches(['B', 'i']) {
        _ if !unit.ends_with('B') => return None,
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(decimal(number.trim_end()).ok()? * 1_024_f64.powi(power))
}

/// `12`, `1.2k`.
fn scaled(text: &str) -> Result<f64, String> {
    let text = text.trim_end();
    let (number, scale) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |number| (number, 1e6)),
    };
    Ok(decimal(number.trim_end())? * scale)
}

/// A number of digits alone.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_digits { text.parse().ok() } else { None };
    number.ok_or_else(|| format!("`{text}` is not a whole number"))
}

/// A number of digits, possibly with a fraction.
pub(super) fn decimal(text: &str) -> Result<f64, String> {
    let sound = text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = if sound { text.parse().ok() } else { None };
    number.ok_or_else(|| format!("`{text}` is not a number"))
}

/// The largest device id, as in exports.
const DEVICE_ID_MAX: i32 = 999_999;

/// A device id of digits alone.
pub(super) fn device_id(text: &str) -> Option<i32> {
    let id = whole(text).ok()?;
    i32::try_from(id).ok().filter(|id| *id <= DEVICE_ID_MAX)
}

/// Whether the text is an id of a cluster.
pub(super) fn is_fsid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// The lines below `cluster:` of `ceph -s`, each with its number; the summary, and the cluster.
pub(super) fn of_paragraph<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
) -> Result<(Sample, Option<String>), (usize, String)> {
    let mut sample = nothing_left();
    let (mut fsid, mut groups, mut states) = (None, None, Vec::new());
    let (mut in_groups, mut last) = (false, 0);
    for (number, line) in lines {
        last = number;
        let (key, rest) = line.split_once(": ").map_or(("", line), |(key, rest)| (key.trim(), rest));
        in_groups = match key {
            "pgs" => true,
            "" => in_groups && !line.trim().is_empty() && !line.trim_end().ends_with(':'),
            _ => false,
        };
        let said = if in_groups {
            of_groups(&mut sample, &mut states, rest.trim())
        } else {
            of_key(&mut sample, &mut groups, &mut fsid, (key, rest.trim()))
        };
        said.map_err(|reason| (number, reason))?;
    }
    let groups = groups.ok_or_else(|| (last, "it has no number of groups".to_owned()))?;
    set_states(&mut sample, groups, states).map_err(|reason| (last, reason))?;
    Ok((sample, fsid))
}

/// A line of the groups of `ceph -s`.
fn of_groups(sample: &mut Sample, states: &mut Vec<GroupsInState>, text: &str) -> Result<(), String> {
    if text.is_empty() || text.ends_with("% pgs not active") || text.ends_with("% pgs unknown") {
        return Ok(());
    }
    if text.contains(" objects ") {
        return set_share(sample, text);
    }
    states.push(in_state(text)?);
    Ok(())
}

/// A line of `ceph -s` with a key.
fn of_key(
    sample: &mut Sample,
    groups: &mut Option<u64>,
    fsid: &mut Option<String>,
    (key, rest): (&str, &str),
) -> Result<(), String> {
    match key {
        "id" => *fsid = Some(rest.to_owned()),
        "pools" => {
            let count = rest.split_once(" pools, ").and_then(|(_, groups)| groups.strip_suffix(" pgs"));
            *groups = Some(whole(count.ok_or_else(|| format!("`{rest}` is no number of groups"))?)?);
        }
        "osd" => {
            let count = |word: &str| {
                let parts = rest.split([',', ':', ';']).map(str::trim);
                let of = |part: &str| whole(part.split(' ').next()?).ok();
                parts.into_iter().find(|part| part.split(' ').nth(1) == Some(word)).and_then(of)
            };
            (sample.devices_up, sample.devices_in) = (count("up"), count("in"));
        }
        "recovery" => set_rates(sample, rest)?,
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A status as people paste it, with its indentation lost, and what each release adds.
    #[test]
    fn statuses_of_many_shapes_are_read() {
        let of = |groups: &str, states: &str, end: &str| {
            let text = format!(
                "cluster:\nid: 5e937263-77c4-11f1-a207-bc2411b0df56\nhealth: HEALTH_WARN\n41/14790 objects degraded (0.277%)\n\n\
                 services:\nosd: 9 osds: 8 up (since 43s), 7 in (since 43s); 1 remapped pgs\n\ndata:\nvolumes: 1/1 healthy\n\
                 pools:   4 pools, {groups} pgs\nobjects: 4.93k objects, 2.5 GiB\nusage:   8.0 GiB used, 82 GiB / 90 GiB avail\n\
                 pgs:     {states}\n{end}"
            );
            let lines: Vec<(usize, String)> = (1..).zip(text.lines().map(str::to_owned)).collect();
            of_paragraph(lines.iter().map(|(number, line)| (*number, line.as_str())))
                .map(|(sample, _)| sample)
        };
        let states = "0.328% pgs not active\n41/14790 objects degraded (0.277%)\n1/4930 objects unfound (0.020%)\n304 active+clean\n\
                      1   active+recovery_wait+undersized+degraded+remapped";
        let end = "\nio:\nclient:   1.2 KiB/s rd, 1 op/s rd\nrecovery: 63 MiB/s, 8 keys/s, 1.2k objects/s\n\nprogress:\n\
                   Global Recovery Event (5m)\n[=====.......] (remaining: 2m)\n";
        let sample = of("305", states, end).expect("it is whole");
        assert_eq!((sample.degraded, sample.misplaced, sample.unfound), (Some(41), Some(0), Some(1)));
        assert_eq!((sample.copies, sample.groups, sample.clean), (Some(14_790), Some(305), Some(304)));
        assert_eq!((sample.devices_up, sample.devices_in), (Some(8), Some(7)));
        assert_eq!((sample.bytes_per_s, sample.objects_per_s), (Some(63.0 * 1_048_576.0), Some(1_200.0)));
        assert!(of("0", "", "").is_ok_and(|sample| sample.clean == Some(0)), "a cluster without pools");
        // Planted: a state that is cut away, and one that is damaged.
        let error = of("306", states, end).expect_err("a state is missing").1;
        assert_eq!(error, "it says 306 groups, but the states have 305");
        let error = of("305", &states.replace("clean", "cleam"), end).expect_err("a state is damaged").1;
        assert_eq!(error, "`cleam` is no known state of a group");
        assert!(of("305", &states.replace("41/", "43/"), end).is_err(), "a count that its share contradicts");
    }

    #[test]
    fn rates_have_several_forms() {
        let check = |text: &str, bytes: Option<f64>, objects: Option<f64>| {
            let mut sample = Sample::default();
            let read = set_rates(&mut sample, text);
            assert_eq!(
                read.map(|()| (sample.bytes_per_s, sample.objects_per_s)),
                Ok((bytes, objects)),
                "{text}"
            );
        };
        check("1023 KiB/s, 88 keys/s, 11 objects/s", Some(1_023.0 * 1_024.0), Some(11.0));
        check("10.5MiB/s, 2objects/s", Some(10.5 * 1_048_576.0), Some(2.0));
        check("49665 kB/s, 9 objects/s", Some(49_665.0 * 1_024.0), Some(9.0));
        check("0 B/s, 3 keys/s, 1 objects/s", Some(0.0), Some(1.0));
        for wrong in ["", "5", "5 MiB", "5 XiB/s", "-5 MiB/s", "1e3 B/s", "MiB/s", "5.5.5 B/s", "x objects/s"]
        {
            assert!(set_rates(&mut Sample::default(), wrong).is_err(), "{wrong}");
        }
    }
}

//! What is unsafe or not known, in words: it comes before what moves, the worst first.

use towtank_ceph::FillLevel;
use towtank_report::{Standing, Status, Warning};

use super::moves::{DeviceMoves, Moves};
use crate::states::{self, groups};

/// Warnings for the reader.
#[must_use]
pub fn warnings(moves: &Moves) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if moves.disagreeing > 0 {
        warnings.push(Warning::unknown(format!(
            "{} elsewhere by `crush_map` and `osd_dump` than by `pg_dump`, such as {}: were they exported at different \
             times?",
            groups(moves.disagreeing, ("belongs", "belong")),
            moves.disagreeing_example
        )));
    }
    if moves.groups_homeless > 0 {
        warnings.push(Warning::danger(format!(
            "{} no device left: their data would not be served, and might be lost",
            groups(moves.groups_homeless, ("would have", "would have"))
        )));
    }
    warnings.extend(fill_warnings(moves).into_iter().map(Warning::danger));
    warnings
}

fn percent(part: f64) -> String {
    format!("{} %", (part * 1e3).round() / 10.0)
}

/// The verdict: as bad as the worst that was found.
#[must_use]
pub fn status(moves: &Moves) -> Standing {
    let found = found(moves);
    let worst = found.iter().map(|(status, _)| *status).max();
    let reasons: Vec<String> = found.into_iter().map(|(_, text)| text).collect();
    let reason = if reasons.is_empty() { ALL_WELL.to_owned() } else { reasons.join("; ") };
    Standing::new(worst.unwrap_or(Status::Safe), reason)
}

/// Why a change is safe.
const ALL_WELL: &str =
    "no group is short of copies or without a device, and no device is above a limit of fill";

/// What is unsafe or not known, the worst first; empty where there is nothing.
#[must_use]
pub(crate) fn dangers(moves: &Moves) -> Vec<String> {
    found(moves).into_iter().map(|(_, text)| text).collect()
}

/// What is unsafe or not known, each with the verdict that it has by itself.
fn found(moves: &Moves) -> Vec<(Status, String)> {
    let safety = &moves.safety;
    let mut found = states::found(&moves.states, moves.groups);
    let now = |count: u64| if count == 0 { String::new() } else { format!(" ({count} now)") };
    let mut say = |status: Status, count: u64, verb: (&str, &str), rest: &str| {
        if count > 0 {
            found.push((status, groups(count, verb) + rest));
        }
    };
    let verb = ("would", "would");
    say(Status::NotSafe, moves.groups_homeless, verb, " have no device left");
    // Groups without a device are also below `min_size`, and those below it are also short, so each is
    // reported only if it includes further groups.
    if safety.below_min_size > moves.groups_homeless {
        let below = format!(" be below `min_size` and take no writes{}", now(safety.below_min_size_now));
        say(Status::NotSafe, safety.below_min_size, verb, &below);
    }
    let kept = " fewer than `min_size` devices by the map, and would take writes only while those that hold them now stay up";
    say(Status::NotSafe, safety.on_old_devices, ("would have", "would have"), kept);
    let named = safety.below_min_size.max(moves.groups_homeless) + safety.on_old_devices;
    if moves.groups_short > named {
        let short = format!(" be short of copies{}", now(safety.short_now));
        let status = if moves.never_out { Status::NotSafe } else { Status::AtRisk };
        say(status, moves.groups_short, verb, &short);
    }
    if moves.groups_short == 0 {
        say(Status::AtRisk, safety.short_now, ("is", "are"), " short of copies now");
    }
    if safety.below_min_size == 0 {
        let below = " below `min_size` now, with writes stopped";
        say(Status::NotSafe, safety.below_min_size_now, ("is", "are"), below);
    }
    let [stopper, loser] = &moves.worst_hosts;
    if safety.more_are_lost && safety.host_loses > safety.host_loses_now {
        let lost = format!(" be lost if {loser} fails for good{}", now_at_most(safety.host_loses_now));
        say(Status::NotSafe, safety.host_loses, verb, &lost);
    }
    if safety.more_stop && safety.host_stops > safety.host_stops_now {
        let stop = format!(" take no writes while {stopper} is down{}", now_at_most(safety.host_stops_now));
        say(Status::AtRisk, safety.host_stops, verb, &stop);
    }
    let said_lost = safety.more_are_lost && safety.host_loses > safety.host_loses_now;
    if safety.on_one_host > 0 && !said_lost {
        let whole = " all copies or shards on one host, and would be lost with it";
        say(Status::AtRisk, safety.on_one_host, ("has", "have"), whole);
    }
    let unsaid = " in pools without a `min_size` in the dump, so it is not known whether they take writes";
    say(Status::Unknown, safety.min_size_unknown, ("is", "are"), unsaid);
    if moves.disagreeing > 0 {
        let text = groups(moves.disagreeing, ("belongs", "belong"))
            + " elsewhere by the map than by `pg_dump`: were they exported at different times?";
        found.push((Status::Unknown, text));
    }
    if moves.served_elsewhere > 0 {
        let text = groups(moves.served_elsewhere, ("is", "are"))
            + " served elsewhere by the temporary mappings of the map (`pg_temp`) than by `pg_dump`: were they exported \
               at different times?";
        found.push((Status::Unknown, text));
    }
    let limited = moves.refused.iter().cloned().chain(crowded(moves));
    found.extend(limited.map(|text| (Status::AtRisk, text)));
    let now = |what: &String| format!("{what}: all counts are of the groups as they are now");
    found.extend(moves.splits.iter().map(|what| (Status::Unknown, now(what))));
    found.extend(moves.halts.iter().map(|text| (Status::AtRisk, text.clone())));
    found.extend(full_now(moves));
    found.extend(too_full(moves));
    found.extend(unsized_gains(moves));
    found
}

/// Devices that are full now, and are to lose something: until then they take no writes.
fn full_now(moves: &Moves) -> Option<(Status, String)> {
    let full = moves.safety.limits.full;
    let fills = || {
        let fills = moves.devices.values().filter_map(|device| Some((device, device.fill()?)));
        fills.filter(|(_, (now, then))| *now > full && then < now).map(|(device, (now, _))| (device, now))
    };
    let (fullest, now) = fills().max_by(|left, right| left.1.total_cmp(&right.1))?;
    let (now, more) = (percent(now), fills().count() - 1);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    Some((
        Status::NotSafe,
        format!(
            "{} is {now} full now, above full ({}){more}: Ceph stops writes to its pools until enough has left",
            fullest.name,
            percent(full)
        ),
    ))
}

/// Devices that hold data and are to get more, and whose size is not known although that of others is. New
/// ones are as large as their weight says.
fn unsized_gains(moves: &Moves) -> Option<(Status, String)> {
    let any = moves.devices.values().any(|device| device.fill().is_some());
    let gains = |device: &&DeviceMoves| {
        any && device.fill().is_none()
            && device.target_bytes > device.present_bytes
            && device.present_bytes > 0
    };
    let devices: Vec<&DeviceMoves> = moves.devices.values().filter(gains).collect();
    let first = devices.first()?;
    let who = match devices.len() {
        1 => format!("the size and usage of {} are", first.name),
        count => format!("the sizes and usage of {count} devices, such as {}, are", first.name),
    };
    Some((
        Status::Unknown,
        format!("{who} not known, so neither is whether they have room for what moves there"),
    ))
}

/// Devices that come above the limit, or get further above it, in words.
fn crowded(moves: &Moves) -> Option<String> {
    let max = u64::from(moves.safety.groups_max);
    let is_crowded =
        |device: &&DeviceMoves| device.target_shards > max && device.target_shards > device.present_shards;
    let crowded = || moves.devices.values().filter(is_crowded).filter(|_| max > 0);
    let worst = crowded().max_by_key(|device| device.target_shards)?;
    let more = match crowded().count() - 1 {
        0 => String::new(),
        more => format!(", and {more} more above it"),
    };
    Some(format!(
        "{} would have {} groups, above `mon_max_pg_per_osd` ({max} by default){more}",
        worst.name, worst.target_shards
    ))
}

/// How many it would be now, with the host that is worst now.
fn now_at_most(count: u64) -> String {
    if count == 0 { " (none now)".to_owned() } else { format!(" (now {count} with the worst host)") }
}

/// The fullest device, if it is above a limit; or that no fill is known.
fn too_full(moves: &Moves) -> Option<(Status, String)> {
    let fills = || moves.devices.values().filter_map(|device| Some((device, device.fill()?.1)));
    let Some((fullest, fill)) = fills().max_by(|left, right| left.1.total_cmp(&right.1)) else {
        let unknown = || (Status::Unknown, "the fill of the devices is not known".to_owned());
        return (moves.stored_bytes > 0).then(unknown);
    };
    let limits = moves.safety.limits;
    let level = limits.above(fill)?;
    let (name, limit) = (level.name(), limits.at(level));
    let more = fills().filter(|(_, fill)| *fill > limits.nearfull).count() - 1;
    let more = if more == 0 { String::new() } else { format!(", and {more} more above nearfull") };
    let status = if level == FillLevel::Full { Status::NotSafe } else { Status::AtRisk };
    let stays = fullest.fill().is_some_and(|(now, then)| now == then);
    let (fill, limit) = (percent(fill), percent(limit));
    let verb = if stays { "is" } else { "would be" };
    // What has no room stays where it is.
    let all = if stays || level == FillLevel::Nearfull { "" } else { " with all that is to move there" };
    Some((status, format!("{} {verb} {fill} full{all}, above {name} ({limit}){more}", fullest.name)))
}

/// The effects on devices that would be too full, per limit.
#[must_use]
fn fill_warnings(moves: &Moves) -> Vec<String> {
    let limits = moves.safety.limits;
    let at = |device: &DeviceMoves| limits.above(device.fill()?.1);
    let warning = |level: FillLevel| {
        let devices: Vec<&DeviceMoves> =
            moves.devices.values().filter(|device| at(device) == Some(level)).collect();
        let first = devices.first()?;
        let who = match devices.len() {
            1 => first.name.clone(),
            count => format!("{count} devices, such as {},", first.name),
        };
        let (limit, name) = (percent(limits.at(level)), level.name());
        let stays = devices.iter().all(|device| device.fill().is_some_and(|(now, then)| now == then));
        let verb = match (stays, devices.len()) {
            (true, 1) => "is",
            (true, _) => "are",
            (false, _) => "would be",
        };
        Some(format!("{who} {verb} more than {limit} full ({name}), where {}", effect(level, stays)))
    };
    FillLevel::ALL.into_iter().filter_map(warning).collect()
}

/// How Ceph treats a device above a limit.
fn effect(level: FillLevel, stays: bool) -> &'static str {
    match level {
        FillLevel::Full => "Ceph stops writes to its pools",
        FillLevel::Backfillfull if stays => "Ceph moves nothing onto it",
        FillLevel::Backfillfull => "Ceph moves nothing more onto it, so the change stops half-way",
        FillLevel::Nearfull => "Ceph warns",
    }
}

#[cfg(test)]
mod tests {
    use towtank_ceph::GroupStates;

    use super::super::safety::Safety;
    use super::*;

    fn of(safety: Safety) -> Moves {
        Moves { safety, ..Moves::default() }
    }

    #[test]
    fn the_worst_comes_first_and_nothing_is_said_of_what_is_well() {
        assert!(dangers(&Moves::default()).is_empty());
        let safety = Safety { short_now: 58, below_min_size: 3, ..Safety::default() };
        let states = GroupStates { unknown: 2, inactive: 1, lost: 4, stated: 60, ..GroupStates::default() };
        let moves = Moves { groups_short: 58, groups_homeless: 1, states, ..of(safety) };
        assert_eq!(
            dangers(&moves),
            [
                "4 groups have unfound objects now",
                "1 group serves no requests now",
                "2 groups are in an unknown state",
                "1 group would have no device left",
                "3 groups would be below `min_size` and take no writes",
                "58 groups would be short of copies (58 now)",
            ]
        );
    }

    #[test]
    fn what_is_short_now_is_named_even_if_the_change_mends_it() {
        let now = Safety { short_now: 5, below_min_size_now: 1, min_size_unknown: 2, ..Safety::default() };
        assert_eq!(
            dangers(&of(now)),
            [
                "5 groups are short of copies now",
                "1 group is below `min_size` now, with writes stopped",
                "2 groups are in pools without a `min_size` in the dump, so it is not known whether they take writes",
            ]
        );
    }

    /// Devices of 1,000 bytes with these used bytes, to and from which nothing moves.
    fn filled(fills: &[u64]) -> Moves {
        let device = |(id, used): (usize, &u64)| {
            let device = DeviceMoves {
                name: format!("osd.{id}"),
                size_bytes: Some(1_000),
                used_bytes: Some(*used),
                ..DeviceMoves::default()
            };
            (i32::try_from(id).unwrap(), device)
        };
        let devices = fills.iter().enumerate().map(device).collect();
        Moves { devices, stored_bytes: 1, ..Moves::default() }
    }

    #[test]
    fn each_limit_of_fill_is_named() {
        let first = |fills: &[u64]| dangers(&filled(fills)).into_iter().next().unwrap_or_default();
        assert_eq!(first(&[500, 850]), "");
        assert_eq!(first(&[500, 851]), "osd.1 is 85.1 % full, above nearfull (85 %)");
        assert_eq!(
            first(&[916, 851]),
            "osd.0 is 91.6 % full, above backfillfull (90 %), and 1 more above nearfull"
        );
        assert_eq!(first(&[1_200]), "osd.0 is 120 % full, above full (95 %)");
        let mut more = filled(&[851]);
        more.devices.values_mut().for_each(|device| device.target_bytes = 10);
        assert_eq!(dangers(&more), ["osd.0 would be 86.1 % full, above nearfull (85 %)"]);
        assert_eq!(fill_warnings(&filled(&[500])), Vec::<String>::new());
        assert_eq!(
            fill_warnings(&filled(&[960, 916, 970, 851])),
            [
                "2 devices, such as osd.0, are more than 95 % full (full), where Ceph stops writes to its pools",
                "osd.1 is more than 90 % full (backfillfull), where Ceph moves nothing onto it",
                "osd.3 is more than 85 % full (nearfull), where Ceph warns",
            ]
        );
    }

    #[test]
    fn a_fill_that_nobody_knows_is_not_taken_as_none() {
        let mut moves = filled(&[500]);
        moves.devices.values_mut().for_each(|device| device.size_bytes = None);
        assert_eq!(dangers(&moves), ["the fill of the devices is not known"]);
        // Of one device alone it matters where more moves onto it.
        let mut moves = filled(&[500, 500]);
        let [holds, target] = [1, 2];
        let one = moves.devices.get_mut(&1).unwrap();
        (one.size_bytes, one.present_bytes, one.target_bytes) = (None, holds, target);
        let unknown = "the size and usage of osd.1 are not known, so neither is whether they have room for what moves there";
        assert_eq!(dangers(&moves), [unknown]);
        moves.devices.get_mut(&1).unwrap().target_bytes = holds;
        assert!(dangers(&moves).is_empty());
    }

    /// A device that is full takes no writes until enough has left, however little it holds then.
    #[test]
    fn what_is_full_now_is_not_safe() {
        let mut moves = filled(&[500, 955]);
        let one = moves.devices.get_mut(&1).unwrap();
        (one.present_bytes, one.target_bytes) = (900, 100);
        let full = "osd.1 is 95.5 % full now, above full (95 %): Ceph stops writes to its pools until enough has left";
        assert_eq!(dangers(&moves), [full]);
        moves.devices.get_mut(&1).unwrap().used_bytes = Some(949);
        assert!(dangers(&moves).is_empty());
        // Of several the fullest is named.
        let mut moves = filled(&[955, 970]);
        moves.devices.values_mut().for_each(|one| (one.present_bytes, one.target_bytes) = (900, 100));
        assert!(dangers(&moves)[0].starts_with("osd.1 is 97 % full now, above full (95 %), and 1 more:"));
    }
}

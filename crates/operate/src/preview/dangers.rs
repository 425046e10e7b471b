//! What is unsafe or not known, in words: it comes before what moves, the worst first.

use towtank_ceph::FillLevel;
use towtank_report::{Standing, Status, Warning};

use super::moves::{DeviceMoves, Moves};

/// Warnings for the reader.
#[must_use]
pub fn warnings(moves: &Moves) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if moves.disagreeing > 0 {
        warnings.push(Warning::unknown(format!(
            "{} groups belong elsewhere by `crush_map` and `osd_dump` than by `pg_dump`, such as {}: were they exported \
             at different times?",
            moves.disagreeing, moves.disagreeing_example
        )));
    }
    if moves.groups_homeless > 0 {
        warnings.push(Warning::danger(format!(
            "{} groups would have no device left: their data would not be served, and might be lost",
            moves.groups_homeless
        )));
    }
    warnings.extend(fill_warnings(moves).into_iter().map(Warning::danger));
    warnings
}

/// `1 group` or `2 groups`, with a verb in the right number.
fn groups(count: u64, verb: (&str, &str)) -> String {
    if count == 1 { format!("1 group {}", verb.0) } else { format!("{count} groups {}", verb.1) }
}

fn percent(part: f64) -> String {
    format!("{} %", (part * 1e3).round() / 10.0)
}

/// Not safe where data are lost or served to nobody, or a device is full; at risk where anything else is
/// unsafe or not known.
#[must_use]
pub fn status(moves: &Moves) -> Standing {
    let mut reasons = dangers(moves);
    if reasons.is_empty() {
        // Warnings say most of what is dangerous a second time, at length.
        reasons.extend(warnings(moves).into_iter().map(|warning| warning.text));
    }
    Standing::new(level(moves), if reasons.is_empty() { ALL_WELL.to_owned() } else { reasons.join("; ") })
}

/// Why a change is safe.
const ALL_WELL: &str =
    "no group is short of copies or without a device, and no device is above a limit of fill";

fn level(moves: &Moves) -> Status {
    let safety = &moves.safety;
    let stopped = [safety.lost, safety.inactive, moves.groups_homeless, safety.below_min_size];
    let fills = moves.devices.values().filter_map(|device| Some(device.fill()?.1));
    let full =
        fills.max_by(f64::total_cmp).and_then(|fill| safety.limits.above(fill)) == Some(FillLevel::Full);
    if full || stopped.iter().any(|count| *count > 0) {
        Status::NotSafe
    } else if dangers(moves).is_empty() && warnings(moves).is_empty() {
        Status::Safe
    } else {
        Status::AtRisk
    }
}

/// What is unsafe or not known, the worst first; empty where there is nothing.
#[must_use]
pub(crate) fn dangers(moves: &Moves) -> Vec<String> {
    let safety = &moves.safety;
    let now = |count: u64| if count == 0 { String::new() } else { format!(" ({count} now)") };
    let mut said = Vec::new();
    let mut say = |count: u64, verb: (&str, &str), rest: &str| {
        if count > 0 {
            said.push(groups(count, verb) + rest);
        }
    };
    say(safety.lost, ("has", "have"), " unfound data now");
    say(safety.inactive, ("serves", "serve"), " no requests now");
    say(safety.unknown, ("is", "are"), " in an unknown state");
    let verb = ("would", "would");
    say(moves.groups_homeless, verb, " have no device left");
    // Groups without a device are also below `min_size`, and those below it are also short, so each is
    // reported only if it includes further groups.
    if safety.below_min_size > moves.groups_homeless {
        let below = format!(" be below `min_size` and take no writes{}", now(safety.below_min_size_now));
        say(safety.below_min_size, verb, &below);
    }
    if moves.groups_short > safety.below_min_size.max(moves.groups_homeless) {
        say(moves.groups_short, verb, &format!(" be short of copies{}", now(safety.short_now)));
    }
    if moves.groups_short == 0 {
        say(safety.short_now, ("is", "are"), " short of copies now");
    }
    if safety.below_min_size == 0 {
        say(safety.below_min_size_now, ("is", "are"), " below `min_size` now, with writes stopped");
    }
    let unsaid = " in pools without a `min_size` in the dump, so it is not known whether they take writes";
    say(safety.min_size_unknown, ("is", "are"), unsaid);
    said.extend(too_full(moves));
    said
}

/// The fullest device, if it is above a limit; or that no fill is known.
fn too_full(moves: &Moves) -> Option<String> {
    let fills = || moves.devices.values().filter_map(|device| Some((device, device.fill()?.1)));
    let Some((fullest, fill)) = fills().max_by(|left, right| left.1.total_cmp(&right.1)) else {
        return (moves.stored_bytes > 0).then(|| "the fill of the devices is not known".to_owned());
    };
    let limits = moves.safety.limits;
    let level = limits.above(fill)?;
    let (name, limit) = (level.name(), limits.at(level));
    let more = fills().filter(|(_, fill)| *fill > limits.nearfull).count() - 1;
    let more = if more == 0 { String::new() } else { format!(", and {more} more above nearfull") };
    Some(format!("{} would be {} full, above {name} ({}){more}", fullest.name, percent(fill), percent(limit)))
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
        let (limit, name, effect) = (percent(limits.at(level)), level.name(), effect(level));
        Some(format!("{who} would be more than {limit} full ({name}), where {effect}"))
    };
    FillLevel::ALL.into_iter().filter_map(warning).collect()
}

/// How Ceph treats a device above a limit.
fn effect(level: FillLevel) -> &'static str {
    match level {
        FillLevel::Full => "Ceph stops writes to its pools",
        FillLevel::Backfillfull => "Ceph moves nothing more onto it, so the change stops half-way",
        FillLevel::Nearfull => "Ceph warns",
    }
}

#[cfg(test)]
mod tests {
    use super::super::safety::Safety;
    use super::*;

    fn of(safety: Safety) -> Moves {
        Moves { safety, ..Moves::default() }
    }

    #[test]
    fn the_worst_comes_first_and_nothing_is_said_of_what_is_well() {
        assert!(dangers(&Moves::default()).is_empty());
        let safety = Safety {
            short_now: 58,
            below_min_size: 3,
            unknown: 2,
            inactive: 1,
            lost: 4,
            stated: 60,
            ..Safety::default()
        };
        let moves = Moves { groups_short: 58, groups_homeless: 1, ..of(safety) };
        assert_eq!(
            dangers(&moves),
            [
                "4 groups have unfound data now",
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
        assert_eq!(first(&[500, 851]), "osd.1 would be 85.1 % full, above nearfull (85 %)");
        assert_eq!(
            first(&[916, 851]),
            "osd.0 would be 91.6 % full, above backfillfull (90 %), and 1 more above nearfull"
        );
        assert_eq!(first(&[1_200]), "osd.0 would be 120 % full, above full (95 %)");
        assert_eq!(fill_warnings(&filled(&[500])), Vec::<String>::new());
        assert_eq!(
            fill_warnings(&filled(&[960, 916, 970, 851])),
            [
                "2 devices, such as osd.0, would be more than 95 % full (full), where Ceph stops writes to its pools",
                "osd.1 would be more than 90 % full (backfillfull), where Ceph moves nothing more onto it, so the change \
                 stops half-way",
                "osd.3 would be more than 85 % full (nearfull), where Ceph warns",
            ]
        );
    }

    #[test]
    fn a_fill_that_nobody_knows_is_not_taken_as_none() {
        let mut moves = filled(&[500]);
        moves.devices.values_mut().for_each(|device| device.size_bytes = None);
        assert_eq!(dangers(&moves), ["the fill of the devices is not known"]);
    }
}

//! What the states of groups tell, in words, each with the verdict that it has by itself.

use towtank_ceph::GroupStates;
use towtank_report::{Status, Warning, human};

/// `1 group` or `2 groups`, with a verb in the right number.
pub(crate) fn groups(count: u64, verb: (&str, &str)) -> String {
    if count == 1 { format!("1 group {}", verb.0) } else { format!("{count} groups {}", verb.1) }
}

/// What is unsafe or not known by the states of so many groups, the worst first; empty where there is
/// nothing.
pub(crate) fn found(states: &GroupStates, all: u64) -> Vec<(Status, String)> {
    let mut found: Vec<(Status, String)> =
        states.unplaced.iter().map(|text| (Status::Unknown, text.clone())).collect();
    found.extend(states.older.iter().map(|text| (Status::Unknown, text.clone())));
    found.extend(states.stopped_pools.iter().map(|text| (Status::NotSafe, text.clone())));
    found.extend(
        states
            .marked_full
            .iter()
            .map(|marked| (if marked.stops { Status::NotSafe } else { Status::AtRisk }, marked.text.clone())),
    );
    let mut say = |status: Status, count: u64, verb: (&str, &str), rest: &str| {
        if count > 0 {
            found.push((status, groups(count, verb) + rest));
        }
    };
    say(Status::NotSafe, states.lost, ("has", "have"), " unfound objects now");
    let inactive = states.inactive.saturating_sub(states.peering);
    say(Status::NotSafe, inactive, ("serves", "serve"), " no requests now");
    let open = " `incomplete`: whether their data are lost is not known until other devices come back or an operator \
                decides (`ceph pg PGID query` says which devices they ask for)";
    say(Status::Unknown, states.incomplete, ("is", "are"), open);
    say(Status::Unknown, states.unknown, ("is", "are"), " in an unknown state");
    let copies = match states.behind_copies {
        0 => " copies of objects".to_owned(),
        copies => format!(" {} of objects", human::plural(copies as f64, ["copy", "copies"])),
    };
    let rest = format!("{copies} on devices that serve them, and no export says on which");
    say(Status::Unknown, states.behind, ("lacks", "lack"), &rest);
    let full = " for room (`backfill_toofull`), whatever the fill of the devices says";
    say(Status::Unknown, states.toofull, ("waits", "wait"), full);
    say(Status::AtRisk, states.peering, ("peers", "peer"), " now, for some seconds in which requests wait");
    let lease = " no requests until a read lease is renewed or ends (`laggy`, `wait`)";
    say(Status::AtRisk, states.paused, ("serves", "serve"), lease);
    say(Status::AtRisk, states.inconsistent, ("is", "are"), " inconsistent: a scrub found damaged copies");
    if states.stated == 0 && all > 0 {
        found.push((Status::Unknown, "the states of groups are in no export".to_owned()));
    }
    found
}

/// What is to be said of the sums of groups.
pub(crate) fn of_sums(states: &GroupStates) -> Vec<Warning> {
    let mut said = Vec::new();
    if states.guessed > 0 {
        said.push(Warning::unknown(format!(
            "the sizes of {} are guesses of Ceph (`stats_invalid`: split, and not deep-scrubbed since): sums of pools are \
             right, single groups may hold more or less, and times vary with them",
            human::plural(states.guessed as f64, ["group", "groups"])
        )));
    }
    if states.uncounted > 0 {
        said.push(Warning::unknown(format!(
            "{} bytes and no count of objects (`num_objects`): objects of 4 MiB are assumed",
            human::plural(states.uncounted as f64, ["group or pool has", "groups or pools have"])
        )));
    }
    said
}

/// What is to be said of groups that are being copied: how far they are is not known.
pub(crate) fn halfway(states: &GroupStates) -> Option<Warning> {
    (states.halfway > 0).then(|| {
        Warning::note(format!(
            "{} being copied or recovered: how much of that is done is not known (a `pg_dump` counts it), so they are \
             copied as a whole",
            human::plural(states.halfway as f64, ["group is", "groups are"])
        ))
    })
}

#[cfg(test)]
mod tests {
    use towtank_ceph::MarkedFull;

    use super::*;

    #[test]
    fn each_state_has_its_words_and_its_verdict() {
        assert_eq!(found(&GroupStates { stated: 8, ..GroupStates::default() }, 8), []);
        let none = (Status::Unknown, "the states of groups are in no export".to_owned());
        assert_eq!(found(&GroupStates::default(), 8), [none]);
        let states = GroupStates {
            stated: 8,
            inactive: 3,
            lost: 1,
            incomplete: 2,
            unknown: 3,
            behind: 1,
            behind_copies: 40,
            peering: 1,
            unsettled: 0,
            paused: 2,
            inconsistent: 1,
            toofull: 3,
            halfway: 2,
            guessed: 5,
            uncounted: 6,
            stopped_pools: vec!["a pool takes no writes".to_owned()],
            marked_full: vec![MarkedFull { text: "a device is nearfull".to_owned(), stops: false }],
            unplaced: vec!["more than is placed".to_owned()],
            differing: 1,
            elsewhere: 1,
            older: Some("older than the map".to_owned()),
            ..GroupStates::default()
        };
        let words: Vec<String> =
            found(&states, 8).into_iter().map(|(status, text)| format!("{status:?}: {text}")).collect();
        assert_eq!(
            words,
            [
                "Unknown: more than is placed",
                "Unknown: older than the map",
                "NotSafe: a pool takes no writes",
                "AtRisk: a device is nearfull",
                "NotSafe: 1 group has unfound objects now",
                "NotSafe: 2 groups serve no requests now",
                "Unknown: 2 groups are `incomplete`: whether their data are lost is not known until other devices come \
                 back or an operator decides (`ceph pg PGID query` says which devices they ask for)",
                "Unknown: 3 groups are in an unknown state",
                "Unknown: 1 group lacks 40 copies of objects on devices that serve them, and no export says on which",
                "Unknown: 3 groups wait for room (`backfill_toofull`), whatever the fill of the devices says",
                "AtRisk: 1 group peers now, for some seconds in which requests wait",
                "AtRisk: 2 groups serve no requests until a read lease is renewed or ends (`laggy`, `wait`)",
                "AtRisk: 1 group is inconsistent: a scrub found damaged copies",
            ]
        );
        let sums: Vec<String> = of_sums(&states).into_iter().map(|warning| warning.text).collect();
        assert!(sums[0].starts_with("the sizes of 5 groups are guesses"), "{sums:?}");
        assert!(sums[1].starts_with("6 groups or pools have bytes and no count of objects"), "{sums:?}");
        assert_eq!(of_sums(&GroupStates::default()), []);
        assert!(
            halfway(&states).is_some_and(|said| said
                .text
                .starts_with("2 groups are being copied or recovered: how much"))
        );
        assert_eq!(halfway(&GroupStates::default()), None);
    }
}

//! Another rule for a pool: its place in the order of changes, its time, and a rule with too few devices.

use super::*;
use towtank_study::PointResult;

/// The last rule of a list counts, and groups leave a rule that is set back later.
#[test]
fn rules_are_set_in_their_order() {
    let there = "\"rule archive=by_osd\"";
    let back = "\"rule archive=coded";
    let last = with_room(&format!("changes = [{back}\", {there}]"));
    let moved = value(&last, "moved_bytes");
    assert!(moved > 0.0);
    let none = with_room(&format!("changes = [{there}, {back}\"]"));
    assert_eq!((value(&none, "moved_bytes"), value(&none, "written_bytes")), (0.0, 0.0));
    let half = value(&last, "time_to_clean_s") / 2.0;
    let returned = with_room(&format!("changes = [{there}, {back}@{half:.0}s\"]"));
    assert_eq!(value(&returned, "moved_bytes"), 0.0);
    assert!((0.1..2.0).contains(&(value(&returned, "written_bytes") / moved)));
    assert!(value(&returned, "time_to_clean_s") > half);
}

/// A rule that gives two devices to three copies: the answer says so before anything else, and there is no
/// time at which all is well, so a gate on one is not met.
#[test]
fn groups_short_of_copies_come_first() {
    let answer = |held: &[[u32; 3]], changes: &str| {
        let prepared = prepared(&Whatif, four(held, None), &format!("{FOUR}{changes}")).unwrap();
        let outcomes = [prepared.run(&RunContext::alone(Seed(3), 1)).unwrap()];
        let scenario = prepared.resolved();
        let point = PointResult { settings: &[], scenario: &scenario, outcomes: &outcomes };
        Whatif.present(&[point]).answer.prose()
    };
    let all =
        [answer(&[[0, 1, 3]], "rule = \"data=pair\""), answer(&[[0, 1, 2]], "changes = \"rule data=1@1h\"")];
    insta::assert_snapshot!(all.join("\n"), @"
    Unknown: 1 group would be short of copies; 1 group belongs elsewhere by the map than by `pg_dump`: were they exported at different times?; the fill of the devices is not known. data with rule pair: not all groups become clean: 1 group gets fewer devices than asked for from the new map, the map and the dump of groups are of different times. Moves: nothing. Risk: while data move, no copy is missing; how likely a loss is afterwards was not estimated. Clients: not simulated, since no client load was given (`--client-load`).
    Unknown: 1 group would be short of copies; 1 group belongs elsewhere by the map than by `pg_dump`: were they exported at different times?; the fill of the devices is not known. data with rule pair after 1 h: not all groups become clean: 1 group gets fewer devices than asked for from the new map; what can move has moved after 2.017 s. 2.017 s: the last move has ended: 40 MiB written at 19.83 MiB/s. 1:00:00: data with rule pair. Limit: the sleep after each object, 64 % of the time of all leading disks. Moves: 40 MiB in 10 objects are written until the end; then 40 MiB of 1 of 1 groups are on other devices than now. Risk: while data move, no copy is missing; how likely a loss is afterwards was not estimated. Clients: not simulated, since no client load was given (`--client-load`). Clients: each group that moves serves no requests for 2 to 5 s in all, while it peers.
    ");
}

#[test]
fn groups_short_of_copies_are_never_clean() {
    let seen = |held: &[[u32; 3]], changes: &str| {
        let prepared = prepared(&Whatif, four(held, None), &format!("{FOUR}{changes}")).unwrap();
        prepared.run(&RunContext::alone(Seed(3), 1)).unwrap()
    };
    for outcome in
        [seen(&[[0, 1, 3]], "rule = \"data=pair\""), seen(&[[0, 1, 2]], "changes = \"rule data=1@1h\"")]
    {
        assert_eq!(value(&outcome, "groups_short"), 1.0);
        for time in ["time_to_clean_s", "time_to_full_redundancy_s"] {
            let reason = outcome.measures[time].reason().unwrap_or_default();
            assert!(reason.contains("1 group gets fewer devices than asked for"), "{time}: {reason}");
        }
    }
    let whole = seen(&[[0, 1, 2]], "");
    assert_eq!(value(&whole, "groups_short"), 0.0);
    assert_eq!(whole.measures["time_to_clean_s"].reason(), None);
}

#[test]
fn rules_that_cannot_be_are_refused() {
    for (text, part) in [
        ("rule = \"rdb=coded\"", "there is no pool called `rdb`"),
        ("rule = \"rbd=coded\"", "rule `coded` is for erasure-coded pools, but pool `rbd` is replicated"),
        ("rule = \"rbd=by_rack@2h\"", "there is no rule called `by_rack`"),
        ("rule = \"rbd=coded@2\"", "`2` is no time"),
    ] {
        let refusal = refused(text);
        assert!(refusal.contains(part), "{text}: {refusal}");
    }
}

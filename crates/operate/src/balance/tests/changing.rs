//! Plans where numbers of groups are changing in the exports already: what is about to be merged, or gets
//! another place, is not moved, and the plan counts with the state that the cluster comes to.

use towtank_placement::crush::pools::PgId;
use towtank_report::Status;

use super::*;
use crate::balance::dangers::status;
use crate::exports::samples::pool_with;

/// The pool `rbd` of 256 groups.
const POOL: i64 = 1;

fn changing(numbers: &[(&str, u32)]) -> Folder {
    pool_with(example(), "rbd", numbers)
}

fn ready_of(folder: Folder) -> Ready {
    let text = format!("study = \"balance\"\n{EXAMPLE}");
    let document = Document::parse(&Source::file("balance.toml", text)).unwrap().with_files(Arc::new(folder));
    let outline = document.outline().unwrap();
    let draft = outline.points()[0].draft();
    Ready::check(draft.read::<Scenario>().unwrap(), draft).unwrap()
}

/// What is found, but for the time of the plan.
fn found(folder: Folder) -> Kept {
    observed::planned(&ready_of(folder), &RunContext::alone(Seed(1), 0)).unwrap().unwrap().0
}

/// All of it.
fn seen(folder: Folder) -> Kept {
    observed::seen(&ready_of(folder), &RunContext::alone(Seed(1), 0)).unwrap().unwrap()
}

fn group_of(command: &Command) -> PgId {
    let word = command.text.split(' ').nth(3).expect("a command names its group");
    let (pool, seed) = word.split_once('.').expect("a pool and a number");
    PgId { pool: pool.parse().unwrap(), seed: u32::from_str_radix(seed, 16).unwrap() }
}

/// The groups of a plan that it must leave alone.
fn moved_though(commands: &[Command], is_left: impl Fn(u32) -> bool) -> Vec<u32> {
    let groups = commands.iter().map(group_of).filter(|group| group.pool == POOL);
    groups.map(|group| group.seed).filter(|seed| is_left(*seed)).collect()
}

/// What `preview` answers on the same exports with the commands of a plan.
fn previewed(folder: Folder, commands: &[Command]) -> Outcome {
    let mut last: BTreeMap<PgId, &str> = BTreeMap::new();
    last.extend(commands.iter().map(|command| (group_of(command), command.text.as_str())));
    let items: Vec<String> =
        last.values().map(|text| text.splitn(4, ' ').nth(3).unwrap().to_owned()).collect();
    let items = serde_json::to_string(&items).unwrap();
    let text = format!("study = \"preview\"\n{EXAMPLE}upmap_items = {items}\n");
    let document = Document::parse(&Source::file("preview.toml", text)).unwrap().with_files(Arc::new(folder));
    let outline = document.outline().unwrap();
    let prepared = crate::preview::Preview.check(outline.points()[0].draft()).unwrap();
    prepared.run(&RunContext::alone(Seed(1), 0)).unwrap()
}

/// Of 256 groups the last 64 are merged into the second 64.
fn is_merged(seed: u32) -> bool {
    seed >= 192 || (64..128).contains(&seed)
}

const MERGE: [(&str, u32); 2] = [("pg_num_target", 192), ("pg_placement_num_target", 192)];

#[test]
fn groups_that_are_merged_are_not_moved() {
    let kept = seen(changing(&MERGE));
    assert!(!kept.commands.is_empty());
    assert_eq!(moved_though(&kept.commands, is_merged), [0; 0]);
    let changing = &kept.safety.changing;
    assert_eq!(
        changing.iter().map(|one| (one.pool.as_str(), one.groups)).collect::<Vec<_>>(),
        [("rbd", (128, 256))]
    );
    assert!(matches!(kept.time, PlanTime::Known(time) if time.clean_s > 60.0), "{:?}", kept.time);
}

/// A plan that takes the exports as they stand would move them.
#[test]
fn a_plan_for_the_groups_of_now_would_move_merged_ones() {
    let ready = ready_of(changing(&MERGE));
    let spread = towtank_ceph::balance::Spread::of(&ready.cluster, ready.limits, &mut |_| true);
    let spread = spread.unwrap().unwrap();
    let limits = towtank_ceph::balance::Limits { moves: 100, destinations: None };
    let command = |one: &towtank_ceph::balance::Move| Command {
        stage: 1,
        text: towtank_ceph::balance::command(one.group(), &one.items),
    };
    let planned = towtank_ceph::balance::plan(&spread, &ready.cluster, &limits);
    let commands: Vec<Command> = planned.iter().map(command).collect();
    assert!(!moved_though(&commands, is_merged).is_empty(), "{commands:?}");
}

/// The state in the end is that of `preview` with the commands, and so are the moves that are under way.
#[test]
fn the_end_of_a_plan_is_that_of_a_preview() {
    for numbers in [&MERGE[..], &[("pg_placement_num_target", 224)], &[]] {
        let kept = found(changing(numbers));
        let seen = previewed(changing(numbers), &kept.commands);
        let fill = kept.largest(|device| Some(device.fill?.2)).unwrap();
        assert!((value(&seen, "fill_max_after") - fill).abs() < 1e-9, "{numbers:?}: {fill}");
        assert_eq!(value(&seen, "pending_bytes"), kept.safety.pending_bytes as f64, "{numbers:?}");
        assert_eq!(kept.safety.pending_bytes > 0, !numbers.is_empty());
    }
    // Another plan ends elsewhere.
    let kept = found(changing(&MERGE));
    let other = previewed(changing(&[]), &kept.commands);
    assert!(
        (value(&other, "fill_max_after") - kept.largest(|device| Some(device.fill?.2)).unwrap()).abs() > 1e-6
    );
}

/// Groups that get another place because `pgp_num` is behind.
#[test]
fn groups_whose_place_is_changing_are_not_moved() {
    let kept = found(changing(&[("pg_placement_num_target", 224)]));
    assert_eq!(moved_though(&kept.commands, |seed| seed >= 224), [0; 0]);
    let (left, all) = kept.safety.changing[0].groups;
    assert!((1..=32).contains(&left) && all == 256, "{left} of {all}");
}

/// Where `pg_num` is still to grow, nothing of the pool is moved, and no time is given.
#[test]
fn a_split_to_come_leaves_its_pool_alone() {
    let kept = seen(changing(&[("pg_num_target", 512), ("pg_placement_num_target", 512)]));
    assert_eq!(moved_though(&kept.commands, |_| true), [0; 0]);
    let standing = status(&kept);
    assert_eq!(standing.status(), Status::Unknown);
    assert!(standing.reason().contains("`pg_num` of pool `rbd` is changing from 256 to 512"), "{standing:?}");
    match &kept.time {
        PlanTime::Unknown(reason) => assert!(!reason.contains("--pg-num") && !reason.contains("changes")),
        other => assert!(kept.commands.is_empty(), "{other:?}"),
    }
}

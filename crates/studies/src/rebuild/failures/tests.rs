//! What cannot fail again is refused, and all may fail.

use super::super::tests::{complete, outcome, prepare, value};

#[test]
fn what_cannot_fall_again_is_refused() {
    let refusal = |text: &str| {
        let Err(problems) = prepare(text) else { panic!("{text} is legal") };
        let words = |problem: &towtank_scenario::Problem| {
            format!("{} | {}", problem.message(), problem.next_step().unwrap_or(""))
        };
        problems.iter().map(words).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(refusal("servers = 6\nfail = [\"server=3\", \"disk=3@1h\"]"), @"`fail` names `disk=3@1h`, but all its disks have already failed with `server=3` | leave it out, or name something else; what comes back and fails again is not modelled");
    insta::assert_snapshot!(refusal("servers = 6\nracks = 3\nfail = [\"rack=1@5s\", \"rack=1@2s\"]"), @"`fail` names `rack=1@5s`, but all its disks have already failed with `rack=1@2s` | leave it out, or name something else; what comes back and fails again is not modelled");
    insta::assert_snapshot!(refusal("servers = 3\nfail = [\"server\", \"server\", \"server\", \"server@1h\"]"), @"`fail` draws `server@1h`, but possibly none of 3 disks is left: 3 other failures precede it or name disks | remove failures, or set more servers");
    insta::assert_snapshot!(refusal("servers = 6\nracks = 2\nfail = [\"rack\", \"rack\", \"disk\"]"), @"`fail` draws `disk`, but possibly none of 6 disks is left: 2 other failures precede it or name disks | remove failures, or set more servers");
    complete("servers = 6\ndisks_per_server = 2\nfail = [\"disk=6\", \"server=3@1h\"]");
}

/// All servers may fail, also where the lost set is drawn.
#[test]
fn when_all_servers_fail_all_is_lost() {
    for how in ["draw", "enumerate"] {
        let text = format!(
            "servers = 3\nobjects = 50\nlost_set = \"{how}\"\nfail = [\"server\", \"server\", \"server\"]"
        );
        assert_eq!(value(&outcome(&text, 1), "lost_objects"), 50.0, "{how}");
    }
}

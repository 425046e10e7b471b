//! A campaign whose runs are done elsewhere gives the directory and the report of one that is run here.

use std::fs;
use std::path::{Path, PathBuf};

use towtank::{Delegated, Document, Options, Registry, Runner, Scenario, Trouble, run};
use towtank_campaign::Task;

const COUNTERS: &str = "\
study = \"queue\"
replicates = 3
warm_up = \"10s\"
span = \"100s\"

[stations.counter]
service_rate = \"10/s\"
arrival_rate = \"5/s\"

[sweep]
\"stations.counter.arrival_rate\" = [\"5/s\", \"8/s\"]
";

fn scenario() -> Scenario {
    let document = Document::parse(COUNTERS).expect("it is TOML");
    document.check(&Registry::builtin()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn directory(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("towtank-delegated-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    dir
}

fn into(dir: &Path) -> Options {
    Options { out: Some(dir.to_owned()), ..Options::default() }
}

fn read(dir: &Path) -> String {
    fs::read_to_string(dir.join("report.json")).expect("there is a report")
}

#[test]
fn runs_of_other_processes_give_the_report_of_this_one() {
    let (here, there) = (directory("here"), directory("there"));
    run(&scenario(), &into(&here), &()).expect("it runs");

    let mut campaign = Delegated::open(scenario(), &into(&there), &()).expect("nobody else writes there");
    let runner = Runner::new(scenario()).expect("it fits");
    // In another order than that of the plan, with a pause in the middle.
    let mut tasks = campaign.open_tasks();
    assert_eq!(tasks.len(), 6);
    tasks.reverse();
    for task in &tasks[..4] {
        campaign.accept(*task, &runner.run(*task, &()).expect("it runs")).expect("it is its result");
    }
    drop(campaign);
    let mut campaign = Delegated::open(scenario(), &into(&there), &()).expect("the first has closed it");
    assert_eq!(campaign.open_tasks().len(), 2);
    for task in campaign.open_tasks() {
        campaign.accept(task, &runner.run(task, &()).expect("it runs")).expect("it is its result");
    }
    let report = campaign.report().expect("it keeps all laws").expect("there are runs");
    assert!(campaign.finish(&report).expect("it can be written").is_empty());
    drop(campaign);
    assert_eq!(read(&there), read(&here));

    // What one has done the other skips.
    let kept = run(&scenario(), &into(&there), &()).expect("it resumes");
    assert_eq!(kept.done.runs, 6);
    for dir in [here, there] {
        fs::remove_dir_all(dir).expect("it is ours");
    }
}

#[test]
fn what_is_not_the_result_of_a_run_is_refused() {
    let mut campaign = Delegated::open(scenario(), &Options::default(), &()).expect("no directory");
    let runner = Runner::new(scenario()).expect("it fits");
    let (first, second) = (Task { point: 0, replicate: 0 }, Task { point: 1, replicate: 0 });
    let file = runner.run(first, &()).expect("it runs");
    let mut damaged = file.clone();
    let digit = damaged.iter().rposition(u8::is_ascii_digit).expect("a result has digits");
    damaged[digit] ^= 1;
    let refused = |campaign: &mut Delegated, task, bytes: &[u8]| match campaign.accept(task, bytes) {
        Err(Trouble::Failed(problem)) => problem.message().to_owned(),
        other => panic!("it was not refused: {other:?}"),
    };
    let wrong = refused(&mut campaign, second, &file);
    assert!(wrong.starts_with("what came back for replicate 0 of point 2 "), "{wrong}");
    assert!(wrong.contains("it belongs to key"), "{wrong}");
    assert!(refused(&mut campaign, first, &damaged).contains("checksum"));
    assert!(refused(&mut campaign, first, b"{}").contains("not a complete point file"));
    assert_eq!(campaign.done().runs, 0);
    campaign.accept(first, &file).expect("it is its result");
    assert_eq!(campaign.done().runs, 1);
}

#[test]
fn a_run_that_does_not_exist_is_refused() {
    let runner = Runner::new(scenario()).expect("it fits");
    let Err(Trouble::Input(problems)) = runner.run(Task { point: 2, replicate: 0 }, &()) else {
        panic!("there is no third point");
    };
    let want = "there is no replicate 0 of point 3: the scenario has 3 replicates of 2 points";
    assert_eq!(problems.to_string(), want);
}

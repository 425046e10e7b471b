//! `towtank store simulate`: the whole store in one thread, by seed.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::json;
use towtank::Trouble;
use towtank_scenario::Problem;
use towtank_trials::planted::Planted;
use towtank_trials::seeds::{Outcome, Plan, Summary, run, run_all, shrunk};

use super::flags::{Form, Simulate};
use super::print;
use crate::exit::Exit;
use crate::{interrupt, screen};

/// Runs one seed or many.
pub fn simulate(flags: &Simulate) -> Result<Exit, Trouble> {
    let planted = flags.planted.as_deref().map(rule).transpose()?;
    if let Some(seed) = flags.seed {
        let only = (!flags.faults.is_empty()).then(|| flags.faults.iter().copied().collect());
        return one(flags, &Plan { seed, only, planted, traces: flags.trace, gateway: flags.gateway });
    }
    if flags.trace || !flags.faults.is_empty() {
        let problem = Problem::new("--trace and --faults are for one run".to_owned());
        return Err(problem.hint("add --seed N").into());
    }
    let (first, last) = flags.seeds;
    let summary = Mutex::new((Summary::new(), None::<(u64, String)>));
    let stop = interrupt::watch();
    let plan = |seed| Plan { seed, only: None, planted, traces: false, gateway: flags.gateway };
    run_all(first..=last, &plan, &|| stop.raised(), &|seed, outcome| {
        let (all, failed) = &mut *summary.lock().expect("no run that holds it panics");
        all.add(&outcome);
        if let Some(fault) = outcome.fault
            && failed.as_ref().is_none_or(|(other, _)| seed < *other)
        {
            *failed = Some((seed, fault));
        }
    });
    let (summary, failed) = summary.into_inner().expect("no run that holds it panics");
    show(flags.format, &summary, failed.as_ref().map(|(_, fault)| fault.as_str()))?;
    if let Some((seed, _)) = failed {
        repeat(&plan(seed));
        return Ok(Exit::Failed);
    }
    Ok(if stop.raised() { Exit::Interrupted } else { Exit::Done })
}

/// The broken rule with this name.
fn rule(name: &str) -> Result<Planted, Trouble> {
    Planted::named(name).ok_or_else(|| Problem::new(format!("--planted is {name}, which is no rule")).into())
}

fn one(flags: &Simulate, plan: &Plan) -> Result<Exit, Trouble> {
    let outcome = run(plan);
    let trace: String = outcome.trace.iter().map(|line| format!("{line}\n")).collect();
    print(&trace)?;
    let mut summary = Summary::new();
    summary.add(&outcome);
    show(flags.format, &summary, outcome.fault.as_deref())?;
    let Outcome { fault: Some(_), .. } = outcome else { return Ok(Exit::Done) };
    if plan.only.is_none() {
        repeat(plan);
    }
    Ok(Exit::Failed)
}

/// Says how to repeat a run that fails, with as few faults as possible.
fn repeat(plan: &Plan) {
    let left: BTreeSet<usize> = shrunk(plan);
    let faults: Vec<String> = left.iter().map(ToString::to_string).collect();
    let faults = if faults.is_empty() { String::new() } else { format!(" --faults {}", faults.join(",")) };
    let gateway = if plan.gateway { " --gateway" } else { "" };
    screen::say(&format!("again: towtank store simulate --seed {}{gateway}{faults} --trace\n", plan.seed));
}

fn show(form: Form, summary: &Summary, fault: Option<&str>) -> Result<Exit, Trouble> {
    let Summary { seeds, operations, messages, disturbed, with_loss, beyond, waiting, faults, .. } = summary;
    let count: u64 = faults.values().sum();
    if form == Form::Json {
        let found = json!({
            "seeds": seeds,
            "simulated_hours": summary.hours(),
            "operations": operations,
            "messages": messages,
            "messages_disturbed": disturbed,
            "faults": count,
            "faults_by_kind": faults,
            "seeds_with_objects_not_found": with_loss,
            "seeds_in_which_any_device_was_harmed": beyond,
            "seeds_with_groups_that_wait": waiting,
            "fault": fault,
        });
        return print(&format!("{found:#}\n"));
    }
    let verdict = fault.unwrap_or("nothing is lost, every history is linearizable, all replicas are equal");
    let mut text = format!(
        "{verdict}\n{seeds} seeds, {:.1} simulated hours, {operations} operations, {count} faults, {disturbed} of \
         {messages} messages disturbed\n{with_loss} seeds ended with objects that are not found, and said so\n\
         in {beyond} seeds any device could be harmed; {waiting} of them ended with groups that wait, and said so\n",
        summary.hours()
    );
    for (kind, count) in faults {
        text += &format!("{count:>8} {kind}\n");
    }
    print(&text)
}

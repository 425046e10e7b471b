//! `towtank capacity measure`: prints the commands that measure a system, or runs fio on a new file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use towtank::Trouble;
use towtank_campaign::Stop;
use towtank_capacity::measure::{SetUp, Step, Target, model_of, script, steps, time_of};
use towtank_report::human;
use towtank_scenario::{Place, Problem, Problems, Source};
use towtank_units::{Bytes, SimSpan};

use super::flags::{Chosen, Fit, Measure, SetUpName};
use crate::exit::Exit;
use crate::{interrupt, screen};

/// The name of the file that is measured in a directory.
const FILE: &str = "towtank-measure.dat";

/// The smallest and the largest size of an operation, and the least bytes that are used: fio's `libaio` needs
/// blocks of the device.
const SIZES: std::ops::RangeInclusive<u64> = 512..=1 << 30;

/// Prints the commands, or runs them.
pub fn measure(flags: &Measure) -> Result<Exit, Trouble> {
    let (target, set_up) = asked(flags)?;
    if !flags.run {
        let text = script(&target, &set_up, &flags.results);
        screen::print(&text).map_err(|error| Trouble::failed(format!("cannot write to stdout: {error}")))?;
        return Ok(Exit::Done);
    }
    let Target::File(path) = &target else {
        let hint = "leave --run out: the commands are printed";
        return Err(flag(&flags.target, "only a new file is measured with --run").hint(hint).into());
    };
    let path = Path::new(path);
    if path.exists() {
        let text = format!("--run measures a file that it makes, but {} exists", path.display());
        return Err(Problem::new(text).hint("name another file, or a directory").into());
    }
    let steps = steps(&target, &set_up, &flags.results);
    fs::create_dir_all(&flags.results)
        .map_err(|error| Trouble::failed(format!("cannot make {}: {error}", flags.results)))?;
    let stop = interrupt::watch_with_processes(interrupt::TO_END_PROCESSES, String::new());
    let ran = run_all(&steps, &set_up, stop, flags.output.quiet);
    // Nothing was filled if all results were there.
    let removed = if path.exists() { fs::remove_file(path) } else { Ok(()) };
    if !ran? {
        return Ok(Exit::Interrupted);
    }
    removed.map_err(|error| Trouble::failed(format!("cannot remove {}: {error}", path.display())))?;
    super::fit(&Fit {
        files: steps.iter().filter_map(|step| step.result.as_ref().map(PathBuf::from)).collect(),
        model: Some(PathBuf::from(model_of(&flags.results))),
        chosen: Chosen::default(),
        judged: flags.judged.clone(),
        report: flags.report.clone(),
        output: flags.output.clone(),
    })
}

fn flag(target: &str, message: &str) -> Problem {
    let source = Source::flag("--target", format!("--target {target}"));
    Problem::new(format!("`{target}`: {message}")).at(Place::whole(&source))
}

/// The target and the set-up of the flags.
fn asked(flags: &Measure) -> Result<(Target, SetUp), Problems> {
    let mut problems = Problems::new();
    let is_directory = Path::new(&flags.target).is_dir();
    let text = if is_directory {
        Path::new(&flags.target).join(FILE).to_string_lossy().into_owned()
    } else {
        flags.target.clone()
    };
    let target = Target::parse(&text).map_err(|error| {
        problems.push(flag(&flags.target, &error.reason).hint(error.hint));
    });
    let mut set_up = match flags.set_up {
        SetUpName::Quick => SetUp::quick(),
        SetUpName::Paper => SetUp::paper(),
    };
    if !flags.sizes.is_empty() {
        set_up.sizes.clone_from(&flags.sizes);
        set_up.sizes.sort_unstable();
        set_up.sizes.dedup();
    }
    for share in &flags.reads {
        let percent = 100.0 * share.fraction_f64();
        if percent > 100.0 || percent.fract() != 0.0 {
            let message = format!("--reads has {share}, but fio takes whole percents up to 100%");
            problems.push(Problem::new(message).hint("such as 30%"));
        }
    }
    if !flags.reads.is_empty() {
        let percent = |share: &towtank_units::Percent| (100.0 * share.fraction_f64()).round() as u32;
        set_up.reads = flags.reads.iter().map(percent).collect();
    }
    set_up.repeat = flags.repeat.unwrap_or(set_up.repeat);
    set_up.runtime = flags.runtime.unwrap_or(set_up.runtime);
    set_up.depth = flags.depth.unwrap_or(set_up.depth);
    set_up.jobs = flags.jobs.unwrap_or(set_up.jobs);
    set_up.span = flags.span.unwrap_or(set_up.span);
    check(&set_up, &mut problems);
    match target {
        Ok(target) => problems.into_result((target, set_up)),
        Err(()) => Err(problems),
    }
}

fn check(set_up: &SetUp, problems: &mut Problems) {
    for size in set_up.sizes.iter().filter(|size| !SIZES.contains(&size.get()) || size.get() % 512 != 0) {
        let message = format!("--sizes has {size}, which is no multiple of 512B up to 1GiB");
        problems.push(Problem::new(message).hint("such as 4KiB"));
    }
    let largest = set_up.sizes.iter().max().copied().unwrap_or(Bytes::ZERO);
    if set_up.span < largest {
        let message = format!("--span is {}, less than an operation of {largest}", set_up.span);
        problems.push(Problem::new(message).hint("use several times the memory of the machine"));
    }
    if set_up.runtime < SimSpan::from_secs(1) {
        let message = format!("--runtime is {}, less than a second", set_up.runtime);
        problems.push(Problem::new(message).hint("a minute or more"));
    }
}

/// Runs the steps whose results are not there yet. Returns false if the user stopped it.
fn run_all(steps: &[Step], set_up: &SetUp, stop: &Stop, quiet: bool) -> Result<bool, Trouble> {
    let is_left = |step: &&Step| step.result.as_ref().is_some_and(|result| !Path::new(result).exists());
    let left = steps.iter().filter(is_left).count();
    if left == 0 {
        return Ok(true);
    }
    if !quiet {
        let left: Vec<Step> = steps.iter().filter(is_left).cloned().collect();
        let all = human::quantity(time_of(&left, set_up).as_secs_f64(), "s");
        screen::say(&format!("{} runs of fio, {all} in all\n", left.len()));
    }
    for step in steps.iter().filter(|step| step.result.is_none() || is_left(step)) {
        if stop.raised() {
            return Ok(false);
        }
        if !quiet {
            screen::say(&format!("{}\n", step.about));
        }
        if !run_one(step, stop)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs one step. Its result gets its name once it is complete. Returns false if the user stopped it.
fn run_one(step: &Step, stop: &Stop) -> Result<bool, Trouble> {
    let part = step.result.as_ref().map(|result| format!("{result}.part"));
    let words = step.command[1..].iter().map(|word| match (&step.result, &part) {
        (Some(result), Some(part)) if *word == format!("--output={result}") => format!("--output={part}"),
        _ => word.clone(),
    });
    let program = &step.command[0];
    let child = Command::new(program).args(words).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|error| {
        let hint = format!("install {program}, or leave --run out and run the commands where it is");
        Trouble::from(Problem::new(format!("{program} cannot be started: {error}")).hint(hint))
    })?;
    let ended = loop {
        if stop.raised() {
            // fio gets Ctrl-C from the terminal too; a signal to this process alone does not reach it.
            let _ = child.kill();
            let _ = child.wait();
            if let Some(part) = &part {
                let _ = fs::remove_file(part);
            }
            return Ok(false);
        }
        match child.try_wait() {
            Ok(Some(ended)) => break ended,
            Ok(None) => std::thread::sleep(std::time::Duration::from_millis(50)),
            Err(error) => return Err(Trouble::failed(format!("{program}: {error}"))),
        }
    };
    if !ended.success() {
        return Err(Trouble::failed(format!("{program} failed ({ended}) at: {}", step.command.join(" "))));
    }
    if let (Some(part), Some(result)) = (&part, &step.result) {
        fs::rename(part, result)
            .map_err(|error| Trouble::failed(format!("cannot rename {part}: {error}")))?;
    }
    Ok(true)
}

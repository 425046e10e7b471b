//! `towtank bench crush`: maps inputs by one rule of a CRUSH map and reports mappings per second.
//!
//! Only the fast mapper is measured, with map and tables prepared; inputs count up from 0. The digest is a
//! sum of one hash per input, so that it depends neither on threads nor on their order.

#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use towtank::Trouble;
use towtank_placement::crush::tester::present_weights;
use towtank_placement::crush::{Ask, Map, Mapper, Mappings, Workspace};
use towtank_scenario::{Problem, did_you_mean};

use super::phold::Format;
use crate::crush::read_either;
use crate::exit::Exit;
use crate::screen;

/// Flags of `towtank bench crush`.
#[derive(Debug, Args)]
pub struct Flags {
    /// A CRUSH map, binary or text
    #[arg(long, value_name = "FILE")]
    pub map: PathBuf,
    /// A rule's id or name
    #[arg(long, value_name = "RULE", default_value = "0")]
    pub rule: String,
    /// Replicas to ask for
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub num_rep: u32,
    /// Inputs to map, from 0 up
    #[arg(long, value_name = "COUNT", default_value = "1000000")]
    pub inputs: NonZeroU32,
    /// Threads; the digest is the same
    #[arg(long, value_name = "T", default_value = "1")]
    pub threads: NonZeroUsize,
    /// Text for people, or one JSON object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// The most threads; more cores than any machine has.
const THREADS_MAX: usize = 1_024;

/// The number of inputs that are mapped at once.
const BLOCK: usize = 4_096;

/// Runs the benchmark.
pub fn run(flags: &Flags) -> Result<Exit, Trouble> {
    if flags.threads.get() > THREADS_MAX {
        let problem =
            Problem::new(format!("--threads is {}, but at most {THREADS_MAX} are run", flags.threads));
        return Err(problem.hint("take as many as there are cores").into());
    }
    let map = read_either(&flags.map)?;
    let rule = rule_of(&map, &flags.rule)?;
    let weights = present_weights(&map).map_err(Trouble::input)?;
    let mapper = map.compile().map_err(Trouble::input)?;
    let begun = Instant::now();
    let digest = map_all(&mapper, rule, &weights, flags);
    let seconds = begun.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
    let rate = f64::from(flags.inputs.get()) / seconds;
    let text = match flags.format {
        Format::Json => {
            let object = json!({
                "mappings_per_second": rate,
                "digest": format!("{digest:016x}"),
                "rule": rule,
                "num_rep": flags.num_rep,
                "inputs": flags.inputs,
                "threads": flags.threads,
                "lanes": format!("{:?}", mapper.lanes()).to_lowercase(),
                "run_seconds": seconds,
            });
            format!("{object:#}\n")
        }
        Format::Text => format!(
            "{:<20}{:.3} M\n{:<20}{seconds:.3} s\n{:<20}{digest:016x}\n",
            "mappings per second",
            rate / 1e6,
            "run",
            "digest"
        ),
    };
    screen::print(&text).map_err(Trouble::failed)?;
    Ok(Exit::Done)
}

fn rule_of(map: &Map, asked: &str) -> Result<usize, Problem> {
    let named = map.rule_names.iter().find(|(_, name)| *name == asked);
    let id = asked.parse().ok().or_else(|| usize::try_from(*named?.0).ok());
    id.filter(|&id| map.rule(id).is_some()).ok_or_else(|| {
        let names = map.rule_names.values().map(String::as_str);
        let hint = did_you_mean(asked, names).unwrap_or_else(|| {
            let ids = map.rules.iter().enumerate().filter(|(_, rule)| rule.is_some());
            let ids: Vec<String> = ids.map(|(id, _)| id.to_string()).collect();
            format!("its rules are {}", ids.join(", "))
        });
        Problem::new(format!("the map has no rule `{asked}`")).hint(hint)
    })
}

/// The sum over all inputs of a hash of the input's devices.
fn map_all(mapper: &Mapper, rule: usize, weights: &[u32], flags: &Flags) -> u64 {
    let threads = u32::try_from(flags.threads.get()).expect("threads are few").min(flags.inputs.get());
    let share = flags.inputs.get().div_ceil(threads);
    let part = |number: u32| {
        let (mut workspace, mut found, mut sum) = (Workspace::default(), Mappings::default(), 0u64);
        let ask = Ask { rule, x: 0, result_max: flags.num_rep as usize, weights, pool: 0 };
        let begin = number.saturating_mul(share);
        let end = begin.saturating_add(share).min(flags.inputs.get());
        for first in (begin..end).step_by(BLOCK) {
            let inputs: Vec<u32> = (first..end).take(BLOCK).collect();
            mapper.map_all(ask, &inputs, &mut workspace, &mut found);
            for (&x, devices) in inputs.iter().zip(found.iter()) {
                sum = sum.wrapping_add(hash(x, devices));
            }
        }
        sum
    };
    if threads == 1 {
        return part(0);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|number| scope.spawn(move || part(number))).collect();
        let sums = workers.into_iter().map(|worker| worker.join().expect("a mapping does not panic"));
        sums.fold(0u64, u64::wrapping_add)
    })
}

/// FNV-1a over words, which depends on devices, their order and the input.
fn hash(x: u32, devices: &[i32]) -> u64 {
    let words = devices.iter().map(|&device| device as u32);
    let start = 0xcbf2_9ce4_8422_2325u64;
    words.chain([x]).fold(start, |hash, word| (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3))
}

//! How evenly is this cluster filled, why not, what does it cost, and what would win it back?
//!
//! The exports of a cluster give where each group is. [`towtank_ceph::balance`] works out what each device
//! should hold by weight and rule, what makes the fullest device fuller than that, how much still fits, and
//! which explicit mappings would make it more. Nothing is simulated and nothing is drawn, so all replicates
//! are equal. What it leaves out: what balancer and autoscaler do by themselves, growth of overheads, and
//! how long moves really take (a lower bound is given).
//!
//! - `scenario`: the keys of a scenario; `case`: the cluster, checked;
//! - `observed`: the answer of one replicate; `measures`: its numbers;
//! - `dangers`: what is unsafe or not known; `answer`: all in words;
//! - `present`, `figures`: tables and figures.

mod answer;
mod case;
mod dangers;
mod figures;
mod measures;
mod observed;
mod plan_time;
mod present;
mod scenario;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};

use self::case::Ready;
use self::observed::{Kept, Seen};
use self::scenario::Scenario;
use towtank_study::{Flag, Measure, Points, Presentation, Question, Replicate, RunContext, StudyError};

/// The study of balance.
#[derive(Clone, Copy, Debug)]
pub struct Balance;

const FLAGS: &[Flag] = &[
    Flag { name: "crush-map", key: "crush_map" },
    Flag { name: "osd-dump", key: "osd_dump" },
    Flag { name: "pg-dump", key: "pg_dump" },
    Flag { name: "osd-df", key: "osd_df" },
    Flag { name: "report", key: "report" },
    Flag { name: "max-moves", key: "max_moves" },
    Flag { name: "stages", key: "stages" },
    Flag { name: "destination", key: "destination" },
    Flag { name: "recovery-rate", key: "recovery_rate" },
];

impl Question for Balance {
    const NAME: &'static str = "balance";
    const TITLE: &'static str =
        "how evenly a Ceph cluster is filled, why not, and which moves win space back";
    const ABOUT: &'static str = "Compares what each device holds with what weight and rule would give it, tells the causes of the fullest device apart by \
         computing its fill again without each, and says how much still fits: now, if all were even, and after the loss of a \
         host. Plans moves in stages, as `ceph osd pg-upmap-items` commands to paste. Reads saved exports; no cluster is \
         contacted, and no command is run.\n\n\
         The exports are those of `preview`. With --report alone the sizes of groups and the fill of devices are estimated: add \
         --pg-dump, which has both. --max-moves limits the plan, --destination the devices that may take data, --stages divides it. The \
         time of a stage is a lower bound, at --recovery-rate for each device. Not modelled: what the balancer and the \
         autoscaler do by themselves.";
    const RESULTS_VERSION: u32 = 10;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank balance --report ceph-report.json --pg-dump pg.json",
        "towtank balance --report ceph-report.json --pg-dump pg.json --max-moves 20 --commands plan.txt",
        "towtank balance --crush-map map.bin --osd-dump osd.json --pg-dump pg.json --out results",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const LISTS_COMMANDS: bool = true;

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        Ready::check(scenario, draft)
    }

    fn settled(ready: &Ready) -> &Scenario {
        &ready.scenario
    }

    fn measures() -> Vec<Measure<Seen>> {
        measures::measures()
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        Ok(match observed::seen(ready, context)? {
            Some(kept) => {
                let mut beside = Outcome { warnings: ready.warnings.clone(), ..Outcome::default() };
                beside.warnings.extend(dangers::warnings(&kept));
                Replicate { seen: Ok(Seen { kept }), beside }
            }
            None => Replicate {
                seen: Err("the run was stopped before every group was placed"),
                beside: Outcome { partial: true, ..Outcome::default() },
            },
        })
    }

    fn keep(seen: Seen) -> Kept {
        seen.kept
    }

    fn present(points: &Points<'_, Balance>) -> Presentation {
        present::present(points)
    }
}

#[cfg(test)]
mod tests;

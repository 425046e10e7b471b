//! What moves if I change the map? Compares two CRUSH maps, or one map and changes to it, on the placement
//! groups of a real cluster.
//!
//! The answer is exact: placement groups are placed as Ceph 16.2.15 places them, before and after, and their
//! sizes come from `ceph pg dump`. What it leaves out: time (how long the move takes), the balancer and the
//! autoscaler, which may change the map further by themselves, and overheads of the store (fill changes by
//! the bytes of objects alone).
//!
//! - `scenario`: the keys of a scenario;
//! - `case`: the cluster ([`towtank_ceph`]) before and after;
//! - `moves`: every group before and after, and the data that move;
//! - `safety`: how many groups are unsafe or not known; `dangers`: these in words, which come first in the
//!   answer;
//! - `group_limits`: what Ceph allows of groups on a device;
//! - `observed`: the measures; `present`: tables and figures.

pub(crate) mod case;
pub(crate) mod dangers;
pub(crate) mod group_limits;
pub(crate) mod moves;
pub(crate) mod observed;
pub(crate) mod present;
pub(crate) mod safety;
pub(crate) mod scenario;

use towtank_report::Outcome;
use towtank_scenario::{Draft, Problems};

use self::case::Case;
use self::moves::Moves;
use self::observed::{Kept, Seen};
use self::scenario::Scenario;
use crate::asked::MAP_VERBS;
use towtank_study::{
    Flag, Measure, Ordered, Points, Presentation, Question, Replicate, RunContext, StudyError,
};

/// The preview study.
#[derive(Clone, Copy, Debug)]
pub struct Preview;

/// `--out` is the directory of the results, so the flag that takes a device out is `--mark-out`.
const FLAGS: &[Flag] = &[
    Flag { name: "crush-map", key: "crush_map" },
    Flag { name: "osd-dump", key: "osd_dump" },
    Flag { name: "pg-dump", key: "pg_dump" },
    Flag { name: "osd-df", key: "osd_df" },
    Flag { name: "report", key: "report" },
    Flag { name: "change", key: "changes" },
    Flag { name: "after-map", key: "after_map" },
    Flag { name: "mark-out", key: "mark_out" },
    Flag { name: "remove", key: "remove" },
    Flag { name: "drain", key: "drain" },
    Flag { name: "reweight", key: "reweight" },
    Flag { name: "crush-reweight", key: "crush_reweight" },
    Flag { name: "pg-num", key: "pg_num" },
    Flag { name: "pgp-num", key: "pgp_num" },
    Flag { name: "rule", key: "rule" },
    Flag { name: "add-host", key: "add_host" },
    Flag { name: "upmap", key: "upmap" },
    Flag { name: "upmap-items", key: "upmap_items" },
    Flag { name: "tunables", key: "tunables" },
];

impl Question for Preview {
    const NAME: &'static str = "preview";
    const TITLE: &'static str = "what moves if I change the map of a Ceph cluster";
    const ABOUT: &'static str = "A short name of `whatif --moves-only`. Places every placement group of a cluster before and after a change, exactly \
         as Ceph 16.2 does, and adds up what must be copied. Reads saved exports; no cluster is contacted, and nothing is changed. The exports are those of \
         `ceph osd getcrushmap` (binary or text), `ceph osd dump -f json` and `ceph pg dump -f json`; or `ceph report` in \
         place of the first two, and of the third if groups of equal size suffice. Compressed files are read directly.\n\n\
         Changes may be repeated and combined. --mark-out takes a device out, and it stays in the map; --remove takes it \
         out of the map too. --reweight is the override from 0 to 1, and the host keeps its weight; --crush-reweight \
         changes the weight in the map. --pg-num splits groups, and moves them where `pgp_num` was the same. --rule gives a pool \
         another CRUSH rule of the map. Changes are made in the order of the command line. Not answered: how long the moves take, and what the balancer and the autoscaler do \
         next.";
    const RESULTS_VERSION: u32 = 10;
    const EXAMPLES: &'static [&'static str] = &[
        "towtank preview --report ceph-report.json --mark-out osd.3",
        "towtank preview --crush-map map.bin --osd-dump osd.json --pg-dump pg.json --remove host=h1",
        "towtank preview --report ceph-report.json --after-map after.bin --out results",
    ];
    const FLAGS: &'static [Flag] = FLAGS;
    const ORDERED: Option<Ordered> = Some(Ordered { list: "changes", keys: MAP_VERBS });

    type Scenario = Scenario;
    type Settled = Scenario;
    type Ready = Ready;
    type Seen = Seen;
    type Kept = Kept;

    fn check(scenario: Scenario, draft: &Draft) -> Result<Ready, Problems> {
        let case = Case::of(&scenario, draft)?;
        Ok(Ready { scenario, case })
    }

    fn settled(ready: &Ready) -> &Scenario {
        &ready.scenario
    }

    fn measures() -> Vec<Measure<Seen>> {
        observed::measures()
    }

    fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
        run(&ready.case, context)
    }

    fn keep(seen: Seen) -> Kept {
        Kept { moves: seen.moves, changes: seen.changes }
    }

    fn present(points: &Points<'_, Preview>) -> Presentation {
        present::present(points)
    }
}

/// One replicate: what moves.
pub(crate) fn run(case: &Case, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
    Ok(match Moves::of(case, context)? {
        Some(moves) => observed::replicate(case, moves),
        None => Replicate {
            seen: Err("the run was stopped before every group was placed"),
            beside: Outcome { partial: true, ..Outcome::default() },
        },
    })
}

/// A checked scenario with the cluster before and after.
pub struct Ready {
    scenario: Scenario,
    case: Case,
}

#[cfg(test)]
mod tests;

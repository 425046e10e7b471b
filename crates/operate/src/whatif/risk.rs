//! What is at risk in one recovery, and in others that are as likely: another order of groups, slower disks.

use serde::{Deserialize, Serialize};
use towtank_rebuild::model::SPARES;
use towtank_rebuild::recovery::Recovered;
use towtank_report::human;
use towtank_units::SimTime;

use super::case::Ready;
use super::exposure::{Apart, AtRisk, Exposure, Risk};
use super::unavailable;

/// What is at risk in a recovery in which something fails later; else it is the same whatever the order and
/// the speed.
pub(super) fn of(ready: &Ready, recovered: &Recovered) -> Risk {
    if recovered.short.len() < 2 {
        return Risk::default();
    }
    let exposure = exposure(ready, recovered);
    let until = [0, 1].map(|spare| until(recovered, spare, ready.start.as_secs_f64()));
    let loss = exposure.loss(ready.scenario.failure_rate, (until[0], until[1]));
    Risk { one_bytes: exposure.one_bytes, loss }
}

/// What is at risk in the worst moment.
pub(super) fn exposure(ready: &Ready, recovered: &Recovered) -> Exposure {
    let staged = &ready.staged;
    let machines = (&staged.hardware, &staged.failing[..]);
    let apart = Apart { waiting: unavailable::waiting(ready), unread: unavailable::unread(ready) };
    Exposure::of((&recovered.short, &apart), ready.start, ready.real.groups.whole(), machines)
}

/// Until no record that lacked a copy or shard is left with at most this many to spare.
pub(super) fn until(recovered: &Recovered, spare: usize, start_s: f64) -> f64 {
    counted(recovered.until(spare.min(SPARES - 2)).unwrap_or(SimTime::ZERO), start_s)
}

/// A moment of a recovery, counted from the change.
pub(super) fn counted(at: SimTime, start_s: f64) -> f64 {
    if at == SimTime::ZERO { 0.0 } else { start_s + at.as_secs_f64() }
}

/// What is at risk in other recoveries, where that is more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Worse {
    /// In which of them, and what, in words.
    pub said: Vec<String>,
    /// The highest probability that data are lost.
    pub loss: f64,
}

impl Worse {
    /// Compared with the recovery that is shown: orders of groups, of which some leave single copies where it
    /// leaves none, and slower disks.
    pub(super) fn than(
        shown: &Exposure,
        (orders, drawn): (Option<AtRisk>, usize),
        slower: Option<Risk>,
    ) -> Worse {
        let mut worse = Worse::default();
        let bytes = |bytes: u64| human::quantity(bytes as f64, "bytes");
        if let Some(AtRisk { single, worst }) = orders {
            worse.loss = worse.loss.max(worst.loss);
            if shown.one_bytes == 0 && single > 0 {
                worse.said.push(format!(
                    "{} have a single copy (or just k shards) left in {single} of {drawn} orders of groups that were \
                     drawn",
                    bytes(worst.one_bytes)
                ));
            }
        }
        if let Some(slower) = slower {
            worse.loss = worse.loss.max(slower.loss);
            if shown.one_bytes == 0 && slower.one_bytes > 0 {
                worse.said.push(format!(
                    "{} have a single copy (or just k shards) left with slower disks",
                    bytes(slower.one_bytes)
                ));
            }
        }
        worse
    }
}

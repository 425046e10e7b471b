//! When failures are detected, and their devices marked out.

use serde::{Deserialize, Serialize};
use towtank_rebuild::failures::Struck;
use towtank_rebuild::recovery::Recovery;
use towtank_report::Step;
use towtank_units::SimTime;

use super::case::Ready;

/// What becomes of a failure, in seconds from the beginning; none for what never happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noticed {
    /// What fails, in words.
    pub name: String,
    /// When it is detected.
    pub down_s: Option<f64>,
    /// When it is marked out.
    pub out_s: Option<f64>,
}

/// All failures; what is back before it is marked out stays in.
pub(super) fn all(ready: &Ready, recovery: &Recovery<'_>) -> Vec<Noticed> {
    let returns = &recovery.later.returns;
    let seconds = |at: SimTime| ready.start.as_secs_f64() + at.as_secs_f64();
    let of = |struck: &Struck| {
        let (down, out) = recovery.moments_of(struck);
        let is_back = |until: SimTime| {
            let back = |device| returns.iter().any(|back| back.at <= until && back.devices.contains(device));
            struck.devices.iter().all(back)
        };
        // Before objects move onto other devices, groups peer.
        let peering = ready.real.waiting().peering;
        let out = out
            .filter(|out| !is_back(*out))
            .map(|out| SimTime::ZERO.saturating_add(out.since(SimTime::ZERO).saturating_sub(peering)));
        Noticed {
            name: struck.name.clone(),
            down_s: down.filter(|down| !is_back(*down)).map(seconds),
            out_s: out.map(seconds),
        }
    };
    recovery.struck.iter().map(of).collect()
}

/// The steps of a course, of failures that are detected and of devices that are marked out: each only where it
/// is asked for.
pub(super) fn steps(all: &[Noticed], until: f64, [detected, out]: [bool; 2]) -> Vec<(f64, Step)> {
    let mut steps: Vec<(f64, Step)> = Vec::new();
    let kinds: [(bool, fn(&Noticed) -> Option<f64>, &str); 2] =
        [(detected, |one| one.down_s, "detected"), (out, |one| one.out_s, "marked out")];
    for (_, at, what) in kinds.into_iter().filter(|(asked, ..)| *asked) {
        let mut times: Vec<f64> = all.iter().filter_map(at).filter(|at| *at < until).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        for time in times {
            let names: Vec<&str> =
                all.iter().filter(|one| at(one) == Some(time)).map(|one| one.name.as_str()).collect();
            steps.push((time, Step::at(time, format!("{} {what}", names.join(", ")))));
        }
    }
    steps
}

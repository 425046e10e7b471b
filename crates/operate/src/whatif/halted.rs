//! What flags of the cluster keep from happening, and how long it takes without them.

use serde::{Deserialize, Serialize};
use towtank_rebuild::failures::Struck;
use towtank_rebuild::flags::{Flags, FlagsOverTime};
use towtank_rebuild::recovery::{Later, Recovered, Recovery};
use towtank_recovery::estimate;
use towtank_study::{RunContext, StudyError};
use towtank_units::{SimSpan, SimTime};

use super::case::Ready;

/// What flags keep from happening.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Halted {
    /// The flags because of which objects are not copied in the end, in words, and these objects.
    pub copies: Option<(String, u64)>,
    /// What unsets them.
    pub unset: String,
    /// Whether some of these lack a copy or shard.
    pub lacking: bool,
    /// What fails and is not marked down when it is missed, since `nodown` is set.
    pub unseen: Vec<String>,
    /// What of that never is.
    pub never_down: Vec<String>,
    /// Why it is not known what is marked down, where `nodown` is of a part of what fails.
    #[serde(default)]
    pub parted: Option<String>,
    /// Whether clients are paused at the beginning.
    pub paused: bool,
    /// When all groups are clean without the flag, where they become so.
    pub without_s: Option<f64>,
}

/// One failure by its name, or how many there are; none where there are none.
pub(super) fn who(failures: &[String]) -> Option<String> {
    match failures {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("{} failures", several.len())),
    }
}

/// What flags keep from happening, and what would be without.
pub(super) fn halted(
    ready: &Ready,
    (recovery, recovered): (&Recovery<'_>, &Recovered),
    limits: estimate::Limits,
    context: &RunContext<'_>,
) -> Result<Halted, StudyError> {
    let stuck = recovered.stuck;
    let missed = |struck: &Struck| {
        let [detection, _] = recovery.waiting.of(struck.down_for);
        SimTime::ZERO.saturating_add(struck.at).saturating_add(detection)
    };
    let down = |struck: &Struck| recovery.moments_of(struck).0;
    let is_late = |struck: &Struck| down(struck).is_none_or(|down| down > missed(struck));
    let named = |fits: &dyn Fn(&Struck) -> bool| {
        let struck = ready.staged.struck.iter().filter(|struck| fits(struck));
        struck.map(|struck| struck.name.clone()).collect()
    };
    let last = recovery.later.flags.changes.last().map(|(_, flags)| *flags).unwrap_or_default();
    let set = [
        ("norecover", last.no_recovery),
        ("nobackfill", last.no_backfill),
        ("norebalance", last.no_rebalance),
    ];
    let set = || set.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag);
    let in_words = set().map(|flag| format!("`{flag}`")).collect::<Vec<_>>().join(" and ");
    let unset = set().map(|flag| format!("`ceph osd unset {flag}`")).collect::<Vec<_>>().join(", ");
    let mut halted = Halted {
        copies: stuck.flag.map(|_| (in_words, stuck.halted())),
        unset,
        lacking: stuck.flagged > 0,
        unseen: named(&is_late),
        never_down: named(&|struck| down(struck).is_none()),
        parted: ready.added.parted.clone(),
        paused: ready.real.flags.has("pause", SimSpan::ZERO),
        without_s: None,
    };
    if halted.copies.is_some() && !context.stopped() {
        let free = |(at, flags): &(SimTime, Flags)| {
            (*at, Flags { no_out: flags.no_out, no_down: flags.no_down, ..Flags::default() })
        };
        let flags = FlagsOverTime { changes: recovery.later.flags.changes.iter().map(free).collect() };
        let later = Later { flags, ..recovery.later.clone() };
        let free = Recovery { later: &later, quiet: false, clients: None, ..recovery.clone() };
        let ran = context.within(1.0..1.0, |context| estimate::run(&free, limits, context))?;
        let Recovered { stuck, partial, .. } = ran.recovered;
        let ends = !partial && !stuck.any() && stuck.unmoved + stuck.held_bytes == 0;
        let scale = |at: SimTime| ready.start.as_secs_f64() + at.as_secs_f64();
        halted.without_s = ends.then(|| scale(ran.recovered.last()));
    }
    Ok(halted)
}

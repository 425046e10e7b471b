//! What flags of the cluster keep from happening, and how long it takes without them.

use serde::{Deserialize, Serialize};
use towtank_rebuild::failures::Struck;
use towtank_rebuild::flags::FlagsOverTime;
use towtank_rebuild::recovery::{Later, Recovered, Recovery};
use towtank_recovery::estimate;
use towtank_study::{RunContext, StudyError};
use towtank_units::SimTime;

use super::case::Ready;

/// What flags keep from happening.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Halted {
    /// The flag because of which objects are not copied in the end, and these objects.
    pub copies: Option<(String, u64)>,
    /// Whether some of these lack a copy or shard.
    pub lacking: bool,
    /// What fails and is never marked down, since `nodown` is set.
    pub unseen: Vec<String>,
    /// Whether clients are paused at the beginning.
    pub paused: bool,
    /// When all groups are clean without the flag, where they become so.
    pub without_s: Option<f64>,
}

/// What flags keep from happening, and what would be without.
pub(super) fn halted(
    ready: &Ready,
    (recovery, recovered): (&Recovery<'_>, &Recovered),
    context: &RunContext<'_>,
) -> Result<Halted, StudyError> {
    let stuck = recovered.stuck;
    let is_unseen = |struck: &&Struck| recovery.moments_of(struck).0.is_none();
    let mut halted = Halted {
        copies: stuck.flag.map(|flag| (flag.to_owned(), stuck.flagged + stuck.unmoved_by_flag)),
        lacking: stuck.flagged > 0,
        unseen: ready.staged.struck.iter().filter(is_unseen).map(|struck| struck.name.clone()).collect(),
        paused: ready.paused,
        without_s: None,
    };
    if halted.copies.is_some() && !context.stopped() {
        let later = Later { flags: FlagsOverTime::NEVER, ..recovery.later.clone() };
        let free = Recovery { later: &later, quiet: false, clients: None, ..recovery.clone() };
        let ran =
            context.within(1.0..1.0, |context| estimate::run(&free, ready.real.exact_objects, context))?;
        let Recovered { stuck, partial, .. } = ran.recovered;
        let ends = !partial && !stuck.any() && stuck.unmoved + stuck.held_bytes == 0;
        let scale = |at: SimTime| ready.start.as_secs_f64() + at.as_secs_f64();
        halted.without_s = ends.then(|| scale(ran.recovered.last()));
    }
    Ok(halted)
}

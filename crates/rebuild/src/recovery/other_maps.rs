//! Maps that come for other reasons than groups that are complete.

use towtank_units::SimTime;

use super::{Phase, Recovery};

impl Recovery<'_> {
    /// When devices that are marked down or out, come back, or change their places ask for maps within a
    /// phase, from its begin on, with those of the manager's steps. Each of these takes two maps or more,
    /// since the groups that it affects peer.
    pub(super) fn other_maps(&self, Phase { from, until }: Phase, steps: &[SimTime]) -> Vec<SimTime> {
        let Some(maps) = self.limits.maps else { return Vec::new() };
        let peering = self.waiting.peering;
        let before = |at: SimTime| at.checked_since(SimTime::ZERO.saturating_add(peering));
        let mut all: Vec<SimTime> = Vec::new();
        for (down, out) in self.struck.iter().map(|struck| self.moments_of(struck)) {
            all.extend(down);
            all.extend(out.and_then(before).map(|at| SimTime::ZERO.saturating_add(at)));
        }
        let changes = self.later.changes.iter().filter_map(|at| before(*at));
        all.extend(changes.map(|at| SimTime::ZERO.saturating_add(at)));
        all.extend(
            self.later
                .returns
                .iter()
                .filter_map(|back| before(back.at))
                .map(|at| SimTime::ZERO.saturating_add(at)),
        );
        all.extend(steps);
        // The second map lets the groups serve, and a third one has their temporary mapping.
        let each = all.into_iter().flat_map(|at| [at, at.saturating_add(maps.apart)]);
        let within = each.filter(|at| *at >= from && until.is_none_or(|until| *at < until));
        within.map(|at| SimTime::ZERO.saturating_add(at.since(from))).collect()
    }
}

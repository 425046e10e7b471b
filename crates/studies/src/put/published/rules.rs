//! How many multicast groups Replicast-M needs if all of them are configured in advance (section IV.E).
//!
//! With nine members, 84 subsets of three and 36 of two are 120 rendezvous groups, and 900 servers need 120 ×
//! 100 = 12,000 forwarding rules in each switch. The next sentence says that more than 12,000 *targets*
//! exceed the tables of most switches, but its own number is one of rules: 12,000 targets would need 160,000.

use towtank_negotiation::{Protocol, Terms};
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::SOURCE;
use crate::put::view::View;

/// The claims about the cluster of 900 servers.
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    let large = |view: &&&View<'_>| view.protocol == Protocol::ReplicastM && view.settled.spec.servers == 900;
    let Some(view) = views.iter().find(large) else { return Vec::new() };
    of_terms(&view.settled.spec.terms(view.protocol))
}

/// Both numbers are exact, so no tolerance is allowed.
fn of_terms(terms: &Terms) -> Vec<Claim> {
    let claim = |name: &str, statement: &str, published: f64, ours: u64, note: &str| {
        let draft = ClaimDraft {
            name: name.to_owned(),
            source: format!("{SOURCE}, section IV.E"),
            statement: statement.to_owned(),
            unit: String::new(),
            published: Reading::of(published),
            ours: Reading::of(ours as f64),
            tolerance: Tolerance::Absolute { amount: 0.0 },
            fitted: false,
            note: Some(note.to_owned()),
        };
        draft.judge()
    };
    vec![
        claim(
            "rendezvous_groups",
            "a negotiating group of nine has 120 subsets of two or three members",
            120.0,
            terms.rendezvous_groups(),
            "the model asserts of each multicast that it goes to one of them",
        ),
        claim(
            "forwarding_rules",
            "900 servers need 12,000 multicast forwarding rules in each switch",
            12_000.0,
            terms.forwarding_rules(),
            "the paper then says that 12,000 targets exceed the tables of switches; the number is one of rules",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use towtank_puts::Spec;
    use towtank_report::Verdict;

    use super::*;

    fn verdicts(spec: &Spec) -> Vec<Verdict> {
        of_terms(&spec.terms(Protocol::ReplicastM)).iter().map(|claim| claim.verdict).collect()
    }

    #[test]
    fn another_group_or_cluster_needs_other_numbers() {
        let paper = Spec { servers: 900, ..Spec::default() };
        assert_eq!(verdicts(&paper), [Verdict::Holds; 2]);
        assert_eq!(verdicts(&Spec { group: 10, ..paper.clone() }), [Verdict::Misses; 2]);
        assert_eq!(verdicts(&Spec { replicas: 2, ..paper.clone() }), [Verdict::Misses; 2]);
        assert_eq!(verdicts(&Spec { servers: 90, ..paper }), [Verdict::Holds, Verdict::Misses]);
    }
}

//! What the first paper says of one failure, compared with the same set-up here.
//!
//! The source describes a single failure in a single arrangement, so it is judged by the range in which 95 %
//! of our seeds lie, not by the interval of their mean. The report also gives the values that independent
//! draws would have.

use towtank_metrics::quantile;
use towtank_placement::algorithms::Algorithm;
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::Place;
use towtank_study::Point;

/// Placement groups, servers and replicas of the example on the slides about tuning placement.
const GROUPS: u32 = 4_096;
const SERVERS: u32 = 64;
const REPLICAS: u32 = 3;

const SOURCE: &str = "Rebuild of replicated object storage, CODES on ROSS, slides \"Tuning placement to improve aggregate rebuild rate\"";

/// With fewer seeds than this, a 95 % range is meaningless.
const SEEDS_MIN: usize = 40;

/// The claims, if this is the published set-up: CRUSH's straw bucket with placement groups.
#[must_use]
pub fn claims(point: &Point<'_, Place>) -> Vec<Claim> {
    let (scenario, result) = (&point.scenario, point.result);
    let same = scenario.algorithm == Algorithm::CrushStraw
        && (scenario.groups, scenario.servers, scenario.replicas) == (Some(GROUPS), SERVERS, REPLICAS)
        && scenario.heavy_servers == 0;
    if !same || result.outcomes.len() < SEEDS_MIN || result.outcomes.iter().any(|outcome| outcome.partial) {
        return Vec::new();
    }
    let (lost, survivors) = (f64::from(GROUPS * REPLICAS / SERVERS), f64::from(SERVERS - 1));
    let expected = [lost, expected_max(lost, survivors), expected_none(lost, survivors)];
    let facts = [
        (
            "failed_server_groups",
            "failure_lost",
            "groups",
            190.0,
            "placement groups with a replica on the failed server",
        ),
        ("rebuilt_max", "rebuilt_max", "groups", 7.0, "the most groups that one server rebuilt"),
        ("rebuilt_none", "rebuilt_none", "servers", 4.0, "survivors that rebuilt no group"),
    ];
    let claim = |((name, measure, unit, published, statement), expected): (
        (&str, &str, &str, f64, &str),
        f64,
    )| {
        let mut values = point.values(measure);
        values.sort_by(f64::total_cmp);
        let at = |share| quantile::of_sorted(&values, share);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let draft = ClaimDraft {
            name: name.to_owned(),
            source: SOURCE.to_owned(),
            statement: statement.to_owned(),
            unit: unit.to_owned(),
            published: Reading::of(published),
            ours: Reading::with_range(mean, at(0.025)?, at(0.975)?),
            tolerance: Tolerance::Interval,
            fitted: false,
            note: Some(format!(
                "ours is the mean of {} seeds with the range of 95 % of them; independent draws give {expected:.1}",
                values.len()
            )),
        };
        Some(draft.judge())
    };
    facts.into_iter().zip(expected).filter_map(claim).collect()
}

/// The mean number of `boxes` that stay empty when `balls` are thrown at random.
fn expected_none(balls: f64, boxes: f64) -> f64 {
    boxes * libm::exp(balls * libm::log1p(-1.0 / boxes))
}

/// The mean number in the fullest of `boxes` when `balls` are thrown at random; the boxes are approximated as
/// independent and Poisson.
fn expected_max(balls: f64, boxes: f64) -> f64 {
    let mean = balls / boxes;
    let (mut term, mut below, mut total) = (libm::exp(-mean), 0.0, 0.0);
    for count in 1..200 {
        below += term;
        total += 1.0 - libm::exp(boxes * libm::log(below));
        term *= mean / f64::from(count);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_those_that_are_known() {
        // 63 (62/63)^192, and the sum over k of the chance that one of 63 Poisson counts of mean 192/63
        // exceeds k.
        assert!((expected_none(192.0, 63.0) - 2.92).abs() < 0.01, "{}", expected_none(192.0, 63.0));
        let most = expected_max(192.0, 63.0);
        assert!((7.5..8.0).contains(&most), "{most}");
    }
}

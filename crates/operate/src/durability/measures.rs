//! The measures of a replicate.

use super::observed::Seen;
use towtank_study::Measure;

type Row = Measure<Seen>;

/// The measures of a replicate.
pub(super) fn measures() -> Vec<Row> {
    let mut all = losses();
    all.extend(others());
    all
}

fn losses() -> Vec<Row> {
    vec![
        Row::new("loss_probability", "", "probability of any loss in the cluster in the mission", Seen::loss)
            .titled("Probability of any loss"),
        Row::new("loss_low", "", "the lower end of its interval of 95 %, by sampling alone", |seen| {
            seen.loss_range(0)
        })
        .titled("Probability of any loss, lower end"),
        Row::new("loss_high", "", "the upper end of that interval", |seen| seen.loss_range(1))
            .titled("Probability of any loss, upper end"),
        Row::new(
            "loss_at_low_rate",
            "",
            "probability of any loss at the lower end of a failure rate that was counted",
            |seen| seen.at_rate(0),
        )
        .titled("Probability of any loss at the lower failure rate"),
        Row::new("loss_at_high_rate", "", "probability of any loss at the upper end of that rate", |seen| {
            seen.at_rate(1)
        })
        .titled("Probability of any loss at the upper failure rate"),
        Row::new(
            "loss_if_fast",
            "",
            "probability of any loss where repairs take as short as `whatif` gives",
            |seen| seen.at_time(0),
        )
        .titled("Probability of any loss with fast repairs"),
        Row::new(
            "loss_if_slow",
            "",
            "probability of any loss where repairs take as long as `whatif` gives",
            |seen| seen.at_time(1),
        )
        .titled("Probability of any loss with slow repairs"),
    ]
}

fn others() -> Vec<Row> {
    vec![
        Row::new("loss_nines", "nines", "nines of the probability of any loss: 3 for 0.001", Seen::nines)
            .titled("Nines of any loss"),
        Row::new(
            "groups_lost",
            "",
            "expected share of all groups that the first loss takes; of objects, if groups have equally many",
            Seen::groups_lost,
        )
        .titled("Expected share of groups lost"),
        Row::new(
            "mttdl_years",
            "years",
            "mean time to a loss; none where it does not imply the probability",
            Seen::mttdl_years,
        )
        .titled("Mean time to a loss"),
        Row::new(
            "repair_s",
            "s",
            "median time from the failure of one device until nothing lacks anything",
            |seen| seen.repair_s(0),
        )
        .titled("Time of a repair"),
        Row::new(
            "repair_two_s",
            "s",
            "median time from two failures at once until no group lacks two devices",
            |seen| seen.repair_s(1),
        )
        .titled("Time with two devices lacking"),
        Row::new(
            "effective_losses",
            "losses",
            "losses that a plain simulation with the same error has",
            Seen::effective,
        )
        .titled("Strength of the sample"),
        Row::new("loss_by_other", "", "the same probability by another method", Seen::other)
            .titled("Probability by another method"),
        Row::new(
            "methods_apart",
            "errors",
            "how far the two methods are apart, in standard errors",
            Seen::apart,
        )
        .titled("Standard errors between two methods"),
        Row::new(
            "burst_loss",
            "",
            "probability of a loss when a burst happens, the highest of those asked for",
            Seen::burst_loss,
        )
        .titled("Probability of a loss in a burst"),
    ]
}

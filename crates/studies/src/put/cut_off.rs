//! Runs that are too short for the latencies of many operations at once.

use towtank_metrics::Histogram;
use towtank_puts::Fidelity;
use towtank_report::human;

use super::view::View;

/// What to know first where the run is too short for its latencies: by Little's law, as many operations as
/// are under way all the time take as long as that number divided by their rate. Slow operations that did
/// not end are missing in the mean that was measured.
#[must_use]
pub(super) fn cut_off(view: &View<'_>) -> Option<String> {
    let spec = &view.settled.spec;
    // In SURGE runs begin empty, and their length is part of the published set-ups.
    if spec.arrival_rate.is_some() || spec.pipelined || spec.fidelity == Fidelity::Surge {
        return None;
    }
    let histograms = [view.latencies(), view.got()];
    let count = histograms.iter().map(Histogram::count).sum::<u64>() as f64;
    let lost: f64 =
        ["puts_failed", "gets_failed"].iter().filter_map(|name| view.mean(name)).map(|mean| mean.mean).sum();
    if count < 1.0 || lost > 0.0 {
        return None;
    }
    let total: f64 = histograms.iter().map(|all| all.count() as f64 * all.mean().unwrap_or(0.0)).sum();
    let at_once = f64::from(spec.gateways) * f64::from(spec.in_flight);
    let measured = total / count / 1e9;
    let spans = view.spans_s();
    let expected = at_once * spans.iter().sum::<f64>() / count;
    let by_chance = 1.0 / count.sqrt();
    if measured > expected * (1.0 - CUT_OFF - by_chance) {
        return None;
    }
    let asked = spec.duration.as_secs_f64();
    let ran = spans.iter().copied().fold(f64::INFINITY, f64::min);
    let advice = advice(ENOUGH * expected, (asked, ran));
    let [measured, expected] = [measured, expected].map(|seconds| human::quantity(seconds, "s"));
    Some(format!(
        "{}: the run is too short for latencies: {} operations at once take {expected} on average at this rate (Little's law), \
         but those that ended took {measured}. {advice}",
        view.name(),
        human::digits(at_once)
    ))
}

/// What to do where a span of `enough` would suffice: never a shorter one than was asked for.
fn advice(enough: f64, (asked, ran): (f64, f64)) -> String {
    if ran < asked && enough <= asked {
        let [ran, asked] = human::alike([ran, asked], "s");
        return format!("It was stopped after {ran} of the measured {asked}: let it run to its end.");
    }
    // A run may be long enough by this rule and still miss slow operations.
    let enough = if enough > asked { enough } else { 2.0 * asked };
    format!("Set `warm_up` and `duration` to {}.", human::quantity(enough, "s"))
}

/// The span that suffices, in mean latencies: a choice.
const ENOUGH: f64 = 10.0;

/// The part of the mean latency that must be missing, beyond what a mean of so many varies by: a free choice.
const CUT_OFF: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    /// A former fault: of a run that was stopped, the span that was asked for counted as measured, and a
    /// shorter one was advised than was given.
    #[test]
    fn no_shorter_span_is_advised_than_was_given() {
        for (enough, asked, ran, want) in [
            (30.0, 10.0, 10.0, "Set `warm_up` and `duration` to 30 s."),
            (30.0, 10.0, 2.0, "Set `warm_up` and `duration` to 30 s."),
            (3.0, 10.0, 10.0, "Set `warm_up` and `duration` to 20 s."),
            (3.0, 10.0, 0.5, "It was stopped after 0.5 s of the measured 10 s: let it run to its end."),
        ] {
            assert_eq!(advice(enough, (asked, ran)), want);
        }
    }
}

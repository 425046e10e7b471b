//! Runs that are too short for the latencies of many operations at once.

use towtank_metrics::Histogram;
use towtank_puts::Fidelity;
use towtank_report::human;

use super::view::View;

/// What to know first where the run is too short for its latencies: by Little's law, as many operations as
/// are under way all the time take as long as that number divided by their rate. Slow operations that did
/// not end are missing in the mean that was measured.
#[must_use]
pub fn cut_off(view: &View<'_>) -> Option<String> {
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
    let span = spec.duration.as_secs_f64() * view.observed.len() as f64;
    let expected = at_once * span / count;
    let by_chance = 1.0 / count.sqrt();
    if measured > expected * (1.0 - CUT_OFF - by_chance) {
        return None;
    }
    let [measured, expected, enough] =
        [measured, expected, 10.0 * expected].map(|seconds| human::quantity(seconds, "s"));
    Some(format!(
        "{}: the run is too short for latencies: {} operations at once take {expected} on average at this rate (Little's law), \
         but those that ended took {measured}. Set `warm_up` and `duration` to {enough}.",
        view.name(),
        human::digits(at_once)
    ))
}

/// The part of the mean latency that must be missing, beyond what a mean of so many varies by: a free choice.
const CUT_OFF: f64 = 0.05;

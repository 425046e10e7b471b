//! Figure 8: successive puts of 30 gateways show no notable pattern in the steady state, such as the sawtooth
//! of TCP.
//!
//! The paper draws points and gives no measure. Here it is the share of variance that the strongest period
//! has among the latencies of successive puts, averaged in bins of equal counts. A pure sawtooth has 6/π² =
//! 61 % of its variance at its own period, because its harmonics fall off as the square of their number. Half
//! of that would be left if random scatter had the same variance as the sawtooth, and is the limit.

use std::f64::consts::{PI, TAU};

use towtank_puts::Trace;
use towtank_report::{Claim, ClaimDraft, Reading, Tolerance};

use super::SOURCE;
use crate::put::view::View;

/// Bins of successive puts: periods of two to this many bins can be seen.
const BINS: usize = 256;
/// Half the share that a pure sawtooth has.
const SHARE_MOST: f64 = 3.0 / (PI * PI);

/// One claim for each protocol of figure 8.
pub fn claims(views: &[&View<'_>]) -> Vec<Claim> {
    let of_figure = |view: &&&View<'_>| {
        let spec = &view.settled.spec;
        spec.gateways == 30 && spec.chunk.get() == 16 << 10
    };
    views.iter().filter(of_figure).filter_map(|view| claim(view)).collect()
}

fn claim(view: &View<'_>) -> Option<Claim> {
    let latencies = steady(view);
    let share = strongest(&latencies)?;
    let draft = ClaimDraft {
        name: format!("no_pattern_{}", view.protocol.name().replace('-', "_")),
        source: format!("{SOURCE}, figure 8"),
        statement: format!("{}: latencies of successive puts have no notable pattern", view.protocol.name()),
        unit: "%".to_owned(),
        published: Reading::of(SHARE_MOST * 100.0),
        ours: Reading::of(share * 100.0),
        tolerance: Tolerance::AtMost,
        fitted: false,
        note: Some(format!(
            "the share of variance at the strongest period of {} puts in the second half of the first replicate; a pure \
             sawtooth has 61 %",
            latencies.len()
        )),
    };
    Some(draft.judge().loosened("the paper gives no measure; the limit is half the share of a pure sawtooth"))
}

/// Latencies in the order of their ends, in the second half of the first replicate.
fn steady(view: &View<'_>) -> Vec<f64> {
    let spec = &view.settled.spec;
    let from = spec.warm_up.saturating_add(spec.duration).as_ns() / 2;
    let Some(observed) = view.observed.first() else { return Vec::new() };
    let late = |put: &(u64, u32, Trace)| match put {
        (at, _, Trace::Put { latency_ns }) if *at >= from => Some(latency_ns.as_ns() as f64),
        _ => None,
    };
    observed.traces.iter().filter_map(late).collect()
}

/// The greatest share of variance that one period has; none if there are fewer values than bins.
fn strongest(values: &[f64]) -> Option<f64> {
    let each = values.len() / BINS;
    if each == 0 {
        return None;
    }
    let bins: Vec<f64> =
        values.chunks_exact(each).take(BINS).map(|bin| bin.iter().sum::<f64>() / each as f64).collect();
    let mean = bins.iter().sum::<f64>() / BINS as f64;
    let power = |wave: usize| {
        let (mut cosine, mut sine) = (0.0, 0.0);
        for (at, value) in bins.iter().enumerate() {
            let angle = TAU * (wave * at % BINS) as f64 / BINS as f64;
            cosine += (value - mean) * libm::cos(angle);
            sine += (value - mean) * libm::sin(angle);
        }
        // The highest frequency has no sine, and half as many terms.
        let weight = if wave * 2 == BINS { 0.5 } else { 1.0 };
        (cosine * cosine + sine * sine) * weight
    };
    let powers: Vec<f64> = (1..=BINS / 2).map(power).collect();
    let all: f64 = powers.iter().sum();
    let most = powers.iter().copied().fold(0.0, f64::max);
    (all > 0.0).then_some(most / all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_streams::{Draws, Purpose, Seed, Uniform};

    fn noise(count: usize) -> Vec<f64> {
        let mut draws = Draws::new(Seed(1), 0, 0);
        let mut draws = draws.of(Purpose(0));
        (0..count).map(|_| draws.unit_f64()).collect()
    }

    #[test]
    fn a_pure_sawtooth_has_the_share_of_its_series() {
        let tooth: Vec<f64> = (0..BINS).map(|at| (at % 64) as f64).collect();
        let share = strongest(&tooth).expect("there are enough");
        assert!((share - 6.0 / (PI * PI)).abs() < 0.005, "{share}");
    }

    #[test]
    fn noise_has_no_pattern_and_a_sawtooth_in_less_noise_is_noticed() {
        let noise = noise(4 * BINS);
        let share = strongest(&noise).expect("there are enough");
        assert!(share < 0.1, "{share}");
        // The tooth rises by 1 over 128 values, as far as the noise scatters; averages of four halve the
        // noise.
        let tooth: Vec<f64> =
            noise.iter().enumerate().map(|(at, noise)| noise + (at % 128) as f64 / 128.0).collect();
        let share = strongest(&tooth).expect("there are enough");
        assert!(share > SHARE_MOST, "{share}");
        assert_eq!(strongest(&noise[..BINS - 1]), None);
    }
}

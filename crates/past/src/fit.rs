//! Constants of a model from what was seen of one event: each with an interval, and whether it can be known.
//!
//! The model is a function of the constants and of a number that stands for chance. What it says are times:
//! when so much was left. Constants are factors of what is assumed of them, with which a part of the times
//! grows (of a rate, its inverse), and before anything is seen their logarithms are normal about that
//! ([`Prior`]). The fit is the distribution that remains (Bayes): a constant that what was seen says nothing
//! of keeps its wide interval.
//!
//! 1. The model is run at drawn constants, with another number for chance each time, and a sum is
//!    fitted to what it says ([`emulator`]). Then again where the constants are likely by then.
//! 2. The likeliest constants are found (Nelder and Mead, by the crate `argmin`), and constants are drawn
//!    about them with weights (importance sampling).
//! 3. Where the model can be set up in several ways (`ways`), all of this is done for each, and each is as
//!    likely as it explains what was seen.
//!
//! What is seen differs from what the model says on average by chance in the model, by what single samples
//! are off, and by how much later the source knows. If it differs by far more, no constants explain it: that
//! is said ([`Fit::unexplained`]), and all intervals widen by as much.

mod emulator;
mod matrix;
mod posterior;
#[cfg(test)]
mod tests;

use towtank_streams::{Draws, Purpose, Seed, Uniform};

use self::emulator::{Emulator, Run};
use self::posterior::{Posterior, Weighed};

/// What is known of a constant beforehand: in nine cases of ten it lies between what is assumed divided by
/// this and what is assumed times this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Above 1.
    pub times: f64,
}

/// Standard deviations from the middle to either end of nine tenths of a normal distribution.
const NINE_TENTHS: f64 = 1.644_854;

impl Prior {
    /// The factor at so many standard deviations from what is assumed.
    fn factor(self, deviations: f64) -> f64 {
        libm::exp(deviations * libm::log(self.times) / NINE_TENTHS)
    }
}

/// What was seen of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// When so much was left, in seconds from the change, in the order of time.
    pub at_s: Vec<f64>,
    /// By how much each may be off: a standard deviation.
    pub off_s: Vec<f64>,
    /// By how much all may be off together, because the source knows later or the time of the change is not
    /// known: a standard deviation.
    pub late_s: f64,
    /// By how much all times since the first object may differ together from what the same constants give in
    /// another event, as a share: a standard deviation.
    pub apart: f64,
    /// For how long groups were being copied, summed over them, if it was seen: chance in the order of groups
    /// has hardly any part in it.
    pub copying: Option<Sum>,
}

/// A sum of spans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// Seconds.
    pub seconds: f64,
    /// By how much it may be off: a standard deviation.
    pub off_s: f64,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The constants of the model.
    pub priors: &'a [Prior],
    /// From the change to the first that moves, and what is known of it beforehand; the model does not have
    /// it.
    pub start: (f64, Prior),
    /// How likely each way to set up the model is beforehand; they add up to 1.
    pub ways: &'a [f64],
    /// What was seen.
    pub seen: &'a Seen,
    /// So many levels, from the first, are fitted to; the others are predicted.
    pub levels: usize,
    /// Of all draws.
    pub seed: Seed,
}

/// What the model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The way in which it is set up.
    pub way: usize,
    /// The factor of each constant.
    pub factors: &'a [f64],
    /// What chance depends on.
    pub draw: u32,
}

/// A constant as it is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The factor of what is assumed: the median.
    pub factor: f64,
    /// The ends of nine tenths of what it may be.
    pub range: [f64; 2],
    /// Whether what was seen tells it: else its interval is mainly that from before.
    pub known: bool,
}

/// Constants that explain what was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The way to set up the model.
    pub way: usize,
    /// The factors of its constants.
    pub factors: Vec<f64>,
    /// That of the start.
    pub start: f64,
}

/// What is found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The constants, in the order of their priors.
    pub constants: Vec<Fitted>,
    /// The start.
    pub start: Fitted,
    /// How likely each way to set up the model is.
    pub ways: Vec<f64>,
    /// Constants as likely as each other.
    pub draws: Vec<Drawn>,
    /// The time of each level with them: the median, in seconds from the change.
    pub said_s: Vec<f64>,
    /// Where no constants explain what was seen: by how many times what is expected it differs.
    pub unexplained: Option<f64>,
}

/// Runs of the model in each round: ten to fifteen terms are known well with four times as many.
const RUNS: u32 = 64;

/// Rounds: the runs of each are where those before it have shown the constants to be likely, until they are.
const ROUNDS_LEAST: usize = 3;
const ROUNDS_MOST: usize = 7;

/// What is seen may differ from what is said by so many times what is expected: one case in a hundred does by
/// more (F distribution with 6 and 50 degrees of freedom, rounded down: 3.19).
const MISFIT: f64 = 3.0;

/// How many draws there are of a fit.
const DRAWS: usize = 65;

/// A constant is known if its logarithm is known so much better than before, as a share of the standard
/// deviation. A choice.
const KNOWN_BETTER: f64 = 0.7;

/// How much further apart constants are drawn for the next round than what remains likely.
const WIDER: f64 = 1.5;

/// Fits the constants.
///
/// # Errors
/// Those of the model.
pub fn fit<E>(
    question: &Question<'_>,
    mut model: impl FnMut(Ask<'_>) -> Result<Vec<f64>, E>,
) -> Result<Fit, E> {
    let mut found = Vec::with_capacity(question.ways.len());
    for way in 0..question.ways.len() {
        found.push(of_way(question, way, &mut model)?);
    }
    Ok(joined(question, &found))
}

/// What is found with the model set up in one way.
struct OfWay {
    emulator: Emulator,
    weighed: Weighed,
    unexplained: Option<f64>,
}

fn of_way<E>(
    question: &Question<'_>,
    way: usize,
    model: &mut impl FnMut(Ask<'_>) -> Result<Vec<f64>, E>,
) -> Result<OfWay, E> {
    let mut normals = Normals::new(question.seed, way as u32);
    let size = question.priors.len();
    let mut draw = 0;
    let mut places: Vec<Vec<f64>> =
        (0..RUNS).map(|_| (0..size).map(|_| normals.next().clamp(-2.5, 2.5)).collect()).collect();
    let mut round = 0;
    loop {
        let mut runs: Vec<Run> = Vec::with_capacity(places.len());
        for constants in places {
            let factors: Vec<f64> =
                constants.iter().zip(question.priors).map(|(at, prior)| prior.factor(*at)).collect();
            let times = model(Ask { way, factors: &factors, draw })?;
            runs.push(Run { place: constants, factors, times });
            draw += 1;
        }
        let emulator = Emulator::of(&runs);
        let posterior = Posterior::new(question, &emulator, 1.0);
        let mut weighed = posterior.weighed(&mut normals);
        round += 1;
        if round < ROUNDS_LEAST || (round < ROUNDS_MOST && !weighed.lies_within(&emulator)) {
            places = weighed.spread(RUNS as usize, WIDER, size);
            continue;
        }
        let times = posterior.misfit(&weighed.likeliest);
        let unexplained = (times > MISFIT).then_some(times);
        if unexplained.is_some() {
            weighed = Posterior::new(question, &emulator, times).weighed(&mut normals);
        }
        return Ok(OfWay { emulator, weighed, unexplained });
    }
}

/// All ways together.
fn joined(question: &Question<'_>, found: &[OfWay]) -> Fit {
    let most = found.iter().map(|of| of.weighed.log_evidence).fold(f64::NEG_INFINITY, f64::max);
    let share = |(of, prior): (&OfWay, &f64)| prior * libm::exp(of.weighed.log_evidence - most);
    let shares: Vec<f64> = found.iter().zip(question.ways).map(share).collect();
    let sum: f64 = shares.iter().sum();
    let ways: Vec<f64> = shares.iter().map(|share| share / sum).collect();
    let size = question.priors.len();
    let mut all: Vec<(usize, &Vec<f64>, f64)> = Vec::new();
    for (way, (of, share)) in found.iter().zip(&ways).enumerate() {
        all.extend(of.weighed.places.iter().map(|(place, weight)| (way, place, weight * share)));
    }
    let prior_of = |at: usize| if at == size { question.start.1 } else { question.priors[at] };
    let fitted = |at: usize| {
        let values: Vec<(f64, f64)> = all.iter().map(|(_, place, weight)| (place[at], *weight)).collect();
        fitted_of(values, prior_of(at))
    };
    let spaced = systematic(&all.iter().map(|(_, _, weight)| *weight).collect::<Vec<_>>(), DRAWS);
    let draws: Vec<(usize, &Vec<f64>)> = spaced.into_iter().map(|at| (all[at].0, all[at].1)).collect();
    let time = |(way, place): &(usize, &Vec<f64>), level: usize| {
        question.start.0 * question.start.1.factor(place[size])
            + found[*way].emulator.at(&place[..size], |at, place| question.priors[at].factor(place)).0[level]
    };
    let said_s = (0..question.seen.at_s.len()).map(|level| {
        let mut times: Vec<f64> = draws.iter().map(|draw| time(draw, level)).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let likeliest = (0..ways.len()).max_by(|one, other| ways[*one].total_cmp(&ways[*other]));
    Fit {
        constants: (0..size).map(fitted).collect(),
        start: fitted(size),
        said_s: said_s.collect(),
        unexplained: likeliest.and_then(|way| found[way].unexplained),
        ways,
        draws: draws
            .iter()
            .map(|(way, place)| Drawn {
                way: *way,
                factors: (0..size).map(|at| question.priors[at].factor(place[at])).collect(),
                start: question.start.1.factor(place[size]),
            })
            .collect(),
    }
}

/// A constant of which these values, in standard deviations of its prior, have these weights.
fn fitted_of(mut values: Vec<(f64, f64)>, prior: Prior) -> Fitted {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let sum: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mean: f64 = values.iter().map(|(value, weight)| value * weight).sum::<f64>() / sum;
    let off: f64 = values.iter().map(|(value, weight)| (value - mean).powi(2) * weight).sum::<f64>() / sum;
    let below = |share: f64| {
        let mut passed = 0.0;
        let at = values.iter().find(|(_, weight)| {
            passed += weight;
            passed >= share * sum
        });
        prior.factor(at.or(values.last()).map_or(0.0, |(value, _)| *value))
    };
    Fitted { factor: below(0.5), range: [below(0.05), below(0.95)], known: off.sqrt() < KNOWN_BETTER }
}

/// So many places, each as often as its weight says: evenly spaced along the sum of the weights.
fn systematic(weights: &[f64], count: usize) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    let (mut at, mut passed) = (0, weights.first().copied().unwrap_or(0.0));
    let places = (0..count).map(|number| {
        let until = (number as f64 + 0.5) / count as f64 * sum;
        while passed < until && at + 1 < weights.len() {
            at += 1;
            passed += weights[at];
        }
        at
    });
    places.collect()
}

/// Normal variates of mean 0 and deviation 1, two from each pair of words (Box and Muller).
struct Normals {
    draws: Draws,
    kept: Option<f64>,
}

/// Of the draws of a fit.
const NORMALS: Purpose = Purpose(1);

impl Normals {
    fn new(seed: Seed, way: u32) -> Normals {
        Normals { draws: Draws::new(seed, way, 0), kept: None }
    }

    fn next(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        let mut source = self.draws.of(NORMALS);
        let (one, other) = (source.open_unit_f64(), source.unit_f64());
        let far = (-2.0 * libm::log(one)).sqrt();
        let turn = std::f64::consts::TAU * other;
        self.kept = Some(far * libm::sin(turn));
        far * libm::cos(turn)
    }
}

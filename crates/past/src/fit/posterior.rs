//! How likely constants are, after something was seen.

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;

use super::emulator::Emulator;
use super::matrix::{Cholesky, squares};
use super::{Normals, Question, Sum};

/// Constants are drawn so many times.
const DRAWN: usize = 2_000;

/// Degrees of freedom of the distribution that they are drawn from, which has longer tails than what remains
/// likely, and how much wider it is.
const FREEDOM: f64 = 5.0;
const WIDER: f64 = 1.2;

/// So many of them are to count, and how often they are drawn until they do.
const COUNT_LEAST: f64 = 400.0;
const TRIALS: usize = 6;

/// By how many standard deviations of a prior a constant is moved to see how the likelihood curves.
const STEP: f64 = 0.05;

/// One thing that was seen.
struct Row {
    /// Its place in what the model says.
    place: usize,
    seconds: f64,
    off_s: f64,
    /// Whether it counts from the change, and is seen as late as all others that do.
    counts_from_change: bool,
}

/// The distribution that remains.
pub(super) struct Posterior<'a> {
    question: &'a Question<'a>,
    emulator: &'a Emulator,
    rows: Vec<Row>,
    /// All variances times this.
    wider: f64,
}

/// Constants with weights. The start is the last of them, and all are in standard deviations of their priors.
pub(super) struct Weighed {
    pub places: Vec<(Vec<f64>, f64)>,
    pub likeliest: Vec<f64>,
    /// The logarithm of how likely what was seen is, up to what all ways share.
    pub log_evidence: f64,
}

impl CostFunction for Posterior<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, place: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.unlikeliness(place))
    }
}

impl<'a> Posterior<'a> {
    pub fn new(question: &'a Question<'a>, emulator: &'a Emulator, wider: f64) -> Posterior<'a> {
        let Question { seen, levels, .. } = question;
        let level = |place: usize| Row {
            place,
            seconds: seen.at_s[place],
            off_s: seen.off_s[place],
            counts_from_change: true,
        };
        // A part of an event does not say for how long groups were copied in all of it.
        let place = seen.at_s.len();
        let copying = seen.copying.filter(|_| *levels == place);
        let sum =
            copying.map(|Sum { seconds, off_s }| Row { place, seconds, off_s, counts_from_change: false });
        Posterior { question, emulator, rows: (0..*levels).map(level).chain(sum).collect(), wider }
    }

    /// What was seen against what is said: the square of the distance in units of what is expected, and the
    /// logarithm of the determinant of that.
    fn distance(&self, place: &[f64]) -> (f64, f64) {
        let Question { priors, start, seen, .. } = self.question;
        let (times, less) = self.emulator.at(&place[..priors.len()], |at, place| priors[at].factor(place));
        let begins = start.0 * start.1.factor(place[priors.len()]);
        let from_change = |row: &Row, value: f64| if row.counts_from_change { value } else { 0.0 };
        let off = self.rows.iter().map(|row| row.seconds - from_change(row, begins) - times[row.place]);
        let off: Vec<f64> = off.collect();
        let covariance = |first: &Row, second: &Row| {
            let (one, other) = (first.place, second.place);
            let known = ((1.0 + less[one]) * (1.0 + less[other])).sqrt();
            let scatter = self.emulator.scatter[one][other] * known * times[one] * times[other];
            let own = if one == other { first.off_s * first.off_s } else { 0.0 };
            let apart = seen.apart * seen.apart * times[one] * times[other];
            let late = from_change(first, seen.late_s) * from_change(second, seen.late_s);
            self.wider * (scatter + own + apart + late)
        };
        let of_row = |one: &Row| self.rows.iter().map(|other| covariance(one, other)).collect();
        let matrix: Vec<Vec<f64>> = self.rows.iter().map(of_row).collect();
        let root = Cholesky::of_nearly(&matrix);
        (squares(&root.forward(&off)), root.log_determinant())
    }

    /// Minus the logarithm of how likely constants are: their prior, and a t distribution of what was seen,
    /// since its scatter is known from so many runs only.
    fn unlikeliness(&self, place: &[f64]) -> f64 {
        let (distance, determinant) = self.distance(place);
        let (freedom, rows) = (self.emulator.freedom, self.rows.len() as f64);
        squares(place) / 2.0 + determinant / 2.0 + (freedom + rows) / 2.0 * libm::log1p(distance / freedom)
    }

    /// By how many times what is expected what was seen differs from what is said.
    pub(super) fn misfit(&self, place: &[f64]) -> f64 {
        self.distance(place).0 / self.rows.len() as f64
    }

    /// Draws constants about the likeliest ones; again about those that were drawn where few of them count.
    pub(super) fn weighed(&self, normals: &mut Normals) -> Weighed {
        let size = self.question.priors.len() + 1;
        let likeliest = self.likeliest(size);
        let (mut center, mut shape) = (likeliest.clone(), self.shape(&likeliest));
        let mut trial = 0;
        loop {
            let (places, log_evidence) = self.drawn((&center, &shape), normals);
            let count = 1.0 / places.iter().map(|(_, weight)| weight * weight).sum::<f64>();
            trial += 1;
            if count >= COUNT_LEAST || trial == TRIALS {
                return Weighed { places, likeliest, log_evidence };
            }
            (center, shape) = moments(&places);
        }
    }

    /// Constants with weights that add up to 1, drawn about a place, and the logarithm of the evidence.
    fn drawn(
        &self,
        (center, shape): (&[f64], &Cholesky),
        normals: &mut Normals,
    ) -> (Vec<(Vec<f64>, f64)>, f64) {
        let size = center.len();
        let mut places = Vec::with_capacity(DRAWN);
        for _ in 0..DRAWN {
            let normal: Vec<f64> = (0..size).map(|_| normals.next()).collect();
            let chi: f64 = (0..FREEDOM as usize).map(|_| normals.next().powi(2)).sum();
            let stretch = WIDER * (FREEDOM / chi).sqrt();
            let step = shape.times(&normal);
            let place: Vec<f64> =
                center.iter().zip(&step).map(|(center, step)| center + stretch * step).collect();
            let far = squares(&normal) * FREEDOM / chi;
            let drawn = -(FREEDOM + size as f64) / 2.0 * libm::log1p(far / FREEDOM);
            let log = -self.unlikeliness(&place) - drawn;
            places.push((place, log));
        }
        let most = places.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = places.iter().map(|(_, log)| libm::exp(log - most)).sum();
        places.iter_mut().for_each(|(_, log)| *log = libm::exp(*log - most) / sum);
        (places, most + libm::log(sum / DRAWN as f64) + shape.log_determinant() / 2.0)
    }

    /// The likeliest constants.
    fn likeliest(&self, size: usize) -> Vec<f64> {
        let begin = vec![0.0; size];
        let corner = |at: usize| (0..size).map(|one| if one == at { 0.7 } else { 0.0 }).collect::<Vec<f64>>();
        let corners = std::iter::once(begin.clone()).chain((0..size).map(corner)).collect();
        let solver = NelderMead::new(corners).with_sd_tolerance(1e-6);
        let Ok(solver) = solver else { return begin };
        let again = Posterior::new(self.question, self.emulator, self.wider);
        let found = Executor::new(again, solver).configure(|state| state.max_iters(600)).run();
        found.ok().and_then(|found| found.state.best_param).unwrap_or(begin)
    }

    /// How constants may be off about the likeliest ones: the root of the inverse of how the likelihood
    /// curves. No constant is known less well than before.
    fn shape(&self, center: &[f64]) -> Cholesky {
        let size = center.len();
        let at = |moves: &[(usize, f64)]| {
            let mut place = center.to_vec();
            moves.iter().for_each(|(one, by)| place[*one] += by);
            self.unlikeliness(&place)
        };
        let middle = at(&[]);
        let own = |one: usize| {
            let curve = at(&[(one, STEP)]) - 2.0 * middle + at(&[(one, -STEP)]);
            (curve / (STEP * STEP)).max(0.5)
        };
        let mixed = |one: usize, other: usize| {
            let both = [(STEP, STEP), (-STEP, -STEP), (STEP, -STEP), (-STEP, STEP)]
                .map(|(by, also)| at(&[(one, by), (other, also)]));
            (both[0] + both[1] - both[2] - both[3]) / (4.0 * STEP * STEP)
        };
        let curve = |one: usize, other: usize| {
            if one == other { own(one) } else { mixed(one.max(other), one.min(other)) }
        };
        let curves: Vec<Vec<f64>> =
            (0..size).map(|one| (0..size).map(|other| curve(one, other)).collect()).collect();
        let curved = Cholesky::of_nearly(&curves);
        Cholesky::of_nearly(&curved.inverse())
    }
}

/// The mean, and the root of the covariance, of constants with weights. Few that count say too little of how
/// far apart they are, so a part of what was known before is added.
fn moments(places: &[(Vec<f64>, f64)]) -> (Vec<f64>, Cholesky) {
    let size = places[0].0.len();
    let mean = |at: usize| places.iter().map(|(place, weight)| place[at] * weight).sum::<f64>();
    let center: Vec<f64> = (0..size).map(mean).collect();
    let with = |one: usize, other: usize| {
        let off = |(place, weight): &(Vec<f64>, f64)| {
            (place[one] - center[one]) * (place[other] - center[other]) * weight
        };
        1.5 * places.iter().map(off).sum::<f64>() + if one == other { 1e-4 } else { 0.0 }
    };
    let covariance: Vec<Vec<f64>> =
        (0..size).map(|one| (0..size).map(|other| with(one, other)).collect()).collect();
    let shape = Cholesky::of_nearly(&covariance);
    (center, shape)
}

impl Weighed {
    /// Whether they are where the runs are that the emulator knows.
    pub(super) fn lies_within(&self, emulator: &Emulator) -> bool {
        let mean = |at: usize| self.places.iter().map(|(place, weight)| place[at] * weight).sum::<f64>();
        (0..emulator.center.len()).all(|at| {
            let mean = mean(at);
            let off: f64 =
                self.places.iter().map(|(place, weight)| (place[at] - mean).powi(2) * weight).sum();
            let spread = emulator.spread[at];
            (mean - emulator.center[at]).abs() < 0.7 * spread && off.sqrt() < 1.1 * spread
        })
    }

    /// So many of the constants, each further from their mean by a factor; the start is left out.
    pub fn spread(&self, count: usize, wider: f64, size: usize) -> Vec<Vec<f64>> {
        let mean = |at: usize| self.places.iter().map(|(place, weight)| place[at] * weight).sum::<f64>();
        let center: Vec<f64> = (0..size).map(mean).collect();
        let weights: Vec<f64> = self.places.iter().map(|(_, weight)| *weight).collect();
        let chosen = super::systematic(&weights, count);
        let further = |place: &Vec<f64>| {
            let one = |at: usize| (center[at] + wider * (place[at] - center[at])).clamp(-4.0, 4.0);
            (0..size).map(one).collect()
        };
        chosen.into_iter().map(|at| further(&self.places[at].0)).collect()
    }
}

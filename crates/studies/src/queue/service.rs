//! How long a service takes: the distributions that a station may have, their moments, and how they are
//! drawn.
//!
//! Times are whole nanoseconds. Exponential times are rounded to the nearest one: of a mean of `m` ns, a
//! share of 1/(24 m²) is missing, 4·10⁻⁶ at the highest rate that is taken. All other times are rounded up
//! with the chance of what is cut off, so that their mean is exact, and their second moment is at most 1/4
//! ns² too large.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_scenario::{Draft, Problems};
use towtank_streams::Uniform;
use towtank_streams::distributions::{
    DistributionError, Empirical, Exponential, LogNormal, Pareto, Spread, WeightedBin,
};
use towtank_units::{Frequency, Percent, SimSpan};

/// The distribution of service times. Where it does not give their mean, `service_rate` does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Service {
    /// Without memory
    #[default]
    Exponential,
    /// Always the same
    Constant,
    /// The sum of equal exponential phases
    Erlang {
        /// Number of phases; more of them vary less.
        #[schemars(range(min = 1, max = 1_000))]
        phases: u32,
    },
    /// Short or long: two exponential branches that take equal shares of the time
    Hyperexponential {
        /// Squared coefficient of variation: variance over squared mean, at least 1.
        scv: f64,
    },
    /// Exponential branches, each with its share of the jobs and its rate; without `service_rate`
    Branches(Vec<Branch>),
    /// Log-normal
    Lognormal {
        /// Coefficient of variation: standard deviation over mean.
        cv: f64,
    },
    /// Pareto: P(X > x) = (minimum / x)^shape
    Pareto {
        /// Exponent of the tail. The mean is finite above 1, the variance above 2.
        shape: f64,
    },
    /// Measured times, with their weights; without `service_rate`
    Empirical {
        /// The times.
        spans: Vec<SimSpan>,
        /// How often each was seen. Left out: equally often.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        weights: Vec<u64>,
    },
}

/// One branch of exponential service times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Share of the jobs.
    pub share: Percent,
    /// Mean rate at which a busy server finishes them.
    pub rate: Frequency,
}

/// The mean of a distribution and its second moment, in seconds and square seconds. The second may be
/// infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The mean of the square.
    pub second: f64,
}

impl Moments {
    fn of_variation(mean: f64, scv: f64) -> Moments {
        Moments { mean, second: mean * mean * (1.0 + scv) }
    }

    /// The moments of a mixture, whose shares add up to one.
    pub fn mixed(parts: impl Iterator<Item = (f64, Moments)>) -> Moments {
        parts.fold(Moments { mean: 0.0, second: 0.0 }, |sum, (share, part)| Moments {
            mean: sum.mean + share * part.mean,
            second: sum.second + share * part.second,
        })
    }

    /// Variance over squared mean.
    pub(crate) fn scv(self) -> f64 {
        self.second / (self.mean * self.mean) - 1.0
    }
}

/// How far the mean of a run can be trusted: sums of heavy-tailed times do not become normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tail {
    /// All that is judged has a finite variance.
    Light,
    /// The third moment is infinite, and with it the variance of waits.
    Waits,
    /// The variance is infinite, and with it the mean wait.
    Times,
}

/// The most events of one kind per second: the mean span is then 100 ns, of which rounding takes 4·10⁻⁶.
const RATE_MAX: Frequency = Frequency::from_per_billion_seconds(10_000_000_000_000_000);
/// The most branches, and the most measured times.
const BRANCHES_MAX: usize = 100;
const SPANS_MAX: usize = 100_000;
/// The largest coefficient of variation. Beyond, no run has enough of the rare long services: a free choice.
const CV_MAX: f64 = 100.0;

impl Service {
    /// Whether times have no memory, which product forms need.
    pub(crate) fn is_exponential(&self) -> bool {
        *self == Service::Exponential
    }

    /// Whether the distribution gives the mean itself.
    fn has_mean(&self) -> bool {
        matches!(self, Service::Branches(_) | Service::Empirical { .. })
    }

    /// The moments of the times, at this rate where the distribution does not give one.
    pub fn moments(&self, rate: Frequency) -> Moments {
        let mean = 1.0 / rate.per_second_f64();
        let scv = match self {
            Service::Exponential => 1.0,
            Service::Constant => 0.0,
            Service::Erlang { phases } => 1.0 / f64::from(*phases),
            Service::Hyperexponential { scv } => *scv,
            Service::Lognormal { cv } => cv * cv,
            Service::Pareto { shape } if *shape > 2.0 => 1.0 / (shape * (shape - 2.0)),
            Service::Pareto { .. } => f64::INFINITY,
            Service::Branches(branches) => {
                return Moments::mixed(branches.iter().map(|branch| {
                    let mean = 1.0 / branch.rate.per_second_f64();
                    (branch.share.fraction_f64(), Moments::of_variation(mean, 1.0))
                }));
            }
            Service::Empirical { spans, .. } => {
                let weights = self.weights();
                let total: f64 = weights.iter().map(|weight| *weight as f64).sum();
                let times = spans.iter().map(|span| Moments::of_variation(span.as_secs_f64(), 0.0));
                return Moments::mixed(weights.iter().map(|weight| *weight as f64 / total).zip(times));
            }
        };
        Moments::of_variation(mean, scv)
    }

    /// How far means of a run can be trusted.
    pub fn tail(&self) -> Tail {
        match self {
            Service::Pareto { shape } if *shape <= 2.0 => Tail::Times,
            Service::Pareto { shape } if *shape <= 3.0 => Tail::Waits,
            _ => Tail::Light,
        }
    }

    fn weights(&self) -> Vec<u64> {
        match self {
            Service::Empirical { spans, weights } if weights.is_empty() => vec![1; spans.len()],
            Service::Empirical { weights, .. } => weights.clone(),
            _ => Vec::new(),
        }
    }

    /// The sampler of the times, at this rate where the distribution does not give one. It fails where a
    /// parameter is out of its range; a checked one is not.
    pub(crate) fn sampler(&self, rate: Frequency) -> Result<Sampler, DistributionError> {
        let mean = rate.mean_gap_ns_f64();
        let full = Percent::FULL.billionths();
        Ok(match self {
            Service::Exponential => Sampler::Exponential(Exponential::with_mean(mean)?),
            Service::Constant => Sampler::Constant(mean),
            Service::Erlang { phases } => {
                Sampler::Erlang(*phases, Exponential::with_mean(mean / f64::from(*phases))?)
            }
            Service::Hyperexponential { scv } => {
                // Balanced means (P. M. Morse 1958): the more frequent branch has the share (1 + √((c² −
                // 1)/(c² + 1)))/2, and both take half of the time.
                let share = 0.5 * (1.0 + libm::sqrt((scv - 1.0) / (scv + 1.0)));
                let often = ((share * full as f64) as u64).min(full - 1);
                let half = |count: u64| Exponential::with_mean(0.5 * mean * full as f64 / count as f64);
                Sampler::Branches(vec![(often, half(often)?), (full, half(full - often)?)])
            }
            Service::Branches(branches) => {
                let mut end = 0;
                let branch = |branch: &Branch| {
                    end += branch.share.billionths();
                    Ok((end, Exponential::with_mean(branch.rate.mean_gap_ns_f64())?))
                };
                Sampler::Branches(branches.iter().map(branch).collect::<Result<_, _>>()?)
            }
            Service::Lognormal { cv } => Sampler::Lognormal(LogNormal::with_mean(mean, *cv)?),
            Service::Pareto { shape } => Sampler::Pareto(Pareto::new(mean * (shape - 1.0) / shape, *shape)?),
            Service::Empirical { spans, .. } => {
                let bin = |(span, weight): (&SimSpan, u64)| {
                    let value = span.as_ns() as f64;
                    WeightedBin { low: value, high: value, weight }
                };
                let bins: Vec<WeightedBin> = spans.iter().zip(self.weights()).map(bin).collect();
                Sampler::Empirical(Empirical::new(&bins, Spread::Uniform)?)
            }
        })
    }
}

/// Draws service times: those of a [`Service`], with its mean in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) enum Sampler {
    Exponential(Exponential),
    Constant(f64),
    /// The sum of so many phases.
    Erlang(u32, Exponential),
    /// Branches, each with the cumulative shares up to it, in billionths.
    Branches(Vec<(u64, Exponential)>),
    Lognormal(LogNormal),
    Pareto(Pareto),
    Empirical(Empirical),
}

impl Sampler {
    /// One service time.
    pub fn sample_span(&self, source: &mut impl Uniform) -> SimSpan {
        let ns = match self {
            Sampler::Exponential(times) => return nearest(times, source),
            Sampler::Constant(ns) => *ns,
            Sampler::Erlang(phases, phase) => (0..*phases).map(|_| phase.sample(source)).sum(),
            Sampler::Branches(branches) => {
                let place = source.below(Percent::FULL.billionths());
                let branch = branches.iter().find(|(end, _)| place < *end).or(branches.last());
                branch.map_or(0.0, |(_, times)| times.sample(source))
            }
            Sampler::Lognormal(times) => times.sample(source),
            Sampler::Pareto(times) => times.sample(source),
            Sampler::Empirical(times) => times.sample(source),
        };
        let whole = ns.floor();
        let up = source.unit_f64() < ns - whole;
        SimSpan::from_ns_f64_floor(if up { whole + 1.0 } else { whole })
    }
}

/// One exponential time, to the nearest nanosecond.
#[inline]
pub(crate) fn nearest(times: &Exponential, source: &mut impl Uniform) -> SimSpan {
    SimSpan::from_ns_f64_floor(times.sample(source) + 0.5)
}

/// The sum of shares.
pub(super) fn total(shares: impl Iterator<Item = Percent>) -> Percent {
    let sum: u128 = shares.map(|share| u128::from(share.billionths())).sum();
    Percent::from_billionths(u64::try_from(sum).unwrap_or(u64::MAX))
}

/// The sum of shares that should be 100 %, if it is not.
pub(super) fn not_full(shares: impl Iterator<Item = Percent>) -> Option<Percent> {
    Some(total(shares)).filter(|total| *total != Percent::FULL)
}

/// Refuses a rate that no span of whole nanoseconds can follow.
pub(crate) fn check_rate(rate: Frequency, key: &str, draft: &Draft, problems: &mut Problems) {
    if rate > RATE_MAX {
        let message = format!(
            "`{key}` is {rate}, but times are whole nanoseconds, and random ones follow their rate only up to {RATE_MAX}"
        );
        let hint = "divide all rates by the same number: utilisation and numbers of jobs stay as they are, and times grow by it";
        problems.refuse(draft, key, message, hint);
    }
}

/// Checks the service times under `key` (`stations.counter`), where `rate` is the rate that is given there.
pub fn check(service: &Service, rate: Option<Frequency>, key: &str, draft: &Draft, problems: &mut Problems) {
    let rate_key = format!("{key}.service_rate");
    match rate {
        Some(rate) if service.has_mean() => {
            let message = format!("`{rate_key}` is {rate}, but `{key}.service` gives the times themselves");
            problems.refuse(draft, &rate_key, message, "leave one of the two out");
        }
        Some(rate) if rate.is_zero() => {
            let message = format!("`{rate_key}` is {rate}, but it must be above zero");
            problems.refuse(draft, &rate_key, message, "set the rate of one server, such as \"100/s\"");
        }
        // One constant span is exact at any rate if it is a whole number of nanoseconds.
        Some(rate)
            if *service == Service::Constant && NS_BILLION.is_multiple_of(rate.per_billion_seconds()) => {}
        Some(rate) => check_rate(rate, &rate_key, draft, problems),
        None if service.has_mean() => {}
        None => {
            // The flags of `towtank queue` are those of one station with this name.
            let flag = if key == "stations.counter" { " (--service-rate 100/s)" } else { "" };
            let hint = format!(
                "add `service_rate = \"100/s\"` under `[{key}]`{flag}: mean rate at which one busy server finishes jobs"
            );
            problems.refuse(draft, key, format!("`{rate_key}` is missing"), hint);
        }
    }
    check_shape(service, &format!("{key}.service"), draft, problems);
}

/// The nanoseconds of a billion seconds.
const NS_BILLION: u64 = 1_000_000_000_000_000_000;

fn check_shape(service: &Service, key: &str, draft: &Draft, problems: &mut Problems) {
    let (name, value, legal, limit, hint) = match service {
        Service::Hyperexponential { scv } => (
            "hyperexponential.scv",
            *scv,
            (1.0..=CV_MAX * CV_MAX).contains(scv),
            "from 1 to 10000",
            "for times that vary less than exponential ones, take `erlang` or `lognormal`",
        ),
        Service::Lognormal { cv } => {
            let legal = (0.0..=CV_MAX).contains(cv);
            ("lognormal.cv", *cv, legal, "from 0 to 100", "give standard deviation over mean")
        }
        Service::Pareto { shape } => (
            "pareto.shape",
            *shape,
            *shape > 1.0 && *shape <= 1e6,
            "above 1, where the mean is finite, and at most 1000000",
            "raise it; above 2 the variance is finite too, and above 3 that of waits",
        ),
        Service::Branches(branches) => {
            return check_branches(branches, &format!("{key}.branches"), draft, problems);
        }
        Service::Empirical { spans, weights } => {
            return check_spans((spans, weights), &format!("{key}.empirical"), draft, problems);
        }
        Service::Exponential | Service::Constant | Service::Erlang { .. } => return,
    };
    if !legal {
        let key = format!("{key}.{name}");
        problems.refuse(draft, &key, format!("`{key}` is {value}, but it must be {limit}"), hint);
    }
}

fn check_branches(branches: &[Branch], key: &str, draft: &Draft, problems: &mut Problems) {
    let count = branches.len();
    if count > BRANCHES_MAX {
        let message = format!("`{key}` has {count} branches, but at most {BRANCHES_MAX} are taken");
        problems.refuse(draft, key, message, "merge branches with similar rates");
    }
    if let Some(total) = not_full(branches.iter().map(|branch| branch.share)) {
        let message = format!("the shares of `{key}` add up to {total}, but every job takes one branch");
        problems.refuse(draft, key, message, "let them add up to 100%");
    }
    for (at, branch) in branches.iter().enumerate() {
        let key = format!("{key}[{at}].rate");
        if branch.rate.is_zero() {
            let message = format!("`{key}` is {}, but it must be above zero", branch.rate);
            problems.refuse(draft, &key, message, "set the rate of this branch, such as \"100/s\"");
        }
        check_rate(branch.rate, &key, draft, problems);
    }
}

fn check_spans((spans, weights): (&[SimSpan], &[u64]), key: &str, draft: &Draft, problems: &mut Problems) {
    let mut refuse = |place: &str, message: String, hint: &str| {
        problems.refuse(draft, &format!("{key}.{place}"), message, hint);
    };
    if spans.is_empty() || spans.len() > SPANS_MAX {
        let message = format!("`{key}.spans` has {} times, but it must have 1 to {SPANS_MAX}", spans.len());
        refuse("spans", message, "give the times that were measured; count equal ones in `weights`");
    }
    if !weights.is_empty() && weights.len() != spans.len() {
        let message = format!("`{key}.weights` has {} entries for {} times", weights.len(), spans.len());
        refuse("weights", message, "give one weight for each time, or leave `weights` out");
    } else if !weights.is_empty() && weights.iter().all(|weight| *weight == 0) {
        let message = format!("all entries of `{key}.weights` are 0, but one must be more");
        refuse("weights", message, "count how often each time was seen");
    }
    if weights.iter().try_fold(0_u64, |sum, weight| sum.checked_add(*weight)).is_none() {
        let message = format!("the entries of `{key}.weights` add up to more than {}", u64::MAX);
        refuse("weights", message, "divide them all by the same number");
    }
    let seen = |at: usize| weights.get(at).is_none_or(|weight| *weight > 0);
    let mut counted = spans.iter().enumerate().filter(|(at, _)| seen(*at)).peekable();
    if counted.peek().is_some() && counted.all(|(_, span)| span.is_zero()) {
        let message = format!("all times of `{key}.spans` are 0s, but a service takes time");
        refuse("spans", message, "give at least one time above zero");
    }
}

#[cfg(test)]
mod tests;

//! Queueing theory of one server with any service times, and of priorities.
//!
//! Arrivals are Poisson, and independent of service times. The mean wait of M/G/1 is the formula of F.
//! Pollaczek (1930) and A. Y. Khinchine (1932). Priorities without interruption are those of A. Cobham
//! ("Priority assignment in waiting line problems", Operations Research 2, 1954), and of O. Kella and U.
//! Yechiali ("Waiting times in the non-preemptive priority M/M/c queue", Stochastic Models 1, 1985) for
//! several servers; with interruption, where a service is continued, those of L. Kleinrock, *Queueing
//! Systems*, volume 2 (1976), section 3.4. For several servers with general service there is no closed form.
//!
//! Rates are per second, times in seconds; classes come in the order of their urgency.

use super::Mmk;
use crate::queue::service::Moments;

/// The arrivals of a class, and its service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Arrivals per second.
    pub rate: f64,
    /// Moments of its service times.
    pub service: Moments,
}

impl Load {
    fn offered(&self) -> f64 {
        self.rate * self.service.mean
    }
}

/// The mean work that is left of the service that an arrival meets, of any of these loads.
fn residual(loads: &[Load]) -> f64 {
    loads.iter().map(|load| load.rate * load.service.second / 2.0).sum()
}

/// The mean wait at one server, first come first served; infinite where the variance of service times is.
pub fn wait(loads: &[Load]) -> f64 {
    residual(loads) / (1.0 - loads.iter().map(Load::offered).sum::<f64>())
}

/// The mean waits of the classes at one server that never interrupts a service.
pub(crate) fn waits_by_priority(loads: &[Load]) -> Vec<f64> {
    let residual = residual(loads);
    in_order(loads.iter().map(|load| (load.offered(), residual)))
}

/// The mean waits of the classes at equal servers with exponential times of one rate, without interruption:
/// `station` has the arrivals of all.
pub(crate) fn waits_of_servers(station: &Mmk, shares: &[f64]) -> Vec<f64> {
    let residual = station.wait_mean() * (1.0 - station.utilisation());
    in_order(shares.iter().map(|share| (share * station.utilisation(), residual)))
}

/// The mean waits of the classes at one server that interrupts less urgent services and continues them later:
/// all time at the station without service.
pub(crate) fn waits_preemptive(loads: &[Load]) -> Vec<f64> {
    let waits = in_order((1..).zip(loads).map(|(to, load)| (load.offered(), residual(&loads[..to]))));
    let mut before = 0.0;
    let interrupted = |(wait, load): (f64, &Load)| {
        let more = load.service.mean * (1.0 / (1.0 - before) - 1.0);
        before += load.offered();
        wait + more
    };
    waits.into_iter().zip(loads).map(interrupted).collect()
}

/// The mean waits of the classes at equal servers with exponential times of one rate, with interruption: the
/// jobs of a class and of more urgent ones see no others, and so are a station of their own.
pub(crate) fn waits_preemptive_of_servers(station: &Mmk, shares: &[f64]) -> Vec<f64> {
    let (mut share, mut waiting) = (0.0, 0.0);
    let wait = |own: &f64| {
        share += own;
        let with = station.thinned(share).map_or(0.0, |urgent| urgent.waiting_mean());
        let wait = (with - waiting) / (own * station.arrival_rate);
        waiting = with;
        wait
    };
    shares.iter().map(wait).collect()
}

/// residual/((1 − load of the more urgent)(1 − load with this class)), of load and residual of each class.
fn in_order(classes: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut before = 0.0;
    let wait = |(offered, residual): (f64, f64)| {
        let with = before + offered;
        let wait = residual / ((1.0 - before) * (1.0 - with));
        before = with;
        wait
    };
    classes.map(wait).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-12), "{got}, not {want}");
    }

    fn load(rate: f64, mean: f64, scv: f64) -> Load {
        Load { rate, service: Moments { mean, second: mean * mean * (1.0 + scv) } }
    }

    /// W = ρ(1 + c²)/(2(1 − ρ))·E S: half of M/M/1 for constant times, five eighths for four phases.
    #[test]
    fn waits_follow_pollaczek_and_khinchine() {
        let exponential = Mmk::new(1, 0.8, 1.0).unwrap().wait_mean();
        for (scv, times) in
            [(1.0, 1.0), (0.0, 0.5), (0.25, 0.625), (4.0, 2.5), (f64::INFINITY, f64::INFINITY)]
        {
            close_or_infinite(wait(&[load(0.8, 1.0, scv)]), times * exponential);
        }
        // Two classes with different times are a mixture.
        close(wait(&[load(0.3, 1.0, 0.0), load(0.1, 4.0, 0.0)]), (0.15 + 0.8) / 0.3);
    }

    fn close_or_infinite(got: f64, want: f64) {
        if want.is_finite() { close(got, want) } else { assert_eq!(got, want) }
    }

    /// Kleinrock's conservation law: the waits of the classes, weighted by their loads, add up to those
    /// without priorities. And a case by hand: two classes of constant times, 1 s and 2 s, each busy 25 % of
    /// the time.
    #[test]
    fn priorities_conserve_the_work() {
        let loads = [load(0.3, 1.0, 0.5), load(0.1, 2.0, 3.0), load(0.05, 4.0, 0.0)];
        let waits = waits_by_priority(&loads);
        let weighted: f64 = waits.iter().zip(&loads).map(|(wait, load)| wait * load.offered()).sum();
        close(weighted, wait(&loads) * loads.iter().map(Load::offered).sum::<f64>());
        let by_hand = waits_by_priority(&[load(0.25, 1.0, 0.0), load(0.125, 2.0, 0.0)]);
        close(by_hand[0], 0.375 / 0.75);
        close(by_hand[1], 0.375 / (0.75 * 0.5));
        let preemptive = waits_preemptive(&[load(0.25, 1.0, 0.0), load(0.125, 2.0, 0.0)]);
        close(preemptive[0], 0.125 / 0.75);
        close(preemptive[1], 0.375 / (0.75 * 0.5) + 2.0 / 0.75 - 2.0);
    }

    /// The formulas of several servers agree with those of one, and with no priorities where there is one
    /// class.
    #[test]
    fn several_servers_agree_with_one() {
        let shares = [0.5, 0.3, 0.2];
        let one = Mmk::new(1, 0.9, 1.0).unwrap();
        let loads = shares.map(|share| load(0.9 * share, 1.0, 1.0));
        for (several, single) in [
            (waits_of_servers(&one, &shares), waits_by_priority(&loads)),
            (waits_preemptive_of_servers(&one, &shares), waits_preemptive(&loads)),
        ] {
            several.iter().zip(single).for_each(|(several, single)| close(*several, single));
        }
        let many = Mmk::new(5, 4.0, 1.0).unwrap();
        close(waits_of_servers(&many, &[1.0])[0], many.wait_mean());
        close(waits_preemptive_of_servers(&many, &[1.0])[0], many.wait_mean());
        for waits in [waits_of_servers(&many, &shares), waits_preemptive_of_servers(&many, &shares)] {
            close(waits.iter().zip(shares).map(|(wait, share)| wait * share).sum(), many.wait_mean());
        }
    }
}

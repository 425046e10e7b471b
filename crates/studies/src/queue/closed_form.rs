//! Queueing theory of a network of M/M/k stations: the oracle for the simulation.
//!
//! Jobs come from outside as Poisson streams, each station serves in the order of arrival with exponential
//! times, and a finished job goes to another station with a fixed chance or leaves. Then (J. R. Jackson,
//! "Networks of waiting lines", Operations Research 5, 1957) each station behaves as an independent M/M/k
//! queue whose arrival rate is given by the traffic equations. Formulas of the single station are those of A.
//! K. Erlang (1917), as in L. Kleinrock, *Queueing Systems*, volume 1 (1975), chapter 3. A constant time of
//! travel between stations changes none of this: it is a station with as many servers as jobs, which keeps
//! the product form (Baskett, Chandy, Muntz and Palacios, JACM 22, 1975).
//!
//! Rates are per second, times in seconds. [`general`] has one server with any service times, and priorities.

pub mod general;

/// One station with Poisson arrivals, exponential service and `servers` equal servers. Stable: utilisation
/// below one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mmk {
    servers: f64,
    /// Jobs arriving per second, including those that return.
    pub arrival_rate: f64,
    service_rate: f64,
    /// The chance that an arriving job must wait (Erlang's second formula).
    pub wait_chance: f64,
}

impl Mmk {
    /// A station, or `None` if its load is at least its capacity, or zero.
    pub fn new(servers: u32, arrival_rate: f64, service_rate: f64) -> Option<Mmk> {
        let offered = arrival_rate / service_rate;
        let stable = offered > 0.0 && offered < f64::from(servers);
        stable.then(|| Mmk {
            servers: f64::from(servers),
            arrival_rate,
            service_rate,
            wait_chance: erlang_c(servers, offered),
        })
    }

    /// The same station with this share of the arrivals, if it is more than none.
    pub(crate) fn thinned(&self, share: f64) -> Option<Mmk> {
        Mmk::new(self.servers as u32, share.min(1.0) * self.arrival_rate, self.service_rate)
    }

    /// The offered load in erlangs: the mean number of servers it keeps busy.
    pub fn offered(&self) -> f64 {
        self.arrival_rate / self.service_rate
    }

    /// The share of time that a server is busy.
    pub(crate) fn utilisation(&self) -> f64 {
        self.offered() / self.servers
    }

    /// The mean wait before service.
    pub fn wait_mean(&self) -> f64 {
        self.wait_chance / self.slack()
    }

    /// The mean number of waiting jobs.
    pub(crate) fn waiting_mean(&self) -> f64 {
        self.arrival_rate * self.wait_mean()
    }

    /// The mean time from arrival to the end of service.
    pub(crate) fn response_mean(&self) -> f64 {
        self.wait_mean() + 1.0 / self.service_rate
    }

    /// The chance of a response longer than `t`: an exponential service, after an exponential wait if there
    /// is one.
    pub(crate) fn response_tail(&self, t: f64) -> f64 {
        let (slack, rate) = (self.slack(), self.service_rate);
        let service = libm::exp(-rate * t);
        let gap = rate - slack;
        // The sum of two exponentials: (rate·e^(−slack·t) − slack·e^(−rate·t)) / (rate − slack), and its
        // limit for equal rates.
        let both = if (gap * t).abs() < 1e-9 {
            (1.0 + rate * t) * service
        } else {
            service + rate * service * libm::expm1(gap * t) / gap
        };
        (1.0 - self.wait_chance) * service + self.wait_chance * both
    }

    /// The quantile `q` of the wait: a share `q` of jobs does not wait longer.
    pub(crate) fn wait_quantile(&self, q: f64) -> f64 {
        let beyond = (1.0 - q) / self.wait_chance;
        if beyond >= 1.0 { 0.0 } else { -libm::log(beyond) / self.slack() }
    }

    /// The quantile `q` of the response: a share `q` of jobs does not take longer.
    pub(crate) fn response_quantile(&self, q: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.response_mean());
        while self.response_tail(high) > 1.0 - q {
            high *= 2.0;
        }
        // After sixty bisections the error is below the last digit.
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.response_tail(middle) > 1.0 - q {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// The probabilities of 0, 1, 2, … jobs at the station, `count` of them.
    pub(crate) fn number_chances(&self, count: usize) -> Vec<f64> {
        let rho = self.utilisation();
        let servers = self.servers as usize;
        // Probabilities relative to that of the most likely number, because the probability of an empty
        // station underflows for many servers.
        let mode = (self.offered() as usize).min(servers);
        let mut relative = vec![1.0; count.max(servers + 1)];
        for n in mode + 1..relative.len() {
            relative[n] = relative[n - 1] * self.offered() / (n.min(servers) as f64);
        }
        for n in (0..mode).rev() {
            relative[n] = relative[n + 1] * ((n + 1) as f64) / self.offered();
        }
        let below: f64 = relative[..servers].iter().sum();
        let total = below + relative[servers] / (1.0 - rho);
        relative.truncate(count);
        relative.iter().map(|chance| chance / total).collect()
    }

    /// The relaxation time: the slowest mode of the queue's length decays in about this time. For one server
    /// it is 1/(√service − √arrival)² (P. M. Morse, "Stochastic properties of waiting lines", 1955); for no
    /// station is it shorter than a single service.
    pub(crate) fn relaxation(&self) -> f64 {
        let root = libm::sqrt(self.servers * self.service_rate) - libm::sqrt(self.arrival_rate);
        1.0 / (root * root).min(self.service_rate)
    }

    /// By how much the capacity of the station exceeds the arrival rate, in jobs per second.
    fn slack(&self) -> f64 {
        self.servers * self.service_rate - self.arrival_rate
    }
}

/// The chance to wait (Erlang C), computed from the chance of loss in a system without a queue (Erlang B),
/// which has a stable recursion.
fn erlang_c(servers: u32, offered: f64) -> f64 {
    let lost = (1..=servers).fold(1.0, |lost, k| offered * lost / (f64::from(k) + offered * lost));
    let rho = offered / f64::from(servers);
    lost / (1.0 - rho * (1.0 - lost))
}

/// Solves the traffic equations: the arrival rate at a station is the rate from outside plus the rates from
/// other stations.
///
/// `routes[i]` holds the stations that `i` sends to, with their chances. From every station there must be a
/// way out, or no solution exists; then the result has an entry that is not finite.
pub(crate) fn traffic(outside: &[f64], routes: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let count = outside.len();
    // Row j says: rate[j] − Σ chance(i → j)·rate[i] = outside[j].
    let mut rows: Vec<Vec<f64>> = vec![vec![0.0; count]; count];
    for (from, targets) in routes.iter().enumerate() {
        rows[from][from] += 1.0;
        for (to, chance) in targets {
            rows[*to][from] -= chance;
        }
    }
    let mut rates = outside.to_vec();
    // Columns add up to what leaves the network, so the matrix is diagonally dominant and needs no pivoting.
    for pivot in 0..count {
        let (upper, lower) = rows.split_at_mut(pivot + 1);
        let top = &upper[pivot];
        for (below, row) in lower.iter_mut().enumerate() {
            let factor = row[pivot] / top[pivot];
            if factor != 0.0 {
                row[pivot..]
                    .iter_mut()
                    .zip(&top[pivot..])
                    .for_each(|(value, above)| *value -= factor * above);
                rates[pivot + 1 + below] -= factor * rates[pivot];
            }
        }
    }
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|column| rows[row][column] * rates[column]).sum();
        rates[row] = (rates[row] - known) / rows[row][row];
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-12), "{got}, not {want}");
    }

    #[test]
    fn one_server_has_the_geometric_distribution() {
        let station = Mmk::new(1, 0.8, 1.0).unwrap();
        close(station.wait_chance, 0.8);
        close(station.waiting_mean() + station.offered(), 4.0);
        close(station.response_mean(), 5.0);
        close(station.wait_mean(), 4.0);
        for (n, chance) in station.number_chances(20).iter().enumerate() {
            close(*chance, 0.2 * 0.8_f64.powi(n as i32));
        }
        // The response of M/M/1 is exponential.
        for t in [0.0, 0.1, 3.0, 40.0] {
            close(station.response_tail(t), (-0.2 * t).exp());
        }
        close(station.response_quantile(0.99), 100_f64.ln() / 0.2);
        close(station.wait_quantile(0.9), 8_f64.ln() / 0.2);
        assert_eq!(station.wait_quantile(0.1), 0.0);
    }

    /// Tables of Erlang C, e.g. Kleinrock's example of two servers: C = 2ρ²/(1 + ρ).
    #[test]
    fn several_servers_follow_erlang() {
        for rho in [0.1, 0.5, 0.9] {
            close(Mmk::new(2, 2.0 * rho, 1.0).unwrap().wait_chance, 2.0 * rho * rho / (1.0 + rho));
        }
        // Three servers, two erlangs: C = (2³/3!)·3/(1 + 2 + 2 + 4) = 4/9.
        let three = Mmk::new(3, 2.0, 1.0).unwrap();
        close(three.wait_chance, 4.0 / 9.0);
        close(three.number_chances(1)[0], 1.0 / 9.0);
        close(three.waiting_mean(), 8.0 / 9.0);
    }

    #[test]
    fn chances_mean_and_tails_agree() {
        for (servers, arrival) in [(1, 0.3), (2, 1.9), (5, 2.5), (40, 31.0), (1_000, 900.0)] {
            let station = Mmk::new(servers, arrival, 1.0).unwrap();
            let chances = station.number_chances(5_000);
            close(chances.iter().sum(), 1.0);
            close(
                chances.iter().enumerate().map(|(n, chance)| n as f64 * chance).sum(),
                station.waiting_mean() + station.offered(),
            );
            let waiting: f64 = chances[servers as usize..].iter().sum();
            close(waiting, station.wait_chance);
            // The mean is the area under the tail.
            let step = 1e-3;
            let area: f64 =
                (0..200_000).map(|i| station.response_tail((f64::from(i) + 0.5) * step) * step).sum();
            assert!((area / station.response_mean() - 1.0).abs() < 1e-4, "{servers}: {area}");
        }
    }

    #[test]
    fn equal_rates_are_a_limit_and_not_a_pole() {
        // Slack and service rate are equal for two servers and one erlang.
        let at = Mmk::new(2, 1.0, 1.0).unwrap();
        let near = Mmk::new(2, 1.0 + 1e-7, 1.0).unwrap();
        for t in [0.01, 1.0, 20.0] {
            assert!((at.response_tail(t) / near.response_tail(t) - 1.0).abs() < 1e-5, "{t}");
        }
    }

    #[test]
    fn too_much_work_has_no_closed_form() {
        assert_eq!(Mmk::new(2, 2.0, 1.0), None);
        assert_eq!(Mmk::new(2, 0.0, 1.0), None);
    }

    #[test]
    fn traffic_adds_what_comes_back() {
        // A tandem in which the second sends a quarter back to the first: λ = γ / (1 − 1/4).
        let rates = traffic(&[3.0, 0.0], &[vec![(1, 1.0)], vec![(0, 0.25)]]);
        close(rates[0], 4.0);
        close(rates[1], 4.0);
        // A job that comes back to the same station half the time is served twice on average.
        close(traffic(&[1.5], &[vec![(0, 0.5)]])[0], 3.0);
        // A station without a way out.
        assert!(!traffic(&[1.0], &[vec![(0, 1.0)]])[0].is_finite());
    }
}

//! The closed forms of a network of stations, as far as they are known.
//!
//! Loads are known of every stable network. Mean numbers and waits are known where jobs come to a station as
//! a Poisson stream: from outside, or from stations with exponential times that no class changes, whose
//! output is Poisson again (P. J. Burke, Operations Research 4, 1956, and in a network Jackson). Such a
//! station has the formulas of M/M/k, also in a network with loops. One with other times has those of M/G/1
//! if it has one server and no job comes back to it. For all others the report gives none.

use std::collections::BTreeSet;

use towtank_units::SimSpan;

use super::closed_form::Mmk;
use super::closed_form::general::{self, Load};
use super::order::{Class, Order};
use super::service::{Moments, Service, Tail};
use super::stations::{Station, Stations, backward, closure, live, rates, shares};

/// The closed forms of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Theory {
    /// The stations, in the order of the scenario.
    pub stations: Vec<Closed>,
    /// Jobs that arrive from outside per second, and so leave per second.
    pub throughput: f64,
    travel: f64,
    /// Whether each job visits a single station once, so that the station's response is the whole sojourn.
    single_visit: bool,
}

/// What is known of a station.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// A station with the same load and exponential service times.
    pub load: Mmk,
    /// The stations of Erlang that have the distribution of its number of jobs and of its times.
    pub law_of_numbers: Option<Mmk>,
    pub law_of_times: Option<Mmk>,
    /// Its service times, and how far means of a run can be trusted.
    pub service: Moments,
    tail: Tail,
    /// The mean wait of a visit.
    pub wait_mean: Option<f64>,
    wait_chance: Option<f64>,
    /// The mean service and the mean wait of each class; empty where all jobs are alike.
    classes: Vec<(f64, Option<f64>)>,
    source: &'static str,
}

/// A station and what flows through it.
struct Placed<'a> {
    station: &'a Station,
    classes: &'a [Class],
    exponential: Mmk,
    /// The arrivals and service times of each class; one entry where all jobs are alike.
    loads: Vec<Load>,
    stream: Stream,
}

/// How jobs come to a station.
#[derive(Clone, Copy)]
struct Stream {
    /// As a Poisson stream: all stations on the way have exponential times that no class changes.
    product: bool,
    /// They also serve in the order of arrival, so that classes are drawn independently.
    mixed: bool,
    /// Jobs may come back.
    returns: bool,
}

/// With heavier service times than these, relaxation is taken to be as slow as with them: a free choice.
const SCV_MOST: f64 = 200.0;

impl Closed {
    fn of(placed: &Placed<'_>) -> Closed {
        let Placed { station, classes, exponential, loads, stream } = placed;
        let (plain, fifo) = (is_plain(station, classes), station.order.is_fifo());
        let (wait_mean, waits) = placed.waits(plain);
        let tails = station.services(classes).into_iter().map(|(service, _)| service.tail());
        let of_class = |(at, load): (usize, &Load)| (load.service.mean, waits.get(at).copied());
        let busy = if station.servers == 1 { exponential.utilisation() } else { exponential.wait_chance };
        let chance =
            wait_mean.is_some() && (station.servers == 1 || plain) && station.order != Order::Preemptive;
        Closed {
            load: *exponential,
            law_of_numbers: Some(*exponential).filter(|_| plain && stream.product),
            law_of_times: Some(*exponential).filter(|_| plain && stream.product && fifo),
            service: Moments::mixed(
                loads.iter().map(|load| (load.rate / exponential.arrival_rate, load.service)),
            ),
            tail: tails.max().unwrap_or(Tail::Light),
            wait_mean,
            wait_chance: chance.then_some(busy),
            classes: loads.iter().enumerate().filter(|_| !classes.is_empty()).map(of_class).collect(),
            source: match (fifo, plain) {
                (true, true) => "Erlang 1917; Kleinrock 1975, ch. 3",
                (true, false) => "Pollaczek 1930; Khinchine 1932",
                (false, _) => "Cobham 1954; Kleinrock 1976, ch. 3",
            },
        }
    }

    fn waiting_mean(&self) -> Option<f64> {
        self.wait_mean.map(|wait| self.load.arrival_rate * wait)
    }

    /// The mean number of jobs, waiting and in service.
    pub(crate) fn number_mean(&self) -> Option<f64> {
        self.waiting_mean().map(|waiting| waiting + self.load.offered())
    }

    /// The mean time from arrival to the end of service.
    pub(crate) fn response_mean(&self) -> Option<f64> {
        let of_wait = || self.wait_mean.map(|wait| wait + self.service.mean);
        self.law_of_numbers.map_or_else(of_wait, |law| Some(law.response_mean()))
    }

    /// The relaxation time: that of exponential times, and longer as residual service times are where they
    /// vary more.
    pub(crate) fn relaxation(&self) -> f64 {
        self.load.relaxation() * self.slower()
    }

    /// About how many jobs are there, also where no formula is known.
    pub(crate) fn number_about(&self) -> f64 {
        let about = self.load.waiting_mean() * self.slower() + self.load.offered();
        self.number_mean().unwrap_or(about)
    }

    fn slower(&self) -> f64 {
        (0.5 * (1.0 + self.service.scv().min(SCV_MOST))).max(1.0)
    }
}

impl Placed<'_> {
    /// The mean wait of a visit, and those of the classes, as far as they are known.
    fn waits(&self, plain: bool) -> (Option<f64>, Vec<f64>) {
        let Stream { product, mixed, returns } = self.stream;
        let (station, loads) = (self.station, &self.loads);
        let fifo = station.order.is_fifo();
        let alike = self.loads.iter().all(|load| load.service == self.loads[0].service);
        let single = station.servers == 1 && !returns && (mixed || (fifo && alike));
        if !product || !(plain || single) {
            return (None, Vec::new());
        }
        let total = self.exponential.arrival_rate;
        let shares: Vec<f64> = loads.iter().map(|load| load.rate / total).collect();
        let classes = match (station.order, plain) {
            (Order::Fifo, true) => vec![self.exponential.wait_mean(); loads.len()],
            (Order::Fifo, false) => vec![general::wait(loads); loads.len()],
            (Order::Priority, true) => general::waits_of_servers(&self.exponential, &shares),
            (Order::Priority, false) => general::waits_by_priority(loads),
            (Order::Preemptive, true) => general::waits_preemptive_of_servers(&self.exponential, &shares),
            (Order::Preemptive, false) => general::waits_preemptive(loads),
        };
        let all = match plain {
            true => self.exponential.wait_mean(),
            false => classes.iter().zip(&shares).map(|(wait, share)| wait * share).sum(),
        };
        let known = mixed && (fifo || !returns) && classes.iter().all(|wait| wait.is_finite());
        (Some(all).filter(|wait| wait.is_finite()), if known { classes } else { Vec::new() })
    }
}

/// Whether times are exponential, and those of all classes alike.
fn is_plain(station: &Station, classes: &[Class]) -> bool {
    let services = station.services(classes);
    services[0].0.is_exponential() && services.iter().all(|service| *service == services[0])
}

/// How jobs come to each station.
fn streams(stations: &Stations, classes: &[Class]) -> Vec<Stream> {
    let all: Vec<&Station> = stations.values().collect();
    let plain: Vec<bool> = all.iter().map(|station| is_plain(station, classes)).collect();
    let backward = backward(&live(stations));
    let of = |at: usize| {
        let before: BTreeSet<usize> = closure(&backward, backward[at].clone());
        let product = before.iter().all(|from| plain[*from]);
        let mixed = product && before.iter().all(|from| all[*from].order.is_fifo());
        Stream { product, mixed, returns: before.contains(&at) }
    };
    (0..all.len()).map(of).collect()
}

impl Theory {
    /// The closed forms of these stations, whose routes must lead out; nothing if one of them is overloaded.
    pub fn of(stations: &Stations, classes: &[Class], travel: SimSpan) -> Option<Theory> {
        let shares = shares(classes);
        let closed = |((station, rate), stream): ((&Station, f64), Stream)| {
            let services = station.services(classes);
            let service = |(share, (service, own)): (&f64, &(&Service, _))| Load {
                rate: share * rate,
                service: service.moments(*own),
            };
            let loads = shares.iter().zip(&services).map(service).collect();
            let exponential = Mmk::new(station.servers, rate, station.capacity(classes))?;
            Some(Closed::of(&Placed { station, classes, exponential, loads, stream }))
        };
        let flows = stations.values().zip(rates(stations)).zip(streams(stations, classes));
        let solved: Option<Vec<Closed>> = flows.map(closed).collect();
        Some(Theory {
            stations: solved?,
            throughput: stations.values().map(|station| station.arrival_rate.per_second_f64()).sum(),
            travel: travel.as_secs_f64(),
            single_visit: stations.len() == 1 && stations.values().all(|station| station.routes.is_empty()),
        })
    }

    /// The sum over all stations, if each has the value.
    fn sum(&self, of: impl Fn(&Closed) -> Option<f64>) -> Option<f64> {
        self.stations.iter().map(of).sum()
    }

    /// The mean number of jobs.
    pub(crate) fn number_mean(&self) -> Option<f64> {
        self.sum(Closed::number_mean)
    }

    /// The mean number of jobs that wait.
    pub(crate) fn waiting_mean(&self) -> Option<f64> {
        self.sum(Closed::waiting_mean)
    }

    /// The share of all servers that is busy.
    pub(crate) fn utilisation(&self) -> f64 {
        let loads = || self.stations.iter().map(|station| station.load);
        let servers: f64 = loads().map(|load| load.offered() / load.utilisation()).sum();
        loads().map(|load| load.offered()).sum::<f64>() / servers
    }

    /// A quantile of the wait, where a closed form exists: for one station.
    pub(crate) fn wait_quantile(&self, q: f64) -> Option<f64> {
        let [station] = &self.stations[..] else { return None };
        Some(station.law_of_times?.wait_quantile(q))
    }

    /// The mean wait of a visit to a station.
    pub fn wait_mean(&self) -> Option<f64> {
        Some(self.waiting_mean()? / self.visit_rate())
    }

    /// The share of visits that must wait.
    pub(crate) fn wait_share(&self) -> Option<f64> {
        Some(self.sum(|one| Some(one.load.arrival_rate * one.wait_chance?))? / self.visit_rate())
    }

    /// The mean time from arrival at the first station to the end of service at the last, travel included, by
    /// Little's law.
    pub(crate) fn sojourn_mean(&self) -> Option<f64> {
        Some(self.number_mean()? / self.throughput + self.travelling())
    }

    /// The mean time of a job on its way between stations.
    fn travelling(&self) -> f64 {
        let moves_per_job = self.visit_rate() / self.throughput - 1.0;
        self.travel * moves_per_job
    }

    /// A quantile of the sojourn, where a closed form exists: for one station that no job visits twice.
    pub(crate) fn sojourn_quantile(&self, q: f64) -> Option<f64> {
        let station = self.stations.first().filter(|_| self.single_visit)?;
        Some(station.law_of_times?.response_quantile(q))
    }

    /// The mean wait of a visit by a job of this class.
    pub(crate) fn wait_mean_of(&self, class: usize) -> Option<f64> {
        let wait = |one: &Closed| Some(one.load.arrival_rate * one.classes.get(class)?.1?);
        Some(self.sum(wait)? / self.visit_rate())
    }

    /// As [`Theory::sojourn_mean`], of jobs of this class.
    pub(crate) fn sojourn_mean_of(&self, class: usize) -> Option<f64> {
        let response = |one: &Closed| {
            let (service, wait) = one.classes.get(class)?;
            Some(one.load.arrival_rate * ((*wait)? + service))
        };
        Some(self.sum(response)? / self.throughput + self.travelling())
    }

    /// How far means of a run can be trusted: the heaviest tail of service times.
    pub fn tail(&self) -> Tail {
        self.stations.iter().map(|station| station.tail).max().unwrap_or(Tail::Light)
    }

    /// Where the formulas come from.
    pub fn source(&self) -> String {
        if let [station] = &self.stations[..] {
            return station.source.to_owned();
        }
        let others: BTreeSet<&str> =
            self.stations.iter().filter(|one| one.law_of_times.is_none()).map(|one| one.source).collect();
        ["Jackson 1957"].into_iter().chain(others).collect::<Vec<_>>().join("; ")
    }

    /// The longest relaxation time.
    pub(crate) fn relaxation(&self) -> f64 {
        self.stations.iter().map(Closed::relaxation).fold(0.0, f64::max)
    }

    /// Visits to stations per second.
    pub(crate) fn visit_rate(&self) -> f64 {
        self.stations.iter().map(|station| station.load.arrival_rate).sum()
    }
}

#[cfg(test)]
mod tests;

//! The keys of a scenario of a network of queues, and their checks.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_report::human;
use towtank_scenario::{Draft, Problem, Problems, nearest};
use towtank_units::{Frequency, Percent, SimSpan, SimTime};

use super::closed_form::{Mmk, traffic};

/// An open network of stations. Jobs come from outside, wait at stations until a server is free, and leave.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The stations by name: `[stations.counter]`. A name is lower-case letters, digits and `_`.
    pub stations: Stations,
    /// Travel time of a job to each station and from the last one to the exit. It does not count as wait, but
    /// lets several workers share one run.
    #[serde(default)]
    pub travel: SimSpan,
    /// Time discarded at the beginning, while the queues fill. Left out: 20 relaxation times of the slowest
    /// station.
    #[serde(default)]
    pub warm_up: Option<SimSpan>,
    /// Measured time after the warm-up. Left out: 1000 relaxation times of the slowest station, or the time
    /// of five million arrivals if that is shorter.
    #[serde(default)]
    pub span: Option<SimSpan>,
}

/// The stations by name.
type Stations = BTreeMap<String, Station>;

/// A scenario with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// As [`Scenario::stations`].
    pub stations: Stations,
    /// As [`Scenario::travel`].
    pub travel: SimSpan,
    /// As [`Scenario::warm_up`].
    pub warm_up: SimSpan,
    /// As [`Scenario::span`].
    pub span: SimSpan,
}

/// One queue in front of equal servers, first come first served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Number of servers; each serves one job at a time.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub servers: u32,
    /// Mean rate at which one busy server finishes jobs. Service times are exponential.
    #[schemars(example = "100/s")]
    pub service_rate: Frequency,
    /// Mean rate at which jobs arrive from outside, independently of each other (a Poisson stream).
    #[serde(default)]
    #[schemars(example = "70/s")]
    pub arrival_rate: Frequency,
    /// Where a finished job goes: the names of stations with their shares, `{ disk = "30%" }`. The rest
    /// leaves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub routes: BTreeMap<String, Percent>,
}

fn one() -> u32 {
    1
}

/// The closed forms of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Theory {
    /// The stations, in the order of the scenario.
    pub stations: Vec<Mmk>,
    /// Jobs that arrive from outside per second, and so leave per second.
    pub throughput: f64,
    travel: f64,
    /// Whether each job visits a single station once, so that the station's response is the whole sojourn.
    single_visit: bool,
}

/// The maximum number of stations; more would make the traffic equations slow, and no use for more is known.
const STATIONS_MAX: usize = 256;
/// The maximum number of arrivals in a default span: some ten seconds of computing.
const ARRIVALS_MAX: f64 = 5e6;
/// The default warm-up in relaxation times: the influence of the start is then e^-20.
const WARM_UP_RELAXATIONS: f64 = 20.0;
/// The default span in relaxation times: its mean then rests on hundreds of nearly independent stretches.
const SPAN_RELAXATIONS: f64 = 1_000.0;

impl Scenario {
    /// Fills in what was left out and checks the scenario.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn settle(self, draft: &Draft) -> Result<(Settled, Theory), Problems> {
        let mut problems = Problems::new();
        self.check_stations(draft, &mut problems);
        self.check_routes(draft, &mut problems);
        problems.into_result(())?;
        self.check_ways(draft).into_result(())?;
        let theory = self.theory(draft)?;
        let relaxation = theory.relaxation();
        let arrivals_max = ARRIVALS_MAX / theory.throughput;
        let warm_up = self.warm_up.unwrap_or_else(|| rounded_span(WARM_UP_RELAXATIONS * relaxation));
        let span =
            self.span.unwrap_or_else(|| rounded_span((SPAN_RELAXATIONS * relaxation).min(arrivals_max)));
        let derived = self.warm_up.is_none();
        let settled = Settled { stations: self.stations, travel: self.travel, warm_up, span };
        settled.check_times(draft, derived.then_some(&theory)).into_result(())?;
        Ok((settled, theory))
    }

    fn check_stations(&self, draft: &Draft, problems: &mut Problems) {
        if self.stations.is_empty() {
            let hint = "add a table such as [stations.counter] with a service_rate and an arrival_rate";
            problems.push(draft.problem("stations", "there is no station").hint(hint));
        }
        if self.stations.len() > STATIONS_MAX {
            let message = format!(
                "there are {} stations, but at most {STATIONS_MAX} can be solved",
                self.stations.len()
            );
            problems.push(
                draft.problem("stations", message).hint("merge stations that do not matter individually"),
            );
        }
        for (name, station) in &self.stations {
            let key = format!("stations.{name}");
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !name.chars().all(legal) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
                let message = format!("`{name}` is not a valid station name");
                let hint = "use lower-case letters, digits and `_`, and begin with a letter";
                problems.push(draft.problem(&key, message).hint(hint));
            }
            if station.service_rate.is_zero() {
                let message =
                    format!("`{key}.service_rate` is {}, but it must be above zero", station.service_rate);
                let hint = "set the rate of one server, such as \"100/s\"";
                problems.push(draft.problem(&format!("{key}.service_rate"), message).hint(hint));
            }
        }
        if !self.stations.is_empty() && self.stations.values().all(|station| station.arrival_rate.is_zero()) {
            let hint = "give at least one station an `arrival_rate`, such as \"70/s\"";
            problems.push(draft.problem("stations", "no jobs come from outside").hint(hint));
        }
    }

    fn check_routes(&self, draft: &Draft, problems: &mut Problems) {
        for (name, station) in &self.stations {
            let key = format!("stations.{name}.routes");
            for target in station.routes.keys().filter(|target| !self.stations.contains_key(*target)) {
                let message = format!("`{key}` names `{target}`, but there is no such station");
                let names: Vec<&str> = self.stations.keys().map(String::as_str).collect();
                let hint = match nearest(target, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the stations are {}; what is not routed leaves", names.join(", ")),
                };
                problems.push(draft.problem(&format!("{key}.{target}"), message).hint(hint));
            }
            let total: u128 = station.routes.values().map(|share| u128::from(share.billionths())).sum();
            if total > u128::from(Percent::FULL.billionths()) {
                let total = Percent::from_billionths(u64::try_from(total).unwrap_or(u64::MAX));
                let message = format!("the shares of `{key}` add up to {total}, but at most 100% can go on");
                problems.push(
                    draft.problem(&key, message).hint("lower one of them; what is missing to 100% leaves"),
                );
            }
        }
    }

    /// Checks that every station can be reached, and that every station has a way out.
    fn check_ways(&self, draft: &Draft) -> Problems {
        let mut problems = Problems::new();
        let routes = routes(&self.stations);
        let live = |targets: &Vec<(usize, Percent)>| -> Vec<usize> {
            targets.iter().filter(|(_, share)| *share != Percent::ZERO).map(|(to, _)| *to).collect()
        };
        let forward: Vec<Vec<usize>> = routes.iter().map(live).collect();
        let mut backward = vec![Vec::new(); forward.len()];
        for (from, targets) in forward.iter().enumerate() {
            targets.iter().for_each(|to| backward[*to].push(from));
        }
        let fed = self.stations.values().map(|station| !station.arrival_rate.is_zero());
        let reached = closure(&forward, positions(fed));
        let open = routes.iter().map(|targets| {
            targets.iter().map(|(_, share)| share.billionths()).sum::<u64>() < Percent::FULL.billionths()
        });
        let can_leave = closure(&backward, positions(open));
        for (at, name) in self.stations.keys().enumerate() {
            let key = format!("stations.{name}");
            if !reached.contains(&at) {
                let hint = "give it an `arrival_rate`, or route jobs to it from another station";
                problems.push(draft.problem(&key, format!("no job ever reaches `{name}`")).hint(hint));
            } else if !can_leave.contains(&at) {
                let message = format!("a job that has come to `{name}` can never leave");
                let hint = "lower a share in `routes` on its way, so that the rest leaves";
                problems.push(draft.problem(&format!("{key}.routes"), message).hint(hint));
            }
        }
        problems
    }

    /// Checks that the capacity of every station exceeds its load.
    fn theory(&self, draft: &Draft) -> Result<Theory, Problems> {
        if let Some(theory) = Theory::of(&self.stations, self.travel) {
            return Ok(theory);
        }
        let mut problems = Problems::new();
        for ((name, station), rate) in self.stations.iter().zip(rates(&self.stations)) {
            if station.closed(rate).is_some() {
                continue;
            }
            let key = format!("stations.{name}");
            let one = station.service_rate.per_second_f64();
            let all = one * f64::from(station.servers);
            let servers = match station.servers {
                1 => "its server finishes".to_owned(),
                servers => format!("its {servers} servers finish"),
            };
            let message = format!("{rate} jobs/s reach `{name}`, but {servers} at most {all} jobs/s");
            let enough = (rate / one).floor() + 1.0;
            let hint = format!("set `{key}.servers` to at least {enough}, or lower the arrival rate");
            problems.push(draft.problem(&format!("{key}.servers"), message).hint(hint));
        }
        Err(problems)
    }
}

impl Settled {
    /// The closed forms; a checked scenario has them.
    #[must_use]
    pub fn theory(&self) -> Option<Theory> {
        Theory::of(&self.stations, self.travel)
    }

    /// The instant at which statistics begin.
    #[must_use]
    pub fn measured_from(&self) -> SimTime {
        SimTime::ZERO.saturating_add(self.warm_up)
    }

    /// The instant at which the run ends.
    #[must_use]
    pub fn end(&self) -> SimTime {
        self.measured_from().saturating_add(self.span)
    }

    /// For each station, the positions of the stations its jobs go to, with their shares.
    #[must_use]
    pub fn routes(&self) -> Vec<Vec<(usize, Percent)>> {
        routes(&self.stations)
    }

    /// Checks warm-up and span; `derived` is the theory that the warm-up follows from, if it was left out.
    fn check_times(&self, draft: &Draft, derived: Option<&Theory>) -> Problems {
        let mut problems = Problems::new();
        let (warm_up, span) = (self.warm_up, self.span);
        if span.is_zero() {
            let problem = draft.problem("span", "`span` is 0s, but something must be measured");
            problems.push(problem.hint("leave it out for a span that suits the slowest station"));
        }
        if let (Some(theory), None) = (derived, warm_up.checked_add(span)) {
            problems.push(self.too_slow(draft, theory));
        } else if warm_up.checked_add(span).is_none() {
            let message = format!(
                "`warm_up` of {warm_up} and `span` of {span} exceed the maximum simulated time, {}",
                SimTime::MAX
            );
            problems.push(draft.problem("span", message).hint("shorten one of them"));
        }
        problems
    }
}

impl Settled {
    /// The problem that the default warm-up does not fit in simulated time.
    fn too_slow(&self, draft: &Draft, theory: &Theory) -> Problem {
        let slower = |left: &(&String, &Mmk), right: &(&String, &Mmk)| {
            left.1.relaxation().total_cmp(&right.1.relaxation())
        };
        let slowest = self.stations.keys().zip(&theory.stations).max_by(slower);
        let (name, station) = slowest.map_or(("", None), |(name, station)| (name.as_str(), Some(station)));
        let key = format!("stations.{name}.arrival_rate");
        let message = format!(
            "the load of `{name}` is within {} % of its capacity, so the default `warm_up` is {} ({WARM_UP_RELAXATIONS:.0} relaxation \
             times); with `span` it exceeds the maximum simulated time, {}",
            human::digits(station.map_or(0.0, |station| 100.0 - station.utilisation() * 100.0)),
            human::quantity(WARM_UP_RELAXATIONS * theory.relaxation(), "s"),
            SimTime::MAX
        );
        let hint = format!("lower `{key}`, add servers, or set a shorter `warm_up`");
        draft.problem(&key, message).hint(hint)
    }
}

/// For each station, the positions of the stations its jobs go to, with their shares.
fn routes(stations: &Stations) -> Vec<Vec<(usize, Percent)>> {
    let place = |name: &String| stations.keys().position(|key| key == name);
    let of = |station: &Station| {
        station.routes.iter().filter_map(|(name, share)| Some((place(name)?, *share))).collect()
    };
    stations.values().map(of).collect()
}

/// For each station, the arrivals per second, from outside and from other stations.
fn rates(stations: &Stations) -> Vec<f64> {
    let outside: Vec<f64> = stations.values().map(|station| station.arrival_rate.per_second_f64()).collect();
    let fractions = |targets: &Vec<(usize, Percent)>| {
        targets.iter().map(|(to, share)| (*to, share.fraction_f64())).collect()
    };
    let routes: Vec<Vec<(usize, f64)>> = routes(stations).iter().map(fractions).collect();
    traffic(&outside, &routes)
}

impl Station {
    fn closed(&self, arrival_rate: f64) -> Option<Mmk> {
        Mmk::new(self.servers, arrival_rate, self.service_rate.per_second_f64())
    }
}

impl Theory {
    /// The closed forms of these stations, whose routes must lead out; nothing if one of them is overloaded.
    fn of(stations: &Stations, travel: SimSpan) -> Option<Theory> {
        let solved: Option<Vec<Mmk>> =
            stations.values().zip(rates(stations)).map(|(station, rate)| station.closed(rate)).collect();
        Some(Theory {
            stations: solved?,
            throughput: stations.values().map(|station| station.arrival_rate.per_second_f64()).sum(),
            travel: travel.as_secs_f64(),
            single_visit: stations.len() == 1 && stations.values().all(|station| station.routes.is_empty()),
        })
    }

    /// The mean number of jobs, summed over all stations.
    #[must_use]
    pub fn number_mean(&self) -> f64 {
        self.stations.iter().map(Mmk::number_mean).sum()
    }

    /// The mean number of jobs that wait.
    #[must_use]
    pub fn waiting_mean(&self) -> f64 {
        self.stations.iter().map(Mmk::waiting_mean).sum()
    }

    /// The share of all servers that is busy.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let servers: f64 =
            self.stations.iter().map(|station| station.offered() / station.utilisation()).sum();
        let offered: f64 = self.stations.iter().map(|station| station.offered()).sum();
        offered / servers
    }

    /// A quantile of the wait, where a closed form exists: for one station.
    #[must_use]
    pub fn wait_quantile(&self, q: f64) -> Option<f64> {
        let [station] = self.stations[..] else { return None };
        Some(station.wait_quantile(q))
    }

    /// The mean wait of a visit to a station.
    #[must_use]
    pub fn wait_mean(&self) -> f64 {
        self.waiting_mean() / self.visit_rate()
    }

    /// The share of visits that must wait.
    #[must_use]
    pub fn wait_share(&self) -> f64 {
        self.stations.iter().map(|station| station.arrival_rate() * station.wait_chance()).sum::<f64>()
            / self.visit_rate()
    }

    /// The mean time from arrival at the first station to the end of service at the last, travel included, by
    /// Little's law.
    #[must_use]
    pub fn sojourn_mean(&self) -> f64 {
        let moves_per_job = self.visit_rate() / self.throughput - 1.0;
        self.number_mean() / self.throughput + self.travel * moves_per_job
    }

    /// A quantile of the sojourn, where a closed form exists: for one station that no job visits twice.
    #[must_use]
    pub fn sojourn_quantile(&self, q: f64) -> Option<f64> {
        self.single_visit.then(|| self.stations[0].response_quantile(q))
    }

    /// The longest relaxation time.
    #[must_use]
    pub fn relaxation(&self) -> f64 {
        self.stations.iter().map(Mmk::relaxation).fold(0.0, f64::max)
    }

    /// Visits to stations per second.
    #[must_use]
    pub fn visit_rate(&self) -> f64 {
        self.stations.iter().map(Mmk::arrival_rate).sum()
    }
}

fn positions(flags: impl Iterator<Item = bool>) -> Vec<usize> {
    flags.enumerate().filter_map(|(at, flag)| flag.then_some(at)).collect()
}

/// All stations that can be reached from `starts`, these included.
fn closure(next: &[Vec<usize>], starts: Vec<usize>) -> BTreeSet<usize> {
    let mut found: BTreeSet<usize> = starts.iter().copied().collect();
    let mut open = starts;
    while let Some(at) = open.pop() {
        open.extend(next[at].iter().copied().filter(|to| found.insert(*to)));
    }
    found
}

/// `seconds` rounded up to two digits, to be readable in a resolved scenario.
pub(super) fn rounded_span(seconds: f64) -> SimSpan {
    let ns = SimSpan::from_ns_f64_floor(seconds * 1e9).as_ns().max(1);
    let unit = 10_u64.pow(ns.ilog10().saturating_sub(1));
    SimSpan::from_ns(ns.div_ceil(unit).saturating_mul(unit))
}

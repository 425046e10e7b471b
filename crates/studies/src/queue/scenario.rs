//! The keys of a scenario of a network of queues, and their checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_report::human;
use towtank_scenario::{Draft, Problem, Problems, nearest};
use towtank_units::{Frequency, Percent, SimSpan, SimTime};

use super::order::Class;
use super::service::{self, Service};
use super::stations::{self, Station, Stations, closure, rates, routes};
use super::theory::{Closed, Theory};

/// An open network of stations. Jobs come from outside, wait at stations until a server is free, and leave.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The stations by name: `[stations.counter]`. A name is lower-case letters, digits and `_`.
    pub stations: Stations,
    /// The classes of jobs, the most urgent first: `[[classes]]`. Left out: all jobs are alike.
    #[serde(default)]
    pub classes: Vec<Class>,
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

/// A scenario with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// As [`Scenario::stations`].
    pub stations: Stations,
    /// As [`Scenario::classes`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// As [`Scenario::travel`].
    pub travel: SimSpan,
    /// As [`Scenario::warm_up`].
    pub warm_up: SimSpan,
    /// As [`Scenario::span`].
    pub span: SimSpan,
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
        problems.extend(stations::check_order(&self.classes, &self.stations, draft));
        problems.into_result(())?;
        self.check_ways(draft).into_result(())?;
        let theory = self.theory(draft)?;
        let [warm_up, span] = self.times(draft, &theory)?;
        let Scenario { stations, classes, travel, .. } = self;
        let settled = Settled { stations, classes, travel, warm_up, span };
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
            problems.extend(service::check(&station.service, station.service_rate, &key, draft));
            let arrivals = service::too_fast(draft, &format!("{key}.arrival_rate"), station.arrival_rate);
            arrivals.into_iter().for_each(|problem| problems.push(problem));
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
        if let Some(theory) = Theory::of(&self.stations, &self.classes, self.travel) {
            return Ok(theory);
        }
        let mut problems = Problems::new();
        for ((name, station), rate) in self.stations.iter().zip(rates(&self.stations)) {
            let one = station.capacity(&self.classes);
            let all = one * f64::from(station.servers);
            if rate < all {
                continue;
            }
            let key = format!("stations.{name}");
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

    /// Warm-up and span, each as given or as it suits the slowest station.
    fn times(&self, draft: &Draft, theory: &Theory) -> Result<[SimSpan; 2], Problems> {
        let relaxation = theory.relaxation();
        let span = (SPAN_RELAXATIONS * relaxation).min(ARRIVALS_MAX / theory.throughput);
        let defaults = [("warm_up", WARM_UP_RELAXATIONS * relaxation), ("span", span)];
        let given = [self.warm_up, self.span];
        if self.span.is_some_and(SimSpan::is_zero) {
            let problem = draft.problem("span", "`span` is 0s, but something must be measured");
            return Err(problem.hint("leave it out for a span that suits the slowest station").into());
        }
        let [warm_up, span] = [0, 1].map(|at| given[at].or_else(|| rounded_span(defaults[at].1)));
        if let (Some(warm_up), Some(span)) = (warm_up, span)
            && warm_up.checked_add(span).and_then(|end| end.checked_add(self.travel)).is_some()
        {
            return Ok([warm_up, span]);
        }
        if !self.travel.is_zero()
            && warm_up.zip(span).and_then(|(one, other)| one.checked_add(other)).is_some()
        {
            let message = format!(
                "a run with `travel` of {} exceeds the maximum simulated time, {LONGEST}",
                self.travel
            );
            return Err(draft.problem("travel", message).hint("shorten it").into());
        }
        // The longest of the times that nobody has set is the one to speak of.
        let left_out = [0, 1].into_iter().filter(|at| given[*at].is_none()).map(|at| defaults[at]);
        let longest = left_out.max_by(|left, right| left.1.total_cmp(&right.1));
        Err(match longest {
            Some(default) => self.too_slow(draft, theory, default),
            None => self.too_long(draft),
        }
        .into())
    }

    /// The problem that the times that were given do not fit in simulated time.
    fn too_long(&self, draft: &Draft) -> Problem {
        let [warm_up, span] = [self.warm_up, self.span].map(Option::unwrap_or_default);
        let message = format!(
            "`warm_up` of {warm_up} and `span` of {span} exceed the maximum simulated time, {LONGEST}"
        );
        draft.problem("span", message).hint("shorten one of them")
    }

    /// The problem that a default does not fit in simulated time.
    fn too_slow(&self, draft: &Draft, theory: &Theory, (key, seconds): (&str, f64)) -> Problem {
        let slower = |left: &(&String, &Closed), right: &(&String, &Closed)| {
            left.1.relaxation().total_cmp(&right.1.relaxation())
        };
        let slowest = self.stations.keys().zip(&theory.stations).max_by(slower);
        let (name, station) = slowest.expect("a network has a station");
        let default = format!(
            "the default `{key}` is {}; a run of that length exceeds the maximum simulated time, {LONGEST}",
            human::quantity(seconds, "s"),
        );
        let place = format!("stations.{name}.arrival_rate");
        let spare = 1.0 - station.utilisation();
        let (message, hint) = if spare < CLOSE_TO_CAPACITY {
            let spare = human::digits(spare * 100.0);
            let message = format!("the load of `{name}` is within {spare} % of its capacity, so {default}");
            (message, format!("lower `{place}`, add servers, or set a shorter `{key}`"))
        } else {
            let service = human::quantity(station.service_mean(), "s");
            let message = format!("`{name}` takes {service} for a job on average, so {default}");
            (message, format!("set a shorter `{key}`, or multiply all rates by the same number"))
        };
        draft.problem(&place, message).hint(hint)
    }
}

/// The maximum simulated time, in words.
pub(super) const LONGEST: &str = "584 years";
/// A station with less capacity to spare is slow because of its load.
const CLOSE_TO_CAPACITY: f64 = 0.1;

impl Settled {
    /// The service times of each class at a station, with their rate; one entry where all jobs are alike.
    #[must_use]
    pub(super) fn services<'a>(&'a self, station: &'a Station) -> Vec<(&'a Service, Frequency)> {
        station.services(&self.classes)
    }

    /// The closed forms; a checked scenario has them.
    #[must_use]
    pub(super) fn theory(&self) -> Option<Theory> {
        Theory::of(&self.stations, &self.classes, self.travel)
    }

    /// The instant at which statistics begin.
    #[must_use]
    pub(super) fn measured_from(&self) -> SimTime {
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
}

fn positions(flags: impl Iterator<Item = bool>) -> Vec<usize> {
    flags.enumerate().filter_map(|(at, flag)| flag.then_some(at)).collect()
}

/// `seconds` rounded up to two digits, to be readable in a resolved scenario; nothing if no run is so long.
pub(super) fn rounded_span(seconds: f64) -> Option<SimSpan> {
    if seconds >= SimSpan::MAX.as_secs_f64() {
        return None;
    }
    let ns = SimSpan::from_ns_f64_floor(seconds * 1e9).as_ns().max(1);
    let unit = 10_u64.pow(ns.ilog10().saturating_sub(1));
    ns.div_ceil(unit).checked_mul(unit).map(SimSpan::from_ns)
}

//! The keys of a scenario of a network of queues, and their checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_report::human;
use towtank_scenario::{Draft, Problem, Problems, nearest};
use towtank_units::{Percent, SimSpan, SimTime};

use super::order::Class;
use super::service;
use super::stations::{self, Stations, backward, closure, live, rates};
use super::theory::Theory;

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

/// A scenario with all defaults filled in; the keys are those of [`Scenario`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    pub stations: Stations,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    pub travel: SimSpan,
    pub warm_up: SimSpan,
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
    /// Fills in what was left out and checks the scenario: each problem has its place in `draft`.
    pub fn settle(self, draft: &Draft) -> Result<(Settled, Theory), Problems> {
        let mut problems = Problems::new();
        self.check_stations(draft, &mut problems);
        self.check_routes(draft, &mut problems);
        stations::check_order(&self.classes, &self.stations, draft, &mut problems);
        problems.into_result(())?;
        self.check_ways(draft)?;
        let theory = self.theory(draft)?;
        let [warm_up, span] = self.times(draft, &theory)?;
        let Scenario { stations, classes, travel, .. } = self;
        Ok((Settled { stations, classes, travel, warm_up, span }, theory))
    }

    fn check_stations(&self, draft: &Draft, problems: &mut Problems) {
        let count = self.stations.len();
        if count == 0 {
            let hint = "add a table such as [stations.counter] with a service_rate and an arrival_rate";
            problems.refuse(draft, "stations", "there is no station", hint);
        }
        if count > STATIONS_MAX {
            let message = format!("there are {count} stations, but at most {STATIONS_MAX} can be solved");
            problems.refuse(draft, "stations", message, "merge stations that do not matter individually");
        }
        for (name, station) in &self.stations {
            let key = format!("stations.{name}");
            stations::check_name("station", name, &key, draft, problems);
            service::check(&station.service, station.service_rate, &key, draft, problems);
            service::check_rate(station.arrival_rate, &format!("{key}.arrival_rate"), draft, problems);
        }
        if count > 0 && self.stations.values().all(|station| station.arrival_rate.is_zero()) {
            let hint = "give at least one station an `arrival_rate`, such as \"70/s\"";
            problems.refuse(draft, "stations", "no jobs come from outside", hint);
        }
    }

    fn check_routes(&self, draft: &Draft, problems: &mut Problems) {
        for (name, station) in &self.stations {
            let key = format!("stations.{name}.routes");
            for target in station.routes.keys().filter(|target| !self.stations.contains_key(*target)) {
                let names: Vec<&str> = self.stations.keys().map(String::as_str).collect();
                let hint = match nearest(target, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the stations are {}; what is not routed leaves", names.join(", ")),
                };
                let message = format!("`{key}` names `{target}`, but there is no such station");
                problems.refuse(draft, &format!("{key}.{target}"), message, hint);
            }
            let total = service::total(station.routes.values().copied());
            if total > Percent::FULL {
                let message = format!("the shares of `{key}` add up to {total}, but at most 100% can go on");
                problems.refuse(draft, &key, message, "lower one of them; what is missing to 100% leaves");
            }
        }
    }

    /// Checks that every station can be reached, and that every station has a way out.
    fn check_ways(&self, draft: &Draft) -> Result<(), Problems> {
        let mut problems = Problems::new();
        let all = || self.stations.values().enumerate();
        let forward = live(&self.stations);
        let fed = all().filter(|(_, station)| !station.arrival_rate.is_zero());
        let reached = closure(&forward, fed.map(|(at, _)| at).collect());
        let open = all().filter(|(_, one)| service::total(one.routes.values().copied()) < Percent::FULL);
        let can_leave = closure(&backward(&forward), open.map(|(at, _)| at).collect());
        for (at, name) in self.stations.keys().enumerate() {
            let key = format!("stations.{name}");
            if !reached.contains(&at) {
                let hint = "give it an `arrival_rate`, or route jobs to it from another station";
                problems.refuse(draft, &key, format!("no job ever reaches `{name}`"), hint);
            } else if !can_leave.contains(&at) {
                let message = format!("a job that has come to `{name}` can never leave");
                let hint = "lower a share in `routes` on its way, so that the rest leaves";
                problems.refuse(draft, &format!("{key}.routes"), message, hint);
            }
        }
        problems.into_result(())
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
            problems.refuse(draft, &format!("{key}.servers"), message, hint);
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
        let end = warm_up.zip(span).and_then(|(warm_up, span)| warm_up.checked_add(span));
        let (fits, travel) = (|end: SimSpan| end.checked_add(self.travel).is_some(), self.travel);
        if let (Some(warm_up), Some(span), true) = (warm_up, span, end.is_some_and(fits)) {
            return Ok([warm_up, span]);
        }
        // The longest of the times that nobody has set is the one to speak of.
        let left_out = [0, 1].into_iter().filter(|at| given[*at].is_none()).map(|at| defaults[at]);
        let longest = left_out.max_by(|left, right| left.1.total_cmp(&right.1));
        Err(match longest {
            _ if end.is_some() => {
                let message =
                    format!("a run with `travel` of {travel} exceeds the maximum simulated time, {LONGEST}");
                draft.problem("travel", message).hint("shorten it")
            }
            Some(default) => self.too_slow(draft, theory, default),
            None => {
                let [warm_up, span] = given.map(Option::unwrap_or_default);
                let message = format!(
                    "`warm_up` of {warm_up} and `span` of {span} exceed the maximum simulated time, {LONGEST}"
                );
                draft.problem("span", message).hint("shorten one of them")
            }
        }
        .into())
    }

    /// The problem that a default does not fit in simulated time.
    fn too_slow(&self, draft: &Draft, theory: &Theory, (key, seconds): (&str, f64)) -> Problem {
        let stations = self.stations.keys().zip(&theory.stations);
        let slowest = stations.max_by(|one, other| one.1.relaxation().total_cmp(&other.1.relaxation()));
        let (name, station) = slowest.expect("a network has a station");
        let default = format!(
            "the default `{key}` is {}; a run of that length exceeds the maximum simulated time, {LONGEST}",
            human::quantity(seconds, "s"),
        );
        let place = format!("stations.{name}.arrival_rate");
        let spare = 1.0 - station.load.utilisation();
        let (message, hint) = if spare < CLOSE_TO_CAPACITY {
            let spare = human::digits(spare * 100.0);
            let message = format!("the load of `{name}` is within {spare} % of its capacity, so {default}");
            (message, format!("lower `{place}`, add servers, or set a shorter `{key}`"))
        } else {
            let service = human::quantity(station.service.mean, "s");
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
    /// The closed forms; a checked scenario has them.
    pub(super) fn theory(&self) -> Option<Theory> {
        Theory::of(&self.stations, &self.classes, self.travel)
    }

    /// The instant at which statistics begin.
    pub(super) fn measured_from(&self) -> SimTime {
        SimTime::ZERO.saturating_add(self.warm_up)
    }

    /// The instant at which the run ends.
    pub fn end(&self) -> SimTime {
        self.measured_from().saturating_add(self.span)
    }
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

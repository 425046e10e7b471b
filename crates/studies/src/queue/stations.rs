//! The stations of a network: their keys, the checks of what they say of classes, and what flows between
//! them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use towtank_scenario::{Draft, Problems, nearest};
use towtank_units::{Frequency, Percent};

use super::closed_form::traffic;
use super::order::{Class, ClassService, Order};
use super::service::{self, Moments, Service};

/// The stations by name.
pub(super) type Stations = BTreeMap<String, Station>;

/// One queue in front of equal servers, first come first served unless `order` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Number of servers; each serves one job at a time.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub servers: u32,
    /// Mean rate at which one busy server finishes jobs. Service times are exponential unless `service` says
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "100/s")]
    pub service_rate: Option<Frequency>,
    /// Distribution of service times: `"exponential"`, `"constant"`, or a table such as
    /// `{ erlang = { phases = 4 } }`.
    #[serde(default, skip_serializing_if = "Service::is_exponential")]
    pub service: Service,
    /// Mean rate at which jobs arrive from outside, independently of each other (a Poisson stream).
    #[serde(default)]
    #[schemars(example = "70/s")]
    pub arrival_rate: Frequency,
    /// Which waiting job is served next.
    #[serde(default, skip_serializing_if = "Order::is_fifo")]
    pub order: Order,
    /// Service of single classes, where it differs: `classes.batch = { service_rate = "10/s" }`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassService>,
    /// Where a finished job goes: the names of stations with their shares, `{ disk = "30%" }`. The rest
    /// leaves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub routes: BTreeMap<String, Percent>,
}

fn one() -> u32 {
    1
}

/// The most classes; more would fill pages, and no use for more is known.
const CLASSES_MAX: usize = 16;

/// Checks the classes, and what stations say of them.
pub(super) fn check_order(classes: &[Class], stations: &Stations, draft: &Draft, problems: &mut Problems) {
    check_classes(classes, draft, problems);
    let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    for (name, station) in stations {
        let key = format!("stations.{name}");
        if !station.order.is_fifo() && classes.len() < 2 {
            let message = format!("`{key}.order` is a priority, but there are not two classes of jobs");
            let hint = "add two or more tables [[classes]], each with a name and a share";
            problems.refuse(draft, &format!("{key}.order"), message, hint);
        }
        for (class, own) in &station.classes {
            let key = format!("{key}.classes.{class}");
            if names.contains(&class.as_str()) {
                service::check(&own.service, own.service_rate, &key, draft, problems);
                continue;
            }
            let hint = match nearest(class, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "add tables [[classes]], each with a name and a share".to_owned(),
                None => format!("the classes are {}", names.join(", ")),
            };
            let message = format!("`{key}` names `{class}`, but there is no such class");
            problems.refuse(draft, &key, message, hint);
        }
    }
}

fn check_classes(classes: &[Class], draft: &Draft, problems: &mut Problems) {
    if classes.len() > CLASSES_MAX {
        let message = format!("there are {} classes, but at most {CLASSES_MAX} are taken", classes.len());
        problems.refuse(draft, "classes", message, "merge classes that are treated alike");
    }
    for (at, class) in classes.iter().enumerate() {
        let Class { name, share } = class;
        let key = format!("classes[{at}].name");
        check_name("class", name, &key, draft, problems);
        if *share == Percent::ZERO {
            let message = format!("`classes[{at}].share` is {share}, but a class must have jobs");
            let hint = "give it a share, or leave the class out";
            problems.refuse(draft, &format!("classes[{at}].share"), message, hint);
        }
        if classes[..at].iter().any(|earlier| earlier.name == *name) {
            problems.refuse(draft, &key, format!("two classes are called `{name}`"), "rename one of them");
        }
    }
    if let Some(total) =
        service::not_full(classes.iter().map(|class| class.share)).filter(|_| !classes.is_empty())
    {
        let message = format!("the shares of `classes` add up to {total}, but every job has one class");
        problems.refuse(draft, "classes", message, "let them add up to 100%");
    }
}

/// Checks the name of a station or a class.
pub(super) fn check_name(what: &str, name: &str, key: &str, draft: &Draft, problems: &mut Problems) {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(legal) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        let hint = "use lower-case letters, digits and `_`, and begin with a letter";
        problems.refuse(draft, key, format!("`{name}` is not a valid {what} name"), hint);
    }
}

/// For each station, the positions of the stations its jobs go to, with their shares.
pub(super) fn routes(stations: &Stations) -> Vec<Vec<(usize, Percent)>> {
    let place = |name: &String| stations.keys().position(|key| key == name);
    let of = |station: &Station| {
        station.routes.iter().filter_map(|(name, share)| Some((place(name)?, *share))).collect()
    };
    stations.values().map(of).collect()
}

impl Station {
    /// The service times of each of these classes, with their rate.
    pub(super) fn services<'a>(&'a self, classes: &[Class]) -> Vec<(&'a Service, Frequency)> {
        let usual = (&self.service, self.service_rate.unwrap_or_default());
        if classes.is_empty() {
            return vec![usual];
        }
        let own = |class: &Class| {
            let own = self.classes.get(&class.name)?;
            Some((&own.service, own.service_rate.unwrap_or_default()))
        };
        classes.iter().map(|class| own(class).unwrap_or(usual)).collect()
    }

    /// Jobs per second that one busy server finishes.
    pub(super) fn capacity(&self, classes: &[Class]) -> f64 {
        match self.service_rate {
            Some(rate) if self.classes.is_empty() => rate.per_second_f64(),
            _ => 1.0 / self.moments(classes).mean,
        }
    }

    /// The moments of the service times of all jobs.
    fn moments(&self, classes: &[Class]) -> Moments {
        let services = self.services(classes);
        let each = services.iter().map(|(service, rate)| service.moments(*rate));
        Moments::mixed(shares(classes).into_iter().zip(each))
    }
}

/// The shares of the classes; all jobs are one if there are none.
pub(super) fn shares(classes: &[Class]) -> Vec<f64> {
    let shares = classes.iter().map(|class| class.share.fraction_f64());
    shares.chain(classes.is_empty().then_some(1.0)).collect()
}

/// For each station, the arrivals per second, from outside and from other stations.
pub(super) fn rates(stations: &Stations) -> Vec<f64> {
    let outside: Vec<f64> = stations.values().map(|station| station.arrival_rate.per_second_f64()).collect();
    let fractions = |targets: Vec<(usize, Percent)>| {
        targets.into_iter().map(|(to, share)| (to, share.fraction_f64())).collect()
    };
    let routes: Vec<Vec<(usize, f64)>> = routes(stations).into_iter().map(fractions).collect();
    traffic(&outside, &routes)
}

/// For each station, those that jobs go to.
pub(super) fn live(stations: &Stations) -> Vec<Vec<usize>> {
    let live = |targets: Vec<(usize, Percent)>| {
        targets.into_iter().filter(|(_, share)| *share != Percent::ZERO).map(|(to, _)| to).collect()
    };
    routes(stations).into_iter().map(live).collect()
}

/// For each station, those that jobs come from, where `forward` has those that they go to.
pub(super) fn backward(forward: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut backward = vec![Vec::new(); forward.len()];
    for (from, targets) in forward.iter().enumerate() {
        targets.iter().for_each(|to| backward[*to].push(from));
    }
    backward
}

/// All stations that can be reached from `starts`, these included.
pub(super) fn closure(next: &[Vec<usize>], starts: Vec<usize>) -> BTreeSet<usize> {
    let mut found: BTreeSet<usize> = starts.iter().copied().collect();
    let mut open = starts;
    while let Some(at) = open.pop() {
        open.extend(next[at].iter().copied().filter(|to| found.insert(*to)));
    }
    found
}

//! What fails how often: devices, unreadable places, whole hosts and racks; which keys of it go together.

use towtank_durability::rates::{Afr, AfrOfCounts, Life, Year, afr_of_counts, exposure_h, unreadable};
use towtank_report::human;
use towtank_scenario::{Draft, Problems};

use towtank_units::SimSpan;

use super::keys::FailureKeys;
use super::layout::Layout;
use super::scenario::Scenario;

/// What fails how often, per year.
#[derive(Clone, Debug)]
pub(super) struct Failures {
    pub year: Year,
    /// Of each device.
    pub afr: Afr,
    /// Where failures were counted.
    pub counts: Option<AfrOfCounts>,
    /// The shape of a law of age, and the age of all devices.
    pub aging: Option<(f64, f64)>,
    /// Of each host and each rack, with the data of all its devices.
    pub hosts: Option<f64>,
    pub racks: Option<f64>,
    /// Latent errors of a device, and the hours between two scrubs of it.
    pub latent: Option<(f64, f64)>,
    /// P(a bit cannot be read).
    pub per_bit: Option<f64>,
}

/// Keys of described systems that mean nothing for exports.
const OUTAGES: [&str; 4] =
    ["server_outage_rate", "server_outage_time", "rack_outage_rate", "rack_outage_time"];

impl Failures {
    /// Reads the keys.
    ///
    /// # Errors
    /// Each problem with its place in `draft`.
    pub fn of(scenario: &Scenario, draft: &Draft) -> Result<Failures, Problems> {
        let keys: &FailureKeys = &scenario.described.failures;
        let mut problems = Problems::new();
        for key in OUTAGES.into_iter().filter(|key| draft.says(key)) {
            let message =
                format!("`{key}` is asked of a cluster: what is out and comes back is not modelled there");
            let hint = "leave it out: `towtank whatif --fail` with `--return` shows what an outage does";
            problems.refuse(draft, key, message, hint);
        }
        check_failures(keys, draft, &mut problems);
        problems.into_result(())?;
        let year = year(keys, draft)?;
        let (afr, counts) = rate(scenario, year, draft)?;
        let latent = keys.latent_error_rate.zip(keys.scrub_interval);
        let failures = Failures {
            year,
            afr,
            counts,
            aging: keys.weibull_shape.map(|shape| (shape, keys.age.map_or(0.0, hours))),
            hosts: keys.server_ruin_rate.map(|rate| rate.fraction_f64()),
            racks: keys.rack_ruin_rate.map(|rate| rate.fraction_f64()),
            latent: latent.map(|(rate, scrub)| (rate.fraction_f64(), hours(scrub))),
            per_bit: keys.errors_per_bit,
        };
        failures.life(afr).map_err(|why| draft.problem("failure_rate", why))?;
        Ok(failures)
    }

    /// The law of a device's life.
    ///
    /// # Errors
    /// If there is no such law.
    pub fn life(&self, afr: Afr) -> Result<Life, String> {
        let life = match (self.aging, afr) {
            (Some((shape, _)), Afr::Probability(p)) => Life::weibull_of_five_years(shape, p, self.year),
            _ => Life::constant(afr, self.year),
        };
        life.map_err(|error| error.to_string())
    }

    /// The law of what fails so often a year as a whole.
    pub(super) fn ruin(&self, a_year: f64) -> Life {
        Life::Constant { per_h: a_year / self.year.hours() }
    }

    /// What fails how often, in words.
    pub(super) fn assumed(&self, devices: usize) -> Vec<String> {
        let year = if self.year == Year::Common { "365" } else { "365.25" };
        let devices = human::plural(devices as f64, ["device", "devices"]);
        let ends = |counts: &AfrOfCounts| {
            let range = [counts.interval.low, counts.interval.high].map(human::digits);
            format!(", counted: {} to {}", range[0], range[1])
        };
        let counted = self.counts.as_ref().map(ends).unwrap_or_default();
        let mut all = vec![match (self.aging, self.afr) {
            (Some((shape, age_h)), Afr::Probability(p)) => format!(
                "each of {devices} is {} old and fails by a Weibull law of shape {}, as many within five years as with a \
                 probability of {} a year of {year} days; independent",
                human::quantity(age_h * 3_600.0, "s"),
                human::digits(shape),
                human::quantity(p, "share")
            ),
            (_, Afr::Probability(p)) => format!(
                "each of {devices} fails within a year of {year} days with a probability of {} (rate -ln(1 - p), constant, \
                 independent: `--failure-probability`)",
                human::quantity(p, "share")
            ),
            (_, other) => format!(
                "each of {devices} fails {} times in a year of {year} days (a rate, constant, independent: `--failure-rate`\
                 {counted})",
                human::digits(other.per_hour(self.year).unwrap_or(0.0) * self.year.hours())
            ),
        }];
        for (what, rate) in [("host", self.hosts), ("rack", self.racks)] {
            all.extend(rate.map(|rate| {
                format!(
                    "each {what} is ruined {} times in a year, with the data of all its devices",
                    human::digits(rate)
                )
            }));
        }
        all.extend(self.latent.map(|(rate, scrub_h)| {
            format!(
                "{} latent errors a year on each device, which a scrub finds after at most {}",
                human::digits(rate),
                human::quantity(scrub_h * 3_600.0, "s")
            )
        }));
        all.extend(
            self.per_bit.map(|errors| format!("a bit cannot be read with a probability of {errors:.1e}")),
        );
        all
    }

    /// What is left out, in words.
    pub fn left_out(&self) -> String {
        let is_read = self.latent.is_some() || self.per_bit.is_some();
        let parts = [
            (!is_read).then_some("unreadable sectors (`--latent-error-rate`)"),
            self.aging.is_none().then_some("ages"),
            Some("batches of devices"),
            (self.hosts.is_none() && self.racks.is_none())
                .then_some("hosts and racks that fail as a whole (`--server-ruin-rate`)"),
            Some(
                "outages, operators; a failed device counts as replaced when its data are restored, so that the cluster \
                 does not shrink; bursts are of devices alone",
            ),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// P(something of the rest of a group cannot be read), when it has lost all that it survives: the mean
    /// over groups. A latent error waits for half of the interval of the scrub on average; the repair, which
    /// is short against it, is left out.
    ///
    /// # Errors
    /// If a rate is out of range.
    pub fn unreadable(&self, layout: &Layout) -> Result<f64, String> {
        let mut sum = 0.0;
        for (group, bytes) in layout.groups.iter().zip(&layout.bytes) {
            let data = group.devices.len() - group.tolerance;
            let errors = self.per_bit.map_or(Ok(0.0), |per_bit| unreadable(*bytes as f64, per_bit));
            let errors = errors.map_err(|error| error.to_string())?;
            let latent = match self.latent {
                None => 0.0,
                Some((a_year, scrub_h)) => {
                    let exposed = exposure_h(scrub_h, 0.0).map_err(|error| error.to_string())?;
                    // Of the errors of a device, those in the share that the group has of its bytes.
                    let of_group =
                        |device: &usize| *bytes as f64 / data.max(1) as f64 / layout.held[*device].max(1.0);
                    let shares: f64 = group.devices.iter().map(of_group).sum::<f64>();
                    let read = shares * data as f64 / group.devices.len().max(1) as f64;
                    a_year / self.year.hours() * exposed * read
                }
            };
            sum += 1.0 - (1.0 - errors) * libm::exp(-latent);
        }
        Ok(sum / layout.groups.len().max(1) as f64)
    }
}

/// A span in hours.
pub(super) fn hours(span: SimSpan) -> f64 {
    span.as_secs_f64() / 3_600.0
}

/// The length of a year.
pub(super) fn year(failures: &FailureKeys, draft: &Draft) -> Result<Year, Problems> {
    let Some(year) = failures.year else { return Ok(Year::Julian) };
    let known = [Year::Julian, Year::Common];
    known.into_iter().find(|known| (known.hours() - hours(year)).abs() < 1e-9).ok_or_else(|| {
        let message = format!("`year` is {year}");
        draft.problem("year", message).hint("write `365.25d` or `365d`").into()
    })
}

/// The failure rate in the form in which it was given, with its interval if it was counted.
pub(super) fn rate(
    scenario: &Scenario,
    year: Year,
    draft: &Draft,
) -> Result<(Afr, Option<AfrOfCounts>), Problems> {
    let failures = &scenario.described.failures;
    if let Some(probability) = failures.failure_probability {
        let afr = Afr::Probability(probability.fraction_f64());
        return match afr.per_hour(year) {
            Ok(_) => Ok((afr, None)),
            Err(error) => Err(draft.problem("failure_probability", error.to_string()).into()),
        };
    }
    let Some((failed, years)) = failures.failures.zip(failures.disk_years) else {
        return Ok((Afr::Rate(scenario.failure_rate.fraction_f64()), None));
    };
    let confidence = failures.confidence.map_or(0.95, |share| share.fraction_f64());
    let counts = afr_of_counts(u64::from(failed), years * year.hours() / 24.0, year, confidence)
        .map_err(|error| draft.problem("confidence", error.to_string()))?;
    Ok((Afr::Rate(counts.per_year), Some(counts)))
}

/// Refuses keys of failures that do not fit together.
pub(super) fn check_failures(keys: &FailureKeys, draft: &Draft, problems: &mut Problems) {
    let mut needs = |holds: bool, key: &str, message: String, hint: &str| {
        if !holds {
            problems.refuse(draft, key, message, hint);
        }
    };
    let forms = ["failure_rate", "failure_probability", "failures"];
    let given: Vec<&str> = forms.into_iter().filter(|key| draft.says(key)).collect();
    if let [one, other, ..] = given[..] {
        let message = format!("`{one}` and `{other}` both say how often disks fail");
        needs(false, other, message, "leave one of them out");
    }
    for key in ["disk_years", "confidence"] {
        let message = format!("`{key}` goes with `failures`, which is missing");
        needs(keys.failures.is_some() || !draft.says(key), key, message, "add `failures`");
    }
    let message = "the years in which `failures` were counted are missing".to_owned();
    needs(keys.failures.is_none() || keys.disk_years.is_some(), "failures", message, "add `disk_years`");
    let message = "`age` is of laws of age".to_owned();
    needs(keys.weibull_shape.is_some() || !draft.says("age"), "age", message, "add `weibull_shape`");
    let is_law = keys.weibull_shape.is_none() || keys.failure_probability.is_some();
    let message = "a law of age needs the probability of a year".to_owned();
    needs(is_law, "weibull_shape", message, "add `failure_probability`");
    for [one, other] in [
        ["latent_error_rate", "scrub_interval"],
        ["server_outage_rate", "server_outage_time"],
        ["rack_outage_rate", "rack_outage_time"],
    ] {
        for [one, other] in [[one, other], [other, one]] {
            let is_whole = !draft.says(one) || draft.says(other);
            let message = format!("`{one}` goes with `{other}`, which is missing");
            needs(is_whole, one, message, &format!("add `{other}`"));
        }
    }
}

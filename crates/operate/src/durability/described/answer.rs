//! The answer about a described system in words: it says first what it assumes.

use towtank_durability::rates::{Afr, Year};
use towtank_report::{Answer, Label, human};
use towtank_study::Point;

use super::code::Code;
use super::observed::Kept;
use super::plan::time;
use super::span;
use crate::durability::Durability;
pub(super) use crate::durability::answer::probability;
use crate::durability::keys::{Apart, FailureKeys, Law, Lie, Moved, SharedBy};
use crate::durability::scenario::Scenario;

/// One point with the results of its first replicate.
pub(in crate::durability) struct View<'a> {
    pub point: &'a Point<'a, Durability>,
    pub kept: &'a Kept,
}

impl View<'_> {
    pub fn value(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    fn reason(&self, measure: &str) -> Option<&str> {
        self.point.result.outcomes.iter().find_map(|one| one.measures.get(measure)?.reason())
    }

    pub fn scenario(&self) -> &Scenario {
        &self.point.scenario
    }

    pub(super) fn code(&self) -> Option<Code> {
        let keys = &self.scenario().described.system;
        match &keys.ec {
            Some(text) => Code::parse(text).ok(),
            None => Some(Code { data: 1, width: keys.replicas.unwrap_or(3) as usize }),
        }
    }

    pub fn name(&self) -> String {
        let label = self.point.label();
        let code = self.code().map_or_else(String::new, Code::name);
        if label.is_empty() { code } else { label }
    }

    fn year(&self) -> Year {
        let is_common = |span: towtank_units::SimSpan| span.as_secs_f64() == 365.0 * 86_400.0;
        match self.scenario().described.failures.year {
            Some(year) if is_common(year) => Year::Common,
            _ => Year::Julian,
        }
    }
}

/// The answer over one point.
pub(super) fn answer(view: &View<'_>) -> Answer {
    let mut answer = Answer::of(finding(view));
    let said = usize::from(!asks_for_mission(view));
    for burst in view.kept.bursts.iter().skip(said) {
        let range = match burst.range[0] == burst.range[1] {
            true => burst.how.clone(),
            false => {
                format!("{} to {}, {}", probability(burst.range[0]), probability(burst.range[1]), burst.how)
            }
        };
        let loss = probability(burst.loss);
        answer.push(
            Label::Risk,
            format!("if {} fail at once: a loss with probability {loss} ({range})", burst.text),
        );
    }
    if view.value("loss_probability").is_some() {
        answer.push(Label::Also, format!("by {}; {}", view.kept.found_by, view.kept.confirmed));
    }
    for text in beside(view) {
        answer.push(Label::Also, text);
    }
    for text in assumed(view) {
        answer.push(Label::Assumed, text);
    }
    answer.push(
        Label::LeavesOut,
        "batches of disks, failures that depend on each other but for ruins of servers and racks, loads of clients, repairs that \
         wait for room, operators",
    );
    answer.by_measures(["loss_probability"])
}

/// Several points, one line for each.
pub(super) fn compared(views: &[View<'_>]) -> Answer {
    let mut sentences: Vec<String> =
        views.iter().map(|view| format!("{}: {}", view.name(), loss(view))).collect();
    // What is assumed of the first is said once: the others differ in what their names say.
    if let (Some(sentence), Some(first)) = (sentences.first_mut(), views.first()) {
        *sentence = format!("{}: {}", first.name(), finding(first));
    }
    Answer::of_sentences(sentences).comparing("redundancies")
}

/// What the probability is, and of what: each quantity that changes it is named.
fn finding(view: &View<'_>) -> String {
    if let Some(first) = view.kept.bursts.first().filter(|_| !asks_for_mission(view)) {
        let condition = format!("if {} fail at once", first.text);
        return format!(
            "P(any loss in {}, {condition}) = {} ({}).",
            system(view),
            probability(first.loss),
            first.how
        );
    }
    let assumed = format!("{}; {}; {}", failures(view), start(view), repairs(view));
    match view.value("loss_probability") {
        Some(_) => format!("{}, if {assumed}.", loss(view)),
        None => format!("{} ({}; {assumed}).", loss(view), system(view)),
    }
}

/// Whether it says how long repairs take; else only bursts are asked for.
fn asks_for_mission(view: &View<'_>) -> bool {
    let keys = &view.scenario().described.repair;
    keys.repair_time.is_some() || keys.repair_rate.is_some() || keys.repair_law == Some(Law::Never)
}

/// The probability, or why there is none.
fn loss(view: &View<'_>) -> String {
    let Some(loss) = view.value("loss_probability") else {
        let why = view.reason("loss_probability").unwrap_or("the reason is not known");
        return format!("no probability of loss: {why}");
    };
    format!("P(any loss in {} in {}) = {}", system(view), mission(view), probability(loss))
}

fn mission(view: &View<'_>) -> String {
    let mission = view.scenario().mission;
    let years = mission.as_secs_f64() / crate::durability::scenario::year().as_secs_f64();
    match years {
        1.0 => "1 year".to_owned(),
        years if years > 1.0 => format!("{} years", human::digits(years)),
        _ => span(mission),
    }
}

fn system(view: &View<'_>) -> String {
    let keys = &view.scenario().described.system;
    let disks = f64::from(keys.servers.unwrap_or(1)) * f64::from(keys.disks_per_server.unwrap_or(1));
    let code = view.code().map_or_else(String::new, Code::name);
    let lie = match keys.layout.unwrap_or_default() {
        Lie::Arrays => match &keys.top {
            Some(top) => format!("arrays of {code} under {top}"),
            None => format!("arrays of {code}"),
        },
        Lie::Pool => format!("declustered pools of {code}"),
        Lie::Groups => format!("{} groups of {code}", human::digits(f64::from(keys.groups.unwrap_or(0)))),
        Lie::Copysets => format!("copysets of {code}"),
        Lie::Scattered => format!("all sets of {code}"),
    };
    format!("{} disks in {lie}", human::digits(disks))
}

fn failures(view: &View<'_>) -> String {
    let scenario = view.scenario();
    let failures = &scenario.described.failures;
    let year = match view.year() {
        Year::Julian => "365.25 days",
        Year::Common => "365 days",
    };
    if let Some(probability) = failures.failure_probability {
        let rate = Afr::Probability(probability.fraction_f64()).per_hour(view.year()).unwrap_or(0.0);
        let rate = human::digits(100.0 * rate * view.year().hours());
        return match failures.weibull_shape {
            Some(shape) => {
                format!(
                    "as many disks fail in five years of {year} as with a probability of {probability} a year, by a Weibull law of shape {shape}"
                )
            }
            None => format!(
                "a disk fails with a probability of {probability} in {year}, which is a rate of {rate} %"
            ),
        };
    }
    if let Some((failed, years)) = failures.failures.zip(failures.disk_years) {
        let ends = ["failure_rate_low", "failure_rate_high"]
            .map(|end| human::digits(100.0 * view.value(end).unwrap_or(f64::NAN)));
        let confidence = failures.confidence.map_or_else(|| "95%".to_owned(), |share| share.to_string());
        return format!(
            "a disk fails at the rate of {failed} failures in {years} years of {year} (interval of {confidence}: {} to {} %)",
            ends[0], ends[1]
        );
    }
    format!("a disk fails at a rate of {} in {year}", scenario.failure_rate)
}

fn start(view: &View<'_>) -> String {
    match view.scenario().described.failures.age.filter(|age| !age.is_zero()) {
        Some(age) => format!("all are good and {} old at the start", span(age)),
        None => "all are good and new at the start".to_owned(),
    }
}

fn repairs(view: &View<'_>) -> String {
    let keys = &view.scenario().described.repair;
    if keys.repair_law == Some(Law::Never) {
        return "nothing is repaired".to_owned();
    }
    let Some(seconds) = view.value("repair_s") else { return "no repair time is given".to_owned() };
    let delay = keys.delay.map_or(0.0, |delay| delay.as_secs_f64());
    let hours = time((seconds - delay) / 3_600.0);
    let delay = keys.delay.map_or("no delay".to_owned(), |delay| format!("a delay of {}", span(delay)));
    let layout = view.scenario().described.system.layout.unwrap_or_default();
    if layout == Lie::Pool {
        let moved = match keys.amplification.unwrap_or_default() {
            Moved::DataAndLost => "k shards and each lost one",
            Moved::DataAndOne => "k shards and one",
        };
        let first = if keys.critical_first == Some(true) { "the others wait" } else { "the others go on" };
        return format!(
            "all disks of a pool repair one in {hours}, after {delay}, moving {moved}; stripes that lack most go first, and {first}"
        );
    }
    let law = match keys.repair_law.unwrap_or_default() {
        Law::Exponential => "in an exponential time of mean",
        Law::Constant | Law::Never => "in",
    };
    let shared = match keys.shared_by.unwrap_or_default() {
        SharedBy::Nobody => "each at its full rate",
        SharedBy::Array => "at a rate that the failed disks of an array share",
        SharedBy::Server => "at a rate that the failed disks of a server share",
    };
    format!("a disk alone is repaired {law} {hours} after {delay}, {shared}")
}

/// Results beside the probability.
fn beside(view: &View<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |measure: &str, words: &dyn Fn(f64) -> String| {
        all.extend(view.value(measure).map(words));
    };
    add("array_loss", &|loss| format!("P(loss of one array or pool) = {}", probability(loss)));
    add("mttdl_years", &|years| {
        format!(
            "mean time to a loss {} years; 1 - exp(-T / mean) is P(loss) only if repairs are short against T",
            human::digits(years)
        )
    });
    add("groups_lost", &|share| {
        format!("expected share of arrays or groups lost {share:.2e}; of objects, if they have equally many")
    });
    add("below_share", &|share| {
        let least = view.scenario().described.system.min_size.map(|least| least as usize);
        let least = least.or(view.code().map(|code| code.data)).unwrap_or(1);
        let members = human::plural(least as f64, ["member", "members"]);
        format!("an array or group has fewer than {members} for a share of {share:.2e} of the time")
    });
    if view.scenario().described.failures.failures.is_some() {
        let [low, high] = ["loss_at_low_rate", "loss_at_high_rate"]
            .map(|end| view.value(end).map_or("unknown".to_owned(), probability));
        all.push(format!("P(any loss) at the ends of the counted rate: {low} and {high}"));
    }
    let mut add = |measure: &str, words: &dyn Fn(f64) -> String| {
        all.extend(view.value(measure).map(words));
    };
    add("repair_traffic_bytes", &|bytes| {
        format!(
            "repairs read and write {} a year, k + 1 bytes for each byte of a failed disk",
            human::quantity(bytes, "bytes")
        )
    });
    add("unreadable_read", &|share| format!("P(an unreadable place on a disk) = {}", probability(share)));
    add("unreachable_share", &|share| {
        format!("a disk is away with its server or rack for a share of {share:.3e} of the time")
    });
    add("periods_loss", &|loss| {
        format!(
            "by fixed periods, all disks good at the start of each (Backblaze's calculator): {loss:.3e} for one array, too low by a factor of about m + 1"
        )
    });
    all
}

/// What fails besides disks.
fn fails_too(keys: &FailureKeys) -> Vec<String> {
    let rate = |share: towtank_units::Percent| human::digits(share.fraction_f64());
    let mut all = Vec::new();
    for (what, ruin, out, span) in [
        ("server", keys.server_ruin_rate, keys.server_outage_rate, keys.server_outage_time),
        ("rack", keys.rack_ruin_rate, keys.rack_outage_rate, keys.rack_outage_time),
    ] {
        all.extend(ruin.map(|ruin| {
            format!("each {what} is ruined {} times in a year, with the data of all its disks", rate(ruin))
        }));
        all.extend(out.zip(span).map(|(out, span)| {
            format!("each {what} is out {} times in a year, for {}", rate(out), super::span(span))
        }));
    }
    all.extend(keys.latent_error_rate.zip(keys.scrub_interval).map(|(errors, scrub)| {
        let scrub = super::span(scrub);
        format!(
            "{} latent errors a year on each disk, which a scrub finds after at most {scrub}",
            rate(errors)
        )
    }));
    all.extend(
        keys.errors_per_bit.map(|errors| format!("a bit cannot be read with a probability of {errors:.1e}")),
    );
    if keys.latent_error_rate.is_some() || keys.errors_per_bit.is_some() {
        all.push("bursts are of disks alone: unreadable places do not count there".to_owned());
    }
    all
}

fn assumed(view: &View<'_>) -> Vec<String> {
    let keys = &view.scenario().described;
    let mut all = Vec::new();
    if view.kept.left_over > 0 {
        all.push(format!(
            "{} in no array, and hold nothing",
            human::plural(view.kept.left_over as f64, ["disk is", "disks are"])
        ));
    }
    let usual = if keys.system.servers.unwrap_or(1) > 1 { Apart::Server } else { Apart::Disk };
    let usual =
        if keys.system.layout == Some(Lie::Pool) || keys.system.top.is_some() { Apart::Disk } else { usual };
    let apart = match keys.system.failure_domain.unwrap_or(usual) {
        Apart::Disk => "disks of one server",
        Apart::Server => "distinct servers",
        Apart::Rack => "distinct racks",
    };
    all.push(format!("members lie on {apart} (`failure_domain`)"));
    if let Some(capacity) = keys.system.disk_capacity {
        let bytes = human::digits(capacity.get() as f64);
        all.push(format!(
            "a disk has {bytes} bytes: TB are 10^12, TiB 2^40 (`repair_time` sets the time itself)"
        ));
    }
    all.extend(fails_too(&keys.failures));
    if keys.system.top.is_some() {
        all.push(
            "a lost array is rebuilt whole in the time of one disk, at a rate that the lost arrays of a stack share, and its disks \
             are new then"
                .to_owned(),
        );
    }
    let is_grouped = matches!(keys.system.layout, Some(Lie::Groups | Lie::Copysets | Lie::Scattered));
    if is_grouped && asks_for_mission(view) {
        all.push(
            "all groups of a failed disk count as exposed until it is repaired, and keep their disks"
                .to_owned(),
        );
    }
    all
}

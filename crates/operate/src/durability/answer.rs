//! The answer in words: how likely a loss is, from which repair times, and what it assumes.

use towtank_report::{Answer, Label, human};

use super::Durability;
use super::observed::Observed;
use super::repairs::Times;
use super::scenario::year;
use towtank_study::Point;

/// One point with the results of its first replicate.
pub(super) struct View<'a> {
    point: &'a Point<'a, Durability>,
    pub kept: &'a Observed,
}

impl<'a> View<'a> {
    pub fn of(point: &'a Point<'a, Durability>) -> View<'a> {
        View { point, kept: point.kept[0].exported() }
    }

    pub fn value(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    fn reason(&self, measure: &str) -> Option<&str> {
        self.point.result.outcomes.iter().find_map(|one| one.measures.get(measure)?.reason())
    }

    pub fn name(&self) -> String {
        let label = self.point.label();
        if label.is_empty() { "the cluster".to_owned() } else { label }
    }

    /// The mission in words.
    fn mission(&self) -> String {
        let seconds = self.point.scenario.mission.as_secs_f64();
        let years = seconds / year().as_secs_f64();
        match years >= 1.0 {
            true if years == 1.0 => "1 year".to_owned(),
            true => format!("{} years", human::digits(years)),
            false => human::quantity(seconds, "s"),
        }
    }
}

/// A probability in words.
pub(super) fn probability(share: f64) -> String {
    match share {
        _ if share <= 0.0 => "0".to_owned(),
        _ if share < 0.01 => format!("{share:.2e} ({:.1} nines)", -libm::log10(share)),
        _ => human::quantity(share, "share"),
    }
}

/// The answer over one point.
pub(super) fn answer(view: &View<'_>) -> Answer {
    let kept = view.kept;
    let mut answer = Answer::of(finding(view));
    for burst in &kept.bursts {
        let range = match burst.range[0] == burst.range[1] {
            true => burst.how.clone(),
            false => {
                format!("{} to {}, {}", probability(burst.range[0]), probability(burst.range[1]), burst.how)
            }
        };
        let text = format!(
            "if {} fail at once{}: a loss with probability {} ({range})",
            burst.text,
            if kept.lack > 0 { " now" } else { "" },
            probability(burst.loss)
        );
        answer.push(Label::Risk, text);
    }
    if let Some(text) = ranges(view) {
        answer.push(Label::Also, text);
    }
    if let Some(mttdl) = view.value("mttdl_years") {
        answer.push(Label::Also, format!("mean time to a loss {} years", human::digits(mttdl)));
    }
    if let Some(share) = view.value("groups_lost") {
        answer.push(
            Label::Also,
            format!("expected share of groups lost {share:.2e}; of objects, if groups have equally many"),
        );
    }
    for (what, shares) in
        [("the pool that loses data first", &kept.pools), ("the last cause of a loss", &kept.causes)]
    {
        if let Some(text) = by_share(what, shares) {
            answer.push(Label::Also, text);
        }
    }
    if let Some(text) = methods(view) {
        answer.push(Label::Also, text);
    }
    for text in assumed(view) {
        answer.push(Label::Assumed, text);
    }
    answer.push(Label::LeavesOut, kept.left_out.clone());
    answer.by_measures(["loss_probability"])
}

/// A standard error above this share confirms nothing. A choice: a factor of two lies within two of them.
const COARSE: f64 = 0.3;

/// How it was found, and what another method says.
fn methods(view: &View<'_>) -> Option<String> {
    let kept = view.kept;
    let by = format!(
        "by {} ({} losses in {} courses)",
        kept.method,
        human::digits(kept.courses[1] as f64),
        human::digits(kept.courses[0] as f64)
    );
    view.value("loss_probability")?;
    Some(match view.value("loss_by_other") {
        Some(other) => {
            let words = if kept.other_error > COARSE { "too coarse to confirm it" } else { "they agree" };
            let off = human::quantity(kept.other_error, "share");
            format!(
                "{by}; another method says {}, with a standard error of {off}: {words}",
                probability(other)
            )
        }
        None => format!("{by}; another method saw no loss, so nothing confirms it"),
    })
}

/// Shares of the probability, where there are several.
fn by_share(what: &str, shares: &[(String, f64)]) -> Option<String> {
    let all: f64 = shares.iter().map(|(_, loss)| loss).sum();
    let share = |(name, loss): &(String, f64)| format!("{name} {}", human::quantity(loss / all, "share"));
    let first: Vec<String> = shares.iter().take(3).map(share).collect();
    (shares.len() > 1).then(|| format!("{what}: {}", first.join(", ")))
}

/// Several points, one line for each.
pub(super) fn compared(views: &[View<'_>]) -> Answer {
    let each = views.iter().map(|view| format!("{}: {}", view.name(), finding(view)));
    Answer::of_sentences(each).comparing("probabilities")
}

fn finding(view: &View<'_>) -> String {
    let Some(loss) = view.value("loss_probability") else {
        let why = view.reason("loss_probability").unwrap_or("the reason is not known");
        return format!("no probability of loss: {why}.");
    };
    let begins = match &view.kept.start {
        None => "from a whole cluster".to_owned(),
        Some(start) => format!(
            "beginning with {} a device now, until {} from now",
            human::plural(view.kept.lack as f64, ["group that lacks", "groups that lack"]),
            human::quantity(start.whole_h.last().copied().unwrap_or(0.0) * 3_600.0, "s")
        ),
    };
    format!("P(any loss in the cluster in {}) = {}, {begins}.", view.mission(), probability(loss))
}

fn assumed(view: &View<'_>) -> Vec<String> {
    let mut all = view.kept.assumed.clone();
    all.extend(repairs(&view.kept.times, view.kept.calibrated));
    all
}

/// What the probability is at the ends of what is not known exactly.
fn ranges(view: &View<'_>) -> Option<String> {
    let ends = |names: [&str; 2], of: &str| {
        let [low, high] = names.map(|name| view.value(name));
        Some(format!("{} to {} {of}", probability(low?), probability(high?)))
    };
    let each = [
        ends(["loss_if_fast", "loss_if_slow"], "by the range of repair times"),
        ends(["loss_at_low_rate", "loss_at_high_rate"], "by that of the failure rate"),
    ];
    let each: Vec<String> = each.into_iter().flatten().collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// How long repairs take, in words.
fn repairs(times: &[Times], calibrated: bool) -> Option<String> {
    let each: Vec<String> = times
        .iter()
        .filter(|times| !times.whole_h.is_empty())
        .map(|times| {
            let ends =
                [times.whole_h[0], times.whole_h[times.whole_h.len() - 1]].map(|hours| hours * 3_600.0);
            let what = match (times.devices, times.hosts) {
                (1, _) => "one device".to_owned(),
                (devices, 1) => format!("{devices} of one host"),
                (devices, hosts) => format!("{devices} of {hosts} hosts"),
            };
            let waited = if times.replaced > 0 { ", some with a replacement" } else { "" };
            let mean = times.mean_h.get(times.mean_h.len() / 2);
            let mean =
                mean.map(|hours| format!(" (a group {} on average)", human::quantity(hours * 3_600.0, "s")));
            format!("{what} {}{}{waited}", human::range(ends[0], ends[1], "s"), mean.unwrap_or_default())
        })
        .collect();
    let speeds = if calibrated { "at speeds that were learned" } else { "at typical speeds" };
    (!each.is_empty()).then(|| {
        format!(
            "repairs by the model of `towtank whatif`, {speeds}: {}; groups that lack most go first, others in a drawn order",
            each.join(", ")
        )
    })
}

//! The answer in words: when it is clean, how that is known, what is last, and what would help.

use towtank_report::{Answer, Label, Step, human};

use super::Eta;
use super::observed::Observed;
use super::speed::{Measured, Speed};
use crate::whatif::time_alone::interval;
use towtank_recovery::levers::advice;
use towtank_study::Point;

/// One point with the results of its first replicate.
pub(super) struct View<'a> {
    point: &'a Point<'a, Eta>,
    pub kept: &'a Observed,
}

impl<'a> View<'a> {
    pub fn of(point: &'a Point<'a, Eta>) -> View<'a> {
        View { point, kept: &point.kept[0] }
    }

    pub fn value(&self, measure: &str) -> Option<f64> {
        self.point.value(measure)
    }

    fn reason(&self, measure: &str) -> Option<&str> {
        self.point.result.outcomes.iter().find_map(|one| one.measures.get(measure)?.reason())
    }

    pub fn name(&self) -> String {
        let label = self.point.label();
        if label.is_empty() { self.kept.at() } else { label }
    }
}

/// The answer over one point.
pub(super) fn answer(view: &View<'_>) -> Answer {
    let kept = view.kept;
    if kept.idle {
        let groups = match kept.unclean {
            0 => "all groups are active+clean".to_owned(),
            unclean => {
                crate::states::groups(unclean, ("is", "are"))
                    + " not active+clean, and nothing is to be copied"
            }
        };
        let finding = format!("nothing to wait for: {groups} at {}.", kept.at());
        return Answer::of(finding).by_measures(["time_to_clean_s"]);
    }
    let mut answer = Answer::of(finding(view));
    answer.course = course(view);
    if let Some(last) = last(kept) {
        answer.push(Label::Limit, last);
    }
    if let Some(limit) = &kept.limit {
        answer.push(Label::Limit, limit.clone());
    }
    for help in help(view) {
        answer.push(Label::Try, help);
    }
    answer.push(Label::Also, counts(kept));
    for assumed in assumed(kept) {
        answer.push(Label::Assumed, assumed);
    }
    answer.push(
        Label::LeavesOut,
        "what fails, is changed or is written by clients after the latest report".to_owned(),
    );
    answer.by_measures(["time_to_clean_s"])
}

/// Several points, one line for each.
pub(super) fn compared(views: &[View<'_>]) -> Answer {
    let each = views.iter().map(|view| format!("{}: {}", view.name(), finding(view)));
    Answer::of_sentences(each).comparing("times")
}

fn finding(view: &View<'_>) -> String {
    let kept = view.kept;
    let Some(clean) = view.value("time_to_clean_s") else {
        let why = view.reason("time_to_clean_s").unwrap_or("the reason is not known");
        return format!("no time until all groups are clean: {why}.");
    };
    let range = match (view.value("time_to_clean_low_s"), view.value("time_to_clean_high_s")) {
        (Some(low), Some(high)) => interval(clean, [low, high]),
        _ => None,
    };
    let range = range.map_or(String::new(), |range| format!(" ({range})"));
    let at = super::shown_after(kept.at_us, clean);
    let how = match view.value("time_to_end_s") {
        Some(0.0) if kept.passing > 0 => "nothing is left to copy".to_owned(),
        _ => how(kept),
    };
    format!("clean in {}{range}, at {at}: {how}.", human::quantity(clean, "s"))
}

/// How the speed is known.
fn how(kept: &Observed) -> String {
    match &kept.speed {
        Speed::Measured(Measured { since_s, was, left, .. }) => format!(
            "speed measured, {} copies in {}",
            human::digits(was.saturating_sub(*left) as f64),
            human::quantity(*since_s, "s")
        ),
        Speed::Counted(of) => format!(
            "groups recover by their log, {} copies in {}",
            human::digits(of.made() as f64),
            human::quantity(of.since_s, "s")
        ),
        Speed::Stepped(of) => format!(
            "pace of the manager measured, {} of `pgp_num` in {}",
            human::plural(f64::from(of.steps), ["step", "steps"]),
            human::quantity(of.since_s, "s")
        ),
        Speed::Assumed(_) if kept.calibrated => "speeds calibrated on an earlier recovery".to_owned(),
        Speed::Assumed(why) => format!("speeds are assumed, since {why}"),
    }
}

fn course(view: &View<'_>) -> Vec<Step> {
    let steps = [
        ("time_to_min_size_s", "no group is below `min_size`"),
        ("time_to_full_redundancy_s", "nothing is degraded any more"),
        ("time_to_clean_s", "all groups are clean"),
    ];
    let mut steps: Vec<(f64, &str)> = steps
        .iter()
        .filter_map(|(measure, what)| Some((view.value(measure).filter(|time| *time > 0.0)?, *what)))
        .collect();
    if view.value("time_to_clean_s").is_none() {
        steps.extend(
            view.value("time_to_end_s")
                .filter(|end| *end > 0.0)
                .map(|end| (end, "all that can move has moved")),
        );
    }
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    steps.into_iter().map(|(at, what)| Step::at(at, what)).collect()
}

/// Which devices are done last.
fn last(kept: &Observed) -> Option<String> {
    let (first, count) = *kept.last.first()?;
    let others: Vec<String> = kept.last.iter().skip(1).take(2).map(|(osd, _)| format!("osd.{osd}")).collect();
    Some(match count == kept.drawn {
        true => format!("osd.{first} is done last"),
        false => format!(
            "osd.{first} is done last in {count} of {} drawn orders of groups, else {}",
            kept.drawn,
            others.join(" or ") + if kept.last.len() > 3 { " or others" } else { "" }
        ),
    })
}

/// What would help, of what was tried.
fn help(view: &View<'_>) -> Vec<String> {
    let kept = view.kept;
    let mut all = Vec::new();
    if let Some((unset, without)) = &kept.unset {
        all.push(match without {
            Some(time) => format!("{unset}: clean {} later, at assumed speeds", human::quantity(*time, "s")),
            None => format!("{unset}: objects wait for it, and for others too"),
        });
    }
    if let Some(clean) = view.value("time_to_clean_s") {
        all.extend(advice(&kept.tried, clean, ""));
    }
    all
}

fn counts(kept: &Observed) -> String {
    let words = ["missing", "misplaced"];
    let each: Vec<String> = kept
        .counts
        .iter()
        .zip(words)
        .filter_map(|(count, what)| Some(format!("{} {what}", human::digits((*count)? as f64))))
        .collect();
    match each.is_empty() {
        true => format!("`{}` of {} does not count what is left", kept.file, kept.at()),
        false => format!("copies at {} ({}): {}", kept.at(), kept.file, each.join(", ")),
    }
}

fn assumed(kept: &Observed) -> Vec<String> {
    let mut all = Vec::new();
    if let Speed::Measured(of) = &kept.speed {
        let [scale, low, high] = of.scale.map(human::digits);
        all.push(format!(
            "the rest goes as fast as since `{}`: {scale} times as long as with assumed speeds ({low} to {high})",
            of.file
        ));
        if let Some((was, lasted)) = of.before {
            all.push(format!(
                "the speed has changed: it took {} times as long as assumed in the {} before that, and the newer speed is used",
                human::digits(was[0]),
                human::quantity(lasted, "s")
            ));
        }
    }
    if let Speed::Stepped(of) = &kept.speed {
        let [scale, low, high] = of.scale.map(human::digits);
        all.push(format!(
            "the manager goes on as since `{}`: {scale} times as long for a step as with assumed speeds ({low} to {high})",
            of.file
        ));
    }
    if let Speed::Counted(of) = &kept.speed {
        all.push(format!(
            "{} as fast as since `{}`: no report says which devices lack copies, so nothing is simulated",
            if of.waiting > 0 {
                "the rest is copied"
            } else {
                "each primary copies one object after the other, which groups it has is drawn, and it goes on"
            },
            of.file
        ));
    }
    if kept.passing > 0 {
        let groups = human::plural(
            kept.passing as f64,
            ["group is between two states", "groups are between two states"],
        );
        all.push(format!("{groups} (they peer, or counts and map are of different times): what becomes of them is as the map says"));
    }
    if kept.behind {
        all.push(
            "what is left is as the map says: the report counts fewer copies than groups that are being copied can have \
             made (groups that peer count nothing for some seconds)"
                .to_owned(),
        );
    }
    all
}

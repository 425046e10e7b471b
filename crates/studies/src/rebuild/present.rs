//! The answer, tables and figures of a rebuild.

use towtank_ceph::{FillLevel, FillLimits};
use towtank_metrics::{Better, Chance};
use towtank_report::{
    Answer, Cell, Column, Label, Line, Outcome, Standing, Status, Step, Table, Warning, human, title,
};

use super::Rebuild;
use super::figures;
use super::settled::Settled;
use super::view::{FOLLOWS, View};
use crate::published::is_published;
use towtank_recovery::figures::of_machines;
use towtank_recovery::levers::{advice, tried_in};
use towtank_recovery::parts;
use towtank_recovery::releases;
use towtank_recovery::settings::usual_speeds;
use towtank_recovery::slowest::{Runs, Slowest};
use towtank_recovery::{tables, work};
use towtank_study::ranking::{Ranked, by_replicate};
use towtank_study::{Point, Points, Presentation};

/// The presentation of all points of the study.
#[must_use]
pub fn present(points: &Points<'_, Rebuild>) -> Presentation {
    let views: Vec<View<'_>> = points.iter().map(View::of).collect();
    let Some(first) = views.first() else { return Presentation::default() };
    let runs: Vec<Runs<'_>> = views.iter().map(View::runs).collect();
    let mut tables = vec![points_table(&views), tables::resources(&runs)];
    let mut figures = figures::of_all(&views, &runs);
    let slowest = Slowest::of(&runs);
    figures.extend(slowest.iter().flat_map(Slowest::figures));
    if let [one] = &views[..] {
        tables.extend(tried(one));
        tables.extend(slowest.as_ref().map(tables::servers).filter(|_| !one.scenario.is_chassis()));
        tables.extend(slowest.as_ref().and_then(tables::disks));
        figures.extend(of_machines(one.observed[0]));
    }
    if let Some(shown) = first.point.kept.iter().find_map(|kept| kept.population.clone()) {
        figures.extend(shown.figures);
        tables.extend(shown.tables);
    }
    // Claims are judged only on the published points.
    let of_paper = |point: &&Point<'_, Rebuild>| is_published(&Rebuild, point.result.scenario, &[]);
    let published: Vec<View<'_>> = points.iter().filter(of_paper).map(View::of).collect();
    let main_figure =
        if figures.iter().any(|figure| figure.id == "scaling") { "scaling" } else { "progress" };
    Presentation {
        answer: answer(&views).with_verdict(status(&views)),
        headline: points.first_measure(["time_to_full_redundancy_s"]),
        main_figure: Some(main_figure.to_owned()),
        tables,
        figures,
        claims: super::published::claims(&published),
        warnings: warnings(&views),
    }
}

/// What failed; each replicate may draw something else.
fn failed(view: &View<'_>) -> String {
    let first = &view.observed[0].failed;
    let text = first.join(", ");
    if view.observed.iter().all(|seen| seen.failed == *first) {
        text
    } else {
        format!("{text} in the first replicate")
    }
}

fn answer(views: &[View<'_>]) -> Answer {
    let [one] = views else { return compared(views) };
    let time = |measure: &str| Some(human::quantity(one.mean(measure)?.mean, "s"));
    let mean = |measure: &str| Some(one.mean(measure)?.mean);
    let failed = failed(one);
    let not_safe = not_safe(one);
    let Some(full) = time("time_to_full_redundancy_s") else {
        let reason = not_safe.unwrap_or_else(|| "the result is not known".to_owned());
        return Answer::of(format!("{failed}: {reason}."));
    };
    let mut answer = Answer::of(match not_safe {
        Some(not_safe) => format!("{failed}: {not_safe}; in the others it is fully restored after {full}."),
        None => format!("{failed}: redundancy is fully restored after {full}."),
    });
    answer.course = course(one, &failed);
    if let (Some(rate), Some(ideal), Some(share)) =
        (mean("aggregate_rate_bytes_per_s"), mean("ideal_rate_bytes_per_s"), mean("ideal_share"))
    {
        let [rate, ideal] = human::alike([rate, ideal], "bytes/s");
        let moved = format!(
            "{} at {rate}, {:.0} % of the ideal {ideal}",
            human::quantity(one.mean("bytes_rebuilt").map_or(0.0, |bytes| bytes.mean), "bytes"),
            100.0 * share
        );
        answer.push(Label::Moves, moved);
    }
    let time = time_in_parts(one);
    let of_transfers = if time.is_some() { "of the transfers: " } else { "" };
    if let Some(parts) = time {
        answer.push(Label::Limit, parts);
    }
    if let Some(bottleneck) = &one.observed[0].bottleneck {
        answer.push(Label::Limit, format!("{of_transfers}{bottleneck}"));
    }
    let first = one.result.outcomes[0].measures.get("time_to_full_redundancy_s").and_then(|all| all.value());
    let where_tried = tried_in(one.result.outcomes.len());
    if let Some(advice) = first.and_then(|first| advice(&one.observed[0].tried, first, where_tried)) {
        answer.push(Label::Try, advice);
    }
    assumed(one, &mut answer);
    answer.by_measures(work::COMPARED_BY)
}

/// What happens when. Nothing where several devices fail one after the other, since their waits overlap, or
/// where not all replicates end well. Where a part of the time is unknown, only the end is given.
fn course(view: &View<'_>, failed: &str) -> Vec<Step> {
    let several = view.observed.iter().any(|seen| seen.failed.len() != 1);
    if several || not_safe(view).is_some() {
        return Vec::new();
    }
    let mean = |measure: &str| view.mean(measure).map_or(0.0, |mean| mean.mean);
    let full = view.values("time_to_full_redundancy_s");
    let waits = [
        ("detection_s", "detected"),
        ("down_out_s", "marked out"),
        ("in_place_s", "replaced or back"),
        ("peering_s", "the first object moves"),
    ];
    let all: f64 = waits.iter().map(|(measure, _)| mean(measure)).sum::<f64>() + mean("transfer_s");
    let follows = (all / mean("time_to_full_redundancy_s") - 1.0).abs() < FOLLOWS;
    let mut course = vec![Step::at(0.0, format!("{failed} fails"))];
    let mut at = 0.0;
    for (measure, step) in waits.into_iter().filter(|(measure, _)| follows && mean(measure) > 0.0) {
        at += mean(measure);
        course.push(Step::at(at, step));
    }
    course.extend(Step::over(&full, "all copies are back"));
    course
}

/// The parts of the time until all copies are back, the longest first.
fn time_in_parts(view: &View<'_>) -> Option<String> {
    let mean = |measure: &str| Some(view.mean(measure)?.mean);
    let of = |(what, measure): (&'static str, &str)| Some((what, mean(measure)?));
    let measures = [
        (parts::DETECTION, "detection_s"),
        (parts::DOWN_OUT, "down_out_s"),
        (parts::IN_PLACE, "in_place_s"),
        ("until the first object moves (`peering`)", "peering_s"),
        (parts::TRANSFERS, "transfer_s"),
    ];
    parts::in_words(measures.into_iter().filter_map(of).collect(), mean("time_to_full_redundancy_s")?)
}

/// The speeds that are defaults of the preset: they may be far from those of the user's machines.
fn assumed(view: &View<'_>, answer: &mut Answer) {
    let scenario = view.scenario;
    let usual = usual_speeds(scenario.settings.usual.of_ceph);
    let given = [scenario.settings.disk_read, scenario.settings.disk_write, scenario.settings.nic];
    let parts = [("disk_read", "read"), ("disk_write", "write"), ("nic", "")]
        .iter()
        .zip(usual.iter().zip(&given))
        .filter(|(_, (usual, given))| usual == given)
        .filter(|((key, _), _)| *key != "nic" || !scenario.is_chassis())
        .map(|((key, verb), (rate, _))| {
            let rate = human::quantity(rate.bytes_per_second() as f64, "bytes/s");
            let text = match *verb {
                "" => format!("NICs of {rate}"),
                _ => format!("disks that {verb} {rate}"),
            };
            let change = Some(format!("--{}", key.replace('_', "-")));
            Line { label: Label::Assumed, text, change }
        });
    answer.lines.extend(parts);
    let pacing = &scenario.scenario.keys.pacing;
    if let (Some(known), Some(_)) = (pacing.ceph_release, scenario.settings.mclock) {
        answer.lines.extend(releases::said(known.0, pacing.queue));
    }
    if let Some(words) = handoffs(scenario) {
        answer.push(Label::Assumed, words);
    }
}

/// What the answer says where handoffs take what was lost.
fn handoffs(scenario: &Settled) -> Option<&'static str> {
    if scenario.ring.is_none() || scenario.ring_after.is_some() || scenario.replace.is_some() {
        return None;
    }
    Some(
        "handoffs take what was lost; Swift itself uses them only for disks that are not mounted (status 507), not for \
         servers that do not answer. After a rebalance, name the new ring as `ring_after`",
    )
}

/// The worst of all replicates: data are lost or not whole again; or they were down to one copy for some
/// time, or devices end above `nearfull`.
fn status(views: &[View<'_>]) -> Option<Standing> {
    Standing::worst(views.iter().filter_map(|view| Some((view.label.clone(), status_of_point(view)?))))
}

fn status_of_point(view: &View<'_>) -> Option<Standing> {
    let all: Vec<Standing> = view.result.outcomes.iter().map(status_of).collect();
    let status = all.iter().map(Standing::status).max()?;
    // The same thing happens to other numbers in other replicates, so only their number is given.
    let count = all.iter().filter(|one| one.status() == status).count();
    let first = all.iter().find(|one| one.status() == status)?.reason();
    Some(match (count == all.len(), status) {
        (_, Status::Safe) => Standing::new(status, first),
        (true, _) if count == 1 => Standing::new(status, first),
        (true, _) => Standing::new(status, format!("{first} (in the first replicate; all are alike)")),
        (false, _) => Standing::new(
            status,
            format!("{first} (in the first of {count} replicates of {} to which this happens)", all.len()),
        ),
    })
}

fn status_of(outcome: &Outcome) -> Standing {
    let measure = |name: &str| outcome.measures.get(name);
    let value = |name: &str| measure(name).and_then(|all| all.value());
    let some = |name: &str| value(name).filter(|value| *value > 0.0);
    let fill = value("max_device_fill");
    let full = fill.and_then(|fill| FillLimits::default().above(fill));
    let filled = |level: FillLevel| {
        let fill = human::quantity(fill.unwrap_or(0.0), "share");
        format!("the fullest device ends {fill} full, above {}", level.name())
    };
    let not_safe = |reason: String| Standing::new(Status::NotSafe, reason);
    let at_risk = |reason: String| Standing::new(Status::AtRisk, reason);
    if let Some(lost) = some("lost_objects") {
        not_safe(format!("{} objects are lost", human::digits(lost)))
    } else if let Some(stuck) = some("stuck_objects") {
        not_safe(format!("{} objects are not rebuilt", human::digits(stuck)))
    } else if value("time_to_full_redundancy_s").is_none() {
        let reason = measure("time_to_full_redundancy_s").and_then(|all| all.reason());
        not_safe(format!("redundancy is not fully restored: {}", reason.unwrap_or("the reason is not known")))
    } else if full == Some(FillLevel::Full) {
        // Ceph stops writes there.
        not_safe(filled(FillLevel::Full))
    } else if let Some(seconds) = some("time_to_two_copies_s") {
        let span = human::quantity(seconds, "s");
        at_risk(format!("some objects have a single copy (or just k shards) left for {span}"))
    } else if let Some(groups) = some("below_min_size") {
        at_risk(format!(
            "{} for some time",
            human::plural(groups, ["group accepts no writes", "groups accept no writes"])
        ))
    } else if let Some(level) = full {
        at_risk(filled(level))
    } else {
        Standing::new(
            Status::Safe,
            "at all times there are at least two copies of each object, and all are back in the end",
        )
    }
}

/// How many replicates do not become safe again, and the reason, or that of the first of them where they
/// differ; nothing where all become safe.
fn not_safe(view: &View<'_>) -> Option<String> {
    let all = &view.result.outcomes;
    let reason = |outcome: &towtank_report::Outcome| {
        outcome.measures.get("time_to_full_redundancy_s").and_then(|time| time.reason().map(str::to_owned))
    };
    let reasons: Vec<String> = all.iter().filter_map(reason).collect();
    let first = reasons.first()?;
    let are_alike = reasons.iter().all(|reason| reason == first);
    let first = if are_alike { format!(": {first}") } else { format!("; in the first of these {first}") };
    Some(match (reasons.len() == all.len(), all.len()) {
        (true, count) if count == 1 || are_alike => format!("redundancy is not fully restored{first}"),
        (_, count) => {
            format!("in {} of {count} replicates redundancy is not fully restored{first}", reasons.len())
        }
    })
}

/// The answer over several points: every point that does not become safe, every other one that is at risk,
/// then the slowest and the fastest, if they can be distinguished.
fn compared(views: &[View<'_>]) -> Answer {
    let mut all: Vec<String> = Vec::new();
    let safe: Vec<&View<'_>> = views.iter().filter(|view| not_safe(view).is_none()).collect();
    let time = |view: &&View<'_>| (view.said(), by_replicate(view.result, "time_to_full_redundancy_s"));
    let ranked = Ranked::of(safe.iter().map(time).collect(), Better::Lower, Chance::Seeds);
    let is_safe = |view: &View<'_>| status_of_point(view).is_some_and(|one| one.status() == Status::Safe);
    let order = &ranked.ranking().order;
    let risky: Vec<String> = order
        .iter()
        .rev()
        .map(|at| safe[*at])
        .filter(|view| !is_safe(view))
        .map(|view| view.said())
        .collect();
    let unsafe_ones: Vec<String> =
        views.iter().filter_map(|view| Some(format!("{}: {}", view.said(), not_safe(view)?))).collect();
    if !unsafe_ones.is_empty() {
        let (count, points) = (unsafe_ones.len(), views.len());
        all.push(format!("redundancy is not fully restored at {count} of {points} points"));
    }
    all.extend(slowest_and_fastest(&safe, &ranked));
    let mut answer = Answer::of(title::capital(&all.join("; ")) + ".");
    for words in unsafe_ones {
        answer.push(Label::Risk, words);
    }
    if !risky.is_empty() {
        answer.push(Label::Risk, format!("at risk meanwhile: {}", risky.join(", ")));
    }
    if let Some(first) = views.first() {
        assumed(first, &mut answer);
    }
    answer.comparing("rebuilds")
}

/// The ends of the ranking by time, or that it has none.
fn slowest_and_fastest(views: &[&View<'_>], ranked: &Ranked) -> Vec<String> {
    let ranking = ranked.ranking();
    let Some([_, most]) = ranked.ends() else { return Vec::new() };
    if ranked.is_tied() {
        let (all, range) = (ranked.all(), ranked.range("s"));
        return vec![format!("redundancy is fully restored after {range} with {all}: {}", ranked.why_tied())];
    }
    let shown = human::Shown::fitting(most, "s");
    let end = |word: &str, indices: &[usize], names: String, range: String| match indices {
        [one] => {
            let view = views[*one];
            let time = shown.quantity(view.mean("time_to_full_redundancy_s")?.mean);
            described(view, &time).map(|text| format!("{word} with {}, after {text}", view.said()))
        }
        _ => Some(format!("{word} with {names}, after {range}")),
    };
    let whole = "redundancy is fully restored";
    if ranking.order.len() == 1 {
        let only = end(whole, &ranking.best, ranked.best(), ranked.range_of_best("s"));
        return only.into_iter().collect();
    }
    let latest = format!("{whole} latest");
    let mut said: Vec<String> =
        end(&latest, &ranking.worst, ranked.worst(), ranked.range_of_worst("s")).into_iter().collect();
    said.extend(end("soonest", &ranking.best, ranked.best(), ranked.range_of_best("s")));
    let between = ranking.order.len().saturating_sub(ranking.best.len() + ranking.worst.len());
    said.extend((between > 0).then(|| format!("{between} more in between")));
    said
}

/// The time of a point with its rate and its share of the ideal.
fn described(view: &View<'_>, time: &str) -> Option<String> {
    let mean = |measure: &str| Some(view.mean(measure)?.mean);
    Some(format!(
        "{time} at {} ({:.0} % of ideal)",
        human::quantity(mean("aggregate_rate_bytes_per_s")?, "bytes/s"),
        100.0 * mean("ideal_share")?
    ))
}

fn warnings(views: &[View<'_>]) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut say = |text: &str| {
        if warnings.iter().all(|warning| warning.text != text) {
            warnings.push(Warning::note(text));
        }
    };
    for view in views {
        let seen = &view.observed[0];
        if seen.found.starts_with("drawn") {
            say(
                "the objects on failed devices were drawn from the exact distribution of their placement, not found by \
                 looking up every object",
            );
        }
        if !seen.grouped && view.scenario.settings.max_backfills > 0 {
            say(
                "objects are placed one by one, so there are no reservations, only streams per disk; with groups, \
                 `max_backfills` limits the rebuild more than the placement does",
            );
        }
    }
    warnings
}

const COLUMNS: [(&str, &str, &str); 9] = [
    ("time_to_full_redundancy", "time_to_full_redundancy_s", "s"),
    ("transfer", "transfer_s", "s"),
    ("aggregate_rate", "aggregate_rate_bytes_per_s", "bytes/s"),
    ("ideal_rate", "ideal_rate_bytes_per_s", "bytes/s"),
    ("bound_rate", "bound_rate_bytes_per_s", "bytes/s"),
    ("rate_per_survivor", "rate_per_survivor_bytes_per_s", "bytes/s"),
    ("most_over_mean", "written_max_over_mean", ""),
    ("disk_busy_mean", "disk_busy_mean", "fraction"),
    ("lost_objects", "lost_objects", "objects"),
];

fn points_table(views: &[View<'_>]) -> Table {
    let mut columns = vec![Column::text("point")];
    columns.extend(COLUMNS.map(|(name, _, unit)| Column::number(name, unit)));
    columns.push(Column::text("held_up_by"));
    let about = "Means over the replicates. The ideal spreads the work evenly; the bound is what the busiest device allows \
                 with this placement.";
    let mut table = Table::new("rebuilds", "Time, rate and bottleneck", columns).about(about);
    for view in views {
        let mut row: Vec<Cell> = vec![view.name().into()];
        row.extend(COLUMNS.map(|(_, measure, _)| match view.mean(measure) {
            Some(mean) => Cell::from(mean.mean),
            None => Cell::missing("no replicate has it"),
        }));
        row.push(view.observed[0].bottleneck.as_deref().unwrap_or("nothing").into());
        table.push(row);
    }
    table
}

/// Changes that were tried.
fn tried(view: &View<'_>) -> Option<Table> {
    let all = &view.observed[0].tried;
    let columns = vec![Column::text("change"), Column::number("time_to_full_redundancy", "s")];
    let about = "Each change alone, on the data that the first replicate lost. Costs and risks of a change are not modelled, \
                 except for the latency of clients, if there are any.";
    let mut table = Table::new("tried", "Effect of changes", columns).about(about);
    for one in all {
        let time = one.time_s.map_or_else(|| Cell::missing("no faster than without it"), Cell::from);
        table.push(vec![one.change.as_str().into(), time]);
    }
    (!all.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replicate that is safe, but for one measure.
    fn but(name: &str, value: f64) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.measure("time_to_full_redundancy_s", 10.0, "s");
        for zero in ["lost_objects", "stuck_objects", "time_to_two_copies_s", "below_min_size"] {
            outcome.measure(zero, 0.0, "");
        }
        outcome.measure(name, value, "");
        outcome
    }

    #[test]
    fn what_is_lost_or_unknown_is_not_safe_and_what_was_close_is_at_risk() {
        let cases = [
            ("lost_objects", 0.0, Status::Safe),
            ("lost_objects", 1.0, Status::NotSafe),
            ("stuck_objects", 1.0, Status::NotSafe),
            ("time_to_two_copies_s", 2.0, Status::AtRisk),
            ("below_min_size", 1.0, Status::AtRisk),
            ("max_device_fill", 0.8, Status::Safe),
            ("max_device_fill", 0.86, Status::AtRisk),
            ("max_device_fill", 0.96, Status::NotSafe),
        ];
        for (name, value, status) in cases {
            assert_eq!(status_of(&but(name, value)).status(), status, "{name} = {value}");
        }
        let mut unknown = but("lost_objects", 0.0);
        unknown.missing("time_to_full_redundancy_s", "s", "not all is safe again");
        assert_eq!(status_of(&unknown).status(), Status::NotSafe);
    }
}

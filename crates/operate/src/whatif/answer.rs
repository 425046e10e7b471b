//! The answer in words: is it safe, what moves, how long, what clients notice, what is at risk, the
//! bottleneck, and which change would help.

use towtank_metrics::{Better, Chance};
use towtank_report::{Answer, Label, Measurement, Standing, Status, Step, human};

use super::noticed;
use super::observed::{LEASE_S, PEERS_S};
use super::orders;
use super::reasons::status;
use super::time_alone::interval;
use super::view::{View, some_of};
use crate::preview::dangers;
use crate::preview::group_limits::REFUSED;
use crate::release::Paced;
use towtank_recovery::levers::{Tried, advice, by_time, tried_in};
use towtank_recovery::parts;
use towtank_recovery::releases;
use towtank_recovery::work;
use towtank_study::ranking::Ranked;

/// The answer over one point.
#[must_use]
pub fn answer(view: &View<'_>) -> Answer {
    let changes = &view.kept.observed.changes;
    let what = if changes.is_empty() { "no change".to_owned() } else { changes.join(", ") };
    if let Some(nothing) = nothing_to_do(view) {
        return Answer::of(format!("{what}: {nothing}.")).with_verdict(Some(status(view)));
    }
    let refused = if view.kept.moves.refused.is_empty() { "" } else { REFUSED };
    let mut answer = Answer::of(format!("{refused}{what}: {}{}.", how_long(view), calibrated(view)))
        .with_verdict(Some(status(view)));
    // What Ceph refuses has no course.
    answer.course = if refused.is_empty() { course(view, &what) } else { Vec::new() };
    if let Some(paces) = paces(view) {
        answer.push(Label::Limit, paces);
    }
    let time = time(view);
    let of_transfers = if time.is_some() { "of the transfers: " } else { "" };
    if let Some(parts) = time {
        answer.push(Label::Limit, parts);
    }
    if let Some(bottleneck) = &view.kept.observed.work.bottleneck {
        answer.push(Label::Limit, format!("{of_transfers}{bottleneck}"));
    }
    for help in help(view) {
        answer.push(Label::Try, help);
    }
    if let Some(range) = range(view) {
        answer.push(Label::Assumed, range);
    }
    if let Some(assumed) = view.kept.observed.down.assumed() {
        answer.push(Label::Assumed, assumed);
    }
    if let Some(steps) = &view.kept.observed.steps {
        answer.push(Label::Assumed, steps.assumed.clone());
        if steps.merged > 0 {
            let groups = human::plural(steps.merged as f64, ["group is", "groups are"]);
            answer.push(
                Label::LeavesOut,
                format!(
                    "{groups} merged afterwards, one at a time: each takes a tick of the manager or more"
                ),
            );
        }
    }
    if view.kept.observed.in_turn > 0 {
        let objects = human::plural(view.kept.observed.in_turn as f64, ["object has", "objects have"]);
        answer.push(
            Label::LeavesOut,
            format!(
                "{objects} room only once others have left: Ceph moves them after these, which it tries again each 30 s \
                 (`osd_backfill_retry_interval`); that wait is not counted, so times are at least as long"
            ),
        );
    }
    let Paced { release, queue } = view.kept.observed.paced;
    if let Some(known) = release {
        answer.lines.extend(releases::said(known.0, queue));
    }
    // Where some data stay behind there is no time until all groups are clean.
    let end = view.value("time_to_clean_s").is_none().then_some("time_to_end_s");
    let mut answer = answer
        .line(Label::Moves, what_moves(view))
        .line(Label::Risk, risk(view))
        .line(Label::Clients, clients(view));
    if let Some(now) = of_groups_now(view) {
        answer.push(Label::Risk, now);
    }
    if let Some(pause) = pause(view) {
        answer.push(Label::Clients, pause);
    }
    answer.by_measures(["time_to_clean_s"].into_iter().chain(end).chain(work::COMPARED_BY))
}

/// What happens when, from the change on.
fn course(view: &View<'_>, what: &str) -> Vec<Step> {
    let ends = view.value("time_to_end_s").filter(|end| *end > 0.0);
    let nothing = view.value("time_to_clean_s").map_or(ends.is_none(), |clean| clean == 0.0);
    if nothing {
        return Vec::new();
    }
    let observed = &view.kept.observed;
    let mut course: Vec<(f64, Step)> = match observed.course.is_empty() {
        true => vec![(0.0, Step::at(0.0, what))],
        false => observed.course.chunk_by(|one, next| one.0 == next.0).map(made).collect(),
    };
    let until = ends.unwrap_or(0.0);
    course.extend(noticed::steps(&observed.noticed, until, observed.lasts));
    course.extend(observed.first_s.map(|at| (at, Step::at(at, "the first object moves"))));
    for (at, devices) in observed.down.out.iter().filter(|(at, _)| *at < until) {
        course.push((*at, Step::at(*at, format!("{devices} marked out, down from the beginning"))));
    }
    let freed = observed.down.freed.iter().filter(|(at, _)| *at < until);
    course.extend(freed.map(|(at, devices)| (*at, Step::at(*at, format!("{devices} marked out")))));
    course.extend(of_manager(view));
    course.extend(last_steps(view));
    course.sort_by(|left, right| left.0.total_cmp(&right.0));
    course.into_iter().map(|(_, step)| step).collect()
}

/// How long it takes without the steps of the manager, if that is less.
fn paces(view: &View<'_>) -> Option<String> {
    let once = view.kept.observed.steps.as_ref()?.at_once_s?;
    let clean = view.value("time_to_clean_s")?;
    (once < clean * 0.99).then(|| {
        let [once, clean] = human::alike([once, clean], "s");
        format!("the steps of the manager: {once} in one step, {clean} with all of them")
    })
}

/// The first and the last step of the manager.
fn of_manager(view: &View<'_>) -> Vec<(f64, Step)> {
    let Some(steps) = &view.kept.observed.steps else { return Vec::new() };
    let (Some(&first), Some(&last)) = (steps.at_s.first(), steps.at_s.last()) else { return Vec::new() };
    let count = human::plural(steps.at_s.len() as f64, ["step", "steps"]);
    let begin = format!("objects of the first step move: the manager changes {} in {count}", steps.words);
    let mut course = vec![(first, Step::at(first, begin))];
    if last > first {
        course.push((last, Step::at(last, "objects of its last step move")));
    }
    course
}

/// The changes that are made at one time.
fn made(changes: &[(f64, String)]) -> (f64, Step) {
    let words: Vec<&str> = changes.iter().map(|(_, words)| words.as_str()).collect();
    (changes[0].0, Step::at(changes[0].0, words.join(", ")))
}

/// When all copies are back, and when all groups are clean or the last move has ended.
fn last_steps(view: &View<'_>) -> Vec<(f64, Step)> {
    let mut course = Vec::new();
    let mut add = |measure: &str, what: String| {
        let step = Step::over(&view.point.values(measure), what);
        course.extend(step.map(|step| (view.value(measure).unwrap_or(0.0), step)));
    };
    let full = view.value("time_to_full_redundancy_s").filter(|full| *full > 0.0);
    let apart = full.is_some() && full < view.value("time_to_clean_s");
    if apart {
        add("time_to_full_redundancy_s", "all copies are back".to_owned());
    }
    let both = if full.is_some() && !apart {
        "all copies are back, all groups are clean"
    } else {
        "all groups are clean"
    };
    if view.value("time_to_clean_s").is_none() {
        let stays = match view.value("stuck_objects").filter(|stuck| *stuck > 0.0) {
            Some(stuck) => format!("; {} objects stay where they are", human::digits(stuck)),
            None => String::new(),
        };
        let end = format!("the last move has ended{}{stays}", written(view));
        add("time_to_end_s", end);
    }
    add("time_to_clean_s", format!("{both}{}", written(view)));
    course
}

/// What was written until the end, and how fast.
fn written(view: &View<'_>) -> String {
    let bytes = view.shown("written_bytes", "bytes").filter(|_| view.some("written_bytes"));
    let rate = view.shown("aggregate_rate_bytes_per_s", "bytes/s");
    match (bytes, rate) {
        (Some(bytes), Some(rate)) => format!(": {bytes} written at {rate}"),
        _ => String::new(),
    }
}

/// Where nothing moves and nothing is asked.
fn nothing_to_do(view: &View<'_>) -> Option<String> {
    let moves = &view.kept.moves;
    let idle = moves.moved_shards == 0 && !view.some("stuck_objects") && !view.some("lost_objects");
    let well = dangers::dangers(moves).is_empty();
    if view.asks() || !idle || !well {
        return None;
    }
    Some(match moves.states.unclean {
        0 => "nothing to do: all groups are active+clean".to_owned(),
        some => {
            let groups = human::plural(some as f64, ["group is", "groups are"]);
            format!("nothing is to be copied; {groups} not active+clean")
        }
    })
}

fn what_moves(view: &View<'_>) -> String {
    let moves = &view.kept.moves;
    if view.kept.observed.lasts {
        return what_is_written(view);
    }
    if moves.moved_shards == 0 {
        // By exports that disagree, groups are in their places in the end, but not at the beginning.
        return if view.some("written_bytes") { what_is_written(view) } else { "nothing".to_owned() };
    }
    let objects = view.value("moved_objects").unwrap_or(0.0);
    let objects = (objects > 0.0).then(|| format!("{} objects", human::digits(objects)));
    let moved = human::quantity(moves.moved_bytes as f64, "bytes");
    let groups = format!("{} of {} groups", moves.moved_groups, moves.groups);
    let share = format!("{:.1} % of all bytes", 100.0 * moves.moved_fraction());
    let begun = match view.kept.observed.begun {
        0 => String::new(),
        begun => {
            let groups = human::plural(begun as f64, ["group has", "groups have"]);
            format!(" ({groups} been copied in part)")
        }
    };
    // Some are written more than once, or not at all, so the objects are those that are written.
    match view.shown("written_bytes", "bytes").filter(|written| *written != moved) {
        None => {
            let objects = objects.map_or(String::new(), |objects| objects + " and ");
            format!("{moved} in {objects}{groups}, {share}{begun}")
        }
        Some(written) => {
            let in_objects = objects.map_or(String::new(), |objects| format!(" in {objects}"));
            let rest = if view.some("stuck_objects") { ", and the rest stays where it is" } else { "" };
            format!(
                "{moved} in {groups} are to move, {share}; {written}{in_objects} are written until the end{rest}{begun}"
            )
        }
    }
}

/// What is written where changes follow each other: more than what lies elsewhere in the end.
fn what_is_written(view: &View<'_>) -> String {
    let moves = &view.kept.moves;
    let objects = view.value("moved_objects").unwrap_or(0.0);
    let written = match objects > 0.0 {
        true => format!(
            "{}{} in {} objects are written until the end",
            if view.is_bound() { "at most " } else { "" },
            view.shown("written_bytes", "bytes").unwrap_or_default(),
            human::digits(objects)
        ),
        false => "nothing is written".to_owned(),
    };
    let written = match view.is_bound() {
        true => format!("{written} (whole objects, where clients write parts of them: `--client-size`)"),
        false => written,
    };
    let end = match moves.moved_shards {
        0 => "then all groups are where they are now".to_owned(),
        _ => format!(
            "then {} of {} of {} groups are on other devices than now",
            human::quantity(moves.moved_bytes as f64, "bytes"),
            moves.moved_groups,
            moves.groups
        ),
    };
    format!("{written}; {end}")
}

/// How long, with the times of slower and faster disks.
fn how_long(view: &View<'_>) -> String {
    let Some(clean) = view.value("time_to_clean_s") else {
        let reason = view.reason("time_to_clean_s").unwrap_or("the reason is not known");
        let halted = &view.kept.observed.halted;
        if let (Some((flags, _)), true, false) = (&halted.copies, halted.lacking, view.some("moved_objects"))
        {
            return format!("nothing is rebuilt with {flags} set");
        }
        let end = view.shown("time_to_end_s", "s").filter(|_| view.some("time_to_end_s"));
        let which = if view.kept.moves.splits.is_some() { " of the groups as they are now" } else { "" };
        let end = end.map_or(String::new(), |end| {
            format!("; what can move{which} has moved after {}{end}", at_least(view))
        });
        return format!("not all groups become clean: {reason}{end}");
    };
    if clean == 0.0 {
        let is_empty = view.kept.moves.moved_shards > 0;
        return if is_empty { "the groups that move are empty" } else { "no data move" }.to_owned();
    }
    let full = view.value("time_to_full_redundancy_s").filter(|full| *full > 0.0);
    let mut text = String::new();
    let mut shown = human::quantity(clean, "s");
    if let Some(full) = full.filter(|full| *full < clean) {
        let [back, last] = human::alike([full, clean], "s");
        text += &format!("all copies are back after {back}, and ");
        shown = last;
    }
    let end = if full == Some(clean) { "all copies are back" } else { "all groups are clean" };
    text += &format!("{end} after {}{shown}", at_least(view));
    let spread = view.spread();
    let ends = ["time_to_clean_low_s", "time_to_clean_high_s"].map(|end| view.value(end));
    if let [Some(low), Some(high)] = ends {
        let disks = match view.times_as_fast() {
            Some(times) => format!("{spread} slower to {times} times as fast"),
            None => format!("{spread} faster or slower"),
        };
        text += &match (interval(clean, [low, high]), view.kept.observed.orders) {
            (Some(range), Some(_)) => format!(" ({range})"),
            (Some(range), None) => format!(" ({range} if disks are {disks})"),
            (None, None) if view.point.scenario.speed_spread.fraction_f64() > 0.0 => {
                format!(" (also if disks are {disks})")
            }
            (None, _) => String::new(),
        };
    }
    text
}

/// Before a time that is a bound: what moves in the room of others waits for these, and is timed as if not.
fn at_least(view: &View<'_>) -> &'static str {
    if view.kept.observed.in_turn > 0 { "at least " } else { "" }
}

/// What the machines were learned from, and how these differ.
fn calibrated(view: &View<'_>) -> String {
    let Some(calibration) = &view.kept.observed.calibration else { return String::new() };
    let differs = match calibration.differs.as_slice() {
        [] => String::new(),
        differs => format!(" (not the same: {})", differs.join("; ")),
    };
    format!(", {}{differs}", calibration.on)
}

/// What the range of the time covers.
fn range(view: &View<'_>) -> Option<String> {
    let orders = view.kept.observed.orders?;
    view.value("time_to_clean_s").filter(|clean| *clean > 0.0)?;
    let [low, high] = orders::SHARES.map(|share| (100.0 * share).round());
    let spread = view.spread();
    let disks = match (view.kept.observed.fast_permille, view.times_as_fast()) {
        (None, _) => String::new(),
        (_, Some(times)) => {
            format!("; disks {spread} slower to {times} times as fast (`--speed-spread`, `--disk-read`)")
        }
        (_, None) => format!("; disks {spread} slower or faster (`--speed-spread`)"),
    };
    let mean = match view.point.result.outcomes.len() {
        0 | 1 => String::new(),
        several => format!("the mean of {several} replicates, each "),
    };
    if let Some(calibration) = view.kept.observed.calibration.as_ref().filter(|of| of.applies) {
        let assumed = match calibration.assumed.as_slice() {
            [] => String::new(),
            assumed => format!("; that recovery does not tell {}, whose range is wide", assumed.join(", ")),
        };
        return Some(format!(
            "the time is {mean}the median of {} runs, each with an order of groups (chance, `--seed`) and constants that explain \
             the recovery, its range {low} to {high} % of them and of what differs from one recovery to the next{assumed}",
            orders.drawn
        ));
    }
    Some(format!(
        "the time is {mean}the median of {} orders of groups (chance, `--seed`), its range {low} to {high} % of them{disks}",
        orders.drawn
    ))
}

/// The parts of the time until all groups are clean, the longest first.
fn time(view: &View<'_>) -> Option<String> {
    let [detection, down_out, start] = view.kept.observed.waited?;
    let parts = vec![
        (parts::DETECTION, detection),
        (parts::DOWN_OUT, down_out),
        (START, start),
        (parts::TRANSFERS, view.value("transfer_s")?),
    ];
    parts::in_words(parts, view.value("time_to_clean_s")?)
}

/// The time that passes before objects move.
const START: &str = "until the first object moves (`start`)";

fn clients(view: &View<'_>) -> String {
    let wait = |measure: &str| view.value(measure);
    let (reads, quiet) = (wait("client_read_latency_p99_us"), wait("client_read_latency_quiet_p99_us"));
    let (writes, still) = (wait("client_write_latency_p99_us"), wait("client_write_latency_quiet_p99_us"));
    match (reads, quiet, writes, still) {
        (Some(reads), Some(quiet), Some(writes), Some(still)) => {
            let [reads, quiet, writes, still] = human::alike([reads, quiet, writes, still], "us");
            format!(
                "{}one read in a hundred takes {reads} or longer ({quiet} when nothing moves), one write {writes} ({still})",
                rates(view)
            )
        }
        _ if view.point.scenario.keys.clients.any() => {
            "not known, since no data move or no operation was completed".to_owned()
        }
        _ => "not simulated, since no client load was given (`--client-load`)".to_owned(),
    }
}

/// For how long groups serve no requests.
fn pause(view: &View<'_>) -> Option<String> {
    let [least, most] = PEERS_S.map(human::digits);
    let Some(longest) = view.value("pause_s") else {
        let reason = view.reason("pause_s").unwrap_or("the reason is not known");
        return Some(format!("how long groups serve no requests is not known: {reason}"));
    };
    if longest == 0.0 {
        return None;
    }
    let peers =
        format!("each group that moves serves no requests for {least} to {most} s in all, while it peers");
    if longest <= PEERS_S[1] {
        return Some(peers);
    }
    let detection = human::quantity(longest - PEERS_S[1] - LEASE_S, "s");
    Some(format!(
        "{peers}; those on what fails also until that is detected ({detection}), and up to {} s for a read lease if the \
         machine or its network fails, not only the daemon",
        human::digits(LEASE_S)
    ))
}

/// The rates of clients that wait for replies: a result.
fn rates(view: &View<'_>) -> String {
    let rate = |measure: &str| Some(human::digits(view.value(measure)?.round()));
    let both = (rate("client_operations_per_s"), rate("client_operations_quiet_per_s"));
    match (view.point.scenario.keys.clients.client_depth, both) {
        (Some(_), (Some(during), Some(quiet))) => format!("{during} operations/s instead of {quiet}, and "),
        _ => String::new(),
    }
}

fn risk(view: &View<'_>) -> String {
    let exposure = &view.kept.exposure;
    if let (true, Some(doubt)) = (exposure.devices.is_empty(), view.reason("devices_critical")) {
        return format!("not known: {doubt}");
    }
    if exposure.one_groups + exposure.two_groups == 0
        && exposure.devices.is_empty()
        && view.kept.moves.safety.short_now == 0
        && !view.kept.observed.fails
    {
        // Groups that the new map leaves without a full set keep their old copies until then.
        return match view.kept.moves.groups_short {
            0 => "no copy is missing at any time".to_owned(),
            _ => "while data move, no copy is missing; how likely a loss is afterwards was not estimated"
                .to_owned(),
        };
    }
    let mut text = String::new();
    if view.some("lost_objects") {
        let lost = view.value("lost_objects").unwrap_or(0.0);
        return format!("{} objects are lost, whatever else fails", human::digits(lost));
    }
    text += &match &exposure.devices[..] {
        [] if !view.kept.worse.said.is_empty() => {
            "in the order that is shown, no single further device would lose data".to_owned()
        }
        [] => "no single further device would lose data".to_owned(),
        devices => format!("{} would lose data by itself{}", some_of(devices), {
            let until = view.shown("time_to_two_copies_s", "s").filter(|_| exposure.bare == 0);
            until.map_or(", and still does at the end".to_owned(), |until| {
                format!(" until {until} after the beginning")
            })
        }),
    };
    if !exposure.servers.is_empty() {
        let servers = some_of(&exposure.servers);
        text += &match exposure.devices.is_empty() {
            true => format!(", but {servers} as a whole would"),
            false => format!(", and so would {servers} as a whole"),
        };
    }
    if exposure.two_bytes > 0 {
        text += &format!("; {} have two copies left", human::quantity(exposure.two_bytes as f64, "bytes"));
    }
    let rate = human::quantity(view.point.scenario.failure_rate.fraction_f64(), "share");
    text += &match view.value("data_loss_probability_fraction") {
        Some(loss) => {
            let most = small(loss, exposure.devices.len() as u64 + exposure.pairs > 0);
            format!("; the probability of losing data is {most} at {rate} failures a year")
        }
        None => format!("; the probability of a loss is not known: {}", {
            view.reason("data_loss_probability_fraction").unwrap_or("the reason is not known")
        }),
    };
    text
}

/// What a failure does to the groups as they are now, where they are split further: of those it is known.
fn of_groups_now(view: &View<'_>) -> Option<String> {
    let is_open = view.kept.moves.splits.is_some() && view.kept.observed.fails;
    let count = |measure: &str, words: [&str; 2]| {
        view.value(measure).filter(|_| is_open).map(|count| human::plural(count, words))
    };
    let below = count("below_min_size", ["group serves no requests", "groups serve no requests"])?;
    let lost = count("lost_objects", ["object is lost", "objects are lost"])?;
    Some(format!("of the groups as they are now, before any further split: {below} for a while, {lost}"))
}

/// An upper estimate of a probability: `at most 1 in 2,400`. Where something is exposed, it is never 0.
fn small(share: f64, exposed: bool) -> String {
    if share < 1e-9 {
        "below 1 in 1,000,000,000".to_owned()
    } else if !exposed {
        format!("at most {:.0} %", 100.0 * share)
    } else if share < 0.1 {
        // Two digits: it is an estimate, and an upper one.
        format!("at most {}", human::odds(share))
    } else {
        format!("at most {:.0} %", 100.0 * share)
    }
}

/// The changes that help, the best first; or that none does.
fn help(view: &View<'_>) -> Vec<String> {
    let halted = &view.kept.observed.halted;
    if let (Some(_), Some(clean)) = (&halted.copies, halted.without_s) {
        let clean = human::quantity(clean, "s");
        return vec![format!("{}: all groups are clean after {clean}", halted.unset)];
    }
    let outcome = &view.point.result.outcomes[0];
    let Some(first) = outcome.measures.get("time_to_clean_s").and_then(Measurement::value) else {
        return Vec::new();
    };
    let tried = &view.kept.observed.work.tried;
    let where_tried = tried_in(view.point.result.outcomes.len());
    let helps = |tried: &&Tried| tried.time_s.is_some_and(|time| time < 0.99 * first);
    let helpful: Vec<Tried> = tried.iter().filter(helps).cloned().collect();
    let ranked = by_time(&helpful);
    let ranking = ranked.ranking();
    let tied = ranking.best.len();
    // The time above is the mean over replicates, and changes are tried in the first: a second time of it
    // beside the mean would only confuse, so the difference is given.
    let said = |tried: &Tried| {
        let time = tried.time_s.unwrap_or(f64::INFINITY);
        match where_tried {
            "" => {
                let [time, first] = human::alike([time, first], "s");
                format!("{time}, instead of {first}")
            }
            _ => format!(
                "{} less time{where_tried}",
                human::quantity(((1.0 - time / first) * 100.0).round() / 100.0, "share")
            ),
        }
    };
    let line = |(place, at): (usize, &usize)| {
        let is_tied = if place < tied && tied > 1 { " (these differ by less than 1 %)" } else { "" };
        described(&helpful[*at], &said(&helpful[*at])) + is_tied
    };
    let lines: Vec<String> = ranking.order.iter().take(BEST).enumerate().map(line).collect();
    if lines.is_empty() { advice(tried, first, where_tried).into_iter().collect() } else { lines }
}

/// So many of the changes that help are named.
const BEST: usize = 3;

/// A change that was tried, what is said of its time, and what it costs clients.
fn described(tried: &Tried, time: &str) -> String {
    let wait = |name: &str, micros: Option<f64>| {
        micros.map(|micros| format!("{name} {}", human::quantity(micros, "us")))
    };
    let cost = tried.clients.map(|cost| {
        let waits = [wait("reads", cost.read_p99_us), wait("writes", cost.write_p99_us)];
        let waits: Vec<String> = waits.into_iter().flatten().collect();
        format!(", p99 of clients' {}", waits.join(" and "))
    });
    format!("`{}`: {time}{}", tried.change, cost.unwrap_or_default())
}

/// The answer over several points.
#[must_use]
pub fn compared(views: &[View<'_>]) -> Answer {
    let verdict = Standing::worst(views.iter().map(|view| (view.point.said(), status(view))));
    let safe = views.iter().filter(|view| status(view).status() == Status::Safe).count();
    let candidate = |view: &View<'_>| (view.point.said(), vec![view.value("time_to_clean_s")]);
    let ranked = Ranked::of(views.iter().map(candidate).collect(), Better::Lower, Chance::OneRun);
    let soonest = match ranked.ends() {
        Some([least, _]) if ranked.ranking().order.len() == 1 && views.len() > 1 => {
            format!(
                "all groups become clean only with {}, after {}",
                ranked.best(),
                human::quantity(least, "s")
            )
        }
        Some([least, most]) if !ranked.is_tied() => {
            let [least, most] = human::alike([least, most], "s");
            format!(
                "clean soonest with {}, after {least}; latest with {}, after {most}",
                ranked.best(),
                ranked.worst()
            )
        }
        Some([least, _]) => format!("all are clean after {}", human::quantity(least, "s")),
        None => "with none all groups become clean".to_owned(),
    };
    let finding = format!("{safe} of {} are safe; {soonest}.", views.len());
    Answer::of(finding).with_verdict(verdict).comparing("changes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_two_equal_numbers_is_none() {
        assert_eq!(interval(100.0, [100.0; 2]), None);
        assert_eq!(interval(3_000.0, [3_000.0, 3_000.001]), None);
        assert!(interval(120.0, [100.0, 140.0]).unwrap().contains(" to "));
    }

    #[test]
    fn small_shares_are_shown_as_one_in_so_many() {
        assert_eq!(small(0.0, false), "below 1 in 1,000,000,000");
        assert_eq!(small(0.25, false), "at most 25 %");
        assert_eq!(small(0.001, true), "at most 1 in 1,000");
        assert_eq!(small(0.000_41, true), "at most 1 in 2,400");
        assert_eq!(small(0.5, true), "at most 50 %");
        assert_eq!(small(0.0, true), "below 1 in 1,000,000,000");
    }
}

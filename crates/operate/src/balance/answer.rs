//! The answer in words: what is unsafe, how full the fullest device is, why, what it costs, and what helps.

use towtank_ceph::balance::{Cause, CauseKind};
use towtank_metrics::{Better, Chance};
use towtank_report::{Answer, Label, human};

use super::Balance;
use super::dangers::percent;
use super::observed::{Changing, Device, Fits, Kept, Pool};
use super::plan_time::PlanTime;
use towtank_study::Point;
use towtank_study::ranking::Ranked;

/// One point with the results of its first replicate; all replicates give the same.
pub struct View<'a> {
    /// The point.
    pub point: &'a Point<'a, Balance>,
    /// What its first replicate kept.
    pub kept: &'a Kept,
}

impl<'a> View<'a> {
    /// The view of a point.
    #[must_use]
    pub fn of(point: &'a Point<'a, Balance>) -> View<'a> {
        View { point, kept: &point.kept[0] }
    }

    /// Whether any device has a size in the exports.
    #[must_use]
    pub(super) fn sized(&self) -> bool {
        self.kept.devices.iter().any(|device| device.reported)
    }
}

pub(super) fn bytes(count: f64) -> String {
    human::quantity(count, "bytes")
}

/// The name of a device.
pub(super) fn name(kept: &Kept, id: Option<i32>) -> String {
    let found = id.and_then(|id| kept.devices.iter().find(|device| device.id == id));
    found.map_or_else(|| "none".to_owned(), |device| device.name.clone())
}

/// What a cause is, in words that follow a number.
#[must_use]
pub fn words(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::EvenFill => "all devices equally full",
        CauseKind::Overheads => "overheads that differ between devices",
        CauseKind::Rule => "rules that keep copies apart and pools to their devices",
        CauseKind::CrushWeights => "weights that do not fit the sizes of devices",
        CauseKind::Reweights => "overrides of weights",
        CauseKind::Draws => "draws of CRUSH, which give heavy hosts less than their weight",
        CauseKind::TooFewGroups => "too few groups",
        CauseKind::SizesBetweenPools => "groups of unequal size between pools",
        CauseKind::SizesWithinPools => "groups of unequal size within pools",
        CauseKind::Upmaps => "explicit mappings",
        CauseKind::UnderWay => "moves under way",
        CauseKind::NotExplained => "the rest, which the exports do not explain",
    }
}

/// The answer over one point.
#[must_use]
pub fn answer(view: &View<'_>) -> Answer {
    let kept = view.kept;
    let Some(whole) = &kept.whole else {
        return Answer::of("Nothing is stored, so nothing can be balanced.");
    };
    let known = fullest(kept).or_else(|| most_groups(kept));
    let finding = known.unwrap_or_else(|| "Nothing is known of how full devices are".to_owned());
    let mut answer = Answer::of(format!("{finding}.")).comparing("stages");
    if view.sized() {
        if let Some(causes) = why(kept) {
            answer.push(Label::Limit, causes);
        }
        let settled = settled(kept).map_or("", |_| ", from when all copies are where the map puts them");
        answer.push(Label::Also, cost(whole) + settled);
    }
    answer.push(Label::Try, remedy(view));
    let moves: u64 = kept.stages.iter().map(|stage| stage.shards).sum();
    if moves > 0 && moves >= u64::from(view.point.scenario.max_moves) {
        answer.push(Label::Try, "the plan ends at `max_moves`");
    }
    for Changing { pool, groups: (count, all) } in &kept.safety.changing {
        answer.push(
            Label::LeavesOut,
            format!("{count} of {all} groups of pool `{pool}` are not moved: its number of groups or of places is changing"),
        );
    }
    if matches!(kept.time, PlanTime::Known(_)) {
        answer.push(
            Label::Assumed,
            "the time until all groups are clean is that of `towtank whatif` with its usual speeds of disks and release",
        );
    }
    answer
}

/// What is known of devices or pools, ranked; all of it is exact.
fn ranked<'k, T: 'k>(
    all: impl Iterator<Item = &'k T>,
    name: impl Fn(&T) -> &str,
    value: impl Fn(&T) -> Option<f64>,
) -> Ranked {
    let candidates = all.map(|one| (name(one).to_owned(), vec![value(one)])).collect();
    Ranked::of(candidates, Better::Higher, Chance::None)
}

fn fullest(kept: &Kept) -> Option<String> {
    let fill = ranked(kept.devices.iter(), |device| &device.name, |device| device.fill_now);
    let [fullest, _] = fill.ends()?;
    let even = kept.causes.first()?.fill;
    let by_weight = kept.largest(|device| Some(device.fill?.1))?;
    let which = match fill.winner() {
        Some(_) => format!("The fullest device, {}, is", fill.best()),
        None => format!("The fullest devices, {}, are", fill.best()),
    };
    let settled = settled(kept).map_or(String::new(), |fill| format!(" now, and one {fill}"));
    Some(format!(
        "{which} {} full{settled}; weight and rule alone would make it {}, and an even fill {}",
        percent(fullest),
        percent(by_weight),
        percent(even)
    ))
}

/// How full the fullest device is with all copies where the map puts them, where some are not there yet.
fn settled(kept: &Kept) -> Option<String> {
    let is_open = kept.safety.pending_bytes > 0 || kept.safety.short > 0;
    let fill = kept.largest(|device| Some(device.fill?.0)).filter(|_| is_open)?;
    let when = if kept.safety.changing.is_empty() { SETTLED } else { CHANGED };
    Some(format!("{} {when}", percent(fill)))
}

/// The state of which all but the fill of now is: in words that follow a fill.
const SETTLED: &str = "once all copies are where the map puts them";

/// The same where numbers of groups are changing.
const CHANGED: &str =
    "once all copies are where the map will put them with the numbers of groups that it changes to";

/// Where nobody knows the fill: the device that is farthest above its share.
fn most_groups(kept: &Kept) -> Option<String> {
    let part = |device: &Device| (device.shards.1 > 0.0).then(|| device.shards.0 as f64 / device.shards.1);
    let parts = ranked(kept.devices.iter(), |device| &device.name, part);
    let (now, ideal, _) = kept.devices[*parts.ranking().best.first()?].shards;
    Some(match parts.winner() {
        Some(_) => {
            format!("{} has {now} copies and shards, where weight and rule give {ideal:.1}", parts.best())
        }
        None => format!(
            "{} have {:.2} times the copies and shards that weight and rule give",
            parts.best(),
            parts.ends()?[0]
        ),
    })
}

/// Contributions below this, in parts of a device, are left out of the answer; the table has them.
const WORTH_TELLING: f64 = 0.000_5;

fn why(kept: &Kept) -> Option<String> {
    let mut added: Vec<(&Cause, f64)> = kept
        .causes
        .iter()
        .filter(|cause| cause.kind != CauseKind::EvenFill)
        .filter_map(|cause| Some((cause, cause.added.filter(|added| added.abs() >= WORTH_TELLING)?)))
        .collect();
    added.sort_by(|left, right| right.1.abs().total_cmp(&left.1.abs()));
    if added.is_empty() {
        return None;
    }
    let shares: Vec<String> =
        added.iter().map(|(cause, added)| format!("{} {:+.1}", words(cause.kind), added * 100.0)).collect();
    Some(format!("causes, in percent points: {}", shares.join(", ")))
}

fn cost(whole: &Fits) -> String {
    let mut text = format!(
        "{} more fit until a device is full, {} if every group were placed as well as rule and class allow",
        bytes(whole.now.bytes),
        bytes(whole.balanced)
    );
    if let Some(loss) = &whole.after_loss {
        text += &format!(", {} after the loss of {}", bytes(loss.room.bytes), loss.host);
        if let Some((fill, _)) = loss.fill.filter(|_| loss.room.bytes <= 0.0) {
            text += &format!(" (a device would be {} full)", percent(fill));
        }
    }
    text
}

fn remedy(view: &View<'_>) -> String {
    let kept = view.kept;
    let Some(last) = kept.stages.last() else {
        return match view.point.scenario.max_moves {
            0 => "not asked, no move is allowed".to_owned(),
            _ => "no move would help".to_owned(),
        };
    };
    let (moves, moved) =
        kept.stages.iter().fold((0, 0), |sum, stage| (sum.0 + stage.shards, sum.1 + stage.bytes));
    let time: f64 = kept.stages.iter().map(|stage| stage.time_s).sum();
    let count =
        |count: u64, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let mut text = format!(
        "{} in {} ({}: {} for the bytes alone{})",
        count(moves, "move"),
        count(kept.stages.len() as u64, "stage"),
        bytes(moved as f64),
        human::quantity(time, "s"),
        at_once(kept)
    );
    if !kept.safety.changing.is_empty() {
        text += ", which leave out groups that are about to change,";
    }
    if let Some(fill) = last.fill.filter(|_| view.sized()) {
        let won: f64 = kept.stages.iter().map(|stage| stage.fits.1).sum();
        let win = if moves == 1 { "wins" } else { "win" };
        text +=
            &format!(" {win} {}", if won > 0.0 { bytes(won) } else { "no space for all pools".to_owned() });
        text += &pools_alone(kept, won > 0.0);
        text += &format!("; the fullest device is then {} full", percent(fill));
    }
    text
}

/// How long the plan takes if all its commands are given at once.
fn at_once(kept: &Kept) -> String {
    match &kept.time {
        PlanTime::None => String::new(),
        PlanTime::Known(time) => {
            let range = time.range().map_or(String::new(), |range| format!(" ({range})"));
            format!(
                "; {}{range} until all groups are clean, if all are made at once",
                human::quantity(time.clean_s, "s")
            )
        }
        PlanTime::Unknown(reason) => format!("; how long until all groups are clean is not known: {reason}"),
    }
}

/// A change of a pool's space by less than this part of it is not mentioned; the table has it.
const POOL_CHANGE: f64 = 0.01;

/// Nor is that of a pool with less than this part of all bytes: it is that of the few devices of its groups.
const POOL_SHARE: f64 = 0.01;

/// The pool that loses most by the plan and, if not all pools in proportion win anything, the one that wins
/// most; all of them where they are equal.
fn pools_alone(kept: &Kept, has_won: bool) -> String {
    let stored: f64 = kept.pools.iter().map(|pool| pool.bytes as f64).sum();
    let change = |pool: &Pool| pool.fits.planned.bytes - pool.fits.now.bytes;
    let notable = |pool: &Pool| {
        let is_large = pool.bytes as f64 >= POOL_SHARE * stored;
        Some(change(pool)).filter(|change| is_large && change.abs() > POOL_CHANGE * pool.fits.now.bytes)
    };
    let pools = ranked(kept.pools.iter(), |pool| &pool.name, notable);
    let Some([most, least]) = pools.ends() else { return String::new() };
    let named = |names: String, count: usize| match count {
        1 => format!("pool {names}"),
        _ => format!("each of the pools {names}"),
    };
    let mut text = String::new();
    if most > 0.0 && !has_won {
        let names = named(pools.best(), pools.ranking().best.len());
        text += &format!(", but {} for {names} alone", bytes(most));
    }
    if let (true, Some(at)) = (least < 0.0, pools.ranking().worst.first()) {
        let names = named(pools.worst(), pools.ranking().worst.len());
        let fits = &kept.pools[*at].fits;
        let (now, then) = (bytes(fits.now.bytes), bytes(fits.planned.bytes));
        text += &match pools.ranking().worst.len() {
            1 => format!("; for {names} alone {then} fit then in place of {now}"),
            _ => format!("; for {names} alone {} less fit then", bytes(-least)),
        };
    }
    text
}

/// The answer over several points: which plan leaves the least full device, and the remedy of each.
#[must_use]
pub fn compared(views: &[View<'_>]) -> Answer {
    let fill = |view: &View<'_>| (view.point.said(), vec![view.point.value("fill_max_after")]);
    let ranked = Ranked::of(views.iter().map(fill).collect(), Better::Lower, Chance::None);
    let finding = match ranked.ends() {
        Some([least, most]) if least < most => format!(
            "The fullest device is least full with {}, {}; most with {}, {}",
            ranked.best(),
            percent(least),
            ranked.worst(),
            percent(most)
        ),
        Some([fill, _]) => format!("The fullest device is {} full with all of them", percent(fill)),
        None => "Nothing is known of how full devices are".to_owned(),
    };
    let mut answer = Answer::of(finding + ".").comparing("plans");
    let remedies: Vec<(String, String)> =
        views.iter().map(|view| (view.point.said(), remedy(view))).collect();
    match remedies.iter().all(|(_, words)| *words == remedies[0].1) {
        true => answer.push(Label::Try, remedies[0].1.clone()),
        false => {
            remedies.iter().for_each(|(name, words)| answer.push(Label::Try, format!("{name}: {words}")));
        }
    }
    answer
}

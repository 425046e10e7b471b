//! One replicate: what moves, how long it takes with usual, slower and faster disks, and what is at risk
//! meanwhile.

use serde::{Deserialize, Serialize};
use towtank_rebuild::affected::Held;
use towtank_rebuild::model::SPARES;
use towtank_rebuild::plan::{DeviceId, NOWHERE};
use towtank_rebuild::recovery::{Recovered, Recovery, Waiting};
use towtank_report::{Outcome, Warning, human};
use towtank_units::{Percent, SimSpan, SimTime};

use super::case::Ready;
use super::exposure::{AtRisk, Exposure};
use super::halted::{self, Halted};
use super::noticed::{self, Noticed};
use super::orders::{self, Orders};
use super::risk::{self, Worse};
use super::speeds::{self, Spread, Stopped};
use super::stages::DownAndIn;
use super::steps::{self, Made};
use super::unavailable::Unavailable;
use super::waits;
use crate::preview::dangers;
use crate::preview::moves::Moves;
use crate::real::Staged;
use crate::real::calibrated::Calibration;
use crate::release::Paced;
use towtank_recovery::estimate::{self, ERROR_MAX, Estimate, GROUPS};
use towtank_recovery::levers::{self, Tried};
use towtank_recovery::observed::{Observed as Work, Parts, ServerSeen, bare, left, transfer};
use towtank_recovery::resources::{Resource, resources};
use towtank_recovery::work;
use towtank_study::{Replicate, RunContext, StudyError, Value};

/// The results of one replicate.
pub struct Seen {
    /// What moves.
    pub moves: Moves,
    /// What is at risk.
    pub exposure: Exposure,
    /// How it goes with the disks as assumed.
    pub recovered: Recovered,
    /// Whether something fails, other than what is replaced at once.
    pub fails: bool,
    /// Groups and objects with data on what fails; none if all of that is down already.
    pub affected: Option<[u64; 2]>,
    /// The number of servers on which a device serves in the end.
    pub survivors: u32,
    /// With slower and with faster disks; none where nothing moves, or not all ends.
    pub spread: Option<Spread>,
    /// What is at risk with other orders of groups, or other disks.
    pub worse: Worse,
    /// By how much times may be off because they are estimated, as a share of the time since the first
    /// transfer.
    pub off: f64,
    /// What is presented.
    pub observed: Observed,
    /// What was said and tried.
    pub timing: Timing,
    /// Explicit mappings that the monitors would drop.
    pub upmaps_dropped: usize,
    /// The share of devices that fails in a year.
    pub failure_rate: Percent,
    /// What objects wait for whose devices stay in although they are down.
    pub waits: String,
}

/// What times are counted from.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// From the change to the first object that moves, where nothing fails.
    pub start_s: f64,
    /// The delays after a failure.
    pub waiting: Waiting,
}

/// What is presented of a replicate besides its measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The changes in words.
    pub changes: Vec<String>,
    /// Whether something fails or is replaced.
    pub fails: bool,
    /// Whether anything happens after the beginning.
    #[serde(default)]
    pub lasts: bool,
    /// Where something does, the changes in words at their times in seconds, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<(f64, String)>,
    /// Seconds that pass before objects move: until a failure is detected, until its devices are marked out,
    /// and until the first object can move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<[f64; 3]>,
    /// When the first object moves, where that waits for something.
    pub first_s: Option<f64>,
    /// When failures are detected, and their devices marked out.
    pub noticed: Vec<Noticed>,
    /// What the machines did, and what held it up. Times count from the change.
    pub work: Work,
    /// Of the bytes that were finished over time, those of data that lack a copy or shard and have none,
    /// one, or more to spare, and those of data that lack nothing.
    pub by_spare: Vec<Vec<(f64, u64)>>,
    /// What flags keep from happening.
    #[serde(default)]
    pub halted: Halted,
    /// What waits for devices that are down.
    #[serde(default)]
    pub unavailable: Unavailable,
    /// How the time depends on the order of groups, where that is chance.
    #[serde(default)]
    pub orders: Option<Orders>,
    /// The speed of faster disks in thousandths of the assumed speed, where such disks were tried.
    #[serde(default)]
    pub fast_permille: Option<u64>,
    /// Objects that move in room that others leave.
    pub in_turn: u64,
    /// Groups that were being copied already, of which it is known how far.
    pub begun: u64,
    /// What becomes of devices that are down and in.
    #[serde(default)]
    pub down: DownAndIn,
    /// Whether what fails first is never marked out.
    #[serde(default)]
    pub stays_in: bool,
    /// What the manager changes in steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Made>,
    /// The release of Ceph, and the queue of its daemons.
    #[serde(default)]
    pub paced: Paced,
    /// What the machines were learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// The kept results of a replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What moves.
    pub moves: Moves,
    /// What is at risk.
    pub exposure: Exposure,
    /// What is at risk with other orders of groups, or other disks.
    pub worse: Worse,
    /// The rest.
    pub observed: Observed,
}

/// Nothing was found out.
fn stopped() -> Replicate<Seen> {
    Replicate {
        seen: Err("the run was stopped before it was known what moves"),
        beside: Outcome { partial: true, ..Outcome::default() },
    }
}

/// Runs one replicate.
pub fn run(ready: &Ready, context: &RunContext<'_>) -> Result<Replicate<Seen>, StudyError> {
    with(ready, Trials::Made, context)
}

/// Whether settings that would help are tried, which takes most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trials {
    Made,
    LeftOut,
}

/// Runs a replicate, with or without the trials.
pub(super) fn with(
    ready: &Ready,
    trials: Trials,
    context: &RunContext<'_>,
) -> Result<Replicate<Seen>, StudyError> {
    // Progress is that of the recoveries, which take nearly all the time.
    let moves = context.within(0.0..0.0, |context| Moves::of(&ready.case, context))?;
    let Some(moves) = moves else { return Ok(stopped()) };
    let staged = &ready.staged;
    let recovery = ready.real.recovery(staged, context);
    // A lower limit of the user leaves the orders as they are.
    let exact_objects = ready.exact_objects().max(estimate::exact_usually(&staged.affected));
    let risk = |recovered: &Recovered| risk::of(ready, recovered);
    let drawn = (exact_objects, ready.real.calibrated_machines());
    let drawn =
        context.within(0.0..ORDERS_SHARE, |context| orders::draw(&recovery, drawn, &risk, context))?;
    let (recovery, orders) = match drawn {
        Some((recovery, orders, at_risk)) => (recovery, (Some(orders), Some(at_risk))),
        None => (recovery, (None, None)),
    };
    context.within(ORDERS_SHARE..1.0, |context| in_order((ready, trials), moves, (recovery, orders), context))
}

/// The part of a replicate's time in which orders of groups are drawn, as its progress shows it. A guess.
const ORDERS_SHARE: f64 = 0.2;

/// Runs the recovery whose order of groups has been chosen.
fn in_order(
    (ready, trials): (&Ready, Trials),
    moves: Moves,
    (recovery, (orders, at_risk)): (Recovery<'_>, (Option<Orders>, Option<AtRisk>)),
    context: &RunContext<'_>,
) -> Result<Replicate<Seen>, StudyError> {
    let permille = speeds::permille(ready, &moves);
    // The recoveries with slower and with faster disks take as many events as the one before the trials.
    let own = levers::own_share(context);
    let all = if permille.is_some() { 1.0 / (1.0 + 2.0 * own) } else { 1.0 };
    let limits = limits(ready, orders);
    let estimate::Ran { mut recovered, estimate, note, off } =
        context.within(0.0..all * own, |context| estimate::run(&recovery, limits, context))?;
    let unavailable = Unavailable::set_apart(ready, &recovery, &mut recovered);
    let models = (&recovery, &recovered);
    let resources = resources(&recovery, &recovered);
    let estimate =
        context.within(all * own..all * own, |context| Estimate::or_of(estimate, models, limits, context))?;
    let settings = (&resources[..], (trials == Trials::Made).then(|| ready.real.levers()));
    let tried = context
        .within(all * own..all, |context| made(ready, models, settings, estimate.as_ref(), context))?;
    let spread = context
        .within(all..1.0, |context| speeds::spread(ready, models, (permille, estimate.as_ref()), context))?;
    let beside =
        beside(ready, &recovered, &moves, note.into_iter().chain(estimate.as_ref().map(Estimate::note)));
    let start = ready.start.as_secs_f64();
    let (work, survivors) = work(ready, (&recovered, &moves), (&resources, &tried));
    let asked = (&ready.scenario, ready.start);
    let steps = steps::made(ready.way.as_ref(), asked, models, estimate.as_ref(), context)?;
    let observed = Observed {
        changes: ready.case.changes.clone(),
        fails: ready.fails,
        lasts: ready.lasts,
        course: course(ready),
        waited: Some(waited(ready, models)),
        first_s: first(ready, &recovered),
        noticed: noticed::all(ready, &recovery),
        work,
        by_spare: by_spare(&recovered, start),
        halted: halted::halted(ready, models, limits, context)?,
        unavailable,
        orders,
        fast_permille: permille.filter(|_| spread.is_some()).map(|[_, fast]| fast),
        in_turn: recovered.stuck.in_turn,
        begun: ready.staged.affected.begun(),
        down: ready.down.clone(),
        steps,
        paced: ready.real.paced(),
        stays_in: noticed::stays_in(&recovery),
        calibration: ready.real.calibrated.as_ref().map(|(_, calibration)| calibration.clone()),
    };
    let (exposure, worse) = at_risk_of(ready, &recovered, at_risk, spread.as_ref());
    let seen = Seen {
        moves,
        exposure,
        worse,
        recovered,
        fails: !ready.staged.struck.is_empty(),
        affected: affected(ready),
        survivors,
        spread,
        off,
        observed,
        timing: Timing { start_s: start, waiting: ready.real.waiting() },
        upmaps_dropped: ready.case.upmaps_dropped,
        failure_rate: ready.scenario.failure_rate,
        waits: waits::waits(ready, &recovery),
    };
    Ok(Replicate { seen: Ok(seen), beside })
}

/// What is at risk, and where it is more: in other orders, and with slower disks, where these were tried.
fn at_risk_of(
    ready: &Ready,
    recovered: &Recovered,
    orders: Option<AtRisk>,
    spread: Option<&Spread>,
) -> (Exposure, Worse) {
    let exposure = risk::exposure(ready, recovered);
    let slower = spread.and_then(|spread| spread.as_ref().ok()).map(|speeds| speeds.slower);
    let worse = Worse::than(&exposure, (orders, orders::DRAWN), slower);
    (exposure, worse)
}

/// The trials, where they are made.
fn made(
    ready: &Ready,
    (recovery, recovered): (&Recovery<'_>, &Recovered),
    (resources, settings): (&[Resource], Option<levers::Settings>),
    estimate: Option<&Estimate>,
    context: &RunContext<'_>,
) -> Result<Vec<Tried>, StudyError> {
    let Some(settings) = settings else { return Ok(Vec::new()) };
    let mut tried = levers::tried(recovery, recovered, (resources, settings), estimate, context)?;
    count_from_the_change(&mut tried, &ready.staged, ready.start.as_secs_f64());
    Ok(tried)
}

/// Trials count from the first failure; their times are made to count from the change.
fn count_from_the_change(tried: &mut [Tried], staged: &Staged, start: f64) {
    let first = staged.struck.iter().map(|struck| struck.at).min().unwrap_or_default().as_secs_f64();
    tried.iter_mut().for_each(|tried| tried.time_s = tried.time_s.map(|time| start + first + time));
}

/// The bytes that were finished over time, by what was to spare, in seconds from the change.
fn by_spare(recovered: &Recovered, start: f64) -> Vec<Vec<(f64, u64)>> {
    let seconds = |steps: &Vec<(SimTime, u64)>| {
        steps.iter().map(|(at, bytes)| (start + at.as_secs_f64(), *bytes)).collect::<Vec<_>>()
    };
    recovered.progress_by_spare.iter().map(seconds).collect()
}

/// When the recovery is estimated.
fn limits(ready: &Ready, orders: Option<Orders>) -> estimate::Limits {
    let error_max = orders.map_or(ERROR_MAX, |orders| orders.share.max(ERROR_MAX));
    let groups_least = if orders.is_some() { 1 } else { GROUPS };
    let limits = estimate::Limits { exact_objects: ready.exact_objects(), error_max, groups_least };
    if ready.way.is_some() { steps::limits(limits) } else { limits }
}

/// What stands beside the results; `notes` are those on how they were found.
fn beside(
    ready: &Ready,
    recovered: &Recovered,
    moves: &Moves,
    notes: impl Iterator<Item = Warning>,
) -> Outcome {
    let staged = &ready.staged;
    let mut beside = Outcome {
        digest: recovered.digests.first().map(ToString::to_string),
        events: recovered.events,
        partial: recovered.partial,
        warnings: ready.case.warnings.clone(),
        ..Outcome::default()
    };
    beside.warnings.extend(staged.warnings.iter().cloned());
    beside.warnings.extend(lacked(staged.lacking, ready.asks()));
    beside.warnings.extend(ready.down.staying());
    beside.warnings.extend(ready.down.overdue());
    beside.warnings.extend(dangers::warnings(moves));
    beside.warnings.extend(notes);
    beside
}

/// What the machines did, with times that count from the change, and how many of them are left.
fn work(
    ready: &Ready,
    (recovered, moves): (&Recovered, &Moves),
    (resources, tried): (&[Resource], &[Tried]),
) -> (Work, u32) {
    let Staged { hardware, affected, struck, limits, failing, used, capacity, .. } = &ready.staged;
    let is_given_up = |device: DeviceId| failing[device.index()] && !ready.added.back.contains(&device);
    let is_gone = |server: u32| hardware.devices_of(server).all(is_given_up);
    let held = capacity.as_ref().map(|_| Held::Bytes(used.clone()));
    let mut work = Work::of(&Parts {
        hardware,
        affected,
        struck,
        recovered,
        held: held.as_ref(),
        reservations: limits.reservations,
        resources,
        tried,
        is_gone: &is_gone,
    });
    let start = ready.start.as_secs_f64();
    work.progress.iter_mut().chain(&mut work.below).for_each(|step| step.0 += start);
    let kinds = work.clients.iter_mut().flat_map(|clients| &mut clients.kinds);
    kinds.flat_map(|kind| &mut kind.over_time).for_each(|step| step.0 += start);
    work.unfinished = work.unfinished.saturating_add(recovered.stuck.staying_bytes);
    if recovered.maps_left > 0 {
        // No map asked for what would have moved in the steps that are left.
        work.unfinished = work.unfinished.max(moves.moved_bytes.saturating_sub(recovered.bytes));
    }
    let down = ready.real.groups.down();
    let serves = |device: DeviceId| !is_given_up(device) && !down.contains(&device);
    let survivors = (0..hardware.servers()).filter(|&server| hardware.devices_of(server).any(serves));
    (work, survivors.count() as u32)
}

/// The groups with data on what fails, and their objects.
fn affected(ready: &Ready) -> Option<[u64; 2]> {
    let Staged { affected, failing, struck, .. } = &ready.staged;
    let down = ready.real.groups.down();
    let mut all = struck.iter().flat_map(|struck| &struck.devices);
    if all.all(|device| down.contains(device)) {
        return None;
    }
    let width = |record: usize| affected.kind(record).redundancy.width as usize;
    let is_hit = |record: &usize| {
        let holders = affected.list(*record).iter().take(width(*record));
        holders.filter(|device| **device != NOWHERE).any(|device| failing[device.index()])
    };
    let hit = || (0..affected.records()).filter(is_hit);
    Some([hit().count() as u64, hit().map(|record| affected.objects_of(record)).sum()])
}

/// What passes before objects move. Nothing is marked out that comes back, or if `noout` is set, and nothing
/// waits for it where objects move before, since other things are done or the devices were out already.
fn waited(ready: &Ready, (recovery, recovered): (&Recovery<'_>, &Recovered)) -> [f64; 3] {
    let Waiting { detection, down_out, peering, .. } = ready.real.waiting();
    let first = ready.staged.struck.first().map(|struck| struck.at);
    let given_up = !noticed::stays_in(recovery);
    let moves = transfer(recovered).map(|_| recovered.first_transfer);
    // After this span, and after peering, objects have begun to move at the earliest.
    let passes = |span: SimSpan| {
        let begins = |first: SimSpan| first.saturating_add(span).saturating_add(peering);
        let at = first.map(|first| SimTime::ZERO.saturating_add(begins(first)));
        at.is_some_and(|at| moves.is_none_or(|moves| moves >= at))
    };
    let is_given_up = given_up && !ready.lasts && passes(detection.saturating_add(down_out));
    // What is under way at the beginning waits for nothing.
    // What happens later has its own start.
    let usual = if ready.staged.struck.is_empty() { ready.start } else { peering };
    let start = if ready.lasts { SimSpan::ZERO } else { usual };
    let starts = ready.asks() && !is_by_steps(recovered);
    let parts = [(detection, passes(detection)), (down_out, is_given_up), (start, starts)];
    parts.map(|(span, passes)| if passes { span.as_secs_f64() } else { 0.0 })
}

/// When the first object moves. What is under way at the beginning waits for nothing, and the steps of the
/// manager have their own times, where nothing moves before the first of them.
fn first(ready: &Ready, recovered: &Recovered) -> Option<f64> {
    let moves = transfer(recovered).is_some() && ready.asks() && !is_by_steps(recovered);
    let at = ready.start.as_secs_f64() + recovered.first_transfer.as_secs_f64();
    (moves && at > 0.0).then_some(at)
}

/// Whether nothing moves before the first step of the manager.
fn is_by_steps(recovered: &Recovered) -> bool {
    recovered.steps.first().is_some_and(|first| recovered.first_transfer >= *first)
}

/// The changes at their times, where some are made later.
fn course(ready: &Ready) -> Vec<(f64, String)> {
    let changes = ready.told.iter().filter(|_| ready.lasts);
    changes.map(|told| (told.at.as_secs_f64(), told.words.clone())).collect()
}

/// For how long a group that moves serves no requests while it peers, all in all: measured with Ceph 16.2.15,
/// after failures, explicit mappings and changed weights alike.
pub(crate) const PEERS_S: [f64; 2] = [2.0, 5.0];

/// `osd_heartbeat_grace` times `osd_pool_default_read_lease_ratio`: how long a group waits at most for the
/// lease of a device of which it is not known that it is dead.
pub(super) const LEASE_S: f64 = 16.0;

/// Groups that lack copies before anything fails.
fn lacked(groups: u64, asks: bool) -> Option<Warning> {
    let rest =
        if asks { "; these are rebuilt too, if they have a target and no flag forbids it" } else { "" };
    let lack = human::plural(groups as f64, ["group lacks", "groups lack"]);
    let text = || format!("{lack} copies or shards at the beginning{rest}");
    (groups > 0).then(|| Warning::danger(text()))
}

impl work::Work for Seen {
    fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    fn servers(&self) -> &[ServerSeen] {
        &self.observed.work.servers
    }

    fn resources(&self) -> &[Resource] {
        &self.observed.work.resources
    }

    fn survivors(&self) -> u32 {
        self.survivors
    }
}

impl Seen {
    /// What is kept of it.
    #[must_use]
    pub fn keep(self) -> Kept {
        Kept { moves: self.moves, exposure: self.exposure, worse: self.worse, observed: self.observed }
    }

    /// Why not all is done, where not all is.
    pub fn left(&self) -> Option<String> {
        let left = left(&self.recovered, &self.waits);
        let unmoved = self.recovered.stuck.unmoved;
        let full = (unmoved > 0).then(|| {
            format!(
                "{} objects stay where they are: their target devices would exceed `backfillfull_ratio`",
                human::digits(unmoved as f64)
            )
        });
        let doubt = self.idle_in_doubt();
        let splits = self.moves.splits.as_ref().map(|what| format!("it is not known {what}"));
        let reasons = [
            self.unmade(),
            left,
            full,
            self.flagged(),
            self.unseen(),
            self.short(),
            self.held(),
            self.toofull(),
            doubt,
            splits,
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }

    /// Why it is not known which copies exist, where the exports leave that open.
    fn doubt(&self) -> Option<String> {
        let states = &self.moves.states;
        let count = |count: u64| human::plural(count as f64, ["group", "groups"]);
        if let Some(unplaced) = states.unplaced.first() {
            return Some(unplaced.clone());
        }
        match () {
            () if states.behind > 0 => self.behind(),
            () if states.down_somewhere > 0 => {
                let verb = if states.down_somewhere == 1 { "is" } else { "are" };
                let groups = count(states.down_somewhere);
                Some(format!(
                    "{groups} {verb} `down`, and the report does not say which devices are waited for"
                ))
            }
            () if states.unsettled > 0 => {
                let verb = if states.unsettled == 1 { "serves" } else { "serve" };
                Some(format!("it is not known when {} that {verb} no requests will", count(states.unsettled)))
            }
            () if states.unknown > 0 => Some(format!("the state of {} is not known", count(states.unknown))),
            () => None,
        }
    }

    /// Why the future is not known, where the exports leave that open.
    fn doubt_of_moves(&self) -> Option<String> {
        let times = || "the map and the dump of groups are of different times".to_owned();
        self.doubt().or_else(|| (self.moves.disagreeing > 0).then(times))
    }

    /// Groups that accept no writes: of a device that is never marked down all wait.
    pub(super) fn waiting_groups(&self) -> Value {
        self.unseen().map_or_else(|| self.at_least(self.recovered.below_min_size), Err)
    }

    /// A count of what is at risk: where not all is known it may be more, and then it is never 0.
    pub(super) fn at_least(&self, count: u64) -> Value {
        match self.doubt().filter(|_| count == 0) {
            Some(doubt) => Err(doubt),
            None => Ok(count as f64),
        }
    }

    /// Objects that are lost: where it is not known of some whether they are, it is never 0.
    pub(super) fn lost(&self) -> Value {
        let lost = self.recovered.stuck.lost;
        match self.incomplete().filter(|_| lost == 0) {
            Some(open) => Err(open),
            None => self.at_least(lost),
        }
    }

    /// Why it is not known whether data are lost, where groups are `incomplete`.
    fn incomplete(&self) -> Option<String> {
        let incomplete = self.moves.states.incomplete;
        let groups = human::plural(incomplete as f64, ["group is", "groups are"]);
        (incomplete > 0).then(|| format!("{groups} `incomplete`: whether their data are lost is not known"))
    }

    /// Groups that lack copies of objects though they are on all their devices: when they have them again is
    /// not modelled.
    fn behind(&self) -> Option<String> {
        let behind = self.moves.states.behind;
        let groups = human::plural(behind as f64, ["group lacks", "groups lack"]);
        (behind > 0).then(|| format!("{groups} copies on devices that no export names"))
    }

    /// Why nothing is said of time: some objects are nowhere, or something is to be copied of which no export
    /// says what.
    fn idle_in_doubt(&self) -> Option<String> {
        let states = &self.moves.states;
        let lost = || human::plural(states.lost as f64, ["group has", "groups have"]) + " unfound objects";
        let is_open = states.behind + states.unknown + states.unsettled + states.down_somewhere > 0;
        let doubt = self.doubt_of_moves().filter(|_| is_open || self.recovered.jobs == 0);
        let incomplete = || self.incomplete().filter(|_| self.recovered.stuck.undecided == 0);
        (states.lost > 0).then(lost).or(doubt).or_else(incomplete)
    }

    /// Groups that wait for room by their state: when they get it is in no export.
    fn toofull(&self) -> Option<String> {
        let waiting = self.moves.states.toofull;
        let groups = human::plural(waiting as f64, ["group waits", "groups wait"]);
        (waiting > 0)
            .then(|| format!("{groups} for room (`backfill_toofull`), and no export says when there is some"))
    }

    /// Objects that lack nothing, and that a flag keeps where they are.
    fn flagged(&self) -> Option<String> {
        let stuck = &self.recovered.stuck;
        let stay = stuck.unmoved_by_flag - stuck.unmoved_begun;
        let objects = human::plural(stay as f64, ["object stays", "objects stay"]);
        let flag = stuck.flag.filter(|_| stuck.unmoved_by_flag > 0)?;
        Some(format!("{objects} where they are while `{flag}` is set"))
    }

    /// Steps that the manager never makes.
    fn unmade(&self) -> Option<String> {
        let steps = self.observed.steps.as_ref().filter(|steps| steps.left > 0 && !self.recovered.partial)?;
        let why = match self.recovered.stuck.any() {
            true => "objects lack copies until the end",
            false => "too many objects are misplaced and stay so",
        };
        let made = steps.at_s.len();
        let all = human::plural(f64::from(steps.left), ["map is", "maps are"]);
        let done = human::plural(made as f64, ["step", "steps"]);
        Some(format!("after {done} of {} the manager goes no further, and {all} left: {why}", steps.words))
    }

    /// What fails and is never marked down.
    fn unseen(&self) -> Option<String> {
        let who = halted::who(&self.observed.halted.never_down)?;
        Some(format!(
            "`nodown` is set, so that nothing marks {who} down and nothing is rebuilt of what is there"
        ))
    }

    /// Groups to which the map gives no full set of devices in the end, whatever moves.
    fn short(&self) -> Option<String> {
        let short = self.moves.groups_short;
        let groups = if short == 1 { "group gets" } else { "groups get" };
        let count = human::digits(short as f64);
        (short > 0).then(|| format!("{count} {groups} fewer devices than asked for from the new map"))
    }

    /// Shards that the model leaves where they are.
    fn held(&self) -> Option<String> {
        let bytes = self.recovered.stuck.held_bytes;
        (bytes > 0).then(|| {
            let bytes = human::quantity(bytes as f64, "bytes");
            format!("{bytes} of shards stay, because their new device holds another shard of the same object")
        })
    }

    fn counted(&self, at: SimTime) -> f64 {
        risk::counted(at, self.timing.start_s)
    }

    /// Until all has moved.
    pub fn clean(&self) -> Value {
        self.left().map_or_else(|| Ok(self.counted(self.recovered.last())), Err)
    }

    /// The same with slower (0) or faster (1) disks.
    pub(super) fn clean_at(&self, which: usize) -> Value {
        let clean = self.clean()?;
        match self.spread {
            None => Ok(clean),
            Some(Ok(spread)) => Ok(self.counted(spread.ends[which])),
            Some(Err(Stopped)) => Err("the run was stopped before other disks were tried".to_owned()),
        }
    }

    /// The lower (0) and the upper (1) end of the range of that time: with slower and with faster disks, and
    /// with the orders of groups that are drawn.
    pub(super) fn clean_range(&self, end: usize) -> Value {
        let (clean, slow, fast) = (self.clean()?, self.clean_at(0)?, self.clean_at(1)?);
        let by_order = self.observed.orders.map_or([0.0; 2], |orders| orders.range_s);
        let begin = self.counted(self.recovered.first_transfer).min(clean);
        let moving = self.recovered.moving.as_secs_f64().min(clean - begin);
        let off = if self.off.is_finite() { self.off } else { 1.0 };
        let by_size = moving * (self.guessed_sizes() + off);
        Ok(match end {
            0 => (clean.min(slow).min(fast) - by_order[0] - by_size).max(clean - moving),
            _ => clean.max(slow).max(fast) + by_order[1] + by_size,
        })
    }

    /// By how much the objects that the busiest server takes may differ from the guess of Ceph, which divides
    /// those of a group that is split evenly, as a share: objects fall into groups by their hash, so four
    /// counts in five are within 1.28 standard deviations. 0 where no group is a guess.
    pub(super) fn guessed_sizes(&self) -> f64 {
        let most = self.observed.work.servers.iter().map(|server| server.rebuilt).max().unwrap_or(0);
        if self.moves.states.guessed == 0 || most == 0 { 0.0 } else { 1.28 / (most as f64).max(1.64).sqrt() }
    }

    /// Until all has moved that can.
    pub fn ended(&self) -> Value {
        if self.recovered.partial {
            return Err("the run was stopped before everything had moved".to_owned());
        }
        Ok(self.counted(self.recovered.last()))
    }

    /// Until no record that lacked a copy or shard is left with at most this many to spare.
    fn until(&self, spare: usize) -> f64 {
        risk::until(&self.recovered, spare, self.timing.start_s)
    }

    /// Until no copy or shard is missing. Where the new map has too few devices for more groups than before,
    /// copies are missing as soon as the devices that hold them now are gone.
    pub fn full(&self) -> Value {
        let more = self.moves.groups_short > self.moves.safety.short_now;
        let short = self.short().filter(|_| more);
        let reason = left(&self.recovered, &self.waits)
            .or_else(|| self.unseen())
            .or(short)
            .or_else(|| self.idle_in_doubt());
        let until = || {
            // Copies that moved before the failure was detected were missing until then.
            let missed =
                self.until(SPARES - 2) == 0.0 && self.affected.is_some_and(|[_, objects]| objects > 0);
            if missed { self.counted(self.recovered.last()) } else { self.until(SPARES - 2) }
        };
        reason.map_or_else(|| Ok(until()), Err)
    }

    /// From a failure until it is detected.
    pub(super) fn detection(&self) -> Value {
        if let Some(unseen) = self.unseen() {
            return Err(unseen);
        }
        match self.observed.waited {
            Some([known, ..]) if known > 0.0 || self.timing.waiting.detection.is_zero() => Ok(known),
            _ => Err("data move before the failure is detected".to_owned()),
        }
    }

    /// From the detection of a failure until its devices are marked out.
    pub(crate) fn down_out(&self) -> Value {
        match self.observed.waited {
            _ if self.observed.stays_in => Err(format!("it is not marked out: objects {}", self.waits)),
            _ if self.observed.lasts => {
                Err("what happens later may come before the failed devices are marked out".to_owned())
            }
            Some([_, out, _]) if out > 0.0 || self.timing.waiting.down_out.is_zero() => Ok(out),
            _ => Err("data move before the failed devices are marked out".to_owned()),
        }
    }

    /// From a new map until the first object can move.
    pub fn start(&self) -> Value {
        let any = transfer(&self.recovered).is_some();
        if self.observed.lasts {
            return Err("what happens later has its own time until objects move".to_owned());
        }
        let span = if self.fails { self.timing.waiting.peering.as_secs_f64() } else { self.timing.start_s };
        if any { Ok(span) } else { Err("nothing was transferred".to_owned()) }
    }

    /// The longest time for which a group serves no requests because it peers, and before that because a
    /// failure is not detected or a read lease still runs.
    pub(super) fn pause(&self) -> Value {
        let moves = self.recovered.jobs > 0;
        let Halted { paused, unseen, .. } = &self.observed.halted;
        if *paused {
            return Err("clients are paused (`pause`)".to_owned());
        }
        if !unseen.is_empty() {
            return Err("`nodown` is set, so that requests to what fails wait".to_owned());
        }
        if self.recovered.below_min_size > 0 {
            return Err("groups below `min_size` take no writes until they have enough copies".to_owned());
        }
        let hit = self.affected.is_some_and(|[groups, _]| groups > 0);
        if let (true, Some(reason)) = (hit, self.unseen()) {
            return Err(reason);
        }
        let before = if hit { self.timing.waiting.detection.as_secs_f64() + LEASE_S } else { 0.0 };
        Ok(if moves || hit { before + PEERS_S[1] } else { 0.0 })
    }

    /// Groups (0) or objects (1) with data on what fails.
    pub fn affected(&self, which: usize) -> Value {
        let known = self.affected.ok_or("what fails is down in the exports already, and holds nothing")?;
        Ok(known[which] as f64)
    }

    /// Until nothing is left with a single copy.
    pub(super) fn two_copies(&self) -> Value {
        let doubt = || self.idle_in_doubt();
        let reason = bare(&self.recovered, &self.waits).or_else(|| self.unseen()).or_else(doubt);
        reason.map_or_else(|| Ok(self.until(0)), Err)
    }

    /// The probability that further failures lose data before all copies are back.
    pub(crate) fn loss(&self) -> Value {
        if self.recovered.stuck.lost > 0 {
            return Ok(1.0);
        }
        if self.exposure.bare > 0 {
            let devices = human::plural(self.exposure.bare as f64, ["device holds", "devices hold"]);
            return Err(format!("{devices} data that nothing else has, also when all groups are clean"));
        }
        let unfinished = left(&self.recovered, &self.waits).or_else(|| self.unseen());
        let unfinished = unfinished.map(|why| format!("it is not known how long data are at risk: {why}"));
        match unfinished.or_else(|| self.incomplete()).or_else(|| self.doubt_of_moves()) {
            Some(reason) => Err(reason),
            None => {
                let own = self.exposure.loss(self.failure_rate, (self.until(0), self.until(1)));
                Ok(own.max(self.worse.loss))
            }
        }
    }
}

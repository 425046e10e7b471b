//! A cluster that is generated from the scenario: its data, and one replicate of its rebuild.

use towtank_population::{Extent, Population};
use towtank_units::{Bytes, SimSpan, SimTime};

use towtank_recovery::settings::memory_of_machines;

use super::cluster::limits;
use super::complete::Complete;
use super::observed::{self, Replicate, Seen, Setting};
use super::population::Shown;
use super::ring::GENERATED;
use super::settled::{Amount, Settled};
use super::units::{self, Budget, Ran};
use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::affected::{Affected, Held};
use towtank_rebuild::arrays::{ArrayPlaces, Reads};
use towtank_rebuild::failures::{Failing, Failure, Struck, strike};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::ledger::{LEADS_MOST, Rules, ToEach, Writes};
use towtank_rebuild::model::Limits;
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::{Later, Recovered, Recovery, Return, Waiting};
use towtank_rebuild::redundancy::Redundancy;
use towtank_rebuild::search::Search;
use towtank_recovery::levers::{self, Settings, Tried};
use towtank_recovery::log;
use towtank_recovery::resources::{self, Resource};
use towtank_report::Warning;
use towtank_study::{RunContext, StudyError};

/// The data of a replicate.
///
/// # Errors
/// When there would be more objects than can be numbered.
pub fn population(complete: &Complete, seed: towtank_streams::Seed) -> Result<Population, StudyError> {
    let scenario = &complete.scenario;
    let extent = match scenario.amount {
        Amount::Objects(objects) => Extent::Objects(objects),
        Amount::PerServer(each) => {
            // A ring may have a fraction of copies.
            let (servers, data, width) = match &complete.rings {
                Some(rings) => (rings.servers, rings.places.partitions() as u64, rings.copies()),
                None => {
                    let Redundancy { data, width } = complete.redundancy;
                    (scenario.servers, data.into(), width.into())
                }
            };
            let raw = u128::from(each.get()) * u128::from(servers);
            Extent::Bytes(raw * u128::from(data) / u128::from(width))
        }
    };
    let laid_out = complete.data.population(extent, seed);
    // The ring of a key is its remainder.
    let keyed = match scenario.placement {
        Algorithm::Multiring if scenario.groups.is_none() => {
            laid_out.and_then(|laid_out| laid_out.with_key_modulus(u64::from(scenario.vnodes())))
        }
        _ => laid_out,
    };
    keyed.map_err(|error| StudyError::Model {
        message: format!("the data cannot be laid out: {error}"),
        hint: Some(error.hint().to_owned()),
    })
}

/// The results of a recovery.
pub struct Course {
    /// The machines.
    pub hardware: Hardware,
    /// The objects or groups that were affected.
    pub affected: Affected,
    /// What failed.
    pub struck: Vec<Struck>,
    /// The results of the rebuild.
    pub recovered: Recovered,
    /// How busy each resource was.
    pub resources: Vec<Resource>,
    /// Changes that were tried.
    pub tried: Vec<Tried>,
    /// What is said of larger units.
    pub note: Option<Warning>,
    /// All data of the cluster.
    pub population: Population,
}

/// What a rebuild begins with.
pub(super) struct Staged {
    hardware: Hardware,
    limits: Limits,
    affected: Affected,
    struck: Vec<Struck>,
    later: Later,
    population: Population,
}

impl Staged {
    /// Finds what is lost; none if the user stopped the search.
    ///
    /// # Errors
    /// When the placement cannot be set up.
    pub fn of(complete: &Complete, context: &RunContext<'_>) -> Result<Option<Staged>, StudyError> {
        let struck = strike(&complete.failures, &complete.hardware(), context.seed);
        let hardware = complete.hardware_in_the_end();
        let population = population(complete, context.seed)?;
        let Some(affected) = affected(complete, &hardware, &population, &struck, context)? else {
            return Ok(None);
        };
        let (limits, later) = (limits(&complete.scenario), later(complete, &struck));
        Ok(Some(Staged { hardware, limits, affected, struck, later, population }))
    }

    /// The input of a recovery: the settings of the scenario and what its failures affect.
    #[must_use]
    pub fn recovery(&self, complete: &Complete, context: &RunContext<'_>) -> Recovery<'_> {
        let Staged { hardware, limits, affected, struck, later, population } = self;
        let (scenario, redundancy) = (&complete.scenario, complete.redundancy);
        let settings = &scenario.settings;
        let raw = population.bytes_expected() * f64::from(redundancy.width) / f64::from(redundancy.data);
        let each = (raw / f64::from(hardware.devices())) as u64;
        // A spare of an array has room for a whole disk.
        let capacity = scenario.disk_capacity.filter(|_| scenario.array.is_none());
        let most = capacity.map(|capacity| settings.backfillfull_ratio.of(capacity.get()));
        Recovery {
            hardware,
            limits,
            affected,
            struck,
            later,
            // What is replaced or comes back in place is never given up.
            waiting: Waiting { noout: settings.noout || scenario.is_in_place(), ..settings.waiting() },
            rules: Rules {
                led_by_map: false,
                source: settings.source,
                gather: settings.gather,
                reads_all: scenario.reads == Some(Reads::All),
                order: settings.order,
                ties: settings.is_serial().then_some(context.seed),
                seed: context.seed,
                reserve: limits.reservations.is_some(),
                backfill: settings.backfill,
                count_completed: false,
            },
            down: Vec::new(),
            used: match (&complete.rings, scenario.arrays(), &affected.held) {
                (Some(rings), ..) => rings.used(population),
                (None, Some(_), Some(held)) => shared(raw, held),
                _ => vec![each; hardware.devices() as usize],
            },
            limit: vec![most.unwrap_or(u64::MAX); hardware.devices() as usize],
            clients: settings.load(redundancy),
            quiet: true,
        }
    }
}

/// Finds what is lost and rebuilds it, and tries changes that may help where `tries` is set; none if the user
/// stopped it before anything was known.
///
/// # Errors
/// When placement or model fail.
pub fn course(
    complete: &Complete,
    context: &RunContext<'_>,
    tries: bool,
) -> Result<Option<Course>, StudyError> {
    let scenario = &complete.scenario;
    let Some(staged) = Staged::of(complete, context)? else { return Ok(None) };
    let recovery = staged.recovery(complete, context);
    let own = if tries { levers::own_share(context) } else { 1.0 };
    let budget = Budget::of(scenario.units, scenario.within);
    let Ran { recovered, larger, note } =
        context.within(0.0..own, |context| units::run(&recovery, budget, context))?;
    let hardware = larger.as_ref().unwrap_or(&staged.hardware);
    let recovery = Recovery { hardware, ..recovery };
    let gone = |device| {
        !scenario.is_in_place() && staged.struck.iter().any(|struck| struck.devices.contains(&device))
    };
    let resources = resources::resources_without(&recovery, &recovered, &gone);
    let tried = if tries {
        context.within(own..1.0, |context| {
            let settings = Settings { takes: scenario.settings.takes(), window: true, others: Vec::new() };
            levers::tried(&recovery, &recovered, (&resources, settings), None, context)
        })?
    } else {
        Vec::new()
    };
    let Staged { hardware, affected, struck, population, .. } = staged;
    Ok(Some(Course { hardware, affected, struck, recovered, resources, tried, note, population }))
}

/// Bytes on each device of arrays, by the groups that it holds.
fn shared(raw: f64, held: &Held) -> Vec<u64> {
    let groups = held.by_device();
    let all = groups.iter().sum::<u64>().max(1) as f64;
    groups.iter().map(|&own| (raw * own as f64 / all) as u64).collect()
}

/// From detection until what failed is replaced or back: it is missed before.
fn in_place(scenario: &Settled) -> Option<SimSpan> {
    let span = scenario.replace.or(scenario.returns).filter(|_| scenario.is_in_place());
    span.map(|span| span.max(SimSpan::from_ns(1)))
}

/// When disks replace those that failed and were rebuilt to spares: after the last failure is detected.
fn rebalanced(scenario: &Settled, struck: &[Struck]) -> Option<SimTime> {
    let span = scenario.replace.filter(|_| scenario.rebalances())?;
    let last = struck.iter().map(|struck| struck.at).max()?;
    Some(SimTime::ZERO.saturating_add(last).saturating_add(scenario.settings.detection).saturating_add(span))
}

/// What happens after the failures: the next ring is in place, empty disks replace what failed, or it comes
/// back.
fn later(complete: &Complete, struck: &[Struck]) -> Later {
    let scenario = &complete.scenario;
    let Some(span) = in_place(scenario) else {
        if let Some(at) = rebalanced(scenario, struck) {
            return Later { changes: vec![at], ..Later::default() };
        }
        let rings = complete.rings.as_ref();
        return rings.map_or_else(Later::default, |rings| rings.later(struck, scenario.settings.waiting()));
    };
    let writes = scenario.replace.is_none().then(|| {
        let leads_most = scenario.async_recovery_min_cost.map_or(LEADS_MOST, u64::from);
        Writes { to_each: ToEach::Once, log: log_entries(complete), leads_most, size: None }
    });
    let known = scenario.settings.detection.saturating_add(span);
    let back = |struck: &Struck| Return {
        at: SimTime::ZERO
            .saturating_add(struck.at)
            .saturating_add(known)
            .saturating_add(scenario.settings.usual.peering),
        devices: struck.devices.clone(),
        empty: writes.is_none(),
    };
    let returns = struck.iter().map(back).collect();
    Later { returns, writes: writes.unwrap_or_default(), ..Later::default() }
}

/// The entries of the log of a group, where a disk has its share of all groups.
fn log_entries(complete: &Complete) -> u64 {
    let scenario = &complete.scenario;
    let shards = u64::from(scenario.groups.unwrap_or(1)) * u64::from(complete.redundancy.width);
    log::entries(shards / (u64::from(scenario.servers) * u64::from(scenario.disks_per_server)))
}

/// The objects or groups that failures affect; none if the user stopped the search.
fn affected(
    complete: &Complete,
    hardware: &Hardware,
    population: &Population,
    struck: &[Struck],
    context: &RunContext<'_>,
) -> Result<Option<Affected>, StudyError> {
    let stopped = || context.stopped();
    let order: Vec<DeviceId> = struck.iter().flat_map(|struck| &struck.devices).copied().collect();
    let mut failing = vec![false; hardware.devices() as usize];
    order.iter().for_each(|device| failing[device.index()] = true);
    let failing = &failing[..];
    if let Some(rings) = &complete.rings {
        return Ok(rings.places.affected(population, failing, &stopped));
    }
    let scenario = &complete.scenario;
    if let Some((arrays, groups)) = scenario.arrays().zip(scenario.groups) {
        let places = ArrayPlaces::new(arrays, groups, &order, scenario.rebalances(), context.seed);
        return Ok(places.affected(population, failing, &stopped));
    }
    let placing = &complete.placing();
    let search = Search { placing, hardware, population, failing, seed: context.seed, stopped: &stopped };
    search.run().map_err(|error| StudyError::Model {
        message: format!("the placement cannot be set up: {error}"),
        hint: Some("change `servers`, or choose another placement".to_owned()),
    })
}

/// A replicate that has run, with its data and what is said of larger units; none if the user stopped it
/// before anything was known.
fn replicate(
    complete: &Complete,
    context: &RunContext<'_>,
) -> Result<Option<(Replicate, Population, Option<Warning>)>, StudyError> {
    let Some(course) = course(complete, context, true)? else { return Ok(None) };
    let Course { hardware, affected, struck, recovered, resources, tried, note, population } = course;
    let in_place = complete.scenario.is_in_place();
    let failed = |device| !in_place && struck.iter().any(|struck| struck.devices.contains(&device));
    let survivors =
        (0..hardware.servers()).filter(|&server| !hardware.devices_of(server).all(failed)).count() as u32;
    // What is in use on the disks of an array, of the room that is not for spares, is not what fills up.
    let capacity = complete.scenario.disk_capacity.filter(|_| complete.scenario.array.is_none());
    let setting = Setting {
        survivors,
        capacity: capacity.map(|capacity| vec![capacity.get(); hardware.devices() as usize]),
        reservations: complete.scenario.settings.reservations(),
        in_place,
        rebalances: complete.scenario.rebalances(),
        of_arrays: complete.scenario.array.is_some(),
        by_disk: complete.scenario.is_chassis(),
        held: affected.held.clone(),
    };
    let replicate = Replicate { hardware, affected, struck, recovered, setting, resources, tried };
    Ok(Some((replicate, population, note)))
}

/// One replicate with its measures, and what the report shows of its data.
///
/// # Errors
/// When placement or model fail.
pub(super) fn seen(
    complete: &Complete,
    context: &RunContext<'_>,
) -> Result<towtank_study::Replicate<Seen>, StudyError> {
    let Some((replicate, population, note)) = replicate(complete, context)? else {
        return Ok(observed::stopped());
    };
    let mut seen = observed::replicate(
        context.replicate,
        replicate,
        (complete.scenario.settings.waiting(), in_place(&complete.scenario)),
    );
    seen.beside.warnings.extend(note);
    seen.beside.warnings.extend(complete.warnings.iter().cloned());
    seen.beside.warnings.extend(complete.data.warnings.iter().map(Warning::note));
    seen.beside.warnings.extend(complete.rings.iter().flat_map(|rings| rings.notes.iter().cloned()));
    if let (0, Ok(seen)) = (context.replicate, &mut seen.seen) {
        seen.population = Some(Shown::of(&complete.data, &population));
    }
    Ok(seen)
}

/// The resolved scenario. It omits the number of copies where a code is set, since a scenario with both is
/// refused, and everything that a ring has.
pub(super) fn resolved(scenario: &Settled) -> serde_json::Value {
    let mut value =
        serde_json::to_value(scenario).expect("a scenario came out of text and goes back into it");
    if let Some(table) = value.as_object_mut() {
        if scenario.ring.is_some() {
            table.retain(|key, _| !GENERATED.contains(&key.as_str()));
        } else if scenario.ec.is_some() {
            table.remove("replicas");
        }
        scenario.unused().into_iter().for_each(|key| _ = table.remove(key));
    }
    value
}

/// An estimate of the memory of a replicate: tables of what is lost, and of the plan.
#[must_use]
pub fn memory_estimate(complete: &Complete) -> Bytes {
    let scenario = &complete.scenario;
    let seed = towtank_streams::Seed(0);
    let Ok(population) = population(complete, seed) else { return Bytes::ZERO };
    let (servers, disks) = match &complete.rings {
        Some(rings) => (rings.layout.rack_of.len(), rings.layout.server_of.len()),
        None => (scenario.servers as usize, (scenario.servers * scenario.disks_per_server) as usize),
    };
    let (servers, disks) = (servers as f64, disks as f64);
    let each = |failure: &Failure| match failure.what {
        Failing::Server(_) => 1.0 / servers,
        Failing::Device(_) => 1.0 / disks,
        Failing::Rack(_) => 1.0 / f64::from(scenario.racks),
    };
    let width = f64::from(complete.redundancy.width);
    let touched = match &complete.rings {
        Some(rings) => rings.touched(&complete.failures),
        None => (width * complete.failures.iter().map(each).sum::<f64>()).min(1.0),
    };
    let affected = population.objects() as f64 * touched;
    // Lists, sizes, numbers, holders and targets; the job of the plan and its devices; its progress.
    let each =
        4.0 * (3.0 * width + 2.0) + 24.0 + 32.0 + 4.0 * (f64::from(complete.redundancy.data) + 1.0) + 52.0;
    Bytes::new((affected * each + memory_of_machines(servers, disks)) as u64)
}

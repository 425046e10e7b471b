//! A cluster that is generated from the scenario: its data, and one replicate of its rebuild.

use towtank_population::{Extent, Population};
use towtank_units::Bytes;

use super::cluster::{hardware, limits, memory_of_machines, waiting};
use super::complete::Complete;
use super::levers::{self, Tried};
use super::observed::{self, Replicate, Seen, Setting};
use super::population::Shown;
use super::resources::{self, Resource};
use super::settled::{Amount, Settled};
use crate::{RunContext, StudyError};
use towtank_placement::algorithms::Algorithm;
use towtank_rebuild::affected::Affected;
use towtank_rebuild::failures::{Failing, Struck, strike};
use towtank_rebuild::hardware::Hardware;
use towtank_rebuild::ledger::Rules;
use towtank_rebuild::model::Limits;
use towtank_rebuild::recovery::{Later, Recovered, Recovery};
use towtank_rebuild::search::Search;
use towtank_report::Warning;

/// The data of a replicate.
///
/// # Errors
/// When there would be more objects than can be numbered.
pub fn population(complete: &Complete, seed: towtank_streams::Seed) -> Result<Population, StudyError> {
    let scenario = &complete.scenario;
    let extent = match scenario.amount {
        Amount::Objects(objects) => Extent::Objects(objects),
        Amount::PerServer(each) => {
            let raw = u128::from(each.get()) * u128::from(scenario.servers);
            Extent::Bytes(raw * u128::from(complete.redundancy.data) / u128::from(complete.redundancy.width))
        }
    };
    let laid_out = complete.data.population(extent, seed);
    // The ring of a key is its remainder.
    let keyed = match scenario.placement {
        Algorithm::Multiring if scenario.groups.is_none() => {
            laid_out.and_then(|laid_out| laid_out.with_key_modulus(u64::from(scenario.vnodes)))
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
    /// All data of the cluster.
    pub population: Population,
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
    let hardware = hardware(scenario);
    let struck = strike(&complete.failures, &hardware, context.seed);
    let population = population(complete, context.seed)?;
    let mut failing = vec![false; hardware.devices() as usize];
    struck.iter().flat_map(|struck| &struck.devices).for_each(|device| failing[device.index()] = true);
    let search = Search {
        placing: &complete.placing(),
        hardware: &hardware,
        population: &population,
        failing: &failing,
        seed: context.seed,
        stopped: &|| context.stopped(),
    };
    let affected = search.run().map_err(|error| StudyError::Model {
        message: format!("the placement cannot be set up: {error}"),
        hint: Some("change `servers`, or choose another placement".to_owned()),
    })?;
    let Some(affected) = affected else { return Ok(None) };
    let limits = limits(scenario);
    let recovery = recovery(complete, (&hardware, &limits), (&affected, &struck), &population, context);
    let own = if tries { levers::own_share(context) } else { 1.0 };
    let recovered = context.within(0.0..own, |context| recovery.run(context))?;
    let resources = resources::resources(&recovery, &recovered);
    let tried = if tries {
        context.within(own..1.0, |context| {
            levers::tried(&recovery, &recovered, (&resources, Vec::new()), context)
        })?
    } else {
        Vec::new()
    };
    Ok(Some(Course { hardware, affected, struck, recovered, resources, tried, population }))
}

/// The input of a recovery: the settings of the scenario and what its failures affect.
fn recovery<'a>(
    complete: &Complete,
    (hardware, limits): (&'a Hardware, &'a Limits),
    (affected, struck): (&'a Affected, &'a [Struck]),
    population: &Population,
    context: &RunContext<'_>,
) -> Recovery<'a> {
    let (scenario, redundancy) = (&complete.scenario, complete.redundancy);
    let raw = population.bytes_expected() * f64::from(redundancy.width) / f64::from(redundancy.data);
    let each = (raw / f64::from(hardware.devices())) as u64;
    let most = scenario.disk_capacity.map(|capacity| scenario.backfillfull_ratio.of(capacity.get()));
    Recovery {
        hardware,
        limits,
        affected,
        struck,
        later: Later::NOTHING,
        waiting: waiting(scenario),
        rules: Rules {
            source: scenario.source,
            gather: scenario.gather,
            seed: context.seed,
            reserve: limits.reservations.is_some(),
        },
        down: Vec::new(),
        used: vec![each; hardware.devices() as usize],
        limit: vec![most.unwrap_or(u64::MAX); hardware.devices() as usize],
        clients: scenario.load(redundancy),
        quiet: true,
    }
}

/// Runs a replicate and returns it with its data; none if the user stopped it before anything was known.
///
/// # Errors
/// When placement or model fail.
pub fn replicate(
    complete: &Complete,
    context: &RunContext<'_>,
) -> Result<Option<(Replicate, Population)>, StudyError> {
    let Some(course) = course(complete, context, true)? else { return Ok(None) };
    let Course { hardware, affected, struck, recovered, resources, tried, population } = course;
    let failed = |device| struck.iter().any(|struck| struck.devices.contains(&device));
    let survivors =
        (0..hardware.servers()).filter(|&server| !hardware.devices_of(server).all(failed)).count() as u32;
    let capacity = complete.scenario.disk_capacity;
    let setting = Setting {
        survivors,
        capacity: capacity.map(|capacity| vec![capacity.get(); hardware.devices() as usize]),
        reservations: complete.scenario.reservations(),
        limits: None,
    };
    let replicate = Replicate { hardware, affected, struck, recovered, setting, resources, tried };
    Ok(Some((replicate, population)))
}

/// One replicate with its measures, and what the report shows of its data.
///
/// # Errors
/// When placement or model fail.
pub(super) fn seen(
    complete: &Complete,
    context: &RunContext<'_>,
) -> Result<crate::Replicate<Seen>, StudyError> {
    let Some((replicate, population)) = replicate(complete, context)? else { return Ok(observed::stopped()) };
    let mut seen = observed::replicate(replicate, waiting(&complete.scenario));
    seen.beside.warnings.extend(complete.data.warnings.iter().map(Warning::note));
    if let (0, Ok(seen)) = (context.replicate, &mut seen.seen) {
        seen.population = Some(Shown::of(&complete.data, &population));
    }
    Ok(seen)
}

/// The resolved scenario. It omits the number of copies where a code is set, since a scenario with both is
/// refused.
pub(super) fn resolved(scenario: &Settled) -> serde_json::Value {
    let mut value =
        serde_json::to_value(scenario).expect("a scenario came out of text and goes back into it");
    if let Some(table) = value.as_object_mut().filter(|_| scenario.ec.is_some()) {
        table.remove("replicas");
    }
    value
}

/// An estimate of the memory of a replicate: tables of what is lost, and of the plan.
#[must_use]
pub fn memory_estimate(complete: &Complete) -> Bytes {
    let scenario = &complete.scenario;
    let seed = towtank_streams::Seed(0);
    let Ok(population) = population(complete, seed) else { return Bytes::ZERO };
    let failing: f64 = complete
        .failures
        .iter()
        .map(|failure| match failure.what {
            Failing::Server(_) => 1.0 / f64::from(scenario.servers),
            Failing::Device(_) => 1.0 / f64::from(scenario.servers * scenario.disks_per_server),
            Failing::Rack(_) => 1.0 / f64::from(scenario.racks),
        })
        .sum();
    let width = f64::from(complete.redundancy.width);
    let affected = population.objects() as f64 * (width * failing).min(1.0);
    // Lists, sizes, numbers, holders and targets; the job of the plan and its devices; its progress.
    let each =
        4.0 * (3.0 * width + 2.0) + 24.0 + 32.0 + 4.0 * (f64::from(complete.redundancy.data) + 1.0) + 52.0;
    let devices = f64::from(scenario.servers) * f64::from(scenario.disks_per_server);
    Bytes::new((affected * each + memory_of_machines(f64::from(scenario.servers), devices)) as u64)
}

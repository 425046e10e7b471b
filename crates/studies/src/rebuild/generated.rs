//! A cluster that exists only in the scenario: its machines, its data, and one replicate of its rebuild.

use towtank_devices::{CardSpec, DiskSpec, SeekRow};
use towtank_population::{Extent, Population};
use towtank_units::{Bytes, SimSpan};

use super::affected::{Affected, Search};
use super::bottleneck::{self, Resource};
use super::failures::{Failing, Struck, strike};
use super::filled::Filled;
use super::hardware::{Hardware, Layout, Uplinks};
use super::ledger::Rules;
use super::levers::{self, Tried};
use super::model::Limits;
use super::observed::{self, Seen, Setting};
use super::population::Shown;
use super::recovery::{Recovered, Recovery, Waiting};
use super::scenario::{Complete, Placement, Scenario, Seeks};
use crate::{RunContext, StudyError};

/// (KiB, write seek, read seek) in microseconds: the JBOD table of CODES' guide, with overheads of 29.67 us before a write
/// and 23.67 us before a read.
const JBOD: [(u64, f64, f64); 11] = [
    (4, 499.5, 3475.6),
    (8, 509.0, 3470.0),
    (16, 514.7, 3486.2),
    (32, 525.9, 3531.2),
    (64, 546.4, 3608.6),
    (128, 588.3, 3741.0),
    (256, 663.1, 3988.9),
    (512, 621.8, 4530.2),
    (1_024, 539.1, 5644.2),
    (2_048, 3179.5, 7922.0),
    (4_096, 6108.8, 11700.3),
];

/// A replicate: what was there, and what came of it.
pub struct Replicate {
    /// The machines.
    pub hardware: Hardware,
    /// What was affected.
    pub affected: Affected,
    /// What failed.
    pub struck: Vec<Struck>,
    /// What came of it.
    pub recovered: Recovered,
    /// What the report needs to know of the cluster.
    pub setting: Setting,
    /// How busy everything was.
    pub resources: Vec<Resource>,
    /// Changes that were tried.
    pub tried: Vec<Tried>,
}

/// Who is where in a scenario.
#[must_use]
pub fn layout(scenario: &Scenario) -> Layout {
    let disks = scenario.disks_per_server;
    // Racks get equally many servers, the first ones one more where that does not come out.
    let rack_of =
        |server: u32| (u64::from(server) * u64::from(scenario.racks) / u64::from(scenario.servers)) as u32;
    Layout {
        server_of: (0..scenario.servers * disks).map(|device| device / disks).collect(),
        rack_of: (0..scenario.servers).map(rack_of).collect(),
        class_of: vec![0; (scenario.servers * disks) as usize],
    }
}

/// The machines of a scenario.
#[must_use]
pub fn hardware(scenario: &Filled) -> Hardware {
    let uplinks = scenario.uplink.filter(|_| scenario.racks > 1).map(|rate| Uplinks { rate });
    Hardware::new(layout(scenario), vec![disk(scenario)], card(scenario), uplinks, scenario.unit)
}

/// Its disks.
#[must_use]
pub fn disk(scenario: &Filled) -> DiskSpec {
    let us = |us: f64| SimSpan::from_ns_f64_floor(us * 1e3);
    let row = |kib: u64, write: SimSpan, read: SimSpan| SeekRow { from: Bytes::from_kib(kib), read, write };
    let seeks = match scenario.seeks {
        Seeks::Jbod => JBOD.map(|(kib, write, read)| row(kib, us(write), us(read))).to_vec(),
        Seeks::Hdd => vec![row(0, SimSpan::from_ms(4), SimSpan::from_ms(8))],
        Seeks::None => Vec::new(),
    };
    DiskSpec {
        read: scenario.disk_read,
        write: scenario.disk_write,
        read_overhead: us(23.67),
        write_overhead: us(29.67),
        seeks,
        extent: scenario.seek_extent,
    }
}

/// Its cards. The gap is what the InfiniBand table has for small messages.
#[must_use]
pub fn card(scenario: &Filled) -> CardSpec {
    CardSpec { rate: scenario.nic, latency: scenario.latency, gap: SimSpan::from_ns(1_100) }
}

/// How much is done at once.
#[must_use]
pub fn limits(scenario: &Filled) -> Limits {
    Limits {
        window: scenario.window,
        streams: scenario.recovery_max_active,
        reservations: scenario.reservations(),
        sleep: scenario.recovery_sleep,
        stream_rate: scenario.stream_limit,
        device_rate: scenario.rate_cap,
        paces: Vec::new(),
    }
}

/// What happens between a failure and its rebuild.
#[must_use]
pub fn waiting(scenario: &Filled) -> Waiting {
    Waiting {
        detection: scenario.detection,
        down_out: scenario.down_out,
        noout: scenario.noout,
        rack_out: scenario.rack_out,
    }
}

/// The data of a replicate.
///
/// # Errors
/// When there would be more objects than can be numbered.
pub fn population(complete: &Complete, seed: towtank_streams::Seed) -> Result<Population, StudyError> {
    let scenario = &complete.scenario;
    let extent = match (scenario.objects, scenario.per_server) {
        (Some(objects), _) => Extent::Objects(objects),
        (None, each) => {
            let raw = u128::from(each.unwrap_or(Bytes::ZERO).get()) * u128::from(scenario.servers);
            Extent::Bytes(raw * u128::from(complete.redundancy.data) / u128::from(complete.redundancy.width))
        }
    };
    let laid_out = complete.data.population(extent, seed);
    // Which of its rings a key belongs to is its remainder.
    let keyed = match scenario.placement {
        Placement::Multiring if scenario.groups.is_none() => {
            laid_out.and_then(|laid_out| laid_out.with_key_modulus(u64::from(scenario.vnodes)))
        }
        _ => laid_out,
    };
    keyed.map_err(|error| StudyError::Model {
        message: format!("the data cannot be laid out: {error}"),
        hint: Some(error.hint().to_owned()),
    })
}

/// What a recovery leaves.
pub struct Course {
    /// The machines.
    pub hardware: Hardware,
    /// What was affected.
    pub affected: Affected,
    /// What failed.
    pub struck: Vec<Struck>,
    /// What came of it.
    pub recovered: Recovered,
    /// How busy everything was.
    pub resources: Vec<Resource>,
    /// Changes that were tried.
    pub tried: Vec<Tried>,
    /// All data.
    pub population: Population,
}

/// Finds what is lost and rebuilds it, and tries what may help where `tries` says so; none if the user stopped it before
/// anything was known.
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
        complete,
        hardware: &hardware,
        population: &population,
        failing: &failing,
        seed: context.seed,
    };
    let affected = search.run(context).map_err(|error| StudyError::Model {
        message: format!("the placement cannot be set up: {error}"),
        hint: Some("change `servers`, or take another placement".to_owned()),
    })?;
    let Some(affected) = affected else { return Ok(None) };
    let limits = limits(scenario);
    let recovery = recovery(complete, (&hardware, &limits), (&affected, &struck), &population, context);
    let recovered = recovery.run(context)?;
    let resources = bottleneck::resources(&recovery, &recovered);
    let tried = if tries { levers::tried(&recovery, &recovered, &resources, context)? } else { Vec::new() };
    Ok(Some(Course { hardware, affected, struck, recovered, resources, tried, population }))
}

/// What a recovery needs to know of a scenario and of what its failures affect.
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
        clients: scenario.clients(redundancy),
        quiet: true,
    }
}

/// Runs a replicate, with the data it was of; none if the user stopped it before anything was known.
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
    };
    let replicate = Replicate { hardware, affected, struck, recovered, setting, resources, tried };
    Ok(Some((replicate, population)))
}

/// One replicate with its measures, and what is shown of its data.
///
/// # Errors
/// When placement or model fail.
pub(super) fn seen(
    complete: &Complete,
    context: &RunContext<'_>,
) -> Result<crate::Replicate<Seen>, StudyError> {
    let Some((replicate, population)) = replicate(complete, context)? else { return Ok(observed::stopped()) };
    let mut seen = observed::replicate(replicate, waiting(&complete.scenario));
    seen.beside.warnings.extend(complete.data.warnings.iter().cloned());
    if let (0, Ok(seen)) = (context.replicate, &mut seen.seen) {
        seen.population = Some(Shown::of(&complete.data, &population));
    }
    Ok(seen)
}

/// The resolved scenario. With a code there are no copies, and saying both is refused.
pub(super) fn resolved(scenario: &Scenario) -> serde_json::Value {
    let mut value =
        serde_json::to_value(scenario).expect("a scenario came out of text and goes back into it");
    if let Some(table) = value.as_object_mut().filter(|_| scenario.ec.is_some()) {
        table.remove("replicas");
    }
    value
}

/// About how much memory a replicate takes: tables of what is lost, and of the plan.
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
    // Lists, sizes, numbers, holders, aims; the plan's job and its devices; what is done of it.
    let each =
        4.0 * (3.0 * width + 2.0) + 24.0 + 32.0 + 4.0 * (f64::from(complete.redundancy.data) + 1.0) + 52.0;
    let devices = f64::from(scenario.servers) * f64::from(scenario.disks_per_server);
    Bytes::new((affected * each + memory_of_machines(f64::from(scenario.servers), devices)) as u64)
}

/// About how much memory machines take: their state, the counts of each over time, and their rows in the report. Measured on
/// clusters of 4,000 and 10,000 servers, and of 2,000 with 24 disks each.
#[must_use]
pub fn memory_of_machines(servers: f64, devices: f64) -> f64 {
    const SERVER: f64 = 14_000.0;
    const DEVICE: f64 = 1_000.0;
    const PROGRAM: f64 = 8_000_000.0;
    servers * SERVER + devices * DEVICE + PROGRAM
}

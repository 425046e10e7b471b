//! The ideal: the same servers with lost bytes, sources and targets spread perfectly evenly.
//!
//! What one server then rebuilds in a second does not depend on how many there are, so it is simulated on a few: the same
//! disks, cards, seeks, windows and stream limits, on a sample of the lost objects, each driver and each target given as
//! many bytes as the others, and no object so large that it could not be. Placement, groups, reservations, rests and
//! uplinks are left out; the ideal rate is that of one server times the number of survivors.

use kernel::RunOptions;
use units::SimSpan;

use super::affected::Affected;
use super::bound::Work;
use super::hardware::{Hardware, Layout};
use super::model::{Limits, Rebuild};
use super::plan::{DeviceId, Plan};
use crate::StudyError;

/// Servers of the small cluster, if objects have no more shards.
const SERVERS: u32 = 16;
/// Units of the sample: enough to pass for a steady rate.
const UNITS_MAX: u64 = 60_000;
/// No piece is larger than this part of what a server gets.
const PIECES: u64 = 64;

/// What stands for all.
#[derive(Clone, Copy, Debug)]
pub struct Typical {
    /// A server whose disks are like those of most.
    pub server: u32,
    /// From how many sources an object is read.
    pub data: u32,
}

/// Bytes that one survivor rebuilds in a second, or none where nothing is lost.
///
/// # Errors
/// When the model fails, which would be its defect.
pub fn rate_per_server(
    hardware: &Hardware,
    limits: &Limits,
    affected: &Affected,
    Typical { server, data }: Typical,
) -> Result<Option<f64>, StudyError> {
    let pieces = sample(affected, hardware.unit());
    if pieces.is_empty() {
        return Ok(None);
    }
    let disks = hardware.devices_of(server).len() as u32;
    let class = hardware.devices_of(server).next().map_or(0, |device| hardware.class_of(device));
    let servers = SERVERS.max(data + 2);
    let small = hardware.small(Layout {
        server_of: (0..servers * disks).map(|device| device / disks).collect(),
        rack_of: vec![0; servers as usize],
        class_of: vec![class as u8; (servers * disks) as usize],
    });
    let limits = Limits {
        reservations: None,
        sleep: SimSpan::ZERO,
        device_rate: None,
        streams: limits.paces.get(class).map_or(limits.streams, |pace| pace.streams),
        paces: Vec::new(),
        ..limits.clone()
    };
    let plan = even(&small, &pieces, data);
    let model = Rebuild::new(&small, &plan, &limits);
    let run = kernel::run(&model, RunOptions::default())?;
    let last = run.merged_statistics().last.into_iter().max().unwrap_or_default();
    let bytes = Work::of(&small, &limits, &plan).bytes as f64;
    Ok(Some(bytes / last.as_secs_f64() / f64::from(servers)))
}

/// Some of the lost objects, the large ones cut.
fn sample(affected: &Affected, unit: u64) -> Vec<u64> {
    let all = || (0..affected.records()).flat_map(|record| affected.sizes(record).iter().copied());
    let units: u64 = all().map(|bytes| bytes.div_ceil(unit)).sum();
    let total = all().map(u128::from).sum::<u128>();
    // One object in so many, and of each server's even share no piece is more than a small part.
    let stride = units.div_ceil(UNITS_MAX).max(1);
    let most = (total / u128::from(stride) / u128::from(SERVERS) / u128::from(PIECES)) as u64;
    let most = most.next_multiple_of(unit).max(unit);
    let mut pieces = Vec::new();
    // Units are what is sampled, not objects: one large one among the chosen would outweigh all others.
    let mut past = 0;
    for bytes in all().filter(|&bytes| bytes > 0) {
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(most);
            left -= piece;
            past += piece.div_ceil(unit);
            if past >= stride {
                past %= stride;
                pieces.push(piece);
            }
        }
    }
    pieces
}

/// Each piece goes to the driver with the least so far, and from there to the target with the least so far.
fn even(hardware: &Hardware, pieces: &[u64], data: u32) -> Plan {
    let devices = hardware.devices();
    let mut jobs: Vec<Vec<(u64, DeviceId)>> = vec![Vec::new(); devices as usize];
    let (mut driven, mut written) = (vec![0u64; devices as usize], vec![0u64; devices as usize]);
    for (number, &bytes) in (0u32..).zip(pieces) {
        // Ties go round, so that neighbours do not always meet.
        let turn = |device: &u32| (device + number) % devices;
        let driver = (0..devices).min_by_key(|device| (driven[*device as usize], turn(device))).unwrap_or(0);
        let elsewhere =
            |device: &u32| hardware.server_of(DeviceId(*device)) != hardware.server_of(DeviceId(driver));
        let target = (0..devices).filter(elsewhere);
        let target = target.min_by_key(|device| (written[*device as usize], turn(device))).unwrap_or(0);
        driven[driver as usize] += bytes;
        written[target as usize] += bytes;
        jobs[driver as usize].push((bytes, DeviceId(target)));
    }
    let mut plan = Plan::new();
    for (driver, jobs) in (0u32..).zip(jobs) {
        plan.next_driver();
        if jobs.is_empty() {
            continue;
        }
        plan.next_task(driver, (0, false), &[]);
        for (turn, (bytes, target)) in (0u32..).zip(jobs) {
            // The other sources are the next servers round, beginning elsewhere for each job.
            let others =
                (0..devices).map(|step| DeviceId((driver + 1 + (turn + step) % (devices - 1)) % devices));
            let own = hardware.server_of(DeviceId(driver));
            let mut taken = vec![own, hardware.server_of(target)];
            let mut sources = vec![DeviceId(driver)];
            for other in others {
                let server = hardware.server_of(other);
                if sources.len() < data as usize && !taken.contains(&server) {
                    taken.push(server);
                    sources.push(other);
                }
            }
            plan.next_job(bytes, 0, &sources, &[target]);
        }
    }
    plan
}

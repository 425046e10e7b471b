//! Invariants at the end of a run: replicas are equal, summaries match the objects, no slot is held, and what
//! was recovered is what differed.

use towtank_kernel::{Committed, Fault};
use towtank_replication::{Cursor, Key, Lot, Objects as _, Summary};

use super::{Backfill, Entity};
use crate::counts::Counts;
use crate::device::{Device, Held};
use crate::objects::{Overlay, View};
use crate::outage::Outage;
use crate::spec::Spec;

/// The most objects of a group whose tree is recomputed: beyond that an audit would take longer than the run.
const REBUILT_MAX: u32 = 100_000;

pub(super) fn audit(
    spec: &Spec,
    outage: &Outage<'_>,
    committed: &Committed<'_, Backfill<'_>>,
) -> Result<(), Fault> {
    let devices: Vec<&Device> = committed
        .entities
        .iter()
        .filter_map(|entity| match entity {
            Entity::Device(device) => Some(&**device),
            Entity::Monitor(_) | Entity::Clients(..) => None,
        })
        .collect();
    for (number, device) in devices.iter().enumerate() {
        for lot in [Lot::Local, Lot::Remote] {
            if device.reserver.held(lot) > spec.slots as usize {
                return Err(format!("device {number} granted more slots than it has: {lot:?}").into());
            }
        }
        let lanes =
            [device.disk.lane, device.looking, device.recovering, device.out.lane, device.inward.lane];
        for lane in lanes {
            lane.audit().map_err(|broken| format!("device {number}: {broken}"))?;
        }
        for (group, held) in &device.groups {
            sums_up(spec, outage, *group, held)?;
        }
    }
    let mut counts = Counts::default();
    committed.statistics.iter().for_each(|one| towtank_kernel::Statistics::merge(&mut counts, one));
    // If the run was cut short, objects are in flight.
    let is_over = committed.pending_count == 0;
    for group in spec.touched() {
        if counts.clean.contains_key(&group) && is_over {
            equal(spec, &devices, group)?;
        }
        recovered(spec, outage, &counts, group)?;
    }
    moved(spec, &devices, is_over)
}

/// Checks that recoveries have read the bytes that they have written, times the replicas that make up an
/// object; before the end of a run they may have read more.
fn moved(spec: &Spec, devices: &[&Device], is_over: bool) -> Result<(), Fault> {
    let sum = |bytes: fn(&Device) -> u64| devices.iter().map(|device| bytes(device)).sum::<u64>();
    let (read, written) = (sum(|device| device.recovery_read), sum(|device| device.recovery_written));
    let shards = u64::from(spec.data_shards);
    if read == shards * written || (!is_over && read > shards * written) {
        return Ok(());
    }
    Err(format!(
        "recoveries read {read} bytes and wrote {written}, but an object is made from {shards} shards"
    )
    .into())
}

/// Checks that a replica's summary matches its objects.
fn sums_up(spec: &Spec, outage: &Outage<'_>, group: u32, held: &Held) -> Result<(), Fault> {
    if spec.objects > REBUILT_MAX {
        return Ok(());
    }
    let mut overlay = held.overlay.clone();
    let view = view_of(spec, outage, group, &mut overlay);
    let all = view.scan(Key::MIN, Cursor::End, usize::MAX);
    let anew =
        Summary::of_objects(held.replica.config(), all.iter().map(|listed| (listed.key, listed.version)));
    if held.replica.durable().summary.sums_up_as(&anew) {
        return Ok(());
    }
    Err(format!("group {group} on device {}: its tree is not that of its objects", held.replica.device().0)
        .into())
}

fn view_of<'a>(spec: &Spec, outage: &Outage<'a>, group: u32, overlay: &'a mut Overlay) -> View<'a> {
    View { layouts: outage.layouts, group, object_bytes: spec.held_bytes(), overlay }
}

/// Checks that all replicas of a clean group hold the same objects.
fn equal(spec: &Spec, devices: &[&Device], group: u32) -> Result<(), Fault> {
    let held = |device: towtank_replication::DeviceId| &devices[device.0 as usize].groups[&group];
    let up = spec.up(group);
    let first = held(up[0]);
    for device in &up[1..] {
        let other = held(*device);
        if other.overlay != first.overlay || !other.replica.durable().is_complete() {
            let (one, two) = (up[0].0, device.0);
            return Err(format!(
                "group {group} is clean, but devices {one} and {two} hold different objects"
            )
            .into());
        }
    }
    Ok(())
}

/// Checks that, without clients, a backfill recovered and removed exactly what differed.
fn recovered(spec: &Spec, outage: &Outage<'_>, counts: &Counts, group: u32) -> Result<(), Fault> {
    let differing = outage.differing[&group];
    for ((_, target), filled) in counts.backfills.range((group, 0)..=(group, u32::MAX)) {
        let Some((_, tally)) = filled.ended.filter(|_| spec.clients.is_none()) else { continue };
        let changed = tally.recovered + tally.removed;
        if changed != differing {
            return Err(format!(
                "group {group}: {differing} objects differed on device {target}, but {changed} were recovered or removed"
            )
            .into());
        }
        if tally.looked_at < tally.recovered {
            return Err(format!(
                "group {group}: {} objects were recovered, but only {} were examined",
                tally.recovered, tally.looked_at
            )
            .into());
        }
    }
    Ok(())
}

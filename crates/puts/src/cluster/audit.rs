//! The invariants of a cluster, checked against the state at the end of a run: nodes, and all events between
//! them.

use std::collections::BTreeSet;

use towtank_devices::Broken;
use towtank_kernel::{Committed, Fault, Scheduled};
use towtank_negotiation::bids::{State, overlapping};
use towtank_negotiation::{GatewayId, GetId, Message, Protocol, PutId, Task};

use super::{Cluster, frame_of};
use crate::event::{Cargo, Crossing, Event};
use crate::frame::Frame;
use crate::nodes::{Entity, Gateway, GatewayTally, Server, ServerTally, Target};

/// Checks the invariants.
///
/// # Errors
/// The first that is violated, and by how much.
pub(super) fn audit(cluster: &Cluster, committed: &Committed<'_, Cluster>) -> Result<(), Fault> {
    let (mut sent, mut came) = (GatewayTally::default(), ServerTally::default());
    for entity in committed.entities {
        match entity {
            Entity::Gateway(gateway) => sent.add(&gateway.tally),
            Entity::Server(server) => came.add(&server.tally),
            Entity::Rack(_) => {}
        }
    }
    bytes(cluster, committed.pending, &sent, &came)?;
    acknowledgements(committed.pending, &sent, &came)?;
    for (id, entity) in committed.entities.iter().enumerate() {
        match entity {
            Entity::Gateway(gateway) => chunks(id, gateway)?,
            Entity::Server(server) => stored(cluster, id - cluster.gateways as usize, server)?,
            Entity::Rack(_) => {}
        }
    }
    committed.entities.iter().enumerate().try_for_each(|(id, entity)| room(cluster, id, entity))?;
    unfinished(cluster, committed)?;
    committed.entities.iter().try_for_each(devices).map_err(|broken| Fault::from(broken.to_string()))?;
    counted(cluster, committed, &sent, &came)?;
    reservations(cluster, committed, came.violations + sent.violations)
}

/// Bytes sent were received, lost, or are in flight; both to servers and to readers.
fn bytes(
    cluster: &Cluster,
    pending: &[Scheduled<Event>],
    sent: &GatewayTally,
    came: &ServerTally,
) -> Result<(), Fault> {
    let in_flight: u64 = pending.iter().map(|one| cluster.put_bytes_of(&one.event)).sum();
    if sent.bytes_sent != came.bytes_received + came.bytes_lost + in_flight {
        return Err(format!(
            "{} bytes were sent, but {} arrived, {} were lost and {in_flight} are in flight",
            sent.bytes_sent, came.bytes_received, came.bytes_lost
        )
        .into());
    }
    let in_flight: u64 = pending.iter().map(|one| cluster.get_bytes_of(&one.event)).sum();
    if came.bytes_sent != sent.bytes_received + in_flight {
        return Err(format!(
            "{} bytes were sent to readers, but {} arrived and {in_flight} are in flight",
            came.bytes_sent, sent.bytes_received
        )
        .into());
    }
    Ok(())
}

/// Each replica is acknowledged once.
fn acknowledgements(
    pending: &[Scheduled<Event>],
    sent: &GatewayTally,
    came: &ServerTally,
) -> Result<(), Fault> {
    let is_one = |one: &&Scheduled<Event>| matches!(message_of(&one.event), Some(Message::Ack { .. }));
    let in_flight = pending.iter().filter(is_one).count() as u64;
    if came.replicas != sent.acknowledged + came.acknowledgements_lost + in_flight {
        return Err(format!(
            "{} replicas were stored, but {} were acknowledged, {} acknowledgements were lost and {in_flight} are in flight",
            came.replicas, sent.acknowledged, came.acknowledgements_lost
        )
        .into());
    }
    Ok(())
}

/// Every chunk that arrived at a gateway has ended, is being put or fetched, or waits there.
fn chunks(id: usize, gateway: &Gateway) -> Result<(), Fault> {
    let tally = &gateway.tally;
    let wanted = gateway.waiting.iter().filter(|wish| wish.reads).count();
    let puts = (gateway.machine.puts() + gateway.waiting.len() - wanted) as u64;
    if tally.created != tally.done + tally.failed + tally.dropped + puts {
        return Err(format!(
            "at gateway {id}, {} chunks arrived, but {} were stored, {} given up, {} dropped, and {puts} are in progress or waiting",
            tally.created, tally.done, tally.failed, tally.dropped
        )
        .into());
    }
    let gets = (gateway.machine.gets() + wanted) as u64;
    if tally.gets_created != tally.gets_done + tally.gets_failed + gets {
        return Err(format!(
            "at gateway {id}, {} chunks were requested, but {} were fetched, {} given up, and {gets} are in progress or waiting",
            tally.gets_created, tally.gets_done, tally.gets_failed
        )
        .into());
    }
    Ok(())
}

/// Bytes received by a server are stored, or belong to a replica still being received. If servers fail,
/// gateways give up transfers that have begun; if there are racks, a reserved transfer arrives frame by
/// frame.
fn stored(cluster: &Cluster, id: usize, server: &Server) -> Result<(), Fault> {
    let (tally, racks) = (&server.tally, cluster.racks.is_some());
    let (here, whole) = match &server.machine {
        Target::Unicast(machine) => (machine.bits_here(&cluster.terms) / 8, true),
        Target::Negotiating(_) => (0, !racks),
    };
    let kept = tally.bytes_stored + here;
    let exact = whole && cluster.failures.0 == 0;
    if tally.bytes_received < kept || exact && tally.bytes_received != kept {
        return Err(format!(
            "server {id} received {} bytes, but stored {} and has {here} of incomplete replicas",
            tally.bytes_received, tally.bytes_stored
        )
        .into());
    }
    Ok(())
}

/// Room is reserved for exactly the puts that have a bid or an accepted window, what was stored is what came,
/// and all of it fits.
fn room(cluster: &Cluster, id: usize, entity: &Entity) -> Result<(), Fault> {
    let (Some(capacity), Entity::Server(server)) = (cluster.terms.fixed.capacity, entity) else {
        return Ok(());
    };
    let Target::Negotiating(machine) = &server.machine else { return Ok(()) };
    let server_id = id - cluster.gateways as usize;
    let bids = machine.reservations().iter().filter(|one| one.state != State::Cancelled);
    let bids: BTreeSet<PutId> = bids.map(|one| one.put).collect();
    let reserved: BTreeSet<PutId> = machine.room().puts().collect();
    if bids != reserved {
        let (with, without) = (reserved.difference(&bids).count(), bids.difference(&reserved).count());
        return Err(format!(
            "server {server_id} has reserved room for {with} puts without a bid, and has {without} bids without room"
        )
        .into());
    }
    let (taken, stored) = (machine.room().taken(), server.tally.bytes_stored);
    if taken < stored || taken > capacity.get() {
        return Err(format!(
            "server {server_id} has stored {stored} bytes, and stored or reserved {taken} of {}",
            capacity.get()
        )
        .into());
    }
    Ok(())
}

/// No task that a gateway has started is forgotten: some message, frame or timer belongs to it, or it waits
/// at a server.
fn unfinished(cluster: &Cluster, committed: &Committed<'_, Cluster>) -> Result<(), Fault> {
    let mut moved: BTreeSet<Task> = BTreeSet::new();
    moved.extend(committed.pending.iter().filter_map(task_of));
    // Requests that are held back go out one after the other, if the first of them does.
    let releases = |id: u32| {
        let of_gateway = |one: &Scheduled<Event>| one.to.0 == id && matches!(one.event, Event::Release);
        committed.pending.iter().any(of_gateway)
    };
    for (id, entity) in (0..).zip(committed.entities) {
        let Entity::Gateway(gateway) = entity else { continue };
        if gateway.held.is_empty() || !releases(id) {
            continue;
        }
        moved.extend(gateway.held.iter().flatten().map(|(_, message)| message.task()));
    }
    for entity in committed.entities {
        let Entity::Server(server) = entity else { continue };
        moved.extend(server.offers.iter().map(|(put, _)| Task::Put(*put)));
        // Flows are served one after the other, and those that wait for their turn have no event of their
        // own.
        if let (Target::Unicast(machine), Protocol::Serial) = (&server.machine, cluster.terms.fixed.protocol)
        {
            moved.extend(machine.puts().map(Task::Put));
        }
    }
    for (id, entity) in (0..).zip(committed.entities) {
        let Entity::Gateway(gateway) = entity else { continue };
        if let Some(task) =
            gateway.machine.tasks(GatewayId(id)).into_iter().find(|task| !moved.contains(task))
        {
            return Err(format!("{task:?} has not ended, and no pending event continues it").into());
        }
    }
    Ok(())
}

/// No link and no disk was busy for longer than the elapsed time.
fn devices(entity: &Entity) -> Result<(), Broken> {
    match entity {
        Entity::Gateway(gateway) => gateway.ports.audit(),
        Entity::Rack(rack) => rack.ports.audit(),
        Entity::Server(server) => {
            server.ports.audit()?;
            server.machine.disk().audit()
        }
    }
}

/// Measured operations do not exceed those done, and no disk is busy for longer than the measured span.
fn counted(
    cluster: &Cluster,
    committed: &Committed<'_, Cluster>,
    sent: &GatewayTally,
    came: &ServerTally,
) -> Result<(), Fault> {
    let (mut puts, mut gets, mut replicas) = (0, 0, 0);
    let measured = cluster.measured.until.since(cluster.measured.from).as_ns();
    for (id, (entity, counts)) in committed.entities.iter().zip(committed.statistics).enumerate() {
        puts += counts.puts.max(counts.latencies.count());
        gets += counts.got.count();
        replicas += counts.replicas;
        let most = match entity {
            Entity::Server(_) if !cluster.quirks.work_counts_early => measured,
            // Both directions of the uplink.
            Entity::Rack(_) => 2 * measured,
            _ => u64::MAX,
        };
        if counts.busy_ns > most {
            return Err(format!("entity {id} was busy for {} of {most} ns", counts.busy_ns).into());
        }
    }
    for (what, counted, done) in
        [("puts", puts, sent.done), ("gets", gets, sent.gets_done), ("replicas", replicas, came.replicas)]
    {
        if counted > done {
            return Err(format!("{counted} {what} were counted, but {done} were done").into());
        }
    }
    Ok(())
}

fn reservations(cluster: &Cluster, committed: &Committed<'_, Cluster>, violations: u64) -> Result<(), Fault> {
    if cluster.surge {
        return Ok(());
    }
    if violations > 0 {
        return Err(format!("{violations} transfers or windows broke a reservation").into());
    }
    for entity in committed.entities {
        let Entity::Server(server) = entity else { continue };
        let Target::Negotiating(machine) = &server.machine else { continue };
        if overlapping(machine.reservations()).is_some() || overlapping(machine.deliveries().list()).is_some()
        {
            return Err("two accepted windows overlap".into());
        }
    }
    Ok(())
}

fn message_of(event: &Event) -> Option<&Message> {
    match event {
        Event::Heard(message) | Event::AtPort(message) | Event::Later(_, message) => Some(message),
        Event::Crossing(Crossing { cargo: Cargo::Control(message), .. }) => Some(message),
        _ => None,
    }
}

/// The put or get that an event continues.
fn task_of(one: &Scheduled<Event>) -> Option<Task> {
    if let Some(message) = message_of(&one.event) {
        return Some(message.task());
    }
    let of_frame = |frame: Frame| match frame {
        Frame::Put { put, .. } | Frame::Reserved { put, .. } => put_task(put),
        Frame::Get { get, .. } | Frame::Delivered { get, .. } => get_task(get),
    };
    match one.event {
        // A timer belongs to the node that it is addressed to.
        Event::Wake(wake) => wake.task(GatewayId(one.to.0)),
        Event::Offer { put, .. } | Event::Granted(put) | Event::Data { put, .. } => put_task(put),
        Event::GetGranted { get, .. } | Event::GetData { get, .. } => get_task(get),
        _ => frame_of(&one.event).and_then(of_frame),
    }
}

fn put_task(put: PutId) -> Option<Task> {
    Some(Task::Put(put))
}

fn get_task(get: GetId) -> Option<Task> {
    Some(Task::Get(get))
}

#[cfg(test)]
mod tests;

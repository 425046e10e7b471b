//! The conservation laws of the cluster, checked at the end of a run: clients, servers, and all messages
//! between them.

use towtank_kernel::{Committed, Fault, Scheduled};

use super::{CLIENTS, Clients, Cluster, Entity, Event, Load, Server};

/// Counts of what is in flight.
#[derive(Default)]
struct InFlight {
    /// Requests and answers between clients and servers.
    requests: u64,
    answers: u64,
    /// Operations that each server has in progress itself.
    at_server: Vec<u64>,
    /// For each operation, the events that will lead to an answer.
    of_operation: Vec<u64>,
    /// Work of disks that has not been reported to the clients.
    unreported_ns: u64,
    /// The clients have not started.
    begins: bool,
}

/// Checks the laws.
///
/// # Errors
/// The first law that does not hold, and by how much.
pub(super) fn audit(cluster: &Cluster, committed: &Committed<'_, Cluster>) -> Result<(), Fault> {
    let Some((Entity::Clients(clients), rest)) = committed.entities.split_first() else {
        return Err("the first entity is not the clients".into());
    };
    let servers: Vec<&Server> = rest
        .iter()
        .filter_map(|entity| match entity {
            Entity::Server(server) => Some(server),
            Entity::Clients(_) => None,
        })
        .collect();
    let in_flight = InFlight::of(committed.pending, servers.len(), clients.under_way.get().len())?;
    places(clients)?;
    operations(cluster, clients, &in_flight)?;
    requests(clients, &servers, &in_flight)?;
    devices(&servers)?;
    measured(cluster, committed, clients)
}

impl InFlight {
    fn of(pending: &[Scheduled<Event>], servers: usize, operations: usize) -> Result<InFlight, Fault> {
        let mut all = InFlight {
            at_server: vec![0; servers],
            of_operation: vec![0; operations],
            ..InFlight::default()
        };
        for one in pending {
            let of_clients =
                matches!(one.event, Event::Begin | Event::Arrive | Event::Look | Event::Answer { .. });
            if of_clients != (one.to == CLIENTS) {
                return Err(format!("{:?} is on its way to entity {}", one.event, one.to).into());
            }
            let operation = match one.event {
                Event::Begin => {
                    all.begins = true;
                    continue;
                }
                Event::Arrive | Event::Look => continue,
                Event::Request { operation, .. } => {
                    all.requests += 1;
                    operation
                }
                Event::TakenIn { operation, .. } => operation,
                Event::Served { operation, work_ns, .. } => {
                    all.unreported_ns += work_ns;
                    operation
                }
                Event::Answer { operation, work_ns } => {
                    all.answers += 1;
                    all.unreported_ns += work_ns;
                    operation
                }
            };
            if matches!(one.event, Event::TakenIn { .. } | Event::Served { .. }) {
                all.at_server[one.to.index() - 1] += 1;
            }
            let of = all.of_operation.get_mut(operation as usize);
            *of.ok_or_else(|| format!("{:?} is of an operation that never began", one.event))? += 1;
        }
        Ok(all)
    }
}

/// Checks that each slot is either taken or free, and that free slots are listed once.
fn places(clients: &Clients) -> Result<(), Fault> {
    if let Some(operation) = clients.books.unknown {
        return Err(format!("an answer came for operation {operation}, which was not under way").into());
    }
    let mut free = clients.free.get().to_vec();
    free.sort_unstable();
    let empty =
        clients.under_way.get().iter().zip(0..).filter_map(|(place, at)| place.is_none().then_some(at));
    if !free.iter().copied().eq(empty) {
        return Err("the free places are not those of operations that have ended".into());
    }
    Ok(())
}

fn operations(cluster: &Cluster, clients: &Clients, in_flight: &InFlight) -> Result<(), Fault> {
    let under_way = clients.under_way.get().iter().flatten().count() as u64;
    let (begun, done) = (clients.books.begun, clients.books.done);
    if begun != done + under_way {
        return Err(format!("{begun} operations began, {done} ended and {under_way} are under way").into());
    }
    let waiting = clients.under_way.get().iter().flatten().filter(|operation| operation.unacked > 0);
    let (waiting, acked) = (waiting.count() as u64, clients.books.acked);
    if begun != acked + waiting {
        return Err(
            format!("{begun} operations began, {acked} are acknowledged and {waiting} are not").into()
        );
    }
    if let Load::Closed(depth) = cluster.load
        && waiting != if in_flight.begins { 0 } else { u64::from(depth) }
    {
        return Err(format!("{waiting} operations are under way, but {depth} are to be").into());
    }
    if let Load::Streams(depths) = &cluster.load
        && !in_flight.begins
    {
        streams(clients, depths)?;
    }
    for (at, (place, coming)) in clients.under_way.get().iter().zip(&in_flight.of_operation).enumerate() {
        let answers = place.map_or(0, |operation| u64::from(operation.answers));
        if answers != *coming {
            return Err(format!("operation {at} waits for {answers} answers, but {coming} will come").into());
        }
    }
    Ok(())
}

/// Checks that as many operations of each part are under way as it has in its own loop.
fn streams(clients: &Clients, depths: &[u32]) -> Result<(), Fault> {
    for (part, depth) in depths.iter().enumerate() {
        let own =
            |operation: &&super::Operation| usize::from(operation.part) == part && operation.unacked > 0;
        let found = clients.under_way.get().iter().flatten().filter(own).count() as u64;
        if found != u64::from(*depth) {
            return Err(
                format!("{found} operations of part {part} are under way, but {depth} are to be").into()
            );
        }
    }
    Ok(())
}

fn requests(clients: &Clients, servers: &[&Server], in_flight: &InFlight) -> Result<(), Fault> {
    let came: u64 = servers.iter().map(|server| server.asked).sum();
    if clients.books.asked != came + in_flight.requests {
        let (asked, coming) = (clients.books.asked, in_flight.requests);
        return Err(format!("{asked} requests were sent, but {came} came and {coming} are in flight").into());
    }
    for (at, (server, here)) in servers.iter().zip(&in_flight.at_server).enumerate() {
        let (asked, answered) = (server.asked, server.answered);
        if asked != answered + here {
            return Err(format!(
                "{asked} requests came to server {at}, but {answered} were answered and {here} are under way"
            )
            .into());
        }
    }
    let answers: u64 = servers.iter().map(|server| server.answered).sum();
    if answers != clients.books.answered + in_flight.answers {
        let (came, coming) = (clients.books.answered, in_flight.answers);
        return Err(format!("{answers} answers were sent, but {came} came and {coming} are in flight").into());
    }
    let worked: u64 = servers.iter().map(|server| server.disk.lane.busy.as_ns()).sum();
    if worked != clients.books.worked_ns + in_flight.unreported_ns {
        let (reported, unreported) = (clients.books.worked_ns, in_flight.unreported_ns);
        return Err(
            format!("disks worked {worked} ns, but {reported} were told and {unreported} are to be").into()
        );
    }
    Ok(())
}

/// Checks that no disk and no NIC was busy for longer than the run.
fn devices(servers: &[&Server]) -> Result<(), Fault> {
    let lanes = |server: &&Server| [server.disk.lane, server.card_in.lane, server.card_out.lane];
    let broken = servers.iter().flat_map(lanes).find_map(|lane| lane.audit().err());
    broken.map_or(Ok(()), |broken| Err(broken.to_string().into()))
}

/// Checks that the statistics do not exceed the work done.
fn measured(cluster: &Cluster, committed: &Committed<'_, Cluster>, clients: &Clients) -> Result<(), Fault> {
    let window = cluster.window.as_ns();
    for (at, counts) in committed.statistics.iter().enumerate() {
        if let Some(busy) = counts.busy_ns.iter().find(|busy| **busy > window) {
            return Err(format!("entity {at} was busy for {busy} ns of a window of {window} ns").into());
        }
        if counts.latencies.count() > clients.books.acked {
            let (counted, acked) = (counts.latencies.count(), clients.books.acked);
            return Err(format!("{counted} operations were counted, but {acked} were acknowledged").into());
        }
        let of_parts: u64 = counts.parts.iter().map(|part| part.reads + part.writes).sum();
        if of_parts != counts.latencies.count() {
            let counted = counts.latencies.count();
            return Err(format!("{counted} operations were counted, but {of_parts} by part").into());
        }
    }
    Ok(())
}

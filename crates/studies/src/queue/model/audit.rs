//! The conservation laws of a network of stations, checked at the end of a run.

use towtank_kernel::{Committed, Fault};

use super::{Entity, Event, Network, Station};

/// Checks the laws.
///
/// # Errors
/// The first law that does not hold, and by how much.
pub(super) fn audit(network: &Network, committed: &Committed<'_, Network>) -> Result<(), Fault> {
    let (mut created, mut came, mut finished, mut left) = (0, 0, 0, 0);
    let mut finishing = vec![Vec::new(); network.stations.len()];
    let mut on_their_way = 0;
    for one in committed.pending {
        match one.event {
            Event::Create => {}
            Event::Arrive(_) | Event::Leave(_) => on_their_way += 1,
            Event::Finish(job) => match finishing.get_mut(one.to.index()) {
                Some(ends) => ends.push((one.key.at, job)),
                None => {
                    return Err(format!("a job is served at entity {}, which is no station", one.to).into());
                }
            },
        }
    }
    for (id, entity) in committed.entities.iter().enumerate() {
        match entity {
            Entity::Source { created: here } => created += here,
            Entity::Exit { left: here } => left += here,
            Entity::Station(here) => {
                came += here.came;
                finished += here.finished;
                station(network, (id, here), finishing[id].len() as u64, committed)?;
            }
            Entity::Preemptive(here) => {
                let [here_came, here_finished] = here.flow();
                came += here_came;
                finished += here_finished;
                let audited = here.audit(network.stations[id].servers, &finishing[id]);
                audited.map_err(|law| format!("at station {id} {law}"))?;
            }
        }
    }
    if created + finished != came + left + on_their_way {
        return Err(format!(
            "{created} jobs were created and {finished} finished, but {came} came to stations, {left} have left \
             and {on_their_way} are on their way"
        )
        .into());
    }
    Ok(())
}

fn station(
    network: &Network,
    (id, station): (usize, &Station),
    finishing: u64,
    committed: &Committed<'_, Network>,
) -> Result<(), Fault> {
    let (came, finished, number) = (station.came, station.finished, u64::from(station.number()));
    if came != finished + number {
        return Err(format!(
            "{came} jobs came to station {id}, but {finished} were finished and {number} are there"
        )
        .into());
    }
    let serving = station.in_service;
    if finishing != u64::from(serving) {
        return Err(format!(
            "{serving} jobs are in service at station {id}, but {finishing} will be finished there"
        )
        .into());
    }
    let servers = network.stations[id].servers;
    let waiting = station.waiting.len();
    if serving > servers {
        return Err(
            format!("{serving} jobs are in service at station {id}, which has {servers} servers").into()
        );
    }
    if serving < servers && waiting > 0 {
        let idle = servers - serving;
        return Err(format!("{waiting} jobs wait at station {id}, though {idle} servers are idle").into());
    }
    let fifo = network.stations[id].order.is_fifo();
    let rank = |job: &super::Job| (if fifo { 0 } else { job.class }, job.arrived);
    let early = |job: &super::Job| job.arrived < job.entered || job.arrived > committed.now;
    if station.waiting.iter().any(early) || !station.waiting.iter().is_sorted_by_key(rank) {
        return Err(format!("jobs wait at station {id} in another order than they came").into());
    }
    let busy = committed.statistics[id].waits.count();
    if busy > came {
        return Err(format!("{busy} waits were counted at station {id}, to which {came} jobs came").into());
    }
    Ok(())
}

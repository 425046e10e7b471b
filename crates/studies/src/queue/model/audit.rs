//! The conservation laws of a network of stations, checked at the end of a run.

use towtank_kernel::{Committed, Fault};

use super::{Entity, Event, Job, Network, Station};

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
        let [here_came, here_finished] = match entity {
            Entity::Source { created: here } => {
                created += here;
                continue;
            }
            Entity::Exit { left: here } => {
                left += here;
                continue;
            }
            Entity::Station(here) => station(here, (network, id), finishing[id].len(), committed),
            Entity::Preemptive(here) => here.audit(network.stations[id].servers, &finishing[id]),
        }
        .map_err(|law| format!("at station {id} {law}"))?;
        (came, finished) = (came + here_came, finished + here_finished);
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
    here: &Station,
    (network, id): (&Network, usize),
    ends: usize,
    committed: &Committed<'_, Network>,
) -> Result<[u64; 2], String> {
    let (spec, came, serving) = (&network.stations[id], here.came, here.in_service as usize);
    let waits = committed.statistics[id].times.waits.count();
    let rank = |job: &Job| (if spec.order.is_fifo() { 0 } else { job.class }, job.arrived);
    let in_time = |job: &Job| job.entered <= job.arrived && job.arrived <= committed.now;
    let in_order = here.waiting.iter().all(in_time) && here.waiting.iter().is_sorted_by_key(rank);
    let own = [
        (ends == serving, format!("{serving} jobs are in service, but {ends} will be finished there")),
        (in_order, "jobs wait in another order than they came".to_owned()),
        (waits <= came, format!("{waits} waits were counted, but {came} jobs came")),
    ];
    laws([came, here.finished], [here.waiting.len(), serving, spec.servers as usize], own)
}

/// Checks the laws of every station, of the jobs that came and were finished and of those that wait and are
/// in service, and then its own.
pub(super) fn laws<const N: usize>(
    [came, finished]: [u64; 2],
    [waiting, serving, servers]: [usize; 3],
    own: [(bool, String); N],
) -> Result<[u64; 2], String> {
    let number = (waiting + serving) as u64;
    let idle = servers.saturating_sub(serving);
    let all = [
        (
            came == finished + number,
            format!("{came} jobs came, but {finished} were finished and {number} are there"),
        ),
        (serving <= servers, format!("{serving} jobs are in service, but there are {servers} servers")),
        (idle == 0 || waiting == 0, format!("{waiting} jobs wait, though {idle} servers are idle")),
    ];
    match all.into_iter().chain(own).find(|(holds, _)| !holds) {
        Some((_, law)) => Err(law),
        None => Ok([came, finished]),
    }
}

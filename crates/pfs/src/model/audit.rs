//! Invariants of all nodes at the end of a run: no job is lost or duplicated, and no device was busy for
//! longer than the time available.

use towtank_iosched::Discipline as _;
use towtank_kernel::{Committed, Fault};
use towtank_units::SimTime;

use super::Pfs;
use crate::counts::Counts;
use crate::event::{Event, Message};
use crate::nodes::{Client, Entity, Router, Running, Server};
use crate::spec::Stands;
use crate::work::Pace;

/// Totals of the jobs and requests of all nodes.
#[derive(Default)]
struct AtNodes {
    sent: u64,
    answered: u64,
    at_servers: u64,
    done: u64,
    at_metadata: u64,
    expected: u64,
    held_back: u64,
    through_proxies: u64,
}

/// Totals of messages under way and of future events.
#[derive(Default)]
struct OnTheWay {
    jobs: u64,
    answers: u64,
    served: u64,
    coming: u64,
    notices: u64,
}

pub(super) fn audit(model: &Pfs<'_>, committed: &Committed<'_, Pfs<'_>>) -> Result<(), Fault> {
    let all = at_nodes(model, committed)?;
    let AtNodes { sent, answered, at_servers, done, at_metadata, expected, held_back, through_proxies } = all;
    let OnTheWay { jobs, answers, served, coming, notices } = on_the_way(committed);
    if matches!(model.spec.scheduler.stands, Stands::Proxies(_)) && done != through_proxies + notices {
        return Err(format!(
            "servers completed {done} jobs, but proxies know {through_proxies} and {notices} notices are in flight"
        )
        .into());
    }
    if expected != coming {
        return Err(format!(
            "{expected} clients expect more requests, but {coming} arrival events are pending"
        )
        .into());
    }
    if at_metadata != served {
        return Err(format!(
            "metadata servers have {at_metadata} requests, but {served} replies are pending"
        )
        .into());
    }
    if sent != held_back + jobs + at_servers + done {
        return Err(format!(
            "clients sent {sent} jobs, but {held_back} are held back, {jobs} in flight, {at_servers} at \
             servers and {done} completed"
        )
        .into());
    }
    if done != answers + answered {
        return Err(format!(
            "servers completed {done} jobs, but {answers} replies are in flight and {answered} arrived"
        )
        .into());
    }
    for (number, (entity, counts)) in committed.entities.iter().zip(committed.statistics).enumerate() {
        let at_node = |error: String| -> Fault { format!("node {number}: {error}").into() };
        of_counts(entity, counts, committed.now).map_err(at_node)?;
    }
    Ok(())
}

/// Checks each node's own invariants, and adds up their totals.
fn at_nodes(model: &Pfs<'_>, committed: &Committed<'_, Pfs<'_>>) -> Result<AtNodes, Fault> {
    let mut all = AtNodes::default();
    for (number, entity) in committed.entities.iter().enumerate() {
        let at_node = |error: String| -> Fault { format!("node {number}: {error}").into() };
        match entity {
            Entity::Client(client) => {
                client.card.audit(&model.spec.network).map_err(at_node)?;
                of_client(client).map_err(at_node)?;
                of_cache(client, committed.pending.is_empty()).map_err(at_node)?;
                all.expected += of_requests(model, client).map_err(at_node)?;
                all.held_back += of_gate(client).map_err(at_node)?;
                all.sent += client.jobs_sent;
                all.answered += client.jobs_done;
            }
            Entity::Server(server) => {
                server.card.audit(&model.spec.network).map_err(at_node)?;
                of_server(server).map_err(at_node)?;
                of_threads(server, model.spec.server.threads).map_err(at_node)?;
                let scheduler = &model.spec.scheduler;
                let server_number = number as u32 - model.clients;
                let before = match scheduler.at_server(server_number) {
                    towtank_iosched::Scheduler::Tbf(tbf) => tbf.rules().len(),
                    _ => 0,
                };
                server.ruled.audit(&server.queue, before, &scheduler.rules).map_err(at_node)?;
                all.at_servers += server.came - server.done;
                all.done += server.done;
            }
            Entity::Metadata(metadata) => {
                metadata.card.audit(&model.spec.network).map_err(at_node)?;
                if metadata.came < metadata.done {
                    return Err(at_node(format!(
                        "{} requests came, {} are done",
                        metadata.came, metadata.done
                    )));
                }
                all.at_metadata += metadata.came - metadata.done;
                for thread in &metadata.threads {
                    thread.audit().map_err(|broken| at_node(broken.to_string()))?;
                }
            }
            Entity::Proxy(gate) => {
                gate.audit().map_err(at_node)?;
                all.held_back += gate.waiting();
                all.through_proxies += gate.done;
            }
            Entity::Router(router) => of_router(router).map_err(at_node)?,
            Entity::Starter(..) => {}
        }
    }
    Ok(all)
}

fn on_the_way(committed: &Committed<'_, Pfs<'_>>) -> OnTheWay {
    let mut all = OnTheWay::default();
    for pending in committed.pending {
        match &pending.event {
            Event::Comes { message, .. }
            | Event::Here { message, .. }
            | Event::Crosses { message, .. }
            | Event::Again { message, .. } => all.count(message),
            Event::Served { .. } => all.served += 1,
            Event::Arrives | Event::Due { .. } => all.coming += 1,
            _ => {}
        }
    }
    for entity in committed.entities {
        let card = match entity {
            Entity::Client(client) => &client.card,
            Entity::Server(server) => &server.card,
            Entity::Metadata(metadata) => &metadata.card,
            Entity::Proxy(_) | Entity::Router(_) | Entity::Starter(..) => continue,
        };
        card.inside().for_each(|message| all.count(message));
    }
    all
}

impl OnTheWay {
    fn count(&mut self, message: &Message) {
        match message {
            Message::Job(_) => self.jobs += 1,
            Message::Answer { done: Some(_), .. } => self.answers += 1,
            Message::Served(_) => self.notices += 1,
            _ => {}
        }
    }
}

/// A router keeps no message, and neither direction was busy before.
fn of_router(router: &Router) -> Result<(), String> {
    for lane in [&router.to_servers, &router.to_clients] {
        lane.audit().map_err(|broken| broken.to_string())?;
    }
    let Router { came, forwarded, dropped, .. } = *router;
    if came != forwarded + dropped {
        return Err(format!(
            "{came} messages arrived at a router that forwarded {forwarded} and dropped {dropped}"
        ));
    }
    let mark = &router.mark;
    if mark.sent > router.to_servers.busy || mark.received > router.to_clients.busy {
        return Err("a router was busy for longer before the last phase than in total".to_owned());
    }
    Ok(())
}

fn of_client(client: &Client) -> Result<(), String> {
    client.cpu.audit().map_err(|broken| broken.to_string())?;
    let under_way = client.flows.iter().filter(|flow| flow.wish.is_some()).count() as u64;
    if client.begun != client.through + under_way {
        return Err(format!(
            "{} requests were started, but {} are completed and {under_way} in progress",
            client.begun, client.through
        ));
    }
    let flushes = client.caching.iter().flat_map(|caching| caching.flushes.iter().flatten());
    let open: u64 =
        client.flows.iter().map(|flow| flow.jobs).chain(flushes.map(|one| one.jobs)).map(u64::from).sum();
    if client.jobs_sent != client.jobs_done + open {
        return Err(format!(
            "{} jobs were sent, but {} are completed and {open} outstanding",
            client.jobs_sent, client.jobs_done
        ));
    }
    Ok(())
}

/// A client's gate knows all jobs that the client sends. Returns how many of them are held back.
fn of_gate(client: &Client) -> Result<u64, String> {
    let Some(gate) = &client.gate else { return Ok(0) };
    gate.audit()?;
    if (gate.came, gate.done) != (client.jobs_sent, client.jobs_done) {
        return Err(format!(
            "{} jobs were sent and {} completed, but the client's scheduler counts {} and {}",
            client.jobs_sent, client.jobs_done, gate.came, gate.done
        ));
    }
    Ok(gate.waiting())
}

/// Dirty bytes are conserved, each request under way is known to the cache, and nothing is unsaved where no
/// more events follow.
fn of_cache(client: &Client, ended: bool) -> Result<(), String> {
    let Some(caching) = &client.caching else { return Ok(()) };
    caching.cache.audit()?;
    let under_way: u64 = caching.flushes.iter().flatten().map(|one| one.run.bytes()).sum();
    if under_way != caching.cache.on_the_way() {
        return Err(format!(
            "{} dirty bytes were taken and are not at servers, but {under_way} are in flight",
            caching.cache.on_the_way()
        ));
    }
    let flows = client.flows.iter().enumerate().filter(|(_, flow)| flow.wish.is_some());
    if !flows.map(|(number, _)| number as u16).eq(caching.flows.keys().copied()) {
        return Err("a client's cache does not know the requests in progress".to_owned());
    }
    if let Some(flow) = caching.waiting.keys().find(|flow| !caching.flows.contains_key(flow)) {
        return Err(format!("flow {flow} waits for a client's cache, but has no request"));
    }
    if ended && caching.cache.unsaved() > 0 {
        return Err(format!("{} bytes never arrived at servers", caching.cache.unsaved()));
    }
    Ok(())
}

/// Requests that come at their own times are begun or wait, and are at most as many as the work has. Returns
/// the number of arrival events that are still to come: one or none.
fn of_requests(model: &Pfs<'_>, client: &Client) -> Result<u64, String> {
    let all = model.requests(client);
    if client.begun > all {
        return Err(format!("{} requests were started, but there are {all}", client.begun));
    }
    if model.pace(client) == Pace::Closed {
        return Ok(0);
    }
    let waiting = client.waiting.len() as u64;
    if client.come != client.begun + waiting || client.come > all {
        return Err(format!(
            "{} of {all} requests arrived, but {} were started and {waiting} wait",
            client.come, client.begun
        ));
    }
    let free = client.flows.iter().filter(|flow| flow.wish.is_none()).count();
    if client.idle.len() != free || waiting > 0 && free > 0 {
        return Err(format!(
            "{free} flows are free, but {} are listed and {waiting} requests wait",
            client.idle.len()
        ));
    }
    Ok(u64::from(client.come < all))
}

/// The counters of a node match its state, and contain no instant after now.
fn of_counts(entity: &Entity, counts: &Counts, now: SimTime) -> Result<(), String> {
    if let Some(done) = counts.done.values().find(|done| done.last > now) {
        return Err(format!("a request completed at {:?}, but it is {now:?}", done.last));
    }
    match entity {
        Entity::Client(client) => {
            let done = counts.done.get(&(client.phase, client.rank.application));
            let requests = done.map_or(0, |done| done.requests);
            if requests != client.through {
                return Err(format!(
                    "{} requests are completed, but {requests} were counted",
                    client.through
                ));
            }
        }
        Entity::Server(server) => {
            let served: u64 = counts.served.values().sum();
            if served != server.moved || server.mark.moved > server.moved {
                return Err(format!(
                    "{} bytes of jobs are done, {} of them before the last phase, but {served} were counted",
                    server.moved, server.mark.moved
                ));
            }
        }
        Entity::Metadata(metadata) => {
            let waited = counts.metadata.count();
            if waited != metadata.came {
                return Err(format!("{} requests arrived, but {waited} were counted", metadata.came));
            }
        }
        Entity::Proxy(_) | Entity::Router(_) | Entity::Starter(..) => {}
    }
    Ok(())
}

/// Threads work on jobs that were let go, and a job waits for a thread only if none is free.
fn of_threads(server: &Server, threads: u32) -> Result<(), String> {
    if server.working > threads || server.working < threads && !server.idle.is_empty() {
        return Err(format!(
            "{} of {threads} threads work, but {} jobs wait for one",
            server.working,
            server.idle.len()
        ));
    }
    let is_let_go = |slot: &u32| {
        let running = server.slots.get(*slot as usize).and_then(Option::as_ref);
        running.is_some_and(|running| running.given.is_some())
    };
    if let Some(slot) = server.idle.iter().chain(&server.blocked).find(|slot| !is_let_go(slot)) {
        return Err(format!("the job in slot {slot} waits for a thread or pages, but was never released"));
    }
    let bounded = |running: &Running| {
        let Running { position, part, here, answered, .. } = *running;
        answered <= position
            && position <= running.job.bytes
            && part <= running.job.bytes
            && here <= running.job.bytes
    };
    if let Some(running) = server.slots.iter().flatten().find(|running| !bounded(running)) {
        return Err(format!("a job of {} bytes is at byte {}", running.job.bytes, running.position));
    }
    for (object, holders) in &server.locks {
        if holders.writer && holders.readers > 0 {
            return Err(format!("object {object} is written while {} jobs read it", holders.readers));
        }
    }
    Ok(())
}

fn of_server(server: &Server) -> Result<(), String> {
    server.memory.audit().map_err(|broken| broken.to_string())?;
    if let Some(cache) = &server.cache {
        cache.audit().map_err(|broken| broken.to_string())?;
    }
    server.disk.audit()?;
    let jobs = || server.slots.iter().flatten().filter(|running| running.piece_of.is_none());
    if jobs().count() as u64 != server.came - server.done {
        return Err(format!(
            "{} jobs arrived and {} are completed, but the others are not here",
            server.came, server.done
        ));
    }
    // A job that was cut waits in the scheduler until its last piece has been let go.
    let waiting = jobs().filter(|running| running.given.is_none() && !running.cut).count();
    let cut = jobs().filter(|running| running.cut).count();
    let queued = server.queue.waiting().count();
    if queued < waiting || cut == 0 && queued > waiting {
        return Err(format!("{waiting} jobs have not been released, but {queued} wait in the scheduler"));
    }
    Ok(())
}

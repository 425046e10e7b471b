//! The nodes on the kernel: clients first, then data servers, metadata servers, proxies, routers, and the
//! node that starts phases.

mod audit;
mod caching;
mod client;
mod gates;
mod io;
mod metadata;
mod routers;
mod server;

use towtank_devices::PageCache;
use towtank_kernel::{
    Committed, Context, EntityId, Fault, Links, Model, Outcome, RunError, RunOptions, Runs,
};
use towtank_metrics::Level;
use towtank_streams::{Purpose, Uniform};
use towtank_units::{SimSpan, SimTime};

use crate::card::{Card, Taken};
use crate::counts::{Counts, Sample};
use crate::disk::Disk;
use crate::event::{Event, Message};
use crate::gate::Gate;
use crate::nodes::{Client, Entity, Flow, Mark, Metadata, Router, Server};
use crate::replay::Loop;
use crate::rules::Ruled;
use crate::spec::{Spec, Stands};

const WISH: Purpose = Purpose(71);
const LOSS: Purpose = Purpose(72);
const DISK: Purpose = Purpose(73);
const ARRIVAL: Purpose = Purpose(74);

/// The model of the file system.
#[derive(Debug)]
pub struct Pfs<'a> {
    spec: &'a Spec,
    /// The number of clients.
    clients: u32,
}

impl<'a> Pfs<'a> {
    /// The model of this configuration.
    #[must_use]
    pub fn new(spec: &'a Spec) -> Pfs<'a> {
        Pfs { spec, clients: spec.clients() }
    }

    fn server(&self, number: u32) -> EntityId {
        debug_assert!(number < self.spec.servers, "server {number} of {}", self.spec.servers);
        EntityId(self.clients + number)
    }

    fn metadata_server(&self, number: u32) -> EntityId {
        EntityId(self.clients + self.spec.servers + number)
    }

    fn first_proxy(&self) -> u32 {
        self.clients + self.spec.servers + self.spec.metadata.servers
    }

    fn first_router(&self) -> u32 {
        let proxies = if let Stands::Proxies(count) = self.spec.scheduler.stands { count } else { 0 };
        self.first_proxy() + proxies
    }

    fn starter(&self) -> EntityId {
        EntityId(self.first_router() + self.spec.network.routers.map_or(0, |routers| routers.count))
    }

    /// Sends a message with its data, if any, from `now` on.
    fn send(
        &self,
        card: &mut Card,
        now: SimTime,
        to: EntityId,
        data: u64,
        message: Message,
        context: &mut Context<'_, Self>,
    ) {
        let network = &self.spec.network;
        let bytes = data.saturating_add(network.header);
        debug_assert!(now >= context.now(), "nothing is sent before now");
        let (at, span) = card.send(network, now, bytes);
        debug_assert!(at >= now, "a message comes at {at:?} that was sent at {now:?}");
        let lost = network.lost > 0 && context.draws(LOSS).below(1_000_000) < u64::from(network.lost);
        if lost {
            context.record(Sample::Lost);
            let again = at.saturating_add(network.timeout);
            context.send_at(context.me(), again, Event::Again { to: to.0, bytes: data, message });
            return;
        }
        let from = context.me().0;
        match self.router_between(from, to.0) {
            Some(router) => {
                context.send_at(router, at, Event::Crosses { from, to: to.0, span, bytes, message });
            }
            None => context.send_at(to, at, Event::Comes { from, span, bytes, message }),
        }
    }

    /// A message arrives at a NIC. Returns whether it has been received.
    fn comes(
        &self,
        card: &mut Card,
        from: u32,
        (bytes, span): (u64, SimSpan),
        message: &Message,
        context: &mut Context<'_, Self>,
    ) -> bool {
        let network = &self.spec.network;
        match card.take(network, context.now(), from, (bytes, span), message) {
            Taken::Here => return true,
            Taken::At(at) => {
                let message = message.clone();
                context.send_at(context.me(), at, Event::Here { from, message });
            }
            Taken::Shares(Some(at)) => context.send_at(context.me(), at, Event::Port),
            Taken::Shares(None) => {}
            Taken::Dropped => self.drops(from, context.me().0, bytes, message.clone(), context),
        }
        false
    }

    /// A message finds no space: its sender sends it again after the timeout.
    fn drops(&self, from: u32, to: u32, bytes: u64, message: Message, context: &mut Context<'_, Self>) {
        let network = &self.spec.network;
        context.record(Sample::Lost);
        let after = network.timeout.max(network.latency);
        let bytes = bytes.saturating_sub(network.header);
        context.send(EntityId(from), after, Event::Again { to, bytes, message });
    }

    fn card<'e>(&self, entity: &'e mut Entity) -> Option<&'e mut Card> {
        match entity {
            Entity::Client(client) => Some(&mut client.card),
            Entity::Server(server) => Some(&mut server.card),
            Entity::Metadata(metadata) => Some(&mut metadata.card),
            Entity::Proxy(_) | Entity::Router(_) | Entity::Starter(..) => None,
        }
    }

    /// A message has been received.
    fn here(
        &self,
        entity: &mut Entity,
        from: u32,
        message: &Message,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        match entity {
            Entity::Client(client) => self.client_hears(client, from, message, context),
            Entity::Server(server) => self.server_hears(server, from, message, context),
            Entity::Metadata(metadata) => self.metadata_hears(metadata, message, context),
            Entity::Proxy(_) => Err("a proxy received a message that is not about a job".into()),
            Entity::Router(router) => self.router_hears(router, message),
            Entity::Starter(..) => Err("the starter of phases has no network card".into()),
        }
    }

    /// A client has finished the current phase.
    fn through(&self, through: &mut u32, phase: &mut u16, context: &mut Context<'_, Self>) {
        *through += 1;
        debug_assert!(*through <= self.clients, "a client is through once a phase");
        if *through < self.clients || usize::from(*phase) + 1 >= self.spec.work.phases() {
            return;
        }
        (*through, *phase) = (0, *phase + 1);
        let at = context.now().saturating_add(self.spec.network.latency);
        context.record(Sample::Began { phase: *phase, at });
        for node in 0..self.starter().0 {
            let message = Message::Begin { phase: *phase };
            context.send_at(EntityId(node), at, Event::Here { from: context.me().0, message });
        }
    }

    /// A data server before the first phase.
    fn new_server(&self, number: u32) -> Server {
        let spec = self.spec;
        Server {
            card: Card::new(&spec.network),
            queue: spec.scheduler.at_server(number),
            wakes: None,
            ruled: Ruled { since: self.is_last(0).then_some(SimTime::ZERO), done: 0 },
            slots: Vec::new(),
            free: Vec::new(),
            working: 0,
            idle: std::collections::VecDeque::new(),
            blocked: std::collections::BTreeSet::new(),
            locks: std::collections::BTreeMap::new(),
            memory: towtank_devices::Lane::default(),
            cache: spec.cache.as_ref().map(|cache| PageCache::new(cache.pages, cache.replacement)),
            cleaning: false,
            disk: Disk::new(&spec.disk),
            sizes: std::collections::BTreeMap::new(),
            streams: std::collections::BTreeMap::new(),
            depth: Level::new(SimTime::ZERO, 0),
            came: 0,
            done: 0,
            moved: 0,
            mark: Mark::default(),
        }
    }

    fn is_last(&self, phase: u16) -> bool {
        usize::from(phase) + 1 == self.spec.work.phases()
    }
}

impl Runs for Pfs<'_> {
    fn run(&self, options: RunOptions<'_>) -> Result<Outcome<Self>, RunError> {
        towtank_kernel::run(self, options)
    }
}

impl Model for Pfs<'_> {
    type Entity = Entity;
    type Event = Event;
    type Undo = ();
    type Statistics = Counts;
    type Output = ();

    const AUDITS_PENDING: bool = true;

    fn entities(&self) -> u32 {
        self.starter().0 + 1
    }

    fn links(&self) -> Links {
        Links::all(self.spec.network.latency)
    }

    fn create(&self, id: EntityId) -> Entity {
        let (spec, network) = (self.spec, &self.spec.network);
        if id.0 < self.clients {
            let rank = spec.work.rank(id.0);
            let application = spec.work.of(rank);
            // Where records come at their times, flows are created on demand.
            let recorded = application.replay.as_ref().is_some_and(|replay| replay.pace() == Loop::Open);
            let flows = vec![Flow::default(); if recorded { 0 } else { usize::from(application.flows) }];
            return Entity::Client(Box::new(Client {
                card: Card::new(network),
                cpu: towtank_devices::Lane::default(),
                rank,
                phase: 0,
                begun: 0,
                through: 0,
                flows,
                layouts: std::collections::BTreeSet::new(),
                waiting: std::collections::VecDeque::new(),
                come: 0,
                jobs_sent: 0,
                jobs_done: 0,
                records: 0,
                idle: Vec::new(),
                gate: self.client_gate(id.0, rank.application).map(Box::new),
                tracker: spec.client.feedback.then(Box::default),
                caching: spec.client.cache.map(|cache| Box::new(caching::empty(&cache))),
                mark: Mark::default(),
            }));
        }
        if id.0 < self.metadata_server(0).0 {
            return Entity::Server(Box::new(self.new_server(id.0 - self.clients)));
        }
        if id.0 < self.first_proxy() {
            let threads = vec![towtank_devices::Lane::default(); spec.metadata.threads as usize];
            return Entity::Metadata(Box::new(Metadata {
                card: Card::new(network),
                threads,
                busy: SimSpan::ZERO,
                came: 0,
                done: 0,
                before: SimSpan::ZERO,
            }));
        }
        if id.0 < self.first_router() {
            return Entity::Proxy(Box::new(Gate::new(spec.scheduler.queue(id.0 - self.first_proxy()), None)));
        }
        if id.0 < self.starter().0 {
            return Entity::Router(Box::<Router>::default());
        }
        Entity::Starter(0, 0)
    }

    fn start(&self, entity: &mut Entity, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        match entity {
            Entity::Client(client) => self.begin_phase(client, 0, context),
            Entity::Starter(..) => context.record(Sample::Began { phase: 0, at: SimTime::ZERO }),
            Entity::Server(_) | Entity::Metadata(_) | Entity::Proxy(_) | Entity::Router(_) => {}
        }
        Ok(())
    }

    fn handle(
        &self,
        entity: &mut Entity,
        event: &Event,
        context: &mut Context<'_, Self>,
    ) -> Result<(), Fault> {
        match (entity, event) {
            (Entity::Proxy(gate), event) => self.proxy_does(gate, event, context),
            (Entity::Router(router), Event::Crosses { from, to, span, bytes, message }) => {
                let carried = routers::Carried { from: *from, to: *to, span: *span, bytes: *bytes };
                self.crosses(router, carried, message.clone(), context);
                Ok(())
            }
            (entity, Event::Comes { from, span, bytes, message }) => {
                let card = self.card(entity).ok_or("a message reached an entity without a network card")?;
                match self.comes(card, *from, (*bytes, *span), message, context) {
                    true => self.here(entity, *from, message, context),
                    false => Ok(()),
                }
            }
            (Entity::Starter(through, phase), Event::Here { message: Message::Through, .. }) => {
                self.through(through, phase, context);
                Ok(())
            }
            (entity, Event::Here { from, message }) => self.here(entity, *from, message, context),
            (entity, Event::Again { to, bytes, message }) => {
                let card = self.card(entity).ok_or("an entity without a network card retransmits")?;
                self.send(card, context.now(), EntityId(*to), *bytes, message.clone(), context);
                Ok(())
            }
            (entity, Event::Port) => loop {
                let card = self.card(entity).ok_or("an entity without a network card has no port")?;
                match card.through(&self.spec.network, context.now()) {
                    Ok((from, message)) => self.here(entity, from, &message, context)?,
                    Err(Some(at)) => {
                        context.send_at(context.me(), at, Event::Port);
                        return Ok(());
                    }
                    Err(None) => return Ok(()),
                }
            },
            (Entity::Client(client), event) => self.client_does(client, event, context),
            (Entity::Server(server), event) => self.server_does(server, event, context),
            (Entity::Metadata(metadata), Event::Served { client, flow }) => {
                self.metadata_answers(metadata, *client, *flow, context);
                Ok(())
            }
            (Entity::Metadata(_) | Entity::Router(_) | Entity::Starter(..), _) => {
                Err("an event reached an entity that cannot handle it".into())
            }
        }
    }

    /// Servers are not speculative because cloning them is expensive: their caches hold every range of pages.
    fn speculative(&self, _id: EntityId) -> bool {
        false
    }

    fn describe(&self, id: EntityId) -> String {
        if id.0 < self.clients {
            format!("client {id}")
        } else if id.0 < self.metadata_server(0).0 {
            format!("server {}", id.0 - self.clients)
        } else if id.0 < self.first_proxy() {
            format!("metadata server {}", id.0 - self.metadata_server(0).0)
        } else if id.0 < self.first_router() {
            format!("proxy {}", id.0 - self.first_proxy())
        } else if id.0 < self.starter().0 {
            format!("router {}", id.0 - self.first_router())
        } else {
            "the start of phases".to_owned()
        }
    }

    fn audit(&self, committed: &Committed<'_, Self>) -> Result<(), Fault> {
        audit::audit(self, committed)
    }
}

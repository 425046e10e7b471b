//! Schedulers at clients and at proxies: jobs are held back before they go to servers.
//!
//! A proxy has no NIC: it receives a job with its data, holds both back, and passes them to the port of the
//! server at once. Replies go from the server to the client; the proxy is notified with the network's
//! latency, as schedulers are of each other's reports.

use towtank_iosched::{Discipline as _, SchedulerId};
use towtank_kernel::{Context, EntityId, Fault};
use towtank_streams::Uniform;

use super::client::Ctx;
use super::{LOSS, Pfs};
use crate::counts::Sample;
use crate::event::{Event, Job, Message, Served};
use crate::gate::{Gate, Window};
use crate::nodes::Client;
use crate::spec::Stands;

impl<'a> Pfs<'a> {
    /// The gate of a client, if it has one.
    pub(super) fn client_gate(&self, client: u32, application: u16) -> Option<Gate> {
        let scheduler = &self.spec.scheduler;
        let window = self.spec.client.parda.as_ref().map(|parda| Window {
            parda: towtank_iosched::Parda::new(parda.hosts[usize::from(application)]),
            interval: parda.interval,
            due: towtank_units::SimTime::ZERO.saturating_add(parda.interval),
        });
        match scheduler.stands {
            Stands::Clients => Some(Gate::new(scheduler.queue(client), window)),
            _ => window.map(|window| Gate::new(scheduler.no_queue(), Some(window))),
        }
    }

    /// The proxy in front of a server.
    fn proxy_of(&self, server: u32) -> Option<EntityId> {
        match self.spec.scheduler.stands {
            Stands::Proxies(count) => Some(EntityId(self.first_proxy() + server % count)),
            Stands::Servers | Stands::Clients => None,
        }
    }

    /// Sends the jobs of a client that may go.
    pub(super) fn jobs_go(&self, client: &mut Client, context: &mut Ctx<'_, 'a>) {
        let now = context.now();
        while let Some(job) = client.gate.as_mut().and_then(|gate| gate.next(now)) {
            self.send_job(client, job, context);
        }
        if let Some(at) = client.gate.as_mut().and_then(|gate| gate.wake_wanted(now)) {
            context.send_at(context.me(), at, Event::Wake);
        }
    }

    /// Sends a job to its server, or to the proxy in front of it.
    pub(super) fn send_job(&self, client: &mut Client, mut job: Job, context: &mut Ctx<'_, 'a>) {
        if let Some(tracker) = &mut client.tracker {
            job.feedback = Some(Box::new(tracker.send(job.server)));
        }
        let at = client.cpu.serve(context.now(), self.spec.client.job).end;
        let to = self.proxy_of(job.server).unwrap_or(self.server(job.server));
        let data = self.data_of(&job);
        debug_assert!(at >= context.now(), "a client sends what it has prepared");
        self.send(&mut client.card, at, to, data, Message::Job(Box::new(job)), context);
    }

    /// The bytes of data that travel with a job.
    fn data_of(&self, job: &Job) -> u64 {
        if job.write && !self.spec.server.handshake { job.bytes } else { 0 }
    }

    /// A server has completed a client's job.
    pub(super) fn job_is_back(
        &self,
        client: &mut Client,
        from: u32,
        served: Served,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        if let Some(tracker) = &mut client.tracker {
            tracker.served(from.saturating_sub(self.clients), served.bytes, served.phase());
        }
        if let Some(gate) = &mut client.gate {
            gate.done(context.now(), served.ticket)?;
            self.jobs_go(client, context);
        }
        Ok(())
    }

    /// Handles an event at a proxy.
    pub(super) fn proxy_does(
        &self,
        gate: &mut Gate,
        event: &Event,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        let now = context.now();
        match event {
            Event::Comes { from, message, .. } | Event::Here { from, message } => match message {
                Message::Job(job) => gate.take(now, (**job).clone()),
                Message::Served(served) => gate.done(now, served.ticket)?,
                Message::Report(lengths) => {
                    let from = SchedulerId(from.saturating_sub(self.first_proxy()));
                    gate.queue.hear(now, from, (**lengths).clone());
                }
                Message::Begin { .. } => return Ok(()),
                _ => return Err("a proxy received a message that it cannot handle".into()),
            },
            Event::Again { to, bytes, message } => {
                self.forward(EntityId(*to), *bytes, message.clone(), context);
                return Ok(());
            }
            Event::Wake => gate.wake(now),
            _ => return Err("a proxy received an event that it cannot handle".into()),
        }
        self.proxy_lets_go(gate, context);
        Ok(())
    }

    fn proxy_lets_go(&self, gate: &mut Gate, context: &mut Ctx<'_, 'a>) {
        let now = context.now();
        while let Some(job) = gate.next(now) {
            let (to, data) = (self.server(job.server), self.data_of(&job));
            self.forward(to, data, Message::Job(Box::new(job)), context);
        }
        while let Some((audience, lengths)) = gate.queue.tell() {
            let Stands::Proxies(count) = self.spec.scheduler.stands else { continue };
            self.report((self.first_proxy(), count), &audience, &lengths, context);
        }
        if let Some(at) = gate.wake_wanted(now) {
            context.send_at(context.me(), at, Event::Wake);
        }
    }

    /// Sends a message from a node without a NIC: it reaches the port whole.
    fn forward(&self, to: EntityId, data: u64, message: Message, context: &mut Context<'_, Self>) {
        let network = &self.spec.network;
        let bytes = data.saturating_add(network.header);
        let at = context.now().saturating_add(network.latency);
        if network.lost > 0 && context.draws(LOSS).below(1_000_000) < u64::from(network.lost) {
            context.record(Sample::Lost);
            let again = at.saturating_add(network.timeout);
            context.send_at(context.me(), again, Event::Again { to: to.0, bytes: data, message });
            return;
        }
        let span = network.span(bytes);
        context.send_at(to, at, Event::Comes { from: context.me().0, span, bytes, message });
    }

    /// A server has completed a job that a proxy let go.
    pub(super) fn proxy_hears(&self, server: u32, served: Served, context: &mut Ctx<'_, 'a>) {
        let Some(proxy) = self.proxy_of(server) else { return };
        let at = context.now().saturating_add(self.spec.network.latency);
        context.send_at(proxy, at, Event::Here { from: context.me().0, message: Message::Served(served) });
    }
}

//! Metadata servers: they return layouts and attributes, create files and remove them.

use towtank_kernel::{Context, EntityId, Fault};
use towtank_units::SimSpan;

use super::Pfs;
use crate::counts::Sample;
use crate::event::{Event, Message};
use crate::nodes::Metadata;
use crate::work::Operation;

type Ctx<'c, 'a> = Context<'c, Pfs<'a>>;

impl<'a> Pfs<'a> {
    /// A request arrives at a metadata server.
    pub(super) fn metadata_hears(
        &self,
        metadata: &mut Metadata,
        message: &Message,
        context: &mut Ctx<'_, 'a>,
    ) -> Result<(), Fault> {
        let (client, flow, operation) = match *message {
            Message::Ask { client, flow, operation } => (client, flow, operation),
            Message::Begin { phase } => {
                if self.is_last(phase) {
                    metadata.before = metadata.busy;
                }
                return Ok(());
            }
            _ => return Err("a metadata server received a message that it cannot handle".into()),
        };
        let spec = &self.spec.metadata;
        let span = match operation {
            Operation::Read | Operation::Write | Operation::Open => spec.open,
            Operation::Create => spec.create,
            Operation::Stat => spec.stat,
            Operation::Remove => spec.remove,
            Operation::Sync => return Err("a metadata server received a sync".into()),
        };
        metadata.came += 1;
        metadata.busy = metadata.busy.saturating_add(span);
        let now = context.now();
        // Of equal ones, the first thread.
        let thread = metadata.threads.iter_mut().min_by_key(|thread| thread.idle_at);
        let (waits, ends) = match thread {
            Some(thread) => {
                let served = thread.serve(now, span);
                (served.begin.since(now), served.end)
            }
            None => (SimSpan::ZERO, now.saturating_add(span)),
        };
        debug_assert!(ends >= now && ends.since(now) >= waits, "a request is served after its wait");
        context.record(Sample::Metadata(waits));
        context.send_at(context.me(), ends, Event::Served { client, flow });
        Ok(())
    }

    /// A metadata server has completed a request.
    pub(super) fn metadata_answers(
        &self,
        metadata: &mut Metadata,
        client: u32,
        flow: u16,
        context: &mut Ctx<'_, 'a>,
    ) {
        metadata.done += 1;
        debug_assert!(metadata.done <= metadata.came, "what is answered was asked");
        let answer = self.spec.metadata.answer;
        let message = Message::MetadataAnswer { flow };
        self.send(&mut metadata.card, context.now(), EntityId(client), answer, message, context);
    }
}

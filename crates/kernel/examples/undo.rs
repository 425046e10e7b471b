//! How often is the most wanted of 4,096 pages asked for? A model with large entities, whose events are taken
//! back by hand.
//!
//! An executor that speculates must be able to take an event back. By default it clones the entity before
//! each event: here 256 counters for a change of one. So the handler returns what it overwrote, and
//! [`Model::undo`] puts it back. The check executor proves that it does; run it whenever you have written an
//! undo: `cargo run -p towtank-kernel --example undo`.

use towtank_kernel::prelude::*;

/// Servers with pages, and readers that go from one to the next.
pub struct Pages {
    /// How many servers.
    pub servers: u32,
    /// How many readers.
    pub readers: u32,
}

/// A server: how often each of its pages was asked for, and when it will have answered all who came.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Server {
    hits: Vec<u32>,
    free_at: SimTime,
}

/// A reader asks for a page.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Ask {
    page: u32,
}

/// What an event overwrote. Small: one is kept for each event that may be taken back.
#[derive(Clone, Debug, PartialEq)]
pub struct Before {
    hits: u32,
    free_at: SimTime,
}

const PAGES: u32 = 256;
const SERVICE: SimSpan = SimSpan::from_us(10);
const TRIP: SimSpan = SimSpan::from_us(5);
const NEXT: Purpose = Purpose(1);

impl Pages {
    fn ask(&self, after: SimSpan, context: &mut Context<'_, Self>) {
        let mut draws = context.draws(NEXT);
        let server = EntityId(draws.below(u64::from(self.servers)) as u32);
        // The lesser of three: early pages are wanted more than late ones.
        let page = (0..3).map(|_| draws.below(u64::from(PAGES))).min().unwrap_or(0) as u32;
        context.send(server, after.saturating_add(TRIP), Ask { page });
    }
}

impl Model for Pages {
    type Entity = Server;
    type Event = Ask;
    type Undo = Before;
    type Statistics = ();
    type Output = ();

    const UNDO: UndoBy = UndoBy::Inverse;

    fn entities(&self) -> u32 {
        self.servers
    }

    fn links(&self) -> Links {
        Links::all(TRIP)
    }

    fn create(&self, _id: EntityId) -> Server {
        Server { hits: vec![0; PAGES as usize], free_at: SimTime::ZERO }
    }

    fn start(&self, _server: &mut Server, context: &mut Context<'_, Self>) -> Result<(), Fault> {
        let readers = (0..self.readers).filter(|reader| reader % self.servers == context.me().0).count();
        (0..readers).for_each(|_| self.ask(SimSpan::ZERO, context));
        Ok(())
    }

    fn handle(
        &self,
        server: &mut Server,
        ask: &Ask,
        context: &mut Context<'_, Self>,
    ) -> Result<Before, Fault> {
        let hits = &mut server.hits[ask.page as usize];
        let before = Before { hits: *hits, free_at: server.free_at };
        *hits += 1;
        server.free_at = server.free_at.max(context.now()).saturating_add(SERVICE);
        self.ask(server.free_at.since(context.now()), context);
        Ok(before)
    }

    /// Exactly what the handler changed, and nothing else: sends, draws, timers and statistics are the
    /// kernel's to take back. Where a handler changes more than fits in a small value, `journal` has
    /// containers that keep track by themselves.
    fn undo(&self, server: &mut Server, ask: &Ask, before: Before) {
        server.hits[ask.page as usize] = before.hits;
        server.free_at = before.free_at;
    }
}

/// Sixteen servers of 256 pages, and forty readers.
pub fn model() -> Pages {
    Pages { servers: 16, readers: 40 }
}

/// Readers never stop, so the run needs an end.
pub fn options() -> RunOptions<'static> {
    RunOptions { end: Some(SimTime::from_ns(50_000_000)), ..RunOptions::default() }
}

/// What the outcome says.
pub fn answer(outcome: &Outcome<Pages>) -> String {
    let hits = || outcome.entities.iter().flat_map(|server| &server.hits);
    format!(
        "the most wanted page was asked for {} times of {}",
        hits().max().unwrap_or(&0),
        hits().sum::<u32>()
    )
}

fn main() -> Result<(), RunError> {
    println!("{}", answer(&run(&model(), RunOptions { executor: Executor::Check, ..options() })?));
    Ok(())
}

//! How often is the most popular of 4,096 pages requested? A model with large entities and a hand-written
//! undo.
//!
//! An executor that speculates must be able to undo an event. By default it clones the entity before each
//! event: here 256 counters for a change of one. So the handler returns what it overwrote, and
//! [`Model::undo`] restores it. The check executor proves that the undo is correct; run it whenever you have
//! written one: `cargo run -p towtank-kernel --example undo`.

use towtank_kernel::prelude::*;

/// Servers with pages, and readers that request one page after another.
pub struct Pages {
    /// The number of servers.
    pub servers: u32,
    /// The number of readers.
    pub readers: u32,
}

/// A server: the number of requests for each of its pages, and when it will have answered all of them.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Server {
    hits: Vec<u32>,
    free_at: SimTime,
}

/// A reader's request for a page.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Ask {
    page: u32,
}

/// What an event overwrote. It should be small: one is kept for each event that may be undone.
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
        // The smallest of three: low page numbers are more popular than high ones.
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

    /// Restores exactly what the handler changed: the kernel undoes sends, draws, timers and statistics. If a
    /// handler changes more than fits in a small value, use the containers of `journal`, which record their
    /// changes.
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

/// The answer, from the outcome of a run.
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

//! Drives a crew with one thread per worker, over mailboxes in memory.
//!
//! A waiting worker sleeps until a packet comes, so a run with more workers than processors finishes too, and
//! a busy process beside it costs it no more than its share.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::crew::Crew;
use crate::error::RunError;
use crate::mailbox::Post;
use crate::model::Model;
use crate::options::RunOptions;
use crate::plain::panic_message;
use crate::transport::{Packet, Step};
use crate::worker::Worker;

/// Runs all workers to their end. Worker 0 runs on the calling thread.
pub(crate) fn drive<M: Model>(crew: &mut Crew<'_, '_, M>) -> Result<(), RunError> {
    let post = Post::new(crew.workers.len());
    let (options, post) = (&crew.options, &post);
    let mut workers = crew.workers.iter_mut().enumerate();
    let (_, first) = workers.next().expect("there is always one worker");
    std::thread::scope(|scope| {
        let others: Vec<_> =
            workers.map(|(me, worker)| scope.spawn(move || work(worker, me, post, options))).collect();
        let mut result = work(first, 0, post, options);
        for other in others {
            let theirs = other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
            result = result.and(theirs);
        }
        result
    })
}

/// Steps one worker until it has finished, or another one is lost.
fn work<M: Model>(
    worker: &mut Worker<'_, M>,
    me: usize,
    post: &Post<Packet<M>>,
    options: &RunOptions<'_>,
) -> Result<(), RunError> {
    let mut counter = post.counter(me);
    let stepping = catch_unwind(AssertUnwindSafe(|| {
        loop {
            match worker.step(&mut counter, options) {
                Step::Finished => return,
                Step::Worked => {}
                Step::Waiting if post.is_abandoned() => return,
                Step::Waiting => counter.wait(),
            }
        }
    }));
    stepping.map_err(|payload| {
        post.abandon();
        RunError::WorkerLost { worker: me as u32, message: panic_message(payload.as_ref()) }
    })
}

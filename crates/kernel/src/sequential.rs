//! The sequential executor: one event after the other in key order. It is the reference for all other
//! executors.

use crate::error::RunError;
use crate::key::EventKey;
use crate::model::Model;
use crate::options::RunOptions;
use crate::outcome::Share;
use crate::partition::Whole;
use crate::plain::Plain;

/// The maximum number of events between two checks of the stop flag: well below a millisecond for most
/// models.
const BATCH: u64 = 4096;

/// The first checks come sooner, so that a short run can be stopped too.
const FIRST_BATCH: u64 = 32;

/// Runs all events of a model in the order of their keys.
pub(crate) fn run<M: Model>(
    mut plain: Plain<'_, M, Whole>,
    options: &RunOptions<'_>,
) -> Result<Share<M>, RunError> {
    let end = options.end.map_or(EventKey::MAX, EventKey::first_at);
    let mut partial = false;
    let mut batch = FIRST_BATCH;
    loop {
        let allowance = batch.min(options.event_limit - plain.run.committed);
        if allowance == 0 || !plain.batch(end, allowance)? {
            break;
        }
        let now = plain.last.map_or(EventKey::MIN, |(key, _)| key).at;
        options.report(now, plain.run.committed, plain.work);
        if options.stop_asked() {
            partial = plain.floor() < end;
            break;
        }
        batch = (batch + batch / 2).min(BATCH);
    }
    if !partial
        && plain.run.committed == options.event_limit
        && let Some(next) = plain.next_live(end)
    {
        return Err(RunError::TooManyEvents { place: plain.rules.place(&next), limit: options.event_limit });
    }
    Ok(plain.share(end, partial))
}

//! What daemons have said to others, which rely on it: one that comes back with the directory in which it ran
//! still knows it.

use std::collections::BTreeMap;

use towtank_replication::{Body, Cursor, Durable, Epoch, Message, Version};

/// What a replica has said in its last interval.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// It follows the primary of this interval.
    interval: Epoch,
    /// It is backfilled up to here.
    filled_to: Option<Cursor>,
    /// It has this change, and all before it.
    committed: Option<Version>,
}

/// What the daemon in a directory has said, by group.
#[derive(Clone, Debug, Default)]
pub(super) struct Words(BTreeMap<u32, Word>);

impl Words {
    pub(super) fn note<P>(&mut self, group: u32, message: &Message<P>) {
        let (filled_to, committed) = match &message.body {
            Body::Activated(_) => (None, None),
            Body::ProgressKept(cursor) => (Some(*cursor), None),
            Body::Committed(version) => (None, Some(*version)),
            _ => return,
        };
        let interval = message.interval;
        let word = self.0.entry(group).or_insert(Word { interval, filled_to, committed });
        if word.interval != interval {
            *word = Word { interval, filled_to, committed };
        }
        word.filled_to = word.filled_to.max(filled_to);
        word.committed = word.committed.max(committed);
    }

    /// Of groups that were moved elsewhere nothing is left, and nobody relies on it.
    pub(super) fn keep(&mut self, is_held: impl Fn(u32) -> bool) {
        self.0.retain(|group, _| is_held(*group));
    }

    /// Something has damaged the directory: nobody relies on it alone.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// What is not known any more, by the durable states of the groups. A group that is not there has moved.
    pub(super) fn forgotten<'a>(&self, of: impl Fn(u32) -> Option<&'a Durable>) -> Option<String> {
        self.0.iter().find_map(|(group, Word { interval, filled_to, committed })| {
            let durable = of(*group)?;
            if durable.last_epoch_started < *interval {
                return Some(format!(
                    "has forgotten that it follows in interval {interval} of group {group}"
                ));
            }
            // A later interval may have undone it.
            let is_same = durable.epoch == *interval;
            let goes_back = filled_to.is_some_and(|cursor| durable.cursor < cursor);
            if is_same && goes_back {
                return Some(format!("has forgotten how far group {group} is filled: {filled_to:?}"));
            }
            let lacks = committed.is_some_and(|version| durable.log.head() < version);
            (is_same && lacks).then(|| format!("has forgotten change {committed:?} of group {group}"))
        })
    }
}

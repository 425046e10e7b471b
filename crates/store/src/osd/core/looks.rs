//! Requests that need no data: heads of objects and lists of names. Like a read, they are answered only while
//! the primary has a lease: a former one would show what is no longer so.

use towtank_replication::Input;

use super::{Core, Turn};
use crate::engine::Transaction;
use crate::frames::{Answer, Ask, Reply, Wanted};
use crate::osd::heads;

impl<D> Core<D> {
    /// Notes a request that needs no data, and asks for the lease that it needs.
    pub(super) fn take_look(
        &mut self,
        ask: Ask,
        door: D,
        transaction: &mut Transaction<'_>,
        turn: &mut Turn<D>,
    ) {
        let has_lease = self.groups.get(&ask.group).is_some_and(|held| held.replica.has_lease(self.now));
        if !has_lease {
            self.handle(ask.group, Input::Lease, transaction, turn);
        }
        // A client that repeats it waits for one answer.
        self.looks.insert(ask.request, (ask, door));
    }

    /// Answers those of which the group has a lease, or does not serve any more.
    pub(super) fn answer_looks(&mut self, transaction: &mut Transaction<'_>, turn: &mut Turn<D>) {
        for (request, (ask, door)) in std::mem::take(&mut self.looks) {
            let replica = self.groups.get(&ask.group).map(|held| &held.replica);
            let serves = replica.is_some_and(|replica| replica.view().serves);
            if serves && replica.is_some_and(|replica| !replica.has_lease(self.now)) {
                self.looks.insert(request, (ask, door));
                continue;
            }
            let epoch = self.maps.last().map_or(0, |(map, _)| map.epoch);
            let reply = self.look(ask.group, &ask.what, transaction).filter(|_| serves);
            let answer = Answer { request, reply: reply.unwrap_or(Reply::Retry(epoch)) };
            turn.answers.push((door, answer));
        }
    }

    /// Answers requests that need no data; none, so that the client retries, while the log names objects
    /// missing here, or objects that clients must not see yet.
    fn look(&self, group: u32, what: &Wanted, transaction: &mut Transaction<'_>) -> Option<Reply> {
        let held = self.groups.get(&group)?;
        let replica = &held.replica;
        match what {
            Wanted::Names { prefix, from, most } if replica.may_show_all() => {
                heads::names(group, (prefix, from), *most as usize, transaction)
            }
            Wanted::Head { key } if replica.may_show(*key) => heads::head(group, *key, transaction),
            _ => None,
        }
    }
}

//! Connections by what is known of them, each kind with its own limit, so that those who sign nothing cannot
//! take the places of those who do.
//!
//! A connection is a stranger's until its first signed request. Where strangers have taken all their places,
//! the next one takes that of the oldest: a client that signs needs its place as a stranger only for the time
//! that the head of its request takes. Of the others, the one that has been idle for longest leaves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The most connections of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Connections without a signed request.
    pub strangers: usize,
    /// Connections that had a signed request.
    pub known: usize,
}

/// A connection that is open.
struct Open {
    /// Tells the connection to end.
    leave: oneshot::Sender<()>,
    is_known: bool,
    /// Whether a request is in progress.
    is_busy: bool,
}

#[derive(Default)]
struct Inner {
    /// In the order in which they came, or last became idle.
    open: BTreeMap<u64, Open>,
    given: u64,
}

impl Inner {
    fn next(&mut self) -> u64 {
        self.given += 1;
        self.given
    }

    fn count(&self, is_known: bool) -> usize {
        self.open.values().filter(|open| open.is_known == is_known).count()
    }

    /// Ends the first connection of a kind that has no request in progress; false if there is none.
    fn evict(&mut self, is_known: bool) -> bool {
        let is_it = |open: &Open| open.is_known == is_known && !open.is_busy;
        let Some(first) = self.open.iter().find(|(_, open)| is_it(open)).map(|(id, _)| *id) else {
            return false;
        };
        if let Some(open) = self.open.remove(&first) {
            // Without a receiver it has ended by itself.
            let _ = open.leave.send(());
        }
        true
    }
}

/// All connections.
pub(crate) struct Doors {
    inner: Mutex<Inner>,
    limits: Limits,
}

impl Doors {
    /// Doors through which nobody has come.
    #[must_use]
    pub(crate) fn new(limits: Limits) -> Arc<Doors> {
        Arc::new(Doors { inner: Mutex::default(), limits })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection, and what tells it to end.
    #[must_use]
    pub(crate) fn enter(self: &Arc<Doors>) -> (Arc<Visit>, oneshot::Receiver<()>) {
        let (leave, left) = oneshot::channel();
        let mut inner = self.inner();
        if inner.count(false) >= self.limits.strangers {
            inner.evict(false);
        }
        let id = inner.next();
        inner.open.insert(id, Open { leave, is_known: false, is_busy: false });
        drop(inner);
        (Arc::new(Visit { doors: Arc::clone(self), id: Mutex::new(id) }), left)
    }

    /// Ends the oldest connection of a stranger, where files have run out.
    pub(crate) fn make_room(&self) {
        self.inner().evict(false);
    }
}

/// A connection.
pub(crate) struct Visit {
    doors: Arc<Doors>,
    id: Mutex<u64>,
}

impl Visit {
    fn id(&self) -> MutexGuard<'_, u64> {
        self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A signed request begins; none if all places are taken by connections with requests in progress, or
    /// this one is to end.
    #[must_use]
    pub(crate) fn begin(self: &Arc<Visit>) -> Option<Busy> {
        let id = *self.id();
        let mut inner = self.doors.inner();
        let is_known = inner.open.get(&id)?.is_known;
        if !is_known && inner.count(true) >= self.doors.limits.known && !inner.evict(true) {
            return None;
        }
        let open = inner.open.get_mut(&id)?;
        open.is_known = true;
        open.is_busy = true;
        Some(Busy(Arc::clone(self)))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let id = *self.id();
        self.doors.inner().open.remove(&id);
    }
}

/// A request in progress, until its reply has been sent.
pub(crate) struct Busy(Arc<Visit>);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut id = self.0.id();
        let mut inner = self.0.doors.inner();
        let now = inner.next();
        if let Some(mut open) = inner.open.remove(&id) {
            open.is_busy = false;
            inner.open.insert(now, open);
            *id = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entered = (Arc<Visit>, oneshot::Receiver<()>);

    fn has_left(entered: &mut Entered) -> bool {
        entered.1.try_recv().is_ok()
    }

    fn filled(doors: &Arc<Doors>, count: usize) -> Vec<Entered> {
        (0..count).map(|_| doors.enter()).collect()
    }

    /// The strangers that have left, and the signed ones that got no place, of a crowd of each.
    fn crowd(limits: Limits) -> (usize, usize) {
        let doors = Doors::new(limits);
        let mut strangers = filled(&doors, 20);
        let mut turned_away = 0;
        let mut all = Vec::new();
        for _ in 0..4 {
            let signed = doors.enter();
            let busy = signed.0.begin();
            turned_away += usize::from(busy.is_none());
            all.push((signed, busy));
        }
        (strangers.iter_mut().filter_map(|it| has_left(it).then_some(())).count(), turned_away)
    }

    #[test]
    fn strangers_take_no_places_of_others() {
        // The 20 strangers have 4 places, one of which each of the others needed for a moment.
        assert_eq!(crowd(Limits { strangers: 4, known: 4 }), (17, 0));
        // Planted: with as many places as there are strangers, none of them makes room.
        assert_eq!(crowd(Limits { strangers: 99, known: 4 }).0, 0);
        assert_eq!(crowd(Limits { strangers: 4, known: 1 }).1, 3);
    }

    #[test]
    fn the_one_that_is_idle_for_longest_leaves() {
        let doors = Doors::new(Limits { strangers: 9, known: 2 });
        let mut all = filled(&doors, 3);
        drop(all[0].0.begin().expect("there is a place"));
        drop(all[1].0.begin().expect("there is a place"));
        // The first is used again, so the second has been idle for longer.
        let first = all[0].0.begin().expect("it has a place");
        drop(first);
        let third = all[2].0.begin();
        assert!(third.is_some());
        assert_eq!(all.iter_mut().map(has_left).collect::<Vec<_>>(), [false, true, false]);
        assert!(all[1].0.begin().is_none(), "it is to end");
        let busy = all[0].0.begin().expect("it has a place");
        assert!(doors.enter().0.begin().is_none(), "requests in progress keep their places");
        drop((busy, third));
        assert!(doors.enter().0.begin().is_some());
    }

    #[test]
    fn places_are_given_back() {
        let doors = Doors::new(Limits { strangers: 2, known: 1 });
        for _ in 0..5 {
            let entered = doors.enter();
            drop(entered.0.begin().expect("there is a place"));
        }
        assert!(doors.inner().open.is_empty());
        let mut two = filled(&doors, 2);
        doors.make_room();
        assert_eq!(two.iter_mut().map(has_left).collect::<Vec<_>>(), [true, false]);
    }
}

//! Containers that journal their changes: an entity with large state can be undone without cloning all of it.
//!
//! Use them as fields of an entity and declare these with [`journaled!`](crate::journaled). Take
//! [`Journaled::mark`] when a handler begins, and call [`Journaled::revert`] with that mark to undo the
//! event. Nothing is recorded until [`Journaled::begin`] is called, so a run that never undoes pays one
//! branch per change. The journal is not part of the value: two containers with equal contents are equal, and
//! only the contents are serialised.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

mod contents;

/// A value that can be reverted to an earlier state.
pub trait Journaled {
    /// A point in the recorded history.
    type Mark: Copy + PartialEq + fmt::Debug + Send;

    /// Starts recording changes.
    fn begin(&mut self);

    /// Returns the current point in the history.
    fn mark(&self) -> Self::Mark;

    /// Undoes every change made after `mark`.
    fn revert(&mut self, mark: Self::Mark);

    /// Discards the changes before `mark`; the caller promises not to revert to an earlier point.
    fn forget(&mut self, mark: Self::Mark);
}

/// The changes of one container, oldest first. `None` until recording begins.
#[derive(Clone, Debug, Default)]
struct Log<C> {
    changes: Option<VecDeque<C>>,
    forgotten: u64,
}

impl<C> Log<C> {
    #[inline]
    fn note(&mut self, change: impl FnOnce() -> C) {
        if let Some(changes) = &mut self.changes {
            changes.push_back(change());
        }
    }

    fn begin(&mut self) {
        self.changes.get_or_insert_default();
    }

    fn mark(&self) -> u64 {
        self.forgotten + self.changes.as_ref().map_or(0, |changes| changes.len() as u64)
    }

    /// Removes and returns the latest change if it was made after the mark.
    fn pop_after(&mut self, mark: u64) -> Option<C> {
        if self.mark() > mark { self.changes.as_mut()?.pop_back() } else { None }
    }

    fn forget(&mut self, mark: u64) {
        if let Some(changes) = &mut self.changes {
            while self.forgotten < mark && changes.pop_front().is_some() {
                self.forgotten += 1;
            }
        }
    }
}

/// A map that journals its changes.
#[derive(Clone)]
pub struct JournalMap<K, V> {
    map: BTreeMap<K, V>,
    log: Log<(K, Option<V>)>,
}

impl<K: Ord + Clone, V: Clone> JournalMap<K, V> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        JournalMap { map: BTreeMap::new(), log: Log { changes: None, forgotten: 0 } }
    }

    /// Inserts a value and returns the previous one, if any.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.map.insert(key.clone(), value);
        self.log.note(|| (key, before.clone()));
        before
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let before = self.map.remove(key)?;
        self.log.note(|| (key.clone(), Some(before.clone())));
        Some(before)
    }

    /// Read access to the contents.
    #[must_use]
    pub fn get(&self) -> &BTreeMap<K, V> {
        &self.map
    }
}

impl<K: Ord + Clone, V: Clone> Default for JournalMap<K, V> {
    fn default() -> Self {
        JournalMap::new()
    }
}

impl<K: Ord + Clone, V: Clone> Journaled for JournalMap<K, V> {
    type Mark = u64;

    fn begin(&mut self) {
        self.log.begin();
    }

    fn mark(&self) -> u64 {
        self.log.mark()
    }

    fn revert(&mut self, mark: u64) {
        while let Some((key, before)) = self.log.pop_after(mark) {
            match before {
                Some(value) => self.map.insert(key, value),
                None => self.map.remove(&key),
            };
        }
    }

    fn forget(&mut self, mark: u64) {
        self.log.forget(mark);
    }
}

/// A change of a [`JournalVec`], with what is needed to undo it.
#[derive(Clone, Debug)]
enum VecChange<T> {
    Pushed,
    Popped(T),
    Set(usize, T),
    Inserted(usize),
    Removed(usize, T),
}

/// A vector that journals its changes.
#[derive(Clone)]
pub struct JournalVec<T> {
    items: Vec<T>,
    log: Log<VecChange<T>>,
}

impl<T: Clone> JournalVec<T> {
    /// A vector with these initial items.
    #[must_use]
    pub fn new(items: Vec<T>) -> Self {
        JournalVec { items, log: Log { changes: None, forgotten: 0 } }
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.items.push(item);
        self.log.note(|| VecChange::Pushed);
    }

    /// Removes and returns the last item.
    pub fn pop(&mut self) -> Option<T> {
        let item = self.items.pop()?;
        self.log.note(|| VecChange::Popped(item.clone()));
        Some(item)
    }

    /// Replaces the item at index `place` and returns the previous one.
    ///
    /// # Panics
    /// If `place` is out of bounds.
    pub fn set(&mut self, place: usize, item: T) -> T {
        let before = std::mem::replace(&mut self.items[place], item);
        self.log.note(|| VecChange::Set(place, before.clone()));
        before
    }

    /// Inserts an item at index `place`.
    ///
    /// # Panics
    /// If `place` is greater than the length.
    pub fn insert(&mut self, place: usize, item: T) {
        self.items.insert(place, item);
        self.log.note(|| VecChange::Inserted(place));
    }

    /// Removes and returns the item at index `place`.
    ///
    /// # Panics
    /// If `place` is out of bounds.
    pub fn remove(&mut self, place: usize) -> T {
        let item = self.items.remove(place);
        self.log.note(|| VecChange::Removed(place, item.clone()));
        item
    }

    /// Read access to the contents.
    #[must_use]
    pub fn get(&self) -> &[T] {
        &self.items
    }
}

impl<T: Clone> Journaled for JournalVec<T> {
    type Mark = u64;

    fn begin(&mut self) {
        self.log.begin();
    }

    fn mark(&self) -> u64 {
        self.log.mark()
    }

    fn revert(&mut self, mark: u64) {
        while let Some(change) = self.log.pop_after(mark) {
            match change {
                VecChange::Pushed => {
                    self.items.pop();
                }
                VecChange::Popped(item) => self.items.push(item),
                VecChange::Set(place, item) => self.items[place] = item,
                VecChange::Inserted(place) => {
                    self.items.remove(place);
                }
                VecChange::Removed(place, item) => self.items.insert(place, item),
            }
        }
    }

    fn forget(&mut self, mark: u64) {
        self.log.forget(mark);
    }
}

/// A single value that journals its changes.
#[derive(Clone)]
pub struct JournalCell<T> {
    value: T,
    log: Log<T>,
}

impl<T: Clone> JournalCell<T> {
    /// A cell with this initial value.
    #[must_use]
    pub fn new(value: T) -> Self {
        JournalCell { value, log: Log { changes: None, forgotten: 0 } }
    }

    /// Replaces the value.
    pub fn set(&mut self, value: T) {
        let before = std::mem::replace(&mut self.value, value);
        self.log.note(|| before);
    }

    /// The current value.
    #[must_use]
    pub fn get(&self) -> &T {
        &self.value
    }
}

impl<T: Clone> Journaled for JournalCell<T> {
    type Mark = u64;

    fn begin(&mut self) {
        self.log.begin();
    }

    fn mark(&self) -> u64 {
        self.log.mark()
    }

    fn revert(&mut self, mark: u64) {
        while let Some(before) = self.log.pop_after(mark) {
            self.value = before;
        }
    }

    fn forget(&mut self, mark: u64) {
        self.log.forget(mark);
    }
}

/// Implements [`Journaled`](crate::Journaled) for a struct from its journaling fields.
///
/// ```
/// use towtank_journal::{JournalCell, JournalVec, Journaled};
///
/// struct Shelf {
///     books: JournalVec<u32>,
///     weight: JournalCell<u64>,
/// }
/// towtank_journal::journaled!(Shelf { books, weight });
///
/// let mut shelf = Shelf { books: JournalVec::new(vec![7]), weight: JournalCell::new(3) };
/// shelf.begin();
/// let mark = shelf.mark();
/// shelf.books.push(9);
/// shelf.weight.set(5);
/// shelf.revert(mark);
/// assert_eq!((shelf.books.get(), shelf.weight.get()), (&[7][..], &3));
/// ```
#[macro_export]
macro_rules! journaled {
    ($entity:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::Journaled for $entity {
            type Mark = [u64; [$(stringify!($field)),+].len()];

            fn begin(&mut self) {
                $($crate::Journaled::begin(&mut self.$field);)+
            }

            fn mark(&self) -> Self::Mark {
                [$($crate::Journaled::mark(&self.$field)),+]
            }

            fn revert(&mut self, mark: Self::Mark) {
                let [$($field),+] = mark;
                $($crate::Journaled::revert(&mut self.$field, $field);)+
            }

            fn forget(&mut self, mark: Self::Mark) {
                let [$($field),+] = mark;
                $($crate::Journaled::forget(&mut self.$field, $field);)+
            }
        }
    };
}

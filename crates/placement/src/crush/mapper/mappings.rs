//! The results of many inputs.

use crate::crush::map::ItemId;

/// The result of each of many inputs, in the order of the inputs.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    width: usize,
    items: Vec<ItemId>,
    lengths: Vec<u32>,
}

impl Mappings {
    /// Empty results for `count` inputs, each of at most `width` items.
    pub(super) fn restart(&mut self, count: usize, width: usize) {
        self.width = width;
        self.lengths.clear();
        self.lengths.resize(count, 0);
        self.items.resize(count * width, 0);
    }

    pub(super) fn set(&mut self, number: usize, items: &[ItemId]) {
        let begin = number * self.width;
        self.items[begin..begin + items.len()].copy_from_slice(items);
        self.lengths[number] = items.len() as u32;
    }

    /// The result of an input.
    ///
    /// # Panics
    /// If there are fewer inputs.
    #[must_use]
    pub fn of(&self, number: usize) -> &[ItemId] {
        let begin = number * self.width;
        &self.items[begin..begin + self.lengths[number] as usize]
    }

    /// The results in order.
    pub fn iter(&self) -> impl Iterator<Item = &[ItemId]> {
        (0..self.lengths.len()).map(|number| self.of(number))
    }
}

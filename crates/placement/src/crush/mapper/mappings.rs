//! The results of many inputs.

use crate::crush::map::ItemId;

/// The result of each of many inputs, in the order of the inputs.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    items: Vec<ItemId>,
    /// Where the items of each input begin and end; they lie in the order in which the inputs were done, with
    /// gaps.
    spans: Vec<(usize, usize)>,
}

impl Mappings {
    /// Empty results for `count` inputs.
    pub(in crate::crush) fn restart(&mut self, count: usize) {
        self.items.clear();
        self.spans.clear();
        self.spans.resize(count, (0, 0));
    }

    /// Stores the result of an input.
    pub(in crate::crush) fn set(&mut self, number: usize, items: &[ItemId]) {
        let begin = self.items.len();
        self.items.extend_from_slice(items);
        self.spans[number] = (begin, self.items.len());
    }

    /// Stores the results of consecutive inputs, from lists with the same room for each input.
    pub(in crate::crush) fn set_all(
        &mut self,
        first: usize,
        lists: &[ItemId],
        stride: usize,
        counts: &[u32],
    ) {
        let base = self.items.len();
        self.items.extend_from_slice(lists);
        for (at, (span, &count)) in self.spans[first..].iter_mut().zip(counts).enumerate() {
            let begin = base + at * stride;
            *span = (begin, begin + count as usize);
        }
    }

    /// The results in the order of the inputs.
    pub fn iter(&self) -> impl Iterator<Item = &[ItemId]> {
        self.spans.iter().map(|&(begin, end)| &self.items[begin..end])
    }
}

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
        let (room, wanted) = (lists.len(), stride * counts.len());
        assert!(room >= wanted, "each of many inputs has a list: there is room of {room}, not {wanted}");
        self.items.extend_from_slice(lists);
        for (at, (span, &count)) in self.spans[first..].iter_mut().zip(counts).enumerate() {
            let begin = base + at * stride;
            assert!(
                count as usize <= stride,
                "a result ends before the next one: {count} items in {stride} places"
            );
            *span = (begin, begin + count as usize);
        }
    }

    /// The results in the order of the inputs.
    pub fn iter(&self) -> impl Iterator<Item = &[ItemId]> {
        self.spans.iter().map(|&(begin, end)| &self.items[begin..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_all(lists: &[ItemId], counts: &[u32]) {
        let mut found = Mappings::default();
        found.restart(counts.len());
        found.set_all(0, lists, 2, counts);
    }

    #[test]
    #[should_panic(expected = "a result ends before the next one: 3 items in 2 places")]
    fn a_result_with_items_of_the_next_breaks_a_law() {
        set_all(&[1, 2, 3, 4], &[3, 1]);
    }

    #[test]
    #[should_panic(expected = "each of many inputs has a list: there is room of 3, not 4")]
    fn an_input_without_a_list_breaks_a_law() {
        set_all(&[1, 2, 3], &[2, 0]);
    }
}

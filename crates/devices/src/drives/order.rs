//! The order in which a disk head serves waiting requests: first come, nearest, or one direction.
//!
//! This is a selection rule, not a queue: the owner of the requests passes their addresses and learns which
//! one is next.

/// A rule that selects the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadOrder {
    /// The one that arrived first.
    #[default]
    Fifo,
    /// The one nearest to the head (shortest seek time first). A distant request may wait for ever.
    Sstf,
    /// The next one above the head or, if there is none, the lowest (C-LOOK): no request waits longer than
    /// one sweep.
    CLook,
}

impl HeadOrder {
    /// The index of the next request among those waiting, or `None` if there are none. `waiting` gives their
    /// addresses in order of arrival; of equal candidates the first is taken.
    #[must_use]
    pub fn next(self, head: u64, waiting: impl IntoIterator<Item = u64>) -> Option<usize> {
        let waiting = waiting.into_iter().enumerate();
        let least = match self {
            HeadOrder::Fifo => waiting.map(|(place, _)| (false, 0, place)).next(),
            HeadOrder::Sstf => waiting.map(|(place, at)| (false, at.abs_diff(head), place)).min(),
            HeadOrder::CLook => waiting.map(|(place, at)| (at < head, at, place)).min(),
        };
        least.map(|(_, _, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The order in which requests that wait together are served, and the total movement of the head.
    fn served(order: HeadOrder, head: u64, mut waiting: Vec<u64>) -> (Vec<u64>, u64) {
        let (mut done, mut moved, mut at) = (Vec::new(), 0, head);
        while let Some(next) = order.next(at, waiting.iter().copied()) {
            let address = waiting.remove(next);
            moved += address.abs_diff(at);
            at = address;
            done.push(address);
        }
        (done, moved)
    }

    #[test]
    fn the_textbook_queue_is_served_as_the_textbook_has_it() {
        // Silberschatz and others, "Operating System Concepts", head at 53: FIFO moves 640 cylinders, SSTF
        // 236, C-LOOK 322.
        let queue = vec![98, 183, 37, 122, 14, 124, 65, 67];
        let check = |order, want: &[u64], moved| {
            assert_eq!(served(order, 53, queue.clone()), (want.to_vec(), moved));
        };
        check(HeadOrder::Fifo, &queue, 640);
        check(HeadOrder::Sstf, &[65, 67, 37, 14, 98, 122, 124, 183], 236);
        check(HeadOrder::CLook, &[65, 67, 98, 122, 124, 183, 14, 37], 322);
    }

    #[test]
    fn of_equal_ones_the_first_goes_and_of_none_nobody() {
        for order in [HeadOrder::Fifo, HeadOrder::Sstf, HeadOrder::CLook] {
            assert_eq!(order.next(5, [7, 7, 7]), Some(0));
            assert_eq!(order.next(5, []), None);
        }
        assert_eq!(HeadOrder::Sstf.next(5, [9, 3, 7]), Some(1));
    }

    proptest! {
        #[test]
        fn all_are_served_and_none_waits_longer_than_a_sweep(
            head in 0u64..100, waiting in prop::collection::vec(0u64..100, 0..20)
        ) {
            for order in [HeadOrder::Fifo, HeadOrder::Sstf, HeadOrder::CLook] {
                let (mut done, moved) = served(order, head, waiting.clone());
                if order == HeadOrder::CLook {
                    prop_assert!(moved <= 300, "{} cylinders for two sweeps and one way back", moved);
                    prop_assert!(done.windows(2).filter(|pair| pair[1] < pair[0]).count() <= 1);
                }
                let mut want = waiting.clone();
                done.sort_unstable();
                want.sort_unstable();
                prop_assert_eq!(done, want);
            }
        }
    }
}

//! Servers drawn one after the other by their shares, without repetition. This is how CRUSH's flat buckets
//! and rendezvous hashing choose for every object, so it gives the exact distribution of the affected
//! objects.
//!
//! An affected object is drawn without drawing the unaffected ones. At rank j of its list, an object not yet
//! affected becomes so with probability `p = W / (1 - S)`, where W is the share of the failing servers and S
//! that of the servers before. Since S is at most the sum of the j greatest shares, p is at most some q. So
//! each object is a candidate with the probability that any of its ranks is below its q
//! ([`Shares::candidates`]); for a candidate, the first such rank is drawn, then the servers before it, and
//! it is affected there with probability p / q. The rest of the list is drawn unconditionally. Nothing is
//! approximated.

use towtank_streams::Uniform;

/// Shares of servers that add up to one, prepared for drawing.
#[derive(Clone, Debug)]
pub struct Shares {
    shares: Vec<f64>,
    failing: Vec<bool>,
    /// The failing servers with their shares.
    failing_ones: Vec<(u32, f64)>,
    /// The total share of the failing servers.
    failing_share: f64,
    /// For each rank, the upper bound of the probability of being affected there.
    bounds: Vec<f64>,
    /// Vose's alias table: the probability of keeping a draw, and the server taken otherwise.
    keep: Vec<f64>,
    other: Vec<u32>,
}

impl Shares {
    /// Tables for lists of `width` servers; `failing` marks the servers that fail.
    ///
    /// # Panics
    /// If shares are not positive, or there is not one per server.
    #[must_use]
    pub fn new(weights: &[f64], failing: &[bool], width: usize) -> Shares {
        assert_eq!(weights.len(), failing.len(), "servers with a share, and servers that fail or do not");
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        assert!(shares.iter().all(|&share| share > 0.0), "every server has a share");
        let of = |fails: bool| {
            shares
                .iter()
                .zip(failing)
                .filter(|(_, at)| **at == fails)
                .map(|(share, _)| *share)
                .collect::<Vec<f64>>()
        };
        let mut sound = of(false);
        sound.sort_by(|left, right| right.total_cmp(left));
        let failing_ones: Vec<(u32, f64)> = (0u32..)
            .zip(&shares)
            .filter(|(server, _)| failing[*server as usize])
            .map(|(server, share)| (server, *share))
            .collect();
        let failing_share: f64 = of(true).iter().sum();
        assert!((0.0..=1.0 + 1e-9).contains(&failing_share), "what fails has a share of {failing_share}");
        let mut before = 0.0;
        let mut bounds = Vec::new();
        for rank in 0..width {
            // Rounding must not push a probability above its bound.
            bounds.push((failing_share / (1.0 - before) * (1.0 + 1e-12)).min(1.0));
            before += sound.get(rank).copied().unwrap_or(0.0);
        }
        assert!(bounds.is_sorted(), "an object that has not touched touches ever more likely");
        assert!(bounds.iter().all(|bound| (0.0..=1.0).contains(bound)), "a bound of {bounds:?} is no chance");
        let (keep, other) = alias(&shares);
        Shares { shares, failing: failing.to_vec(), failing_ones, failing_share, bounds, keep, other }
    }

    /// The probability that an object is a candidate.
    #[must_use]
    pub fn candidates(&self) -> f64 {
        let candidates = 1.0 - self.bounds.iter().map(|bound| 1.0 - bound).product::<f64>();
        debug_assert!((0.0..=1.0).contains(&candidates), "candidates are {candidates} of all");
        candidates
    }

    /// Draws a candidate's list of servers; false if the object is not affected after all. Fills `list`; the
    /// object lies on its first ranks, as many as the width.
    pub fn draw(&self, list: &mut [u32], draws: &mut impl Uniform) -> bool {
        let Some(mut rank) = self.first_rank(draws) else { return false };
        let mut drawn = 0;
        let mut before = 0.0;
        loop {
            while drawn < rank {
                let server = self.next(&list[..drawn], Some(false), draws);
                before += self.shares[server as usize];
                list[drawn] = server;
                drawn += 1;
            }
            // With all others in the list the probability is 1, and rounding must not make it greater.
            let touches = (self.failing_share / (1.0 - before)).min(1.0);
            assert!(
                touches <= self.bounds[rank],
                "an object touches at rank {rank} more often than its bound says"
            );
            if draws.unit_f64() * self.bounds[rank] < touches {
                break;
            }
            // Not affected at this rank; perhaps at a later one.
            rank += 1;
            loop {
                let Some(bound) = self.bounds.get(rank) else { return false };
                if draws.unit_f64() < *bound {
                    break;
                }
                rank += 1;
            }
        }
        list[drawn] = self.next(&list[..drawn], Some(true), draws);
        debug_assert!(drawn < self.bounds.len(), "an object touches at rank {drawn}, beyond its width");
        debug_assert!(self.failing[list[drawn] as usize], "an object touches server {}", list[drawn]);
        for at in drawn + 1..list.len() {
            list[at] = self.next(&list[..at], None, draws);
        }
        debug_assert!(
            (1..list.len()).all(|at| !list[..at].contains(&list[at])),
            "{list:?} has a server twice"
        );
        true
    }

    /// The total share of some servers.
    #[must_use]
    pub fn sum(&self, servers: &[u32]) -> f64 {
        servers.iter().map(|&server| self.shares[server as usize]).sum()
    }

    /// Draws a server by its share, among some of them or all.
    pub fn one(&self, among: Option<&[u32]>, draws: &mut impl Uniform) -> u32 {
        let Some(among) = among else { return self.next(&[], None, draws) };
        let mut left = draws.unit_f64() * self.sum(among);
        let mut last = 0;
        for &server in among {
            last = server;
            if left < self.shares[server as usize] {
                break;
            }
            left -= self.shares[server as usize];
        }
        last
    }

    /// Draws the first rank at which a candidate is below its bound.
    fn first_rank(&self, draws: &mut impl Uniform) -> Option<usize> {
        let mut left = draws.unit_f64() * self.candidates();
        for (rank, bound) in self.bounds.iter().enumerate() {
            if left < *bound {
                return Some(rank);
            }
            left = (left - bound) / (1.0 - bound);
        }
        // Reached only by rounding.
        self.bounds.len().checked_sub(1)
    }

    /// Draws a server that is not in `list`, by share among the failing ones, the others, or all.
    fn next(&self, list: &[u32], fails: Option<bool>, draws: &mut impl Uniform) -> u32 {
        if fails == Some(true) {
            return self.failing_one(draws);
        }
        loop {
            let word = draws.next_u64();
            let product = u128::from(word) * self.shares.len() as u128;
            let (at, rest) =
                ((product >> 64) as usize, (product as u64) as f64 / 18_446_744_073_709_551_616.0);
            let server = if rest < self.keep[at] { at as u32 } else { self.other[at] };
            if fails.is_none_or(|fails| self.failing[server as usize] == fails) && !list.contains(&server) {
                return server;
            }
        }
    }

    fn failing_one(&self, draws: &mut impl Uniform) -> u32 {
        let mut left = draws.unit_f64() * self.failing_share;
        let mut last = 0;
        for &(server, share) in &self.failing_ones {
            last = server;
            if left < share {
                break;
            }
            left -= share;
        }
        last
    }
}

/// Vose's alias method (1991): each of n equal columns holds at most two of the shares.
fn alias(shares: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let count = shares.len();
    let mut left: Vec<f64> = shares.iter().map(|share| share * count as f64).collect();
    let (mut keep, mut other) = (vec![1.0; count], (0..count as u32).collect::<Vec<u32>>());
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..count).partition(|&at| left[at] < 1.0);
    while let (Some(less), Some(&more)) = (small.pop(), large.last()) {
        keep[less] = left[less];
        other[less] = more as u32;
        left[more] -= 1.0 - left[less];
        if left[more] < 1.0 {
            large.pop();
            small.push(more);
        }
    }
    assert!(keep.iter().all(|keep| (0.0..=1.0).contains(keep)), "a column of the alias table is overfull");
    (keep, other)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use towtank_streams::{Draws, Purpose, Seed};

    use super::*;

    /// The direct method: draw every object's list, and keep the affected ones.
    fn all_lists(weights: &[f64], length: usize, draws: &mut impl Uniform) -> Vec<u32> {
        let mut list = Vec::new();
        while list.len() < length {
            let open = |server: &u32| !list.contains(server);
            let left: f64 = (0u32..).zip(weights).filter(|(server, _)| open(server)).map(|(_, w)| w).sum();
            let mut at = draws.unit_f64() * left;
            let mut chosen = None;
            for (server, weight) in (0u32..).zip(weights).filter(|(server, _)| open(server)) {
                chosen = Some(server);
                if at < *weight {
                    break;
                }
                at -= weight;
            }
            list.push(chosen.expect("some are left"));
        }
        list
    }

    #[test]
    fn what_is_drawn_is_what_enumeration_finds() {
        let weights = [3.0, 1.0, 1.0, 2.0, 1.0, 0.5];
        let failing = [false, true, false, true, false, false];
        let (width, length, objects) = (3, 4, 400_000u64);
        let shares = Shares::new(&weights, &failing, width);
        let mut drawn: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        let mut listed: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        let candidates = shares.candidates();
        for object in 0..objects {
            let mut draws = Draws::new(Seed(3), 0, object);
            let mut source = draws.of(Purpose(0));
            let mut list = vec![0; length];
            if source.unit_f64() < candidates && shares.draw(&mut list, &mut source) {
                *drawn.entry(list).or_default() += 1.0;
            }
            let mut draws = Draws::new(Seed(4), 0, object);
            let list = all_lists(&weights, length, &mut draws.of(Purpose(0)));
            if list[..width].iter().any(|&server| failing[server as usize]) {
                *listed.entry(list).or_default() += 1.0;
            }
        }
        // 288 of the 360 lists are affected: 360 less 4 * 3 * 2 * 3. Two samples: the sum of (a - b)² / (a +
        // b) is chi-squared.
        assert_eq!(listed.len(), 288);
        let chi: f64 = listed
            .iter()
            .map(|(list, &count)| {
                let other = drawn.get(list).copied().unwrap_or(0.0);
                (count - other).powi(2) / (count + other)
            })
            .sum();
        let freedom = listed.len() as f64;
        assert!((chi - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "{chi} with {freedom} degrees");
        assert!(drawn.keys().all(|list| listed.contains_key(list)));
    }

    #[test]
    fn equal_shares_touch_as_often_as_hands_of_cards() {
        let failing: Vec<bool> = (0..64).map(|server| server == 9).collect();
        let shares = Shares::new(&[1.0; 64], &failing, 3);
        let mut found = 0u32;
        for object in 0..200_000 {
            let mut draws = Draws::new(Seed(1), 0, object);
            let mut source = draws.of(Purpose(0));
            let mut list = [0; 4];
            found +=
                u32::from(source.unit_f64() < shares.candidates() && shares.draw(&mut list, &mut source));
        }
        // 3 of 64: 9375 of 200,000, with a standard deviation of 95.
        assert!((9_000..9_750).contains(&found), "{found}");
    }

    proptest! {
        /// The alias table gives every server its share, and no list has a server twice.
        #[test]
        fn tables_and_lists_hold_every_share(
            weights in prop::collection::vec(0.05f64..20.0, 4..24), gone in prop::collection::vec(0usize..24, 1..3), seed: u64
        ) {
            let count = weights.len();
            let failing: Vec<bool> = (0..count).map(|server| gone.iter().any(|at| at % count == server)).collect();
            let shares = Shares::new(&weights, &failing, 3);
            let total: f64 = weights.iter().sum();
            let mut held = vec![0.0; count];
            for (at, (keep, other)) in shares.keep.iter().zip(&shares.other).enumerate() {
                held[at] += keep / count as f64;
                held[*other as usize] += (1.0 - keep) / count as f64;
            }
            for (held, weight) in held.iter().zip(&weights) {
                prop_assert!((held - weight / total).abs() < 1e-9, "{} of {}", held, weight / total);
            }
            let all: Vec<u32> = (0..count as u32).collect();
            prop_assert!((shares.sum(&all) - 1.0).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&shares.candidates()));
            let mut draws = Draws::new(Seed(seed), 0, 0);
            let mut source = draws.of(Purpose(0));
            for _ in 0..20 {
                let mut list = [u32::MAX; 4];
                if shares.draw(&mut list, &mut source) {
                    prop_assert!(list[..3].iter().any(|&server| failing[server as usize]));
                    let apart = list.iter().enumerate().all(|(at, server)| !list[..at].contains(server));
                    prop_assert!(apart && list.iter().all(|&server| server < count as u32), "{:?}", list);
                }
                prop_assert!((shares.one(None, &mut source) as usize) < count);
                prop_assert!([1, 3].contains(&shares.one(Some(&[1, 3]), &mut source)));
            }
        }
    }

    /// One of n equal servers fails: of lists of w, a fraction w/n is affected, and the bounds are 1/n,
    /// 1/(n-1) and so on.
    #[test]
    fn candidates_of_equal_shares_are_those_that_touch() {
        for (servers, width) in [(4, 1), (10, 3), (64, 5)] {
            let failing: Vec<bool> = (0..servers).map(|server| server == 0).collect();
            let shares = Shares::new(&vec![2.5; servers], &failing, width);
            let want = width as f64 / servers as f64;
            assert!((shares.candidates() - want).abs() < 1e-9, "{} of {want}", shares.candidates());
            assert_eq!(shares.bounds.len(), width);
        }
    }

    /// Two servers of four fail, and lists of three may start with both others: the probability at the last
    /// rank was once computed as slightly more than 1, and the assertion about bounds ended the run.
    #[test]
    fn the_chance_to_touch_never_exceeds_one() {
        let weights = [1.425_101_567_301_751_3, 0.05, 0.05, 19.881_721_793_666_305];
        let shares = Shares::new(&weights, &[false, true, true, false], 3);
        let mut draws = Draws::new(Seed(0), 0, 0);
        let mut source = draws.of(Purpose(0));
        assert_eq!(shares.bounds[2], 1.0);
        for _ in 0..1_000 {
            let mut list = [u32::MAX; 4];
            assert!(shares.draw(&mut list, &mut source), "one of three is among any two of four");
            assert!(list[..3].contains(&1) || list[..3].contains(&2), "{list:?}");
        }
    }

    #[test]
    #[should_panic(expected = "servers with a share, and servers that fail or do not")]
    fn a_share_too_many_is_refused() {
        let _ = Shares::new(&[1.0; 3], &[true, false], 1);
    }

    #[test]
    #[should_panic(expected = "every server has a share")]
    fn a_server_without_a_share_is_refused() {
        let _ = Shares::new(&[1.0, 0.0], &[true, false], 1);
    }
}

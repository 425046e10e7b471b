//! All subsets of one size, in order, and uniform draws of them.

use towtank_streams::Uniform;

/// Calls `each` with every choice of `taken` numbers below `all`, in lexicographic order.
pub(super) fn for_each(all: usize, taken: usize, mut each: impl FnMut(&[usize])) {
    if taken > all {
        return;
    }
    let mut chosen: Vec<usize> = (0..taken).collect();
    loop {
        each(&chosen);
        let Some(place) = (0..taken).rev().find(|place| chosen[*place] < all - taken + place) else { return };
        chosen[place] += 1;
        for next in place + 1..taken {
            chosen[next] = chosen[next - 1] + 1;
        }
    }
}

/// Draws `taken` of the numbers in `from` (Floyd's algorithm on their places), and adds them to `to`.
pub(super) fn draw(from: &[usize], taken: usize, source: &mut impl Uniform, to: &mut Vec<usize>) {
    let first = to.len();
    for place in from.len() - taken..from.len() {
        let candidate = from[source.below(place as u64 + 1) as usize];
        let is_new = !to[first..].contains(&candidate);
        to.push(if is_new { candidate } else { from[place] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towtank_streams::{Draws, Purpose, Seed};

    #[test]
    fn all_subsets_are_there_once_and_are_drawn_equally_often() {
        let mut all = Vec::new();
        for_each(6, 3, |set| all.push(set.to_vec()));
        assert_eq!(all.len(), 20);
        let mut counts = vec![0.0; 20];
        let mut draws = Draws::new(Seed(1), 0, 0);
        let from: Vec<usize> = (0..6).collect();
        for _ in 0..20_000 {
            let mut set = Vec::new();
            draw(&from, 3, &mut draws.of(Purpose(0)), &mut set);
            set.sort_unstable();
            counts[all.iter().position(|other| *other == set).expect("it is one of them")] += 1.0;
        }
        let squares =
            |counts: &[f64]| counts.iter().map(|n: &f64| (n - 1000.0) * (n - 1000.0) / 1000.0).sum::<f64>();
        // Chi-square with 19 degrees of freedom: beyond 50 once in 7000 seeds.
        assert!(squares(&counts) < 50.0, "{counts:?}");
        counts[0] += 400.0;
        assert!(squares(&counts) > 50.0, "a set that is drawn more often is found");
    }
}

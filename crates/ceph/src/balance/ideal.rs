//! How many copies or shards of one group a device is expected to hold.
//!
//! *Even*: in proportion to weight, as far as the rule allows it. A failure domain holds at most one shard of
//! a group, so a domain whose weight would give it more gets exactly one, and the others share the rest in
//! proportion to their weights.
//!
//! *Drawn*: what CRUSH gives on average. It picks domains one after the other, each in proportion to weight
//! among those that are left. So a domain of large weight gets less than its weight, even where the rule
//! would allow more. The probability is that of successive sampling: with an exponential clock of rate w for
//! each domain, the first n clocks that ring are the sample (Efraimidis and Spirakis 2006), and the
//! probability for domain i is the integral over t of w e^(-wt) P(fewer than n others rang before t).
//!
//! Both take the weight of a bucket as the sum of the weights of its devices, and the weights of the map
//! itself: what weight sets (`choose_args`) change is left out.

use std::collections::BTreeMap;

use towtank_placement::crush::ItemId;

use super::shape::{Node, Shape};

/// How the domains of a group are picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// In proportion to weight, as far as the rule allows.
    Even,
    /// As CRUSH draws them.
    Drawn,
}

/// The expected shards of one group on each device; devices without weight are left out.
#[must_use]
pub fn shares(shape: &Shape, weight: &dyn Fn(ItemId) -> f64, picked: Picked) -> BTreeMap<ItemId, f64> {
    let mut found = BTreeMap::new();
    for branch in &shape.branches {
        let whole = f64::from(branch.top.most().max(1));
        let part = f64::from(branch.asked) / whole;
        visit(&branch.top, part, weight, picked, &mut found);
    }
    found
}

fn weight_of(node: &Node, weight: &dyn Fn(ItemId) -> f64) -> f64 {
    match node.item {
        0.. => weight(node.item),
        _ => node.children.iter().map(|child| weight_of(child, weight)).sum(),
    }
}

fn visit(
    node: &Node,
    visits: f64,
    weight: &dyn Fn(ItemId) -> f64,
    picked: Picked,
    found: &mut BTreeMap<ItemId, f64>,
) {
    if node.item >= 0 {
        *found.entry(node.item).or_default() += visits;
        return;
    }
    let weights: Vec<f64> = node.children.iter().map(|child| weight_of(child, weight)).collect();
    let chances = match picked {
        Picked::Even => even(&weights, node.picks),
        Picked::Drawn => drawn(&weights, node.picks),
    };
    for (child, chance) in node.children.iter().zip(chances) {
        if chance > 0.0 {
            visit(child, visits * chance, weight, picked, found);
        }
    }
}

/// In proportion to weight, at most 1 each, `picks` in all; each with weight gets 1 if there are too few.
#[must_use]
pub fn even(weights: &[f64], picks: u32) -> Vec<f64> {
    let mut chances = vec![0.0; weights.len()];
    let mut order: Vec<usize> = (0..weights.len()).filter(|&at| weights[at] > 0.0).collect();
    order.sort_by(|&left, &right| weights[right].total_cmp(&weights[left]));
    let mut sum: f64 = order.iter().map(|&at| weights[at]).sum();
    let mut left = f64::from(picks);
    for at in order {
        let chance = if sum > 0.0 { (left * weights[at] / sum).min(1.0) } else { 0.0 };
        chances[at] = chance.max(0.0);
        left -= chance;
        sum -= weights[at];
    }
    law_of_chances(&chances, picks);
    chances
}

/// No domain gets more than one shard of a group, and all together no more than are picked.
fn law_of_chances(chances: &[f64], picks: u32) {
    let most = chances.iter().copied().fold(0.0, f64::max);
    assert!(most <= 1.0, "a domain gets no more than one shard of a group: {most}");
    let sum: f64 = chances.iter().sum();
    assert!(sum <= f64::from(picks) + 1e-6, "domains get no more shards than are picked: {sum} of {picks}");
}

/// Points of the integral: more change the result by less than 1e-6 for ratios of weights up to 1,000.
const POINTS: usize = 600;

/// A domain of more than this many times the weight of the lightest that fill a sample is in every sample:
/// one in a million lacks it. The integral has no points at the times at which such clocks ring.
const CERTAIN: f64 = 1e6;

/// The probability that each is among the first `picks` that are drawn.
#[must_use]
pub fn drawn(weights: &[f64], picks: u32) -> Vec<f64> {
    let some: Vec<f64> = weights.iter().copied().filter(|weight| *weight > 0.0).collect();
    let (count, picks) = (some.len(), picks as usize);
    if picks == 0 || count == 0 {
        return vec![0.0; weights.len()];
    }
    if count <= picks {
        return weights.iter().map(|weight| f64::from(u8::from(*weight > 0.0))).collect();
    }
    let sum: f64 = some.iter().sum();
    let mut distinct: Vec<f64> = some.iter().map(|weight| weight / sum).collect();
    let rates = distinct.clone();
    distinct.sort_by(f64::total_cmp);
    // Until the sample is complete, at least the lightest of those that are left ring.
    let slowest: f64 = distinct[..=count - picks].iter().sum();
    let certain = |weight: f64| weight / sum > slowest * CERTAIN;
    let heavy = some.iter().filter(|weight| certain(**weight)).count();
    if heavy > 0 {
        let light: Vec<f64> = weights.iter().map(|&one| if certain(one) { 0.0 } else { one }).collect();
        let rest = drawn(&light, (picks - heavy) as u32);
        return weights.iter().zip(rest).map(|(&one, rest)| if certain(one) { 1.0 } else { rest }).collect();
    }
    distinct.dedup();
    let mut chances = vec![0.0; distinct.len()];
    for point in 0..POINTS {
        // t = s u^3 / (1 - u): many points where the clocks of heavy domains ring.
        let u = (point as f64 + 0.5) / POINTS as f64;
        let (time, step) = (u * u * u / (1.0 - u), u * u * (3.0 - 2.0 * u) / ((1.0 - u) * (1.0 - u)));
        let (time, step) = (time * 4.0 / slowest, step * 4.0 / slowest / POINTS as f64);
        let all = rung(&rates, time, picks);
        if all.iter().sum::<f64>() < 1e-15 {
            continue;
        }
        for (chance, &rate) in chances.iter_mut().zip(&distinct) {
            *chance += step * rate * libm::exp(-rate * time) * without(&all, &rates, rate, time, picks);
        }
    }
    let of = |weight: f64| {
        let rate = weight / sum;
        let at = distinct.partition_point(|other| *other < rate);
        chances[at.min(distinct.len() - 1)].min(1.0)
    };
    let raw: Vec<f64> = weights.iter().map(|&weight| if weight > 0.0 { of(weight) } else { 0.0 }).collect();
    // What the integral misses is spread, so that the sum is exact.
    let total: f64 = raw.iter().sum();
    let chances: Vec<f64> = raw.iter().map(|chance| (chance * picks as f64 / total).min(1.0)).collect();
    law_of_chances(&chances, picks as u32);
    chances
}

/// The probabilities that exactly 0, 1, … `picks` clocks rang before `time`.
fn rung(rates: &[f64], time: f64, picks: usize) -> Vec<f64> {
    let mut counts = vec![0.0; picks + 1];
    counts[0] = 1.0;
    for &rate in rates {
        add(&mut counts, 1.0 - libm::exp(-rate * time));
    }
    counts
}

fn add(counts: &mut [f64], rings: f64) {
    for at in (0..counts.len()).rev() {
        let fewer = if at == 0 { 0.0 } else { counts[at - 1] };
        counts[at] = counts[at] * (1.0 - rings) + fewer * rings;
    }
}

/// The probability that fewer than `picks` rang, without one clock of this rate.
fn without(all: &[f64], rates: &[f64], rate: f64, time: f64, picks: usize) -> f64 {
    let rings = 1.0 - libm::exp(-rate * time);
    if rings < 0.5 {
        let mut before = 0.0;
        let mut sum = 0.0;
        for &count in &all[..picks] {
            before = ((count - rings * before) / (1.0 - rings)).max(0.0);
            sum += before;
        }
        return sum.min(1.0);
    }
    let skipped = rates.iter().position(|other| *other == rate);
    let mut counts = vec![0.0; picks];
    counts[0] = 1.0;
    for (at, &other) in rates.iter().enumerate() {
        if Some(at) != skipped {
            add(&mut counts, 1.0 - libm::exp(-other * time));
        }
    }
    counts.iter().sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By enumeration of all orders in which domains can be drawn.
    fn by_orders(weights: &[f64], picks: usize) -> Vec<f64> {
        fn go(weights: &[f64], taken: &mut Vec<usize>, chance: f64, picks: usize, sums: &mut [f64]) {
            if taken.len() == picks {
                taken.iter().for_each(|&at| sums[at] += chance);
                return;
            }
            let left: f64 = (0..weights.len()).filter(|at| !taken.contains(at)).map(|at| weights[at]).sum();
            for at in 0..weights.len() {
                if !taken.contains(&at) {
                    taken.push(at);
                    go(weights, taken, chance * weights[at] / left, picks, sums);
                    taken.pop();
                }
            }
        }
        let mut sums = vec![0.0; weights.len()];
        go(weights, &mut Vec::new(), 1.0, picks, &mut sums);
        sums
    }

    #[test]
    fn an_even_share_is_in_proportion_and_at_most_one() {
        assert_eq!(even(&[1.0, 1.0, 1.0, 1.0], 3), [0.75; 4]);
        // A double host would get 6/5 of a shard; it gets 1, and the other three share two.
        let shares = even(&[2.0, 1.0, 1.0, 1.0], 3);
        assert_eq!(shares[0], 1.0);
        assert!(shares[1..].iter().all(|share| (share - 2.0 / 3.0).abs() < 1e-12), "{shares:?}");
        assert_eq!(even(&[3.0, 0.0, 1.0], 3), [1.0, 0.0, 1.0]);
    }

    #[test]
    #[should_panic(expected = "a domain gets no more than one shard of a group: 1.5")]
    fn a_domain_that_gets_too_much_breaks_a_law() {
        law_of_chances(&[0.5, 1.5], 2);
    }

    #[test]
    #[should_panic(expected = "domains get no more shards than are picked: 2.5 of 2")]
    fn domains_that_get_too_much_together_break_a_law() {
        law_of_chances(&[1.0, 1.0, 0.5], 2);
    }

    #[test]
    fn what_is_drawn_agrees_with_all_orders() {
        let cases: [(&[f64], usize); 9] = [
            (&[2.0, 1.0, 1.0, 1.0], 3),
            (&[1.0, 1.0, 1.0, 1.0], 2),
            (&[5.0, 1.0, 2.0, 0.5, 3.0], 3),
            (&[100.0, 1.0, 1.0, 7.0], 2),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 4),
            (&[1000.0, 1.0, 1.0], 2),
            // A former fault: where no point had a chance, each was certain, or the heavy ones were left out.
            (&[1.0, 1e-320, 1e-320], 2),
            (&[1.0, 2.0, 1e-30, 1e-30], 3),
            (&[1e7, 2.0, 1.0, 1.0], 2),
        ];
        for (weights, picks) in cases {
            let (want, found) = (by_orders(weights, picks), drawn(weights, picks as u32));
            for (want, found) in want.iter().zip(&found) {
                assert!((want - found).abs() < 1e-5, "{weights:?}: {want} by orders, {found} drawn");
            }
        }
        // By hand: the double host is missed only if all three draws go to the others.
        assert!((drawn(&[2.0, 1.0, 1.0, 1.0], 3)[0] - 0.9).abs() < 1e-6);
    }
}

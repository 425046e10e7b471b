//! Straw lengths: the factors by which draws are scaled so that items win in proportion to their weights.
//!
//! The old `straw` buckets store these lengths in the binary map; they are computed only when a text map is
//! compiled or a bucket changes. Version 0 has a flaw that Ceph keeps for old clusters (items of equal or
//! zero weight distort the others). Double precision and the 32-bit wrap-around of one product are as in Ceph
//! 16.2.15, because every bit of a length affects mappings.

/// Straw lengths in 16.16 fixed point, by item.
pub(super) fn lengths(weights: &[u32], version: u8) -> Vec<u32> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&item| weights[item]);
    let sorted: Vec<u32> = order.iter().map(|&item| weights[item]).collect();
    let by_rank = if version == 0 { version_0(&sorted) } else { version_1(&sorted) };
    let mut straws = vec![0; weights.len()];
    for (rank, &item) in order.iter().enumerate() {
        straws[item] = by_rank[rank];
    }
    straws
}

/// The state carried from one weight to the next greater one.
struct Walk {
    straw: f64,
    below: f64,
    last: f64,
    left: u32,
}

impl Walk {
    fn new(items: usize) -> Self {
        Self { straw: 1.0, below: 0.0, last: 0.0, left: items as u32 }
    }

    fn length(&self) -> u32 {
        to_u32(self.straw * 65_536.0)
    }

    /// Advances from weight `from` to weight `to`, after which `gone` fewer items are left.
    fn step(&mut self, from: u32, to: u32, gone: u32) {
        self.below += (f64::from(from) - self.last) * f64::from(self.left);
        self.left = self.left.wrapping_sub(gone);
        let next = f64::from(self.left.wrapping_mul(to.wrapping_sub(from)));
        let share = self.below / (self.below + next);
        self.straw *= libm::pow(1.0 / share, 1.0 / f64::from(self.left as i32));
        self.last = f64::from(from);
    }
}

fn version_0(sorted: &[u32]) -> Vec<u32> {
    let mut walk = Walk::new(sorted.len());
    let mut straws = vec![0; sorted.len()];
    for (rank, &weight) in sorted.iter().enumerate() {
        if weight == 0 {
            continue;
        }
        straws[rank] = walk.length();
        if let Some(&heavier) = sorted.get(rank + 1).filter(|&&next| next != weight) {
            let alike = sorted[rank + 1..].iter().take_while(|&&other| other == heavier).count();
            walk.step(weight, heavier, alike as u32);
        }
    }
    straws
}

fn version_1(sorted: &[u32]) -> Vec<u32> {
    let mut walk = Walk::new(sorted.len());
    let mut straws = vec![0; sorted.len()];
    for (rank, &weight) in sorted.iter().enumerate() {
        if weight == 0 {
            walk.left = walk.left.wrapping_sub(1);
            continue;
        }
        straws[rank] = walk.length();
        if let Some(&next) = sorted.get(rank + 1) {
            walk.step(weight, next, 1);
        }
    }
    straws
}

/// Converts a double to a 32-bit number like C on x86-64: through 64 bits, of which the low half is kept.
pub(super) fn to_u32(value: f64) -> u32 {
    if value.abs() < 9.2e18 { value as i64 as u32 } else { 0 }
}

//! When each part fails, and which is first: a list with the minimum of each block of it.

const BLOCK: usize = 32;

#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    at_h: Vec<f64>,
    first_h: Vec<f64>,
}

impl Calendar {
    pub(crate) fn new(parts: usize) -> Calendar {
        Calendar { at_h: vec![f64::INFINITY; parts], first_h: vec![f64::INFINITY; parts.div_ceil(BLOCK)] }
    }

    pub(crate) fn copy(&mut self, other: &Calendar) {
        self.at_h.clone_from(&other.at_h);
        self.first_h.clone_from(&other.first_h);
    }

    /// Sets a time without looking which is first; [`Calendar::sort`] has to follow.
    pub(crate) fn put(&mut self, part: usize, at_h: f64) {
        self.at_h[part] = at_h;
    }

    pub(crate) fn sort(&mut self) {
        for (first, times) in self.first_h.iter_mut().zip(self.at_h.chunks(BLOCK)) {
            *first = least(times);
        }
    }

    pub(crate) fn set(&mut self, part: usize, at_h: f64) {
        let block = part / BLOCK;
        let was = std::mem::replace(&mut self.at_h[part], at_h);
        if at_h <= self.first_h[block] {
            self.first_h[block] = at_h;
        } else if was <= self.first_h[block] {
            let end = (block * BLOCK + BLOCK).min(self.at_h.len());
            self.first_h[block] = least(&self.at_h[block * BLOCK..end]);
        }
    }

    /// The first failure: its time and part.
    pub(crate) fn next(&self) -> (f64, usize) {
        let earlier = |left: (usize, f64), right: (usize, f64)| if right.1 < left.1 { right } else { left };
        let blocks = self.first_h.iter().copied().enumerate();
        let (block, at) = blocks.reduce(earlier).unwrap_or((0, f64::INFINITY));
        let times = self.at_h[block * BLOCK..].iter().take(BLOCK);
        (at, block * BLOCK + times.copied().position(|time| time == at).unwrap_or(0))
    }
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

//! One bit per leaf: which leaves changed since some event, such as the last image.

/// A bit set, initially all clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    words: Box<[u64]>,
}

impl Marks {
    pub(crate) fn of_words(words: Box<[u64]>) -> Marks {
        Marks { words }
    }

    pub(crate) fn new(bits: usize) -> Marks {
        Marks { words: vec![0; bits.div_ceil(64)].into() }
    }

    #[inline]
    pub(crate) fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// Sets all bits below `bits`.
    pub(crate) fn set_all(&mut self, bits: usize) {
        for (word, marks) in self.words.iter_mut().enumerate() {
            let of_word = (bits - (word * 64).min(bits)).min(64);
            *marks = if of_word == 64 { u64::MAX } else { (1 << of_word) - 1 };
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Returns the bits that are set, in order, and clears all.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        let taken = self.iter().map(|at| at as u32).collect();
        self.clear();
        taken
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bits that are set, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(word, marks)| SetBits(*marks).map(move |bit| word * 64 + bit))
    }

    /// For each pair of bits, whether at least one is set: the parents of marked nodes.
    pub(crate) fn halved(&self) -> Marks {
        let pair = |words: &[u64]| {
            let low = pairs(words[0]);
            low | words.get(1).map_or(0, |word| pairs(*word) << 32)
        };
        Marks { words: self.words.chunks(2).map(pair).collect() }
    }
}

/// The positions of the bits that are set in a word.
struct SetBits(u64);

impl Iterator for SetBits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (bit < 64).then_some(bit)
    }
}

/// Bit i of the result is set if bit 2i or 2i + 1 is.
fn pairs(word: u64) -> u64 {
    let mut bits = (word | word >> 1) & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) & 0x0000_0000_ffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_asks_each_pair() {
        for bits in [1, 2, 3, 63, 64, 65, 128, 129, 1000] {
            let mut marks = Marks::new(bits);
            let set: Vec<usize> = (0..bits).filter(|at| at * 7 % 11 < 2).collect();
            set.iter().for_each(|at| marks.set(*at));
            assert_eq!(marks.iter().collect::<Vec<_>>(), set);
            assert_eq!(marks.count(), set.len());
            let mut parents: Vec<usize> = set.iter().map(|at| at / 2).collect();
            parents.dedup();
            assert_eq!(marks.halved().iter().collect::<Vec<_>>(), parents, "{bits} bits");
            marks.set_all(bits);
            assert_eq!(marks.count(), bits);
            marks.clear();
            assert!(marks.is_clear());
        }
    }
}

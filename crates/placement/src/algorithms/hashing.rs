//! The hash functions of the placement algorithms: positions of virtual nodes, scattering of keys, and
//! mixing.
//!
//! Virtual nodes have the positions of libch-placement: Jenkins' lookup3 (public domain, 2006) over the
//! server's index in eight bytes, little endian, with the virtual node's number and the seed as the two
//! initial values. Our own mixing is the folded product of wyhash (Wang Yi, public domain); keys are
//! scattered by the finaliser of SplitMix64 (Steele, Lea and Flood 2014), which is invertible.

/// The position of virtual node `virtual_node` of server `server`.
#[must_use]
pub fn virtual_node_id(server: u32, virtual_node: u32, seed: u32) -> u64 {
    lookup3(&u64::from(server).to_le_bytes(), virtual_node, seed)
}

/// Jenkins' lookup3 in its 64-bit form: the first result is the low half. `first` and `second` are the
/// initial values.
#[must_use]
fn lookup3(bytes: &[u8], first: u32, second: u32) -> u64 {
    // The length is added to a constant of the algorithm, with intended wrapping.
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(first);
    let mut state = [start, start, start.wrapping_add(second)];
    let mut rest = bytes;
    while rest.len() > 12 {
        let (block, after) = rest.split_at(12);
        absorb(&mut state, block);
        stir(&mut state);
        rest = after;
    }
    if !rest.is_empty() {
        absorb(&mut state, rest);
        finish(&mut state);
    }
    u64::from(state[2]) | u64::from(state[1]) << 32
}

/// Adds up to twelve bytes to the state, as if zeros followed.
fn absorb(state: &mut [u32; 3], bytes: &[u8]) {
    for (at, byte) in bytes.iter().enumerate() {
        state[at / 4] = state[at / 4].wrapping_add(u32::from(*byte) << (8 * (at % 4)));
    }
}

/// The mix between blocks: each step subtracts one word from another, xors its rotation, and adds the third.
fn stir(state: &mut [u32; 3]) {
    for (step, turn) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
        let (target, source, third) = (step % 3, (step + 2) % 3, (step + 1) % 3);
        state[target] = state[target].wrapping_sub(state[source]) ^ state[source].rotate_left(turn);
        state[source] = state[source].wrapping_add(state[third]);
    }
}

/// The final mix after the last block.
fn finish(state: &mut [u32; 3]) {
    for (step, turn) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
        let (target, source) = ((step + 2) % 3, (step + 1) % 3);
        state[target] = (state[target] ^ state[source]).wrapping_sub(state[source].rotate_left(turn));
    }
}

/// The folded product: both halves of the 128-bit product, xored.
#[inline]
#[must_use]
pub fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Odd words with about half their bits set: the golden ratio's fraction and that of sqrt(2).
pub const SPREAD: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c909];

const FIRST_FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND_FACTOR: u64 = 0x94d0_49bb_1331_11eb;

/// Scatters structured numbers (object counters, group numbers) over all 64-bit keys. One to one: [`gather`]
/// is the inverse.
#[inline]
#[must_use]
pub fn scatter(id: u64) -> u64 {
    let mut word = id.wrapping_add(SPREAD[0]);
    word = (word ^ (word >> 30)).wrapping_mul(FIRST_FACTOR);
    word = (word ^ (word >> 27)).wrapping_mul(SECOND_FACTOR);
    word ^ (word >> 31)
}

/// The inverse of [`scatter`].
#[must_use]
pub fn gather(key: u64) -> u64 {
    let mut word = unshift(key, 31).wrapping_mul(inverse(SECOND_FACTOR));
    word = unshift(word, 27).wrapping_mul(inverse(FIRST_FACTOR));
    unshift(word, 30).wrapping_sub(SPREAD[0])
}

/// The inverse of `word ^ (word >> by)`.
const fn unshift(word: u64, by: u32) -> u64 {
    // Each round makes `by` more bits correct; for shifts of at least 22, three rounds cover 64 bits.
    let mut found = word;
    let mut round = 0;
    while round < 3 {
        found = word ^ (found >> by);
        round += 1;
    }
    found
}

/// The inverse of an odd word modulo 2^64, by Newton's iteration: each step doubles the number of correct
/// bits, from three.
const fn inverse(odd: u64) -> u64 {
    let mut found = odd;
    let mut step = 0;
    while step < 5 {
        found = found.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(found)));
        step += 1;
    }
    found
}

/// Division by a constant without the processor's slow division instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Modulus {
    value: u64,
    reciprocal: u64,
}

impl Modulus {
    /// Prepares division by `value`.
    ///
    /// # Panics
    /// If `value` is zero.
    #[must_use]
    pub fn new(value: u64) -> Modulus {
        assert!(value > 0, "nothing can be divided by zero");
        Modulus { value, reciprocal: u64::MAX / value }
    }

    /// The divisor.
    #[must_use]
    pub fn value(self) -> u64 {
        self.value
    }

    /// The remainder of `word`.
    #[inline]
    #[must_use]
    pub fn of(self, word: u64) -> u64 {
        // The computed quotient is the true one or one less: the reciprocal is too small by less than one
        // unit of 2^-64.
        let quotient = ((u128::from(word) * u128::from(self.reciprocal)) >> 64) as u64;
        // Both cases are about equally likely, so the choice is made without a branch.
        let rest = word.wrapping_sub(quotient.wrapping_mul(self.value));
        rest.min(rest.wrapping_sub(self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The test vectors in the public description of lookup3.
    #[test]
    fn lookup3_is_lookup3() {
        let text = b"Four score and seven years ago";
        let check = |bytes: &[u8], first: u32, second: u32, want: [u32; 2]| {
            let found = lookup3(bytes, first, second);
            assert_eq!([found as u32, (found >> 32) as u32], want, "{first} {second}");
        };
        check(b"", 0, 0, [0xdead_beef, 0xdead_beef]);
        check(b"", 0, 0xdead_beef, [0xbd5b_7dde, 0xdead_beef]);
        check(b"", 0xdead_beef, 0xdead_beef, [0x9c09_3ccd, 0xbd5b_7dde]);
        check(text, 0, 0, [0x1777_0551, 0xce72_26e6]);
        check(text, 0, 1, [0xe360_7cae, 0xbd37_1de4]);
        check(text, 1, 0, [0xcd62_8161, 0x6cbe_a4b3]);
    }

    proptest! {
        #[test]
        fn gather_undoes_scatter(id: u64) {
            prop_assert_eq!(gather(scatter(id)), id);
            prop_assert_eq!(scatter(gather(id)), id);
        }

        #[test]
        fn remainders_are_remainders(word: u64, value in 1u64.., small in 1u64..100) {
            prop_assert_eq!(Modulus::new(value).of(word), word % value);
            prop_assert_eq!(Modulus::new(small).of(word), word % small);
        }
    }

    #[test]
    fn remainders_at_the_ends() {
        for value in [1, 2, 3, 1 << 63, u64::MAX - 1, u64::MAX] {
            for word in [0, 1, value - 1, value, u64::MAX] {
                assert_eq!(Modulus::new(value).of(word), word % value, "{word} mod {value}");
            }
        }
    }
}

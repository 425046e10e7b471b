//! Draws for tests that choose many things from one seed.

/// A generator of numbers below a limit: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). The low numbers of
/// a large limit are a little more likely, which no test minds. Below 0 there is 0.
pub fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % below.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words from seed 1234567, as the author's implementation in C prints them.
    #[test]
    fn words_are_those_of_splitmix64() {
        let mut draw = draws(1_234_567);
        let want = [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for word in want {
            assert_eq!(draw(u64::MAX), word);
        }
        assert_eq!(draw(0), 0);
    }
}

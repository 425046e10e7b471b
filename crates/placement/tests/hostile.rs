//! Round trips of random maps, and input that is cut, flipped or made up: never a panic, never a mapping that does not end.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod random_map;

use placement::crush::text::{compile, print};
use placement::crush::{binary, check};
use proptest::prelude::*;
use random_map::random_map;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_to_binary_to_text_to_binary(seed: u64) {
        let map = compile(&random_map(seed).text).expect("it cannot fail here");
        let bytes = binary::write(&map);
        let read = binary::read(&bytes).expect("it cannot fail here");
        prop_assert_eq!(binary::write(&read), bytes);
        let text = print(&read).expect("it cannot fail here");
        let again = compile(&text).expect("it cannot fail here");
        prop_assert_eq!(print(&binary::read(&binary::write(&again)).expect("it cannot fail here")).expect("it cannot fail here"), text);
    }

    #[test]
    fn a_cut_binary_is_refused_or_read(seed in 0u64..64, part in 0.0..1.0f64) {
        let bytes = binary::write(&compile(&random_map(seed).text).expect("it cannot fail here"));
        let cut = (bytes.len() as f64 * part) as usize;
        let _ = binary::read(&bytes[..cut]);
    }

    #[test]
    fn a_flipped_binary_is_refused_or_sound(seed in 0u64..64, flips in prop::collection::vec((any::<prop::sample::Index>(), 0u32..8), 1..8)) {
        let mut bytes = binary::write(&compile(&random_map(seed).text).expect("it cannot fail here"));
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Ok(map) = binary::read(&bytes) {
            prop_assert_eq!(check(&map), Ok(()));
            let _ = print(&map);
            let again = binary::read(&binary::write(&map)).expect("it cannot fail here");
            prop_assert_eq!(again, map);
        }
    }

    #[test]
    fn made_up_bytes_are_refused_or_read(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = 0x0001_0000u32.to_le_bytes().to_vec();
        bytes.extend(tail);
        let _ = binary::read(&bytes);
    }

    #[test]
    fn a_damaged_text_is_refused_or_compiles(seed in 0u64..64, at in any::<prop::sample::Index>(), with in "[ -~\n]{0,6}", cut in 0usize..12) {
        let text = random_map(seed).text;
        let at = at.index(text.len());
        let damaged = format!("{}{with}{}", &text[..at], &text[(at + cut).min(text.len())..]);
        if let Ok(map) = compile(&damaged) {
            prop_assert_eq!(check(&map), Ok(()));
            let _ = print(&map);
        }
    }
}

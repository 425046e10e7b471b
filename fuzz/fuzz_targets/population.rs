//! Fuzzes `towtank_fuzz::population`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::population(data));

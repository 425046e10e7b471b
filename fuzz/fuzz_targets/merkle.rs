//! Fuzzes `towtank_fuzz::merkle`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::merkle(data));

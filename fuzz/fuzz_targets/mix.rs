//! Fuzzes `towtank_fuzz::mix`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::mix(data));

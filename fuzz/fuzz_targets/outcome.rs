//! Fuzzes `towtank_fuzz::outcome`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::outcome(data));

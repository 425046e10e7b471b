//! Fuzzes `towtank_fuzz::past`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::past(data));

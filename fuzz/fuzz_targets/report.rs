//! Fuzzes `towtank_fuzz::report`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::report(data));

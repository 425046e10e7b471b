//! Fuzzes `towtank_fuzz::content`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::content(data));

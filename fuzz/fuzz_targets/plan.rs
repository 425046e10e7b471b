//! Fuzzes `towtank_fuzz::plan`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::plan(data));

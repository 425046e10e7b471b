//! Fuzzes `towtank_fuzz::setting`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::setting(data));

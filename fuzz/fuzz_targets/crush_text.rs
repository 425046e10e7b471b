//! Fuzzes `towtank_fuzz::crush_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::crush_text(data));

//! Fuzzes `towtank_fuzz::crush_edit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::crush_edit(data));

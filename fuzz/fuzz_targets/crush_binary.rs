//! Fuzzes `towtank_fuzz::crush_binary`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::crush_binary(data));

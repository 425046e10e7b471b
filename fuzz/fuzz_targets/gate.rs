//! Fuzzes `towtank_fuzz::gate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::gate(data));

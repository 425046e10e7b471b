//! Fuzzes `towtank_fuzz::gateway_body`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::gateway_body(data));

//! Fuzzes `towtank_fuzz::gateway_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::gateway_request(data));

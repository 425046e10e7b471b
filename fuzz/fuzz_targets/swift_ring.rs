//! Fuzzes `towtank_fuzz::swift_ring`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::swift_ring(data));

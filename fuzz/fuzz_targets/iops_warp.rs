//! Fuzzes `towtank_fuzz::benchmark` from results of one tool.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::benchmark(data));

//! Fuzzes `towtank_fuzz::ceph_map`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::ceph_map(data));

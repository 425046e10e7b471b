//! Fuzzes `towtank_fuzz::ceph_dump`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| towtank_fuzz::ceph_dump(data));

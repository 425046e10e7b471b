//! The memory of a reader does not grow with its trace. There is one test in a separate process, because the
//! peak memory of a process cannot be lowered again.
#![cfg(target_os = "linux")]

use std::io::Read;

use towtank_traces::{Format, Options, Reader};

/// Memory of a reader of plain text, with some room for the allocator.
const GROWTH_MAX_BYTES: u64 = 4 << 20;
const RECORDS: u64 = 2_000_000;

/// A line of the kernel's memory statistics of this process, in bytes.
fn account(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let found = status.lines().find_map(|each| each.strip_prefix(line)).expect("it is in every account");
    let kib: u64 = found.trim().trim_end_matches(" kB").trim().parse().expect("a number of kB");
    kib << 10
}

/// A trace that is generated line by line while it is read.
struct Endless {
    record: u64,
    line: Vec<u8>,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.line.is_empty() && self.record < RECORDS {
            let Endless { record, .. } = *self;
            self.line = format!("{},R,{},4096,{}\n", record % 100, record * 4096, record).into_bytes();
            self.record += 1;
        }
        let count = self.line.len().min(into.len());
        into[..count].copy_from_slice(&self.line[..count]);
        self.line.drain(..count);
        Ok(count)
    }
}

fn trace() -> Reader<Endless> {
    let endless = Endless { record: 0, line: Vec::new() };
    Reader::open("endless", endless, Some(Format::Alibaba), Options::default()).expect("it opens")
}

#[test]
fn memory_does_not_grow_with_the_trace() {
    let before = account("VmRSS:");
    let growth = || account("VmHWM:").saturating_sub(before);
    assert_eq!(trace().filter(Result::is_ok).count() as u64, RECORDS);
    let streamed = growth();
    assert!(streamed < GROWTH_MAX_BYTES, "it took {streamed} bytes");
    // Keeping the records exceeds the limit, so the check can fail.
    let kept: Vec<_> = trace().collect();
    assert!(kept.len() as u64 == RECORDS && growth() > 10 * GROWTH_MAX_BYTES, "it took {} bytes", growth());
}

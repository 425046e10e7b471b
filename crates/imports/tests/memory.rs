//! The memory that readers use per byte of a file, on which their size limits are based. There is one test in
//! a separate process, because the peak memory of a process cannot be lowered again.
#![cfg(target_os = "linux")]

use towtank_imports::swift::{RING_MEMORY_PER_BYTE, read_ring};
use towtank_imports::{FILE_MEMORY_PER_BYTE, File, GROUPS_MEMORY_PER_BYTE, ceph, iops, past};

/// A line of the kernel's memory statistics of this process, in bytes.
fn account(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let found = status.lines().find_map(|each| each.strip_prefix(line)).expect("it is in every account");
    let kib: u64 = found.trim().trim_end_matches(" kB").trim().parse().expect("a number of kB");
    kib << 10
}

/// By how many bytes the peak rises per byte of the file, the file itself counted once.
fn per_byte(bytes: &[u8], read: &dyn Fn(File<'_>)) -> f64 {
    let before = account("VmRSS:");
    read(File { name: "worst.json", bytes });
    let risen = account("VmHWM:").saturating_sub(before);
    1.0 + risen as f64 / bytes.len() as f64
}

fn list(front: &str, item: &str, back: &str, size: usize) -> Vec<u8> {
    let items = vec![item; size / (item.len() + 1)].join(",");
    format!("{front}{items}{back}").into_bytes()
}

#[test]
fn no_reader_takes_more_memory_than_its_limit_rests_on() {
    let ignore = |_: bool| ();
    // Smaller cases first, because a peak reached once hides lower ones.
    let groups = list(
        "[",
        r#"{"pgid":"1.0","state":"","stat_sum":{"num_bytes":0},"up":[],"acting":[]}"#,
        "]",
        24 << 20,
    );
    let found = per_byte(&groups, &|file| ignore(ceph::read_pg_dump(file).is_ok()));
    println!("groups: {found:.1} bytes a byte");
    assert!(found > 1.5 && found <= GROUPS_MEMORY_PER_BYTE as f64, "groups: {found}");
    let header = list(r#"{"part_shift":31,"replica_count":1,"devs":["#, "null", "]}", 24 << 20);
    let ring = [b"R1NG\0\x01", &(header.len() as u32).to_be_bytes()[..], &header, &[0; 4]].concat();
    drop(header);
    let found = per_byte(&ring, &|file| ignore(read_ring(file).is_ok()));
    println!("devices of a ring that do not exist: {found:.1}");
    assert!(found > 1.5 && found <= RING_MEMORY_PER_BYTE as f64, "devices of a ring: {found}");
    drop(ring);
    let words = list(r#"{"pools":[],"osds":[],"flags":["#, r#""""#, "]}", 24 << 20);
    let found = per_byte(&words, &|file| ignore(ceph::read_osd_dump(file).is_ok()));
    println!("words of no letters: {found:.1}");
    assert!(found > 4.0 && found <= FILE_MEMORY_PER_BYTE as f64, "words of no letters: {found}");
    let jobs = list(r#"{"fio version":"fio-3.33","jobs":["#, "0", "]}", 24 << 20);
    let found = per_byte(&jobs, &|file| ignore(iops::read(file).is_ok()));
    println!("digits where jobs belong: {found:.1}");
    assert!(found <= FILE_MEMORY_PER_BYTE as f64, "digits where jobs belong: {found}");
    drop(jobs);
    let points: Vec<String> = (0..(12 << 20) / 13).map(|at| format!("[{at},\"1\"]")).collect();
    let front = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"ceph_num_objects_degraded"},"values":["#;
    let points = format!("{front}{}]}}]}}}}", points.join(",")).into_bytes();
    let found = per_byte(&points, &|file| ignore(past::read(file, None).is_ok()));
    println!("points of a series: {found:.1}");
    assert!(found > 1.5 && found <= FILE_MEMORY_PER_BYTE as f64, "points of a series: {found}");
}

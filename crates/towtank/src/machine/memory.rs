//! The memory that a process may still take: the least of the free memory of the system, the remainder of its
//! control groups, and the remainder of `ulimit -v`.
//!
//! All of it is read from files (`/proc`, `/sys/fs/cgroup`), so that a test can provide others. On systems
//! other than Linux nothing is known, and nothing is refused. Left out: swap, which a simulation must not
//! need, and limits per user (`ulimit -d`, quotas of systemd that are not control groups).

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use towtank_units::Bytes;

/// The available memory and the limit that determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Available bytes.
    pub left: Bytes,
    /// The tightest limit.
    pub limit: Limit,
}

/// A limit of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The memory that can be used without swapping.
    Free,
    /// The limit of a control group, as set by containers and batch systems.
    ControlGroup,
    /// `ulimit -v`.
    AddressSpace,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = super::rounded(self.left);
        match self.limit {
            Limit::Free => write!(f, "{left} are free"),
            Limit::ControlGroup => write!(f, "the control group leaves {left}"),
            Limit::AddressSpace => write!(f, "`ulimit -v` leaves {left}"),
        }
    }
}

impl Memory {
    /// The memory of this process; `None` where the system does not report it.
    #[must_use]
    pub fn here() -> Option<Memory> {
        Memory::under(Path::new("/"))
    }

    /// The same with `proc` and `sys` below `root`.
    fn under(root: &Path) -> Option<Memory> {
        let read = |path: &str| fs::read_to_string(root.join(path)).ok();
        let free = read("proc/meminfo").and_then(|text| kibibytes(&text, "MemAvailable:"));
        let address_space = read("proc/self/limits").zip(read("proc/self/status"));
        let address_space = address_space.and_then(|(limits, status)| address_space_left(&limits, &status));
        let groups = read("proc/self/cgroup").unwrap_or_default();
        let found = [
            (free, Limit::Free),
            (group_left(&groups, &root.join("sys/fs/cgroup")), Limit::ControlGroup),
            (address_space, Limit::AddressSpace),
        ];
        let known = found.into_iter().filter_map(|(left, limit)| Some(Memory { left: left?, limit }));
        known.min_by_key(|memory| memory.left)
    }
}

/// Memory needed per byte of a file that is read: 5.5 GB for 320 MB of JSON, the worst that was measured.
const BYTES_A_BYTE: u64 = 18;

/// Files up to this size are always read.
const SMALL: Bytes = Bytes::from_mib(8);

/// Why a file of this size is not read, if it would not fit into memory.
#[must_use]
pub fn refusal_of_file(size: Bytes, memory: Option<Memory>) -> Option<String> {
    let memory = memory.filter(|_| size > SMALL)?;
    let needed = Bytes::new(size.get().saturating_mul(BYTES_A_BYTE));
    (needed > memory.left).then(|| {
        let (size, needed) = (super::rounded(size), super::rounded(needed));
        format!("its size is {size}, and reading it takes up to {needed} of memory, but {memory}")
    })
}

/// The value of a line such as `VmSize:  1234 kB`.
fn kibibytes(text: &str, name: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let count: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    count.checked_mul(1024).map(Bytes::new)
}

/// The soft limit of the address space, less the mapped part.
fn address_space_left(limits: &str, status: &str) -> Option<Bytes> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Bytes::new(limit.saturating_sub(kibibytes(status, "VmSize:")?.get())))
}

/// The remainder of the tightest control group among those of this process and their ancestors.
///
/// In a container the process may be given a path that is not below the mounted directory of the groups,
/// because its own group is mounted at the top. So missing directories are skipped, up to the top, which is
/// then the container's group.
fn group_left(groups: &str, mounted: &Path) -> Option<Bytes> {
    let lines = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let all = lines.flat_map(|(controllers, path)| {
        let tops: Vec<(PathBuf, Files)> = if controllers.is_empty() {
            vec![(mounted.to_owned(), SECOND), (mounted.join("unified"), SECOND)]
        } else if controllers.split(',').any(|controller| controller == "memory") {
            vec![(mounted.join("memory"), FIRST)]
        } else {
            vec![]
        };
        tops.into_iter().flat_map(move |(top, files)| {
            let path = path.trim_start_matches('/').to_owned();
            let below: Vec<PathBuf> = Path::new(&path).ancestors().map(|part| top.join(part)).collect();
            below.into_iter().filter_map(move |dir| files.left_in(&dir))
        })
    });
    all.min()
}

/// The file names of a version of control groups.
#[derive(Clone, Copy)]
struct Files {
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: inactive file pages, which the system reclaims first.
    idle_files: &'static str,
}

const FIRST: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    idle_files: "total_inactive_file ",
};
const SECOND: Files = Files { limit: "memory.max", used: "memory.current", idle_files: "inactive_file " };

impl Files {
    /// The remainder of the group in this directory; `None` where it has no limit (`max`).
    fn left_in(self, dir: &Path) -> Option<Bytes> {
        let read = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let (limit, used) = (number(self.limit)?, number(self.used)?);
        let stat = read("memory.stat").unwrap_or_default();
        let idle = stat.lines().find_map(|line| line.strip_prefix(self.idle_files)?.trim().parse().ok());
        Some(Bytes::new(limit.saturating_sub(used.saturating_sub(idle.unwrap_or(0)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with the files that a test provides.
    struct Planted(PathBuf);

    impl Planted {
        fn new(name: &str, files: &[(&str, &str)]) -> Planted {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp/memory").join(name);
            let _ = fs::remove_dir_all(&root);
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Planted(root)
        }

        fn memory(&self) -> Option<(u64, Limit)> {
            Memory::under(&self.0).map(|memory| (memory.left.get(), memory.limit))
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:  8 kB\nMemAvailable:       7 kB\n");
    const STATUS: (&str, &str) = ("proc/self/status", "Name:\tx\nVmSize:\t       2 kB\n");

    #[test]
    fn the_tightest_limit_counts() {
        let unlimited = ("proc/self/limits", "Max address space      unlimited   unlimited   bytes\n");
        let limited = ("proc/self/limits", "Max address space      5120        unlimited   bytes\n");
        assert_eq!(Planted::new("free", &[MEMINFO]).memory(), Some((7 * 1024, Limit::Free)));
        let all = [MEMINFO, STATUS, unlimited];
        assert_eq!(Planted::new("unlimited", &all).memory(), Some((7 * 1024, Limit::Free)));
        let all = [MEMINFO, STATUS, limited];
        assert_eq!(Planted::new("ulimit", &all).memory(), Some((3 * 1024, Limit::AddressSpace)));
        assert_eq!(Planted::new("nothing", &[]).memory(), None);
    }

    #[test]
    fn a_file_that_does_not_fit_is_not_read() {
        let left = |mib: u64| Some(Memory { left: Bytes::from_mib(mib), limit: Limit::Free });
        assert_eq!(refusal_of_file(Bytes::from_mib(320), left(6_000)), None);
        assert_eq!(refusal_of_file(Bytes::from_mib(320), None), None);
        assert_eq!(refusal_of_file(Bytes::from_mib(8), left(1)), None);
        insta::assert_snapshot!(refusal_of_file(Bytes::from_mib(320), left(5_000)).unwrap(), @"its size is 320 MiB, and reading it takes up to 5.625 GiB of memory, but 4.883 GiB are free");
    }

    #[test]
    fn a_control_group_counts_with_those_above_it() {
        let group = ("proc/self/cgroup", "4:cpu,memory:/jobs/one\n0::/user\n");
        let first = |own: &'static str, above: &'static str| {
            [
                MEMINFO,
                group,
                ("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", own),
                ("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "1000\n"),
                ("sys/fs/cgroup/memory/jobs/one/memory.stat", "total_inactive_file 400\n"),
                ("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", above),
                ("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "2000\n"),
            ]
        };
        let found = Planted::new("first", &first("3000\n", "9223372036854771712\n")).memory();
        assert_eq!(found, Some((2400, Limit::ControlGroup)));
        let found = Planted::new("above", &first("3000\n", "2100\n")).memory();
        assert_eq!(found, Some((100, Limit::ControlGroup)));

        // A container sees its own group at the top, and `max` means no limit.
        let second = [
            MEMINFO,
            ("proc/self/cgroup", "0::/outside/of/the/container\n"),
            ("sys/fs/cgroup/memory.max", "5000\n"),
            ("sys/fs/cgroup/memory.current", "5100\n"),
        ];
        assert_eq!(Planted::new("second", &second).memory(), Some((0, Limit::ControlGroup)));
        let endless = [MEMINFO, second[1], ("sys/fs/cgroup/memory.max", "max\n"), second[3]];
        assert_eq!(Planted::new("endless", &endless).memory(), Some((7 * 1024, Limit::Free)));
    }
}

//! The free space on a device's file system, and when the device counts as full.
//!
//! A full device takes no new data, so that space is left for what it must still write (logs, removals,
//! merged tables): an embedded tree that reaches the end of its disk stops for good. Ceph's `full_ratio` is
//! the same safeguard.

use std::path::Path;

/// The space on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that can still be written.
    pub free_bytes: u64,
    /// Bytes in total.
    pub total_bytes: u64,
}

/// The largest reserve, however large the file system is.
const RESERVE_MOST: u64 = 4 << 30;

/// The least reserve: about one table that is flushed while the journal grows.
const RESERVE_LEAST: u64 = 64 << 20;

impl Space {
    /// The space of a file system that is never full.
    pub const ENDLESS: Space = Space { free_bytes: u64::MAX, total_bytes: u64::MAX };

    /// The space on the file system of a directory.
    ///
    /// # Errors
    /// When the system does not report it.
    #[cfg(unix)]
    pub fn of(directory: &Path) -> std::io::Result<Space> {
        let stats = nix::sys::statvfs::statvfs(directory)?;
        let bytes = |blocks: u64| blocks.saturating_mul(stats.fragment_size());
        Ok(Space { free_bytes: bytes(stats.blocks_available()), total_bytes: bytes(stats.blocks()) })
    }

    /// The space on the file system of a directory, which is unknown on this platform.
    ///
    /// # Errors
    /// Never.
    #[cfg(not(unix))]
    pub fn of(_: &Path) -> std::io::Result<Space> {
        Ok(Space::ENDLESS)
    }

    /// The reserve: a twentieth of the file system, at least 64 MiB and at most 4 GiB.
    #[must_use]
    pub(crate) fn reserve_bytes(self) -> u64 {
        (self.total_bytes / 20).clamp(RESERVE_LEAST, RESERVE_MOST)
    }

    /// The bytes used.
    #[must_use]
    pub(crate) fn used_bytes(self) -> u64 {
        self.total_bytes.saturating_sub(self.free_bytes)
    }

    /// Whether the device counts as full. A device that was full takes data again only when an eighth more
    /// than the reserve is free, so that its state does not change with each object.
    #[must_use]
    pub(crate) fn is_full(self, was_full: bool) -> bool {
        let reserve = self.reserve_bytes();
        self.free_bytes < if was_full { reserve + reserve / 8 } else { reserve }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_full_before_its_file_system_is() {
        let of = |free_mib: u64, total_mib: u64| Space {
            free_bytes: free_mib << 20,
            total_bytes: total_mib << 20,
        };
        assert_eq!(of(0, 256).reserve_bytes(), 64 << 20, "a small one keeps 64 MiB");
        assert_eq!(of(0, 10_240).reserve_bytes(), 512 << 20, "a twentieth");
        assert_eq!(of(0, 1 << 20).reserve_bytes(), 4 << 30, "a large one keeps 4 GiB");
        assert!(of(63, 256).is_full(false) && !of(64, 256).is_full(false));
        assert!(
            of(70, 256).is_full(true) && !of(72, 256).is_full(true),
            "it was full, and has a little more"
        );
        assert!(!Space::ENDLESS.is_full(true));
    }

    #[test]
    fn the_system_tells_the_room() {
        let space = Space::of(&std::env::temp_dir()).expect("a directory lies on a file system");
        assert!(space.total_bytes > 0 && space.free_bytes <= space.total_bytes, "{space:?}");
    }
}

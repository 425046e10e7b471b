//! How much room is left on the file system of a device, and when it counts as full.
//!
//! A device that is full takes no new data, so that what it must still write (logs, removals, tables that are
//! merged) has room: an embedded tree that meets the end of its disk stops for good. Ceph's `full_ratio` is
//! the same guard.

use std::path::Path;

/// The room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that can still be written.
    pub free_bytes: u64,
    /// Bytes in all.
    pub total_bytes: u64,
}

/// The most that is kept free, however large the file system is.
const RESERVE_MOST: u64 = 4 << 30;

/// What is kept free at least: about one table that is written out while the journal grows.
const RESERVE_LEAST: u64 = 64 << 20;

impl Space {
    /// Of a file system that is never full.
    pub const ENDLESS: Space = Space { free_bytes: u64::MAX, total_bytes: u64::MAX };

    /// The room where a directory lies.
    ///
    /// # Errors
    /// When the system does not tell.
    #[cfg(unix)]
    pub fn of(directory: &Path) -> std::io::Result<Space> {
        let told = nix::sys::statvfs::statvfs(directory)?;
        let bytes = |blocks: u64| blocks.saturating_mul(told.fragment_size());
        Ok(Space { free_bytes: bytes(told.blocks_available()), total_bytes: bytes(told.blocks()) })
    }

    /// The room where a directory lies, which is not known here.
    ///
    /// # Errors
    /// Never.
    #[cfg(not(unix))]
    pub fn of(_: &Path) -> std::io::Result<Space> {
        Ok(Space::ENDLESS)
    }

    /// What is kept free: a twentieth of the file system, and at least 64 MiB; but no more than 4 GiB.
    #[must_use]
    pub fn reserve_bytes(self) -> u64 {
        (self.total_bytes / 20).clamp(RESERVE_LEAST, RESERVE_MOST)
    }

    /// What is used of it.
    #[must_use]
    pub fn used_bytes(self) -> u64 {
        self.total_bytes.saturating_sub(self.free_bytes)
    }

    /// Whether the device counts as full. One that was full takes data again when an eighth more than the
    /// reserve is free, so that it does not change its mind with each object.
    #[must_use]
    pub fn is_full(self, was_full: bool) -> bool {
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

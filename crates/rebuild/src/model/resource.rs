//! What of a server units pass: its card each way, and its disks.

/// What of a server units pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    /// Its card, sending.
    Out,
    /// Its card, receiving.
    Inward,
    /// The disk at a place.
    Disk(usize),
}

impl Resource {
    pub(super) fn of(number: u16) -> Resource {
        match number {
            0 => Resource::Out,
            1 => Resource::Inward,
            disk => Resource::Disk(usize::from(disk) - 2),
        }
    }

    pub(super) fn number(self) -> u16 {
        match self {
            Resource::Out => 0,
            Resource::Inward => 1,
            Resource::Disk(place) => {
                debug_assert!(place < usize::from(u16::MAX) - 1, "the disk at {place} has no number");
                place as u16 + 2
            }
        }
    }
}

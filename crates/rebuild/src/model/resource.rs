//! The resources of a server that units pass: its NIC in each direction, and its disks.

/// A resource of a server that units pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    /// The NIC, sending.
    Out,
    /// The NIC, receiving.
    Inward,
    /// The disk with this index.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_resources() {
        assert_eq!([Resource::Out, Resource::Inward, Resource::Disk(0)].map(Resource::number), [0, 1, 2]);
        for number in 0..500 {
            assert_eq!(Resource::of(number).number(), number, "resource {number}");
        }
        assert_eq!(Resource::of(u16::MAX), Resource::Disk(usize::from(u16::MAX) - 2));
    }

    #[test]
    #[should_panic(expected = "the disk at 65534 has no number")]
    fn a_disk_too_many_is_noticed() {
        let _ = Resource::Disk(usize::from(u16::MAX) - 1).number();
    }
}

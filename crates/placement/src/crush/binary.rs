//! The binary map, as Ceph's monitors store it and crushtool writes it: little endian, with a magic number as
//! its only header.
//!
//! Writing gives the bytes that crushtool 16.2.15 gives for the same map. Reading accepts maps of every
//! release (older ones end earlier, newer ones append two tunables) and treats its input as hostile: a count
//! is compared with the remaining bytes before anything is allocated, and whatever would break a mapping is
//! refused with its offset.

mod read;
mod write;

pub use read::{BinaryError, read};
pub use write::write;

/// The first word of a map.
const MAGIC: u32 = 0x0001_0000;

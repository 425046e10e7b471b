//! The binary map, as Ceph's monitors store it and crushtool writes it: little endian, no header but a magic
//! number.
//!
//! Writing gives the bytes that crushtool 16.2.15 gives for the same map. Reading takes maps of every release
//! (older ones end early, newer ones append two words) and treats its input as hostile: a count is held
//! against the bytes that are left before anything is allocated, and whatever a mapping would trip over is
//! refused by its offset.

mod read;
mod write;

pub use read::{BinaryError, read};
pub use write::write;

/// The first word of a map.
const MAGIC: u32 = 0x0001_0000;

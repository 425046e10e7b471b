//! A sketch of the objects of a group, from which two replicas learn exactly which objects differ.
//!
//! A sketch is a list of cells, and each object is in a few of them. The cells of two replicas are
//! subtracted, so that equal objects cancel. A cell in which one differing object is left gives its hash, its
//! id and its versions; the object is then subtracted from its other cells, which may leave a single object
//! in some of those, and so on. This needs about 1.35 to 1.72 cells per differing object, 32 bytes each,
//! however many objects are equal. It is a rateless invertible Bloom lookup table (Yang, Gilad, Alizadeh,
//! SIGCOMM 2024), of which any prefix can be sent.
//!
//! In that paper a changed object is two items, its old state and its new one. Here cells are sums modulo
//! 2^61 - 1 of a weight, derived from (id, version), and of weight times (hash, id). An object whose version
//! differs is in the same cells on both sides and leaves W₁ - W₂ and (W₁ - W₂) · key in them: one unknown to
//! find, not two.
//!
//! A sketch of m cells costs about 2 ln m additions per write and finds about 0.7 m objects. With more
//! differences it reports so ([`Decoder::outcome`]), and the trees are compared instead. Two sketches merge
//! by addition, as groups do; a sketch cannot be split without its objects, but a
//! [`DividedSketch`](crate::DividedSketch) can.

mod cell;
mod decoder;
mod field;

pub use cell::Cell;
pub use decoder::{Decoder, Differing, Held, Outcome};

use crate::codec::{DecodeError, Kind, Reader, Writer};
use crate::marks::Marks;
use crate::{ObjectId, Version};
use cell::Key;

/// The first cells of the sketch of a set of objects.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Sketch {
    cells: Vec<Cell>,
    /// Cells that changed since the last image or record.
    unsaved: Marks,
}

impl Sketch {
    /// The most cells that a sketch may have: 128 MiB.
    pub(crate) const CELLS_MAX: usize = 1 << 22;

    /// The sketch of no objects, with this many cells.
    ///
    /// # Panics
    ///
    /// If `cells` exceeds [`Sketch::CELLS_MAX`].
    #[must_use]
    pub fn new(cells: usize) -> Sketch {
        assert!(cells <= Sketch::CELLS_MAX, "{cells} cells, at most {}", Sketch::CELLS_MAX);
        Sketch { cells: vec![Cell::default(); cells], unsaved: Marks::new(cells) }
    }

    /// Records that an object changed from one version to another; `None` means that the object does not
    /// exist.
    pub fn update(&mut self, hash: u32, id: ObjectId, old: Option<Version>, new: Option<Version>) {
        let key = Key::new(hash, id);
        let change = Cell::of_change(key, id, old, new);
        let mut mapping = key.mapping();
        while let Some(cell) = self.cells.get_mut(mapping.at()) {
            cell.add(&change);
            self.unsaved.set(mapping.at());
            mapping.advance();
        }
    }

    /// The sketch with these cells, all of them marked as unsaved.
    fn of_cells(cells: Vec<Cell>) -> Sketch {
        let mut unsaved = Marks::new(cells.len());
        unsaved.set_all(cells.len());
        Sketch { cells, unsaved }
    }

    /// None if there is no such cell.
    pub(crate) fn set_cell(&mut self, at: usize, cell: Cell) -> Option<()> {
        *self.cells.get_mut(at)? = cell;
        Some(())
    }

    pub(crate) fn take_unsaved(&mut self) -> Vec<u32> {
        self.unsaved.take()
    }

    /// Its cells. Any prefix of them is also a sketch.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The sketch of the union of two disjoint sets of objects, with as many cells as the shorter one.
    #[must_use]
    pub fn merge(&self, other: &Sketch) -> Sketch {
        let sum = |(mut ours, theirs): (Cell, &Cell)| {
            ours.add(theirs);
            ours
        };
        Sketch::of_cells(self.cells.iter().copied().zip(&other.cells).map(sum).collect())
    }

    /// The sketch as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(Kind::Sketch, Cell::BYTES * self.cells.len());
        write_cells(&mut writer, &self.cells);
        writer.finish()
    }

    /// Decodes a sketch from [`Sketch::encode`]'s bytes.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid encoding of a sketch.
    pub fn decode(bytes: &[u8]) -> Result<Sketch, DecodeError> {
        Ok(Sketch::of_cells(read_cells(Reader::new(Kind::Sketch, bytes)?)?))
    }

    /// The memory in bytes of a sketch with this many cells.
    #[must_use]
    pub fn memory_bytes(cells: u64) -> u64 {
        cells * Cell::BYTES as u64 + 8 * cells.div_ceil(64) + size_of::<Sketch>() as u64
    }
}

/// Sketches are equal if their cells are; which cells are saved does not matter.
impl PartialEq for Sketch {
    fn eq(&self, other: &Sketch) -> bool {
        self.cells == other.cells
    }
}

impl Eq for Sketch {}

pub(crate) fn write_cells(writer: &mut Writer, cells: &[Cell]) {
    writer.append(|bytes| cells.iter().for_each(|cell| bytes.extend_from_slice(&cell.to_bytes())));
}

/// Reads all remaining bytes as cells.
pub(crate) fn read_cells(mut reader: Reader<'_>) -> Result<Vec<Cell>, DecodeError> {
    let count = reader.rest() / Cell::BYTES;
    if count > Sketch::CELLS_MAX {
        return Err(DecodeError::Impossible { what: "the number of cells" });
    }
    let impossible = DecodeError::Impossible { what: "a cell" };
    let cell = |bytes: &[u8]| bytes.try_into().ok().and_then(Cell::from_bytes).ok_or(impossible);
    let cells: Result<Vec<Cell>, _> =
        reader.raw(count * Cell::BYTES)?.chunks_exact(Cell::BYTES).map(cell).collect();
    let cells = cells?;
    reader.finish()?;
    Ok(cells)
}

impl From<Sketch> for Vec<u8> {
    fn from(it: Sketch) -> Vec<u8> {
        it.encode()
    }
}

impl TryFrom<Vec<u8>> for Sketch {
    type Error = DecodeError;

    fn try_from(bytes: Vec<u8>) -> Result<Sketch, DecodeError> {
        Sketch::decode(&bytes)
    }
}

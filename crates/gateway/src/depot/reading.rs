//! Reads of objects: what a reader has begun, it can end, whatever becomes of the object meanwhile.

use std::ops::Range;

use bytes::Bytes;

use super::{Depot, absent};
use crate::attributes::{Attributes, Form};
use crate::fault::{Code, Fault};
use crate::manifest::{Manifest, Slice};
use crate::names::{Place, piece};
use crate::shelf::Shelf;
use crate::source::Source;

/// An object that is being read. As long as it is, its pieces stay.
pub struct Opened<'d, S: Shelf> {
    depot: &'d Depot<S>,
    /// What is known of it.
    pub attributes: Attributes,
    /// The whole of it, where it has no pieces.
    data: Bytes,
    manifest: Manifest,
}

impl<S: Shelf> Drop for Opened<'_, S> {
    fn drop(&mut self) {
        for segment in self.depot.leases.end(&self.manifest.segments) {
            self.depot.remove_pieces(&segment, segment.pieces());
        }
    }
}

impl<S: Shelf> Depot<S> {
    /// Begins to read an object.
    ///
    /// # Errors
    /// When there is none, or the store does not answer.
    pub fn open_object(&self, place: &Place) -> Result<Opened<'_, S>, Fault> {
        self.check_bucket(&place.bucket)?;
        let name = place.object();
        // A writer that comes between the manifest and the lease would remove the pieces.
        let _lock = self.keys.read(&name);
        let (labels, data) = self.shelf.get(&name)?.ok_or_else(|| absent(place))?;
        let attributes = Attributes::decode(&labels)?;
        let (data, manifest) = match attributes.form {
            Form::Whole => (Bytes::from(data), Manifest::default()),
            Form::Pieces => (Bytes::new(), Manifest::decode(&data)?),
        };
        let length = if attributes.form == Form::Whole { data.len() as u64 } else { manifest.length() };
        if length != attributes.length {
            return Err(Code::InternalError.because("the object has another length than was written"));
        }
        self.leases.begin(&manifest.segments);
        Ok(Opened { depot: self, attributes, data, manifest })
    }
}

impl<'d, S: Shelf> Opened<'d, S> {
    /// Bytes of each part, of an object that was written in parts; none of another.
    #[must_use]
    pub fn parts(&self) -> Option<Vec<u64>> {
        let is_of_parts = self.attributes.upload.is_some();
        is_of_parts.then(|| self.manifest.segments.iter().map(|segment| segment.length).collect())
    }

    /// The bytes of a range that lies in the object.
    #[must_use]
    pub fn reader(self, range: Range<u64>) -> Reader<'d, S> {
        let slices: Vec<Slice> = self.manifest.slices(range.start, range.end).collect();
        let run = match self.attributes.form {
            Form::Whole => self.data.slice(range.start as usize..range.end as usize),
            Form::Pieces => Bytes::new(),
        };
        Reader { opened: self, run, slices: slices.into_iter() }
    }
}

/// Bytes of an object, a piece at a time.
pub struct Reader<'d, S: Shelf> {
    opened: Opened<'d, S>,
    run: Bytes,
    slices: std::vec::IntoIter<Slice>,
}

impl<S: Shelf> Source for Reader<'_, S> {
    fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if !self.run.is_empty() {
            return Ok(Some(std::mem::take(&mut self.run)));
        }
        let Some(slice) = self.slices.next() else { return Ok(None) };
        let found = self.opened.depot.shelf.get(&piece(&slice.id, slice.piece))?;
        let (first, end) = (slice.at as usize, (slice.at + slice.length) as usize);
        let data = found.map(|(_, data)| Bytes::from(data)).filter(|data| data.len() >= end);
        let data = data.ok_or_else(|| Code::InternalError.because("a piece of the object is not there"))?;
        Ok(Some(data.slice(first..end)))
    }

    fn trailer(&self, _: &str) -> Option<&str> {
        None
    }
}

//! Reads of objects: a reader can finish, whatever happens to the object meanwhile.

use std::ops::Range;

use bytes::Bytes;

use super::uploads::PARTS_MAX;
use super::{Depot, absent};
use crate::attributes::{Attributes, Form};
use crate::fault::{Code, Fault};
use crate::manifest::Manifest;
use crate::names::{Place, piece};
use crate::shelf::Shelf;
use crate::source::Source;

/// An object being read. Its pieces stay as long as this value exists.
pub struct Opened<'d, S: Shelf> {
    depot: &'d Depot<S>,
    /// The attributes of the object.
    pub attributes: Attributes,
    /// All its bytes, if it has no pieces.
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
    /// Opens an object for reading.
    ///
    /// # Errors
    /// If it does not exist, or the store does not answer.
    pub(crate) fn open_object(&self, place: &Place) -> Result<Opened<'_, S>, Fault> {
        self.check_bucket(&place.bucket)?;
        let name = place.object();
        // Without the lock, a writer between manifest and lease could remove the pieces.
        let _lock = self.keys.read(&name);
        let (labels, data) = self.shelf.get(&name)?.ok_or_else(|| absent(place))?;
        let attributes = Attributes::decode(&labels)?;
        let (data, manifest) = match attributes.form {
            Form::Whole => (Bytes::from(data), Manifest::default()),
            Form::Pieces => (Bytes::new(), Manifest::decode(&data)?),
        };
        let length = if attributes.form == Form::Whole { data.len() as u64 } else { manifest.length() };
        if length != attributes.length {
            return Err(Code::InternalError.because("the object's length is not what was written"));
        }
        self.leases.begin(&manifest.segments);
        Ok(Opened { depot: self, attributes, data, manifest })
    }
}

impl<'d, S: Shelf> Opened<'d, S> {
    /// The lengths of the parts of an object that was uploaded in parts; none for other objects.
    ///
    /// The manifest has no segment for an empty part. Only the last part may be that small, and the object's
    /// ETag ends with the number of parts.
    #[must_use]
    pub fn parts(&self) -> Option<Vec<u64>> {
        self.attributes.upload.as_ref()?;
        let count = self.attributes.etag.rsplit_once('-').and_then(|(_, count)| count.parse().ok());
        let mut lengths: Vec<u64> = self.manifest.segments.iter().map(|segment| segment.length).collect();
        lengths.resize(lengths.len().max(count.unwrap_or(0).min(PARTS_MAX as usize)), 0);
        Some(lengths)
    }

    /// A reader of a range, which must lie within the object.
    #[must_use]
    pub(crate) fn reader(self, range: Range<u64>) -> Reader<'d, S> {
        let run = match self.attributes.form {
            Form::Whole => self.data.slice(range.start as usize..range.end as usize),
            Form::Pieces => Bytes::new(),
        };
        Reader { opened: self, run, left: range }
    }
}

/// The bytes of an object, one piece at a time.
pub struct Reader<'d, S: Shelf> {
    opened: Opened<'d, S>,
    run: Bytes,
    /// The range that has not been read, if the object has pieces. An object of 5 TiB has 655,360 of them.
    left: Range<u64>,
}

impl<S: Shelf> Source for Reader<'_, S> {
    fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if !self.run.is_empty() {
            return Ok(Some(std::mem::take(&mut self.run)));
        }
        let slice = self.opened.manifest.slices(self.left.start, self.left.end).next();
        let Some(slice) = slice else { return Ok(None) };
        self.left.start += slice.length;
        let found = self.opened.depot.shelf.get(&piece(&slice.id, slice.piece))?;
        let (first, end) = (slice.at as usize, (slice.at + slice.length) as usize);
        let data = found.map(|(_, data)| Bytes::from(data)).filter(|data| data.len() >= end);
        let data = data.ok_or_else(|| Code::InternalError.because("a piece of the object is missing"))?;
        Ok(Some(data.slice(first..end)))
    }

    fn trailer(&self, _: &str) -> Option<&str> {
        None
    }
}

//! Buckets and objects of S3, stored as objects of the store.
//!
//! A small object is one object of the store. A larger one is split into pieces, which are written first;
//! then its manifest is set under the object's name, in one write of the store, so that readers see either
//! the old object or the new one. Pieces of the old object are removed afterwards, once nobody reads them.
//! [`Depot::clean`] finds what a crash leaves behind.
//!
//! Only one depot may work on a cluster at a time: buckets, locks and readers are known only to it.

mod cleaning;
mod reading;
mod uploads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use reading::Opened;
pub(crate) use uploads::Record;
pub use uploads::{After, Chosen, Part, Promise, Upload, UploadsPage};

use crate::attributes::{Attributes, Form, Labels, ReportedChecksum};
use crate::dates::Moment;
use crate::fault::{Code, Fault};
use crate::leases::Leases;
use crate::listing::{Keys, Listed, Question, list};
use crate::manifest::{Manifest, PIECE_BYTES, Segment};
use crate::names::{BUCKETS, OBJECTS, Place, UPLOADS, check_bucket, piece};
use crate::payload::{Digests, Payload};
use crate::shelf::{Shelf, Walk};
use crate::signature::hex;

/// The number of locks for keys, and of those for uploads.
const LOCKS: usize = 256;

/// The least number of bytes of each part of an upload except the last.
const PART_MIN: u64 = 5 << 20;

/// Locks, each shared by the names with the same hash.
struct Locks(Vec<RwLock<()>>);

impl Locks {
    fn new() -> Locks {
        Locks((0..LOCKS).map(|_| RwLock::new(())).collect())
    }

    fn of(&self, name: &str) -> &RwLock<()> {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        &self.0[(hash % LOCKS as u64) as usize]
    }

    fn read(&self, name: &str) -> RwLockReadGuard<'_, ()> {
        self.of(name).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, name: &str) -> RwLockWriteGuard<'_, ()> {
        self.of(name).write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Buckets by name, with their creation times.
type Buckets = BTreeMap<String, Moment>;

/// The buckets, objects and uploads of S3 in a store.
pub struct Depot<S> {
    shelf: S,
    buckets: RwLock<Buckets>,
    keys: Locks,
    uploads: Locks,
    leases: Leases,
    /// The prefix of all ids that this run assigns.
    run: String,
    given: AtomicU64,
    piece: u64,
    part_min: u64,
    /// Uploads that became objects, but whose records could not be removed completely.
    ended: Mutex<BTreeSet<String>>,
}

/// A condition on the object that exists before a write.
pub type Condition<'c> = &'c dyn Fn(Option<&Attributes>) -> Result<(), Fault>;

impl<S: Shelf> Depot<S> {
    /// Opens the depot in a store. `run` must be a word that no earlier run used.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn open(shelf: S, run: &str) -> Result<Depot<S>, Fault> {
        Depot::with_sizes(shelf, run, PIECE_BYTES, PART_MIN)
    }

    /// Like [`Depot::open`], with other sizes of pieces and least parts.
    pub(crate) fn with_sizes(shelf: S, run: &str, piece: u64, part_min: u64) -> Result<Depot<S>, Fault> {
        let mut buckets = Buckets::new();
        {
            let mut walk = shelf.walk(BUCKETS, BUCKETS)?;
            while let Some((name, labels)) = walk.next()? {
                let bucket = name.strip_prefix(BUCKETS).unwrap_or_default().to_owned();
                let made = labels.get("made").and_then(|text| text.parse().ok()).unwrap_or_default();
                buckets.insert(bucket, Moment(made));
            }
        }
        let depot = Depot {
            shelf,
            buckets: RwLock::new(buckets),
            keys: Locks::new(),
            uploads: Locks::new(),
            leases: Leases::default(),
            run: run.to_owned(),
            given: AtomicU64::new(0),
            piece,
            part_min,
            ended: Mutex::default(),
        };
        depot.end_uploads()?;
        Ok(depot)
    }

    fn known(&self) -> RwLockReadGuard<'_, Buckets> {
        self.buckets.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// All buckets, in order.
    #[must_use]
    pub fn buckets(&self) -> Vec<(String, Moment)> {
        self.known().iter().map(|(name, made)| (name.clone(), *made)).collect()
    }

    /// Checks that a bucket exists.
    ///
    /// # Errors
    /// If it does not exist.
    pub(crate) fn check_bucket(&self, bucket: &str) -> Result<(), Fault> {
        in_bucket(&self.known(), bucket)
    }

    /// Creates a bucket.
    ///
    /// # Errors
    /// If it already exists, its name is not allowed, or the store does not answer.
    pub(crate) fn make_bucket(&self, bucket: &str, now: Moment) -> Result<(), Fault> {
        check_bucket(bucket)?;
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        if buckets.contains_key(bucket) {
            return Err(
                Code::BucketAlreadyOwnedByYou.because(format!("the bucket `{bucket}` already exists"))
            );
        }
        let labels = [("made".to_owned(), now.0.to_string())].into();
        self.shelf.put(&format!("{BUCKETS}{bucket}"), &labels, &[])?;
        buckets.insert(bucket.to_owned(), now);
        Ok(())
    }

    /// Removes a bucket that has no objects and no uploads in progress.
    ///
    /// # Errors
    /// If it does not exist, is not empty, or the store does not answer.
    pub(crate) fn remove_bucket(&self, bucket: &str) -> Result<(), Fault> {
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        in_bucket(&buckets, bucket)?;
        for (prefix, what) in [(OBJECTS, "objects"), (UPLOADS, "uploads in progress")] {
            let prefix = format!("{prefix}{bucket}/");
            if self.shelf.walk(&prefix, &prefix)?.next()?.is_some() {
                return Err(Code::BucketNotEmpty.because(format!("the bucket still has {what}")));
            }
        }
        self.shelf.remove(&format!("{BUCKETS}{bucket}"))?;
        buckets.remove(bucket);
        Ok(())
    }

    /// The attributes of an object, without its data.
    ///
    /// # Errors
    /// If it does not exist, or the store does not answer.
    pub(crate) fn look(&self, place: &Place) -> Result<Attributes, Fault> {
        self.check_bucket(&place.bucket)?;
        self.look_at(place)?.ok_or_else(|| absent(place))
    }

    fn look_at(&self, place: &Place) -> Result<Option<Attributes>, Fault> {
        self.shelf.head(&place.object())?.map(|labels| Attributes::decode(&labels)).transpose()
    }

    /// A word that no other call returns, in this run or another.
    fn new_id(&self) -> String {
        format!("{}-{:08x}", self.run, self.given.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes an object. The condition is checked when all data have arrived.
    ///
    /// # Errors
    /// If the body does not match its request, the condition does not hold, or the store does not answer.
    pub fn put(
        &self,
        place: &Place,
        labels: Labels,
        mut payload: Payload<'_>,
        condition: Condition<'_>,
        now: Moment,
    ) -> Result<Attributes, Fault> {
        self.check_bucket(&place.bucket)?;
        let length = payload.length();
        let about = |digests: &Digests, form| Attributes {
            labels,
            length,
            etag: hex(&digests.md5),
            modified: now,
            form,
            checksum: digests.checksum.as_ref().map(ReportedChecksum::whole),
            upload: None,
        };
        if length <= self.piece {
            let data = payload.piece(self.piece)?;
            let attributes = about(&payload.end()?, Form::Whole);
            self.commit(place, &attributes, &data, &[], condition)?;
            return Ok(attributes);
        }
        let (segment, digests) = self.write_segment(payload)?;
        let attributes = about(&digests, Form::Pieces);
        let manifest = Manifest { segments: vec![segment] };
        self.commit(place, &attributes, &manifest.encode(), &manifest.segments, condition)?;
        Ok(attributes)
    }

    /// Writes the pieces of a body, and removes them again if the body does not match its request.
    fn write_segment(&self, mut payload: Payload<'_>) -> Result<(Segment, Digests), Fault> {
        let segment = Segment { id: self.new_id(), length: payload.length(), piece: self.piece };
        let mut written = 0;
        let write = |payload: &mut Payload<'_>, written: &mut u64| {
            while *written < segment.pieces() {
                let data = payload.piece(self.piece)?;
                *written += 1;
                self.shelf.put(&piece(&segment.id, *written - 1), &BTreeMap::new(), &data)?;
            }
            Ok(())
        };
        let done = write(&mut payload, &mut written).and_then(|()| payload.end());
        match done {
            Ok(digests) => Ok((segment, digests)),
            Err(fault) => {
                self.remove_pieces(&segment, written);
                Err(fault)
            }
        }
    }

    /// Sets an object's name to its new content, and removes its former pieces.
    fn commit(
        &self,
        place: &Place,
        attributes: &Attributes,
        data: &[u8],
        segments: &[Segment],
        condition: Condition<'_>,
    ) -> Result<(), Fault> {
        let name = place.object();
        let prepared = || -> Result<_, Fault> {
            let buckets = self.known();
            in_bucket(&buckets, &place.bucket)?;
            let lock = self.keys.write(&name);
            let old = self.look_at(place)?;
            condition(old.as_ref())?;
            let old = self.segments_of(&name, old.as_ref())?;
            Ok((buckets, lock, old))
        };
        let (buckets, lock, mut old) = match prepared() {
            Ok(prepared) => prepared,
            Err(fault) => {
                // Nothing refers to the new pieces. Those of an upload are kept for another attempt.
                if attributes.upload.is_none() {
                    segments.iter().for_each(|segment| self.remove_pieces(segment, segment.pieces()));
                }
                return Err(fault);
            }
        };
        // If this fails, the store may still execute it later: all pieces stay, and cleaning determines their
        // owners.
        self.shelf.put(&name, &attributes.encode(), data)?;
        drop((buckets, lock));
        old.retain(|segment| !segments.contains(segment));
        self.doom(old);
        Ok(())
    }

    /// The segments of an object that exists.
    fn segments_of(&self, name: &str, object: Option<&Attributes>) -> Result<Vec<Segment>, Fault> {
        if !object.is_some_and(|object| object.form == Form::Pieces) {
            return Ok(Vec::new());
        }
        let Some((labels, data)) = self.shelf.get(name)? else { return Ok(Vec::new()) };
        match Attributes::decode(&labels)?.form {
            Form::Whole => Ok(Vec::new()),
            Form::Pieces => Ok(Manifest::decode(&data)?.segments),
        }
    }

    /// Removes an object, if it exists.
    ///
    /// # Errors
    /// If the bucket does not exist, the condition does not hold, or the store does not answer.
    pub fn remove(&self, place: &Place, condition: Condition<'_>) -> Result<(), Fault> {
        let name = place.object();
        let old = {
            let buckets = self.known();
            in_bucket(&buckets, &place.bucket)?;
            let _lock = self.keys.write(&name);
            let old = self.look_at(place)?;
            condition(old.as_ref())?;
            if old.is_none() {
                return Ok(());
            }
            let segments = self.segments_of(&name, old.as_ref())?;
            self.shelf.remove(&name)?;
            segments
        };
        self.doom(old);
        Ok(())
    }

    /// Removes segments that nothing refers to, now or once nobody reads them.
    fn doom(&self, segments: Vec<Segment>) {
        for segment in self.leases.doom(segments) {
            self.remove_pieces(&segment, segment.pieces());
        }
    }

    /// Removes the first `pieces` pieces of a segment. Pieces that cannot be removed are left to cleaning.
    fn remove_pieces(&self, segment: &Segment, pieces: u64) {
        for number in 0..pieces {
            if self.shelf.remove(&piece(&segment.id, number)).is_err() {
                return;
            }
        }
    }

    /// One page of the objects of a bucket.
    ///
    /// # Errors
    /// If the bucket does not exist, or the store does not answer.
    pub fn list(&self, bucket: &str, question: &Question) -> Result<Listed<Attributes>, Fault> {
        self.check_bucket(bucket)?;
        let before = format!("{OBJECTS}{bucket}/");
        let after = towtank_store::names::after(&question.after);
        let from = if question.after.is_empty() { "" } else { &after };
        let prefix = [&before, question.prefix.as_str()].concat();
        let walk = self.shelf.walk(&prefix, &[&before, from.max(&question.prefix)].concat())?;
        list(&mut InBucket { walk, before }, question)
    }
}

/// The keys of a bucket, in order.
struct InBucket<'w> {
    walk: Box<dyn Walk + 'w>,
    /// The prefix of the bucket's keys in the store.
    before: String,
}

impl Keys for InBucket<'_> {
    type Object = Attributes;

    fn next(&mut self) -> Result<Option<(String, Attributes)>, Fault> {
        let Some((name, labels)) = self.walk.next()? else { return Ok(None) };
        let key = name.strip_prefix(&self.before).unwrap_or_default().to_owned();
        Ok(Some((key, Attributes::decode(&labels)?)))
    }

    fn pass(&mut self, prefix: &str) {
        if let Some(next) = towtank_store::names::after_all(&[&self.before, prefix].concat()) {
            self.walk.skip_to(&next);
        }
    }
}

fn in_bucket(buckets: &Buckets, bucket: &str) -> Result<(), Fault> {
    match buckets.contains_key(bucket) {
        true => Ok(()),
        false => Err(Code::NoSuchBucket.because(format!("there is no bucket `{bucket}`"))),
    }
}

fn absent(place: &Place) -> Fault {
    Code::NoSuchKey.because(format!("there is no object `{}`", place.key))
}

#[cfg(test)]
mod tests;

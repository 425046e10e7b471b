//! Uploads in parts: each part is a separate segment, and the last request makes an object of them.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use md5::{Digest, Md5};

use super::{Condition, Depot};
use crate::attributes::{Attributes, Form, Labels, ReportedChecksum};
use crate::checksums::{Algorithm, base64, unbase64};
use crate::dates::Moment;
use crate::fault::{Code, Fault};
use crate::manifest::{Manifest, Segment};
use crate::names::{PARTS, Place, UPLOADS, part};
use crate::payload::Payload;
use crate::shelf::{self, Shelf};
use crate::signature::{hex, unhex};

/// The most parts of an upload.
pub(super) const PARTS_MAX: u32 = 10_000;

/// The largest object: 5 TiB.
const OBJECT_MAX: u64 = 5 << 40;

/// How many uploads are kept in memory when all are read.
const PAGE: usize = 1_000;

/// An upload in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The key of the future object.
    pub key: String,
    /// Its id.
    pub id: String,
    /// When it began.
    pub begun: Moment,
    /// The checksum of its parts and of the object.
    pub checksum: Option<ReportedChecksum>,
}

/// A part of an upload, as the caller names it when completing the upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its number.
    pub number: u32,
    /// Its ETag, without quotes.
    pub etag: String,
    /// Its checksum in base64, if the caller supplied it.
    pub checksum: Option<(Algorithm, String)>,
}

/// What the caller states about the object that an upload makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise<'p> {
    /// Its checksum in base64.
    pub checksum: Option<(Algorithm, &'p str)>,
    /// S3's name for the kind of its checksum.
    pub kind: Option<&'p str>,
    /// Its length.
    pub length: Option<u64>,
}

impl Promise<'_> {
    fn check(&self, length: u64, checksum: Option<&ReportedChecksum>) -> Result<(), Fault> {
        let differs = |what: String| Err(Code::InvalidRequest.because(what));
        if let Some(want) = self.length.filter(|want| *want != length) {
            return differs(format!("the parts have {length} bytes, not {want}"));
        }
        let kind = checksum.map(ReportedChecksum::kind);
        if self.kind.is_some() && self.kind != kind {
            return differs(format!("the checksum's type is {}", kind.unwrap_or("not known")));
        }
        let Some((algorithm, want)) = self.checksum else { return Ok(()) };
        let Some(found) = checksum.filter(|found| found.algorithm == algorithm) else {
            return differs(format!("the parts have no {}: begin an upload with it", algorithm.name()));
        };
        // A composite checksum may be given without the number of parts.
        let is_it = want == found.value || Some(want) == found.value.split('-').next();
        match is_it {
            true => Ok(()),
            false => Err(Code::BadDigest.because(format!("the parts' {} differs", algorithm.name()))),
        }
    }
}

/// A part that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub number: u32,
    /// Its attributes.
    pub attributes: Attributes,
}

/// A page of the parts of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsPage {
    /// The upload.
    pub upload: Upload,
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// Whether more follow.
    pub is_cut: bool,
}

/// The place in the order of uploads after which a page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// A key.
    pub key: String,
    /// An upload of this key; none for all of them.
    pub id: Option<String>,
}

impl After {
    fn precedes(&self, key: &str, id: &str) -> bool {
        match &self.id {
            None => key > self.key.as_str(),
            Some(after) => (key, id) > (&self.key, after),
        }
    }
}

/// A page of the uploads of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadsPage {
    /// The uploads, in order.
    pub uploads: Vec<Upload>,
    /// Whether more follow.
    pub is_cut: bool,
}

/// The store's record of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(super) attributes: Attributes,
    /// Where its bytes are; none for an empty part.
    pub(super) segment: Option<Segment>,
}

impl Record {
    pub(crate) fn encode(&self) -> shelf::Labels {
        let mut labels = self.attributes.encode();
        let text = |segment: &Segment| format!("{} {}", segment.id, segment.piece);
        labels.extend(self.segment.iter().map(|segment| ("segment".to_owned(), text(segment))));
        labels
    }

    pub(crate) fn decode(labels: &shelf::Labels) -> Result<Record, Fault> {
        let attributes = Attributes::decode(labels)?;
        let fault = || Code::InternalError.because("the stored record of a part is invalid");
        let segment = labels.get("segment").map(|text| {
            let (id, piece) = text.split_once(' ').ok_or_else(fault)?;
            let piece = piece.parse().ok().filter(|piece| *piece > 0).ok_or_else(fault)?;
            Ok::<_, Fault>(Segment { id: id.to_owned(), length: attributes.length, piece })
        });
        Ok(Record { segment: segment.transpose()?, attributes })
    }
}

fn no_upload() -> Fault {
    Code::NoSuchUpload.because("the upload does not exist: it was completed, aborted or never begun")
}

impl<S: Shelf> Depot<S> {
    /// Begins an upload, and returns its id.
    ///
    /// # Errors
    /// If the bucket does not exist, or the store does not answer.
    pub(crate) fn begin_upload(
        &self,
        place: &Place,
        labels: Labels,
        checksum: Option<ReportedChecksum>,
        now: Moment,
    ) -> Result<String, Fault> {
        let id = self.new_id();
        let attributes = Attributes { labels, checksum, modified: now, ..Attributes::default() };
        let buckets = self.known();
        super::in_bucket(&buckets, &place.bucket)?;
        self.shelf.put(&place.upload(&id), &attributes.encode(), &[])?;
        Ok(id)
    }

    /// Ends uploads that became objects just before a crash: their parts now belong to the objects.
    pub(super) fn end_uploads(&self) -> Result<(), Fault> {
        for (bucket, _) in self.buckets() {
            let mut after = None;
            loop {
                let page = self.uploads(&bucket, "", after.as_ref(), PAGE)?;
                for upload in &page.uploads {
                    self.end_if_made(&bucket, upload)?;
                }
                after =
                    page.uploads.into_iter().last().map(|last| After { key: last.key, id: Some(last.id) });
                if !page.is_cut {
                    break;
                }
            }
        }
        Ok(())
    }

    fn end_if_made(&self, bucket: &str, upload: &Upload) -> Result<(), Fault> {
        let place = Place { bucket: bucket.to_owned(), key: upload.key.clone() };
        if self.look_at(&place)?.is_some_and(|object| object.upload.as_ref() == Some(&upload.id)) {
            let records = self.records(&upload.id)?;
            self.end_upload(&place, &upload.id, records.into_keys())?;
        }
        Ok(())
    }

    fn has_ended(&self, id: &str) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    fn upload(&self, place: &Place, id: &str) -> Result<Attributes, Fault> {
        self.check_bucket(&place.bucket)?;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_id = !id.is_empty() && id.bytes().all(is_letter) && !self.has_ended(id);
        let labels = if is_id { self.shelf.head(&place.upload(id))? } else { None };
        Attributes::decode(&labels.ok_or_else(no_upload)?)
    }

    /// Receives a part. It replaces an earlier one with the same number.
    ///
    /// # Errors
    /// If the upload does not exist, the body does not match its request, or the store does not answer.
    pub(crate) fn put_part(
        &self,
        place: &Place,
        id: &str,
        number: u32,
        mut payload: Payload<'_>,
        now: Moment,
    ) -> Result<Attributes, Fault> {
        if !(1..=PARTS_MAX).contains(&number) {
            return Err(Code::InvalidArgument.because(format!("part numbers go from 1 to {PARTS_MAX}")));
        }
        let upload = self.upload(place, id)?;
        let of_upload = upload.checksum.map(|it| it.algorithm);
        // Without the upload's checksum of each part there would be none of the object.
        if let (Some(want), Some(given)) = (of_upload, payload.algorithm())
            && want != given
        {
            let message = format!("the upload has checksums of {}, not {}", want.name(), given.name());
            return Err(Code::InvalidRequest.because(message));
        }
        payload.choose(of_upload);
        let length = payload.length();
        let (segment, digests) = self.write_segment(payload)?;
        let attributes = Attributes {
            length,
            etag: hex(&digests.md5),
            modified: now,
            checksum: digests.checksum.as_ref().map(ReportedChecksum::whole),
            ..Attributes::default()
        };
        let segment = Some(segment).filter(|segment| segment.length > 0);
        let record = Record { attributes: attributes.clone(), segment: segment.clone() };
        let name = part(id, number);
        let prepared = || -> Result<_, Fault> {
            let lock = self.uploads.write(id);
            self.upload(place, id)?;
            let old = self.shelf.head(&name)?.map(|labels| Record::decode(&labels)).transpose()?;
            Ok((lock, old))
        };
        let (lock, old) = match prepared() {
            Ok(prepared) => prepared,
            Err(fault) => {
                self.doom(segment.into_iter().collect());
                return Err(fault);
            }
        };
        self.shelf.put(&name, &record.encode(), &[])?;
        drop(lock);
        self.doom(old.and_then(|old| old.segment).into_iter().collect());
        Ok(attributes)
    }

    fn records(&self, id: &str) -> Result<BTreeMap<u32, Record>, Fault> {
        let before = format!("{PARTS}{id}/");
        let mut walk = self.shelf.walk(&before, &before)?;
        let mut records = BTreeMap::new();
        while let Some((name, labels)) = walk.next()? {
            if let Some(number) = name.strip_prefix(&before).and_then(|text| text.parse().ok()) {
                records.insert(number, Record::decode(&labels)?);
            }
        }
        Ok(records)
    }

    /// Makes an object of the parts that the caller names, in order. If the upload was completed before, the
    /// object's attributes are returned again.
    ///
    /// # Errors If the upload does not exist, a part is missing, too small or different, the object is not as
    /// promised, or the store does not answer.
    pub fn complete(
        &self,
        place: &Place,
        id: &str,
        chosen: &[Chosen],
        promise: &Promise<'_>,
        condition: Condition<'_>,
        now: Moment,
    ) -> Result<Attributes, Fault> {
        let _lock = self.uploads.write(id);
        let upload = match self.upload(place, id) {
            Err(fault) if fault.code == Code::NoSuchUpload => {
                let made = self.look_at(place)?.filter(|object| object.upload.as_deref() == Some(id));
                let made = made.ok_or(fault)?;
                promise.check(made.length, made.checksum.as_ref())?;
                return Ok(made);
            }
            upload => upload?,
        };
        let mut records = self.records(id)?;
        let picked = pick(&mut records, chosen, self.part_min)?;
        let length: u64 = picked.iter().map(|record| record.attributes.length).sum();
        if length > OBJECT_MAX {
            return Err(Code::EntityTooLarge.because(format!("the object exceeds {OBJECT_MAX} bytes")));
        }
        let checksum = upload.checksum.as_ref().and_then(|kind| sum_up(kind, &picked));
        promise.check(length, checksum.as_ref())?;
        let attributes = Attributes {
            labels: upload.labels,
            length,
            etag: etag_of(&picked),
            modified: now,
            form: Form::Pieces,
            checksum,
            upload: Some(id.to_owned()),
        };
        let segments: Vec<Segment> = picked.iter().filter_map(|record| record.segment.clone()).collect();
        let manifest = Manifest { segments };
        self.commit(place, &attributes, &manifest.encode(), &manifest.segments, condition)?;
        // The object exists. Whatever fails from here on is repaired at the next start.
        let numbers = chosen.iter().map(|it| it.number).chain(records.keys().copied());
        if self.end_upload(place, id, numbers).is_err() {
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
        }
        self.doom(records.into_values().filter_map(|record| record.segment).collect());
        Ok(attributes)
    }

    fn end_upload(&self, place: &Place, id: &str, parts: impl Iterator<Item = u32>) -> Result<(), Fault> {
        self.shelf.remove(&place.upload(id))?;
        for number in parts {
            self.shelf.remove(&part(id, number))?;
        }
        Ok(())
    }

    /// Aborts an upload, and removes its parts.
    ///
    /// # Errors
    /// If the upload does not exist, or the store does not answer.
    pub(crate) fn abort(&self, place: &Place, id: &str) -> Result<(), Fault> {
        let _lock = self.uploads.write(id);
        self.upload(place, id)?;
        let records = self.records(id)?;
        // A crash may have happened between writing the object and ending its upload: segments used by the
        // object stay.
        let used = {
            let name = place.object();
            let _lock = self.keys.read(&name);
            let made = self.look_at(place)?.filter(|object| object.upload.as_deref() == Some(id));
            self.segments_of(&name, made.as_ref())?
        };
        self.end_upload(place, id, records.keys().copied())?;
        let segments = records.into_values().filter_map(|record| record.segment);
        self.doom(segments.filter(|segment| !used.contains(segment)).collect());
        Ok(())
    }

    /// Parts of an upload with numbers after `after`, at most `most` of them.
    ///
    /// # Errors
    /// If the upload does not exist, or the store does not answer.
    pub fn parts(&self, place: &Place, id: &str, after: u32, most: usize) -> Result<PartsPage, Fault> {
        let upload = self.upload(place, id)?;
        let (key, id) = (place.key.clone(), id.to_owned());
        let mut records = self.records(&id)?;
        let mut later = records.split_off(&after.saturating_add(1)).into_iter();
        let part = |(number, record): (u32, Record)| Part { number, attributes: record.attributes };
        Ok(PartsPage {
            upload: Upload { key, id, begun: upload.modified, checksum: upload.checksum },
            parts: later.by_ref().take(most).map(part).collect(),
            is_cut: later.next().is_some(),
        })
    }

    /// The first `most` uploads of a bucket, in the order of keys and ids, whose keys begin with `prefix` and
    /// which come after `after`.
    ///
    /// The store has them in the order of `KEY/ID`, which is another order where a key is the beginning of
    /// another one. So all of them are read, and no more than a page is kept.
    ///
    /// # Errors
    /// If the bucket does not exist, or the store does not answer.
    pub(crate) fn uploads(
        &self,
        bucket: &str,
        prefix: &str,
        after: Option<&After>,
        most: usize,
    ) -> Result<UploadsPage, Fault> {
        self.check_bucket(bucket)?;
        let before = format!("{UPLOADS}{bucket}/");
        let from = [&before, prefix].concat();
        let mut walk = self.shelf.walk(&from, &from)?;
        let mut first = BTreeMap::new();
        let mut is_cut = false;
        while let Some((name, labels)) = walk.next()? {
            let rest = name.strip_prefix(&before).and_then(|rest| rest.rsplit_once('/'));
            let rest = rest.filter(|(key, id)| key.starts_with(prefix) && !self.has_ended(id));
            let Some((key, id)) = rest else { continue };
            if after.is_some_and(|after| !after.precedes(key, id)) {
                continue;
            }
            let Attributes { modified, checksum, .. } = Attributes::decode(&labels)?;
            let upload = Upload { key: key.to_owned(), id: id.to_owned(), begun: modified, checksum };
            first.insert((upload.key.clone(), upload.id.clone()), upload);
            if first.len() > most {
                first.pop_last();
                is_cut = true;
            }
        }
        Ok(UploadsPage { uploads: first.into_values().collect(), is_cut })
    }
}

/// Takes the records that the caller names; the others stay in `records`.
fn pick(records: &mut BTreeMap<u32, Record>, chosen: &[Chosen], part_min: u64) -> Result<Vec<Record>, Fault> {
    if chosen.is_empty() {
        return Err(Code::MalformedXml.because("the list has no part"));
    }
    if chosen.windows(2).any(|two| two[0].number >= two[1].number) {
        return Err(Code::InvalidPartOrder.because("parts must be listed in ascending order"));
    }
    let mut picked = Vec::new();
    for (at, part) in chosen.iter().enumerate() {
        let fault = |what: &str| Code::InvalidPart.because(format!("part {} {what}", part.number));
        let record = records.get(&part.number).ok_or_else(|| fault("is missing"))?;
        if record.attributes.etag != part.etag {
            return Err(fault("has a different ETag"));
        }
        let sum = record.attributes.checksum.as_ref().map(|it| (it.algorithm, it.value.clone()));
        if part.checksum.is_some() && part.checksum != sum {
            return Err(fault("has a different checksum"));
        }
        if at + 1 < chosen.len() && record.attributes.length < part_min {
            let message = format!("part {} is smaller than {part_min} bytes", part.number);
            return Err(Code::EntityTooSmall.because(message));
        }
        picked.push(record.clone());
    }
    chosen.iter().for_each(|part| drop(records.remove(&part.number)));
    Ok(picked)
}

/// The MD5 of the parts' MD5s, followed by the number of parts.
fn etag_of(parts: &[Record]) -> String {
    let mut md5 = Md5::new();
    for part in parts {
        md5.update(unhex(&part.attributes.etag).unwrap_or_default());
    }
    format!("{}-{}", hex(&md5.finalize()), parts.len())
}

/// The checksum of the object from those of its parts; none if a part has none.
fn sum_up(kind: &ReportedChecksum, parts: &[Record]) -> Option<ReportedChecksum> {
    let ReportedChecksum { algorithm, is_composite, .. } = *kind;
    let of = |part: &Record| {
        let checksum = part.attributes.checksum.as_ref().filter(|it| it.algorithm == algorithm)?;
        unbase64(&checksum.value)
    };
    if is_composite {
        let mut running = algorithm.begin();
        for part in parts {
            running.update(&of(part)?);
        }
        let value = format!("{}-{}", base64(&running.end()), parts.len());
        return Some(ReportedChecksum { algorithm, value, is_composite });
    }
    let mut all = Algorithm::begin(algorithm).end();
    for part in parts {
        all = algorithm.joined(&all, &of(part)?, part.attributes.length)?;
    }
    Some(ReportedChecksum { algorithm, value: base64(&all), is_composite })
}

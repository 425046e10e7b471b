//! Removes what crashes leave behind: pieces that no object or upload refers to, and parts without an upload.

use std::collections::{BTreeMap, BTreeSet};

use super::Depot;
use super::uploads::Record;
use crate::attributes::{Attributes, Form};
use crate::fault::Fault;
use crate::manifest::Manifest;
use crate::names::{OBJECTS, PARTS, PIECES, UPLOADS};
use crate::shelf::Shelf;

/// The number of items removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Pieces that nothing referred to.
    pub pieces: u64,
    /// Parts whose upload does not exist.
    pub parts: u64,
}

impl<S: Shelf> Depot<S> {
    /// Removes what earlier runs left behind. Requests may be in progress.
    ///
    /// Pieces are listed before the records that refer to them, and uploads before objects, because an upload
    /// may become an object but never the reverse. Pieces written by this run are ignored.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn clean(&self) -> Result<Cleaned, Fault> {
        let mut cleaned = Cleaned::default();
        let of_this_run = format!("{}-", self.run);
        let mut left: BTreeMap<String, Vec<String>> = BTreeMap::new();
        self.each(PIECES, |name, _| {
            let id = name.strip_prefix(PIECES).and_then(|rest| rest.split('/').next()).unwrap_or_default();
            if !id.starts_with(&of_this_run) {
                left.entry(id.to_owned()).or_default().push(name.to_owned());
            }
        })?;
        let mut uploads = BTreeSet::new();
        self.each(UPLOADS, |name, _| uploads.extend(name.rsplit('/').next().map(str::to_owned)))?;
        let mut orphans = Vec::new();
        self.each(PARTS, |name, labels| {
            let upload = name.strip_prefix(PARTS).and_then(|rest| rest.split('/').next()).unwrap_or_default();
            if uploads.contains(upload) || upload.starts_with(&of_this_run) {
                match Record::decode(labels) {
                    Ok(record) => drop(record.segment.and_then(|segment| left.remove(&segment.id))),
                    // The owner of the pieces is unknown, so all stay.
                    Err(_) => left.clear(),
                }
            } else {
                orphans.push(name.to_owned());
            }
        })?;
        let mut large = Vec::new();
        self.each(OBJECTS, |name, labels| {
            if Attributes::decode(labels).is_ok_and(|object| object.form == Form::Pieces) {
                large.push(name.to_owned());
            }
        })?;
        for name in large {
            // An object removed or made small in the meantime refers to no pieces.
            let Some((labels, data)) = self.shelf.get(&name)? else { continue };
            if Attributes::decode(&labels)?.form == Form::Pieces {
                Manifest::decode(&data)?.segments.iter().for_each(|segment| drop(left.remove(&segment.id)));
            }
        }
        for name in orphans {
            self.shelf.remove(&name)?;
            cleaned.parts += 1;
        }
        for name in left.into_values().flatten() {
            self.shelf.remove(&name)?;
            cleaned.pieces += 1;
        }
        Ok(cleaned)
    }

    fn each(&self, prefix: &str, mut take: impl FnMut(&str, &crate::shelf::Labels)) -> Result<(), Fault> {
        let mut walk = self.shelf.walk(prefix, prefix)?;
        while let Some((name, labels)) = walk.next()? {
            take(&name, &labels);
        }
        Ok(())
    }
}

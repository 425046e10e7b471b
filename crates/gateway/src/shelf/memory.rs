//! A store in memory that can crash, and the invariant of what a depot leaves in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use super::{Found, Labels, Shelf, Walk};
use crate::attributes::{Attributes, Form};
use crate::fault::{Code, Fault};
use crate::manifest::Manifest;
use crate::names::{OBJECTS, PARTS, PIECES, UPLOADS};

/// Objects by name.
pub struct Memory {
    pub objects: Mutex<BTreeMap<String, Found>>,
    /// The number of writes that succeed before it crashes.
    pub writes_left: AtomicI64,
}

impl Memory {
    pub fn new() -> Arc<Memory> {
        let writes_left = AtomicI64::new(i64::MAX);
        Arc::new(Memory { objects: Mutex::default(), writes_left })
    }

    fn write(&self, change: impl FnOnce(&mut BTreeMap<String, Found>)) -> Result<(), Fault> {
        if self.writes_left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Err(Code::ServiceUnavailable.because("it has crashed"));
        }
        change(&mut self.objects.lock().expect("no test panics with it"));
        Ok(())
    }

    /// Checks that each piece belongs to one object or part, none is missing, and each part belongs to an
    /// upload.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let objects = self.objects.lock().expect("no test panics with it");
        let below = |prefix: &'static str| {
            let of = objects.range(prefix.to_owned()..).take_while(move |(name, _)| name.starts_with(prefix));
            of.map(move |(name, found)| (&name[prefix.len()..], found))
        };
        let uploads: BTreeSet<&str> =
            below(UPLOADS).filter_map(|(name, _)| name.rsplit('/').next()).collect();
        let mut wanted = BTreeSet::new();
        let mut want =
            |name: String| wanted.insert(name.clone()).then_some(()).ok_or(format!("{name} belongs to two"));
        for (name, (labels, _)) in below(PARTS) {
            let upload = name.split('/').next().unwrap_or_default();
            if !uploads.contains(upload) {
                return Err(format!("part {name} has no upload"));
            }
            let length: u64 = labels["length"].parse().map_err(|_| format!("part {name} has no length"))?;
            if let Some((id, piece)) = labels.get("segment").and_then(|text| text.split_once(' ')) {
                let piece: u64 = piece.parse().map_err(|_| format!("part {name} has no pieces"))?;
                (0..length.div_ceil(piece)).try_for_each(|number| want(format!("{id}/{number:06}")))?;
            }
        }
        for (name, (labels, data)) in below(OBJECTS) {
            let object = Attributes::decode(labels).map_err(|fault| format!("{name}: {fault}"))?;
            if object.form == Form::Pieces {
                let manifest = Manifest::decode(data).map_err(|fault| format!("{name}: {fault}"))?;
                for segment in &manifest.segments {
                    let id = &segment.id;
                    (0..segment.pieces()).try_for_each(|number| want(format!("{id}/{number:06}")))?;
                }
            }
        }
        let there: BTreeSet<String> = below(PIECES).map(|(name, _)| name.to_owned()).collect();
        match there.symmetric_difference(&wanted).next() {
            Some(name) if there.contains(name) => Err(format!("piece {name} belongs to nobody")),
            Some(name) => Err(format!("piece {name} is missing")),
            None => Ok(()),
        }
    }
}

impl Shelf for Arc<Memory> {
    fn put(&self, name: &str, labels: &Labels, data: &[u8]) -> Result<(), Fault> {
        self.write(|objects| drop(objects.insert(name.to_owned(), (labels.clone(), data.to_vec()))))
    }

    fn get(&self, name: &str) -> Result<Option<Found>, Fault> {
        Ok(self.objects.lock().expect("no test panics with it").get(name).cloned())
    }

    fn head(&self, name: &str) -> Result<Option<Labels>, Fault> {
        Ok(self.get(name)?.map(|(labels, _)| labels))
    }

    fn remove(&self, name: &str) -> Result<(), Fault> {
        self.write(|objects| drop(objects.remove(name)))
    }

    fn walk(&self, prefix: &str, from: &str) -> Result<Box<dyn Walk + '_>, Fault> {
        let (prefix, from) = (prefix.to_owned(), from.max(prefix).to_owned());
        Ok(Box::new(Walking { memory: self, prefix, from }))
    }
}

struct Walking<'m> {
    memory: &'m Memory,
    prefix: String,
    from: String,
}

impl Walk for Walking<'_> {
    fn next(&mut self) -> Result<Option<(String, Labels)>, Fault> {
        let objects = self.memory.objects.lock().expect("no test panics with it");
        let next = objects.range(self.from.clone()..).next();
        let Some((name, (labels, _))) = next.filter(|(name, _)| name.starts_with(&self.prefix)) else {
            return Ok(None);
        };
        self.from = towtank_store::names::after(name);
        Ok(Some((name.clone(), labels.clone())))
    }

    fn skip_to(&mut self, name: &str) {
        self.from = self.from.clone().max(name.to_owned());
    }
}

//! A depot that another crate drives, on a store for which that crate answers: the simulated world of
//! `towtank-trials` does so.
//!
//! What the depot wants of the store is a value, and so is the answer. A call returns when all its questions
//! are answered, so whoever drives it from one thread gives it a thread of its own and lets one of them run
//! at a time.

use std::sync::Arc;

use towtank_store::walk::Walk as StoreWalk;

use crate::attributes;
use crate::dates::Moment;
use crate::depot::{Chosen, Depot, Promise};
use crate::fault::{Code, Fault};
use crate::listing::Question;
use crate::names::Place;
use crate::payload::Payload;
use crate::shelf::{Found, Labels, Shelf, Walk};
use crate::source::{Runs, Source as _};

pub use towtank_store::engine::ObjectHead;

/// The bucket in which everything happens.
const BUCKET: &str = "bucket";

/// Small pieces and parts, so that small objects have many.
const PIECE: u64 = 64;
const PART: u64 = 16;

/// The time of all that happens: nothing depends on it.
const NOW: Moment = Moment(1);

/// What a depot wants of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// That an object has this content.
    Set(String, Labels, Vec<u8>),
    /// An object.
    Get(String),
    /// The attributes of an object.
    Head(String),
    /// That there is no such object.
    Remove(String),
    /// Names of a group with a prefix, from one on, and at most so many.
    Names {
        /// The group.
        group: u32,
        /// The prefix.
        prefix: String,
        /// The first name.
        from: String,
        /// The most names.
        most: u32,
    },
}

/// What the store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// It is done.
    Done,
    /// An object, if there is one.
    Object(Option<Found>),
    /// Its attributes, if there is one.
    Head(Option<Labels>),
    /// Names with attributes, and whether no name follows.
    Names(Vec<ObjectHead>, bool),
}

/// Who answers for the store.
pub trait Store: Send + Sync {
    /// The number of groups.
    fn groups(&self) -> u32;

    /// The answer; none if the gateway has ended meanwhile.
    fn ask(&self, want: Want) -> Option<Given>;
}

/// What a user wants of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// To write an object.
    Put(String, Vec<u8>),
    /// To write an object in parts.
    Upload(String, Vec<Vec<u8>>),
    /// To read an object.
    Get(String),
    /// To remove an object.
    Remove(String),
    /// The keys of all objects.
    List,
}

/// What a user gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is done.
    Done,
    /// An object, if there is one.
    Object(Option<Vec<u8>>),
    /// Keys in order.
    Keys(Vec<String>),
}

struct Stand(Arc<dyn Store>);

impl Stand {
    fn ask<T>(&self, want: Want, of: impl FnOnce(Given) -> Option<T>) -> Result<T, Fault> {
        let given = self.0.ask(want).and_then(of);
        given.ok_or_else(|| Code::ServiceUnavailable.because("the store does not answer"))
    }
}

fn done(given: Given) -> Option<()> {
    (given == Given::Done).then_some(())
}

impl Shelf for Stand {
    fn put(&self, name: &str, labels: &Labels, data: &[u8]) -> Result<(), Fault> {
        self.ask(Want::Set(name.to_owned(), labels.clone(), data.to_vec()), done)
    }

    fn get(&self, name: &str) -> Result<Option<Found>, Fault> {
        self.ask(Want::Get(name.to_owned()), |given| match given {
            Given::Object(found) => Some(found),
            _ => None,
        })
    }

    fn head(&self, name: &str) -> Result<Option<Labels>, Fault> {
        self.ask(Want::Head(name.to_owned()), |given| match given {
            Given::Head(found) => Some(found),
            _ => None,
        })
    }

    fn remove(&self, name: &str) -> Result<(), Fault> {
        self.ask(Want::Remove(name.to_owned()), done)
    }

    fn walk(&self, prefix: &str, from: &str) -> Result<Box<dyn Walk + '_>, Fault> {
        let walk = StoreWalk::over(self.0.groups(), prefix, from);
        Ok(Box::new(Walking { stand: self, walk }))
    }
}

struct Walking<'s> {
    stand: &'s Stand,
    walk: StoreWalk,
}

impl Walk for Walking<'_> {
    fn next(&mut self) -> Result<Option<(String, Labels)>, Fault> {
        let next = self.walk.next_of(|group, prefix, from, most| {
            let want = Want::Names { group, prefix: prefix.to_owned(), from: from.to_owned(), most };
            self.stand.ask(want, |given| match given {
                Given::Names(heads, is_last) => Some((heads, is_last)),
                _ => None,
            })
        });
        Ok(next?.map(|head| (head.name, head.attributes)))
    }

    fn skip_to(&mut self, name: &str) {
        self.walk.skip_to(name);
    }
}

/// A gateway without HTTP.
pub struct Driven(Depot<Stand>);

impl std::fmt::Debug for Driven {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Driven").finish_non_exhaustive()
    }
}

impl Driven {
    /// A gateway that begins: it removes what earlier ones have left. `run` is a word that none of them used.
    ///
    /// # Errors
    /// If it cannot go on, with the reason.
    pub fn begin(store: Arc<dyn Store>, run: &str) -> Result<Driven, String> {
        let depot = Depot::with_sizes(Stand(store), run, PIECE, PART).map_err(|fault| fault.to_string())?;
        match depot.make_bucket(BUCKET, NOW) {
            Err(fault) if fault.code != Code::BucketAlreadyOwnedByYou => return Err(fault.to_string()),
            _ => {}
        }
        depot.clean().map_err(|fault| fault.to_string())?;
        Ok(Driven(depot))
    }

    /// Does what a user wants.
    ///
    /// # Errors
    /// If it fails, with the reason: then it may have been done.
    pub fn act(&self, act: &Act) -> Result<Shown, String> {
        self.try_act(act).map_err(|fault| fault.to_string())
    }

    fn try_act(&self, act: &Act) -> Result<Shown, Fault> {
        match act {
            Act::Put(key, data) => {
                let place = Place::new(BUCKET, key)?;
                self.0.put(&place, attributes::Labels::default(), payload(data), &|_| Ok(()), NOW)?;
            }
            Act::Upload(key, parts) => self.upload(&Place::new(BUCKET, key)?, parts)?,
            Act::Get(key) => return self.get(&Place::new(BUCKET, key)?).map(Shown::Object),
            Act::Remove(key) => self.0.remove(&Place::new(BUCKET, key)?, &|_| Ok(()))?,
            Act::List => {
                let question = Question { most: 1_000, ..Question::default() };
                let (rows, _) = self.0.list(BUCKET, &question)?;
                return Ok(Shown::Keys(rows.iter().map(|row| row.name().to_owned()).collect()));
            }
        }
        Ok(Shown::Done)
    }

    fn upload(&self, place: &Place, parts: &[Vec<u8>]) -> Result<(), Fault> {
        let id = self.0.begin_upload(place, attributes::Labels::default(), None, NOW)?;
        let mut chosen = Vec::new();
        for (number, data) in (1..).zip(parts) {
            let part = self.0.put_part(place, &id, number, payload(data), NOW)?;
            chosen.push(Chosen { number, etag: part.etag, checksum: None });
        }
        self.0.complete(place, &id, &chosen, &Promise::default(), &|_| Ok(()), NOW)?;
        Ok(())
    }

    fn get(&self, place: &Place) -> Result<Option<Vec<u8>>, Fault> {
        let opened = match self.0.open_object(place) {
            Err(fault) if fault.code == Code::NoSuchKey => return Ok(None),
            opened => opened?,
        };
        let length = opened.attributes.length;
        let (mut reader, mut all) = (opened.reader(0..length), Vec::new());
        while let Some(run) = reader.next()? {
            all.extend_from_slice(&run);
        }
        Ok(Some(all))
    }
}

fn payload(data: &[u8]) -> Payload<'static> {
    Payload::of(Box::new(Runs::of(data, 64)), data.len() as u64)
}

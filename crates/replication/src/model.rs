//! What clients know: a history of each object, which must be that of a single object with one instant for
//! each operation between its request and its answer. The random schedules of this crate's tests and the
//! simulation of the whole store are judged by it.
//!
//! Contents are numbers, each of which is written once.

use std::collections::BTreeMap;

use crate::history::{self, Act};
use crate::{Key, RequestId, Version};

/// After all answers.
const NEVER: u64 = u64::MAX;

/// An object: its group, which assigns each version once, and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// The number of the group.
    pub group: u32,
    /// The key.
    pub key: Key,
}

/// What a client is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The object was written or removed.
    Done(Version),
    /// What was read: version and content, none if there is no object.
    Read {
        /// The object.
        found: Option<(Version, u64)>,
        /// The version of the group by then, if the client hears of it.
        as_of: Option<Version>,
    },
}

/// A request, and what is known of it. The value of a read is what it returned.
#[derive(Clone, Debug)]
struct Asked {
    object: Object,
    act: Act,
    asked_at: u64,
    answered_at: Option<u64>,
    /// For a write or delete, its version as far as a client knows; for a read, the version it returned.
    version: Option<Version>,
    /// For a read, whether the object existed.
    found: bool,
}

impl Asked {
    fn is_read(&self) -> bool {
        matches!(self.act, Act::Read(_))
    }
}

/// What the clients of a system asked, and what they were answered.
#[derive(Debug, Default)]
pub struct Model {
    asked: BTreeMap<RequestId, Asked>,
    /// The request that writes each content.
    writers: BTreeMap<u64, RequestId>,
    clock: u64,
    /// The number of unanswered requests per object.
    open: BTreeMap<Object, usize>,
    /// Whether answers are compared by their times only, without versions: what a client can see.
    pub ignores_versions: bool,
}

impl Model {
    /// Records a request.
    pub fn ask(&mut self, request: RequestId, object: Object, act: Act) {
        self.clock += 1;
        if let Act::Set(Some(number)) = act {
            self.writers.insert(number, request);
        }
        let asked_at = self.clock;
        let asked = Asked { object, act, asked_at, answered_at: None, version: None, found: false };
        *self.open.entry(object).or_default() += 1;
        self.asked.insert(request, asked);
    }

    /// Whether a request is answered.
    #[must_use]
    pub fn is_answered(&self, request: RequestId) -> bool {
        self.asked.get(&request).is_some_and(|asked| asked.answered_at.is_some())
    }

    /// The number of unanswered requests for an object.
    #[must_use]
    pub fn open_of(&self, object: Object) -> usize {
        self.open.get(&object).copied().unwrap_or(0)
    }

    /// The number of all requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.asked.len()
    }

    /// The number of unanswered requests.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.asked.values().filter(|asked| asked.answered_at.is_none()).count()
    }

    /// Records an answer, which must be consistent with everything known before.
    ///
    /// # Errors
    /// With what contradicts it.
    pub fn answer(&mut self, request: RequestId, answer: Answered) -> Result<(), String> {
        self.clock += 1;
        match answer {
            Answered::Done(version) => self.learn(request, version)?,
            Answered::Read { found, as_of } => {
                if let Some((version, number)) = found {
                    self.learn_content(request, version, number)?;
                }
                let asked = self.asked.get_mut(&request).ok_or("an answer to nothing")?;
                if asked.answered_at.is_some() {
                    return Ok(());
                }
                asked.found = found.is_some();
                asked.act = Act::Read(found.map(|(_, number)| number));
                asked.version = found.map(|(version, _)| version).or(as_of);
            }
        }
        let clock = self.clock;
        let asked = self.asked.get_mut(&request).ok_or("an answer to nothing")?;
        if asked.answered_at.is_none() {
            asked.answered_at = Some(clock);
            if let Some(open) = self.open.get_mut(&asked.object) {
                *open -= 1;
            }
            self.check_order(request)?;
        }
        Ok(())
    }

    /// Records that a write or delete has this version; it must not get another.
    fn learn(&mut self, request: RequestId, version: Version) -> Result<(), String> {
        if self.ignores_versions {
            return Ok(());
        }
        let asked = self.asked.get_mut(&request).ok_or("an answer to nothing")?;
        if *asked.version.get_or_insert(version) != version {
            return Err(format!("{request:?} was done twice: {:?} and {version:?}", asked.version));
        }
        // A group assigns each version once.
        let group = asked.object.group;
        let twin = self.asked.iter().find(|(other, asked)| {
            let is_other = **other != request && asked.object.group == group;
            is_other && !asked.is_read() && asked.version == Some(version)
        });
        twin.map_or(Ok(()), |(other, _)| Err(format!("{request:?} and {other:?} share {version:?}")))
    }

    fn learn_content(&mut self, reader: RequestId, version: Version, number: u64) -> Result<(), String> {
        let writer = self.writers.get(&number).copied().ok_or("content that nobody wrote")?;
        let object = |request: &RequestId| self.asked.get(request).map(|asked| asked.object);
        if object(&writer) != object(&reader) {
            return Err(format!("{reader:?} found the content of another object"));
        }
        self.learn(writer, version)
    }

    /// Checks that everything answered before this request was made precedes it.
    fn check_order(&self, request: RequestId) -> Result<(), String> {
        if self.ignores_versions {
            return Ok(());
        }
        let this = &self.asked[&request];
        let earlier = self.asked.iter().filter(|(_, other)| {
            other.object == this.object && other.answered_at.is_some_and(|answered| answered < this.asked_at)
        });
        for (other_request, other) in earlier {
            // Two reads that find nothing are not ordered: the first may have counted a change of another
            // object that was then undone.
            let is_absent = |asked: &Asked| asked.is_read() && !asked.found;
            if is_absent(this) && is_absent(other) {
                continue;
            }
            // Who finds nothing may not hear as of when: then the search for an order decides.
            if this.version.is_none() || other.version.is_none() {
                continue;
            }
            // A read may return the version that an earlier operation returned or made; any other operation
            // must have a later version.
            let has_object = if other.is_read() { other.found } else { other.act != Act::Set(None) };
            let may_be_equal = this.is_read() && (has_object || !this.found);
            let is_after =
                if may_be_equal { this.version >= other.version } else { this.version > other.version };
            if !is_after {
                return Err(format!("{request:?} {this:?} came before {other_request:?} {other:?}"));
            }
            let misses = this.is_read() && !this.found && has_object;
            if misses && !self.may_be_deleted_after(this.object, other.version) {
                return Err(format!("{request:?} does not find {other_request:?} {other:?}"));
            }
        }
        Ok(())
    }

    fn may_be_deleted_after(&self, object: Object, version: Option<Version>) -> bool {
        self.asked.values().any(|other| {
            other.object == object
                && other.act == Act::Set(None)
                && (other.version.is_none() || other.version > version)
        })
    }

    /// With all requests answered: checks that some order of each object's requests explains all answers,
    /// ignoring versions.
    ///
    /// # Errors
    /// With an object that no order explains.
    pub fn check_histories(&self) -> Result<(), String> {
        match self.asked.iter().find(|(_, asked)| asked.answered_at.is_none()) {
            Some((request, _)) => Err(format!("{request:?} is not answered")),
            None => self.check_open_histories(),
        }
    }

    /// The same where some requests may have no answer: a change may be made at any time, or never.
    ///
    /// # Errors
    /// With an object that no order explains.
    pub fn check_open_histories(&self) -> Result<(), String> {
        let mut of_each: BTreeMap<Object, Vec<history::Operation>> = BTreeMap::new();
        for asked in self.asked.values() {
            if asked.answered_at.is_none() && asked.is_read() {
                continue;
            }
            // One that is never made is made after all others.
            let answered = asked.answered_at.unwrap_or(NEVER);
            let operation = history::Operation { called: asked.asked_at, answered, act: asked.act };
            of_each.entry(asked.object).or_default().push(operation);
        }
        for (object, operations) in of_each {
            history::explain(None, &history::in_sequences(operations))
                .map_err(|violation| format!("{object:?}: {violation}"))?;
        }
        Ok(())
    }

    /// With all requests answered: version and content of each object that was written or removed.
    ///
    /// # Panics
    /// If some request is not answered.
    #[must_use]
    pub fn last_of_each(&self) -> BTreeMap<Object, Option<(Version, u64)>> {
        let mut last: BTreeMap<Object, (Version, Option<u64>)> = BTreeMap::new();
        for asked in self.asked.values() {
            let Act::Set(content) = asked.act else { continue };
            let version = asked.version.expect("it was answered");
            let entry = last.entry(asked.object).or_insert((version, content));
            if version > entry.0 {
                *entry = (version, content);
            }
        }
        let found = |(version, content): (Version, Option<u64>)| content.map(|content| (version, content));
        last.into_iter().map(|(object, last)| (object, found(last))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(counter: u64) -> Version {
        Version { epoch: 1, counter }
    }

    const OBJECT: Object = Object { group: 0, key: Key::MIN };

    fn read(found: Option<(u64, u64)>, as_of: u64) -> Answered {
        let found = found.map(|(counter, number)| (version(counter), number));
        Answered::Read { found, as_of: Some(version(as_of)) }
    }

    /// A model in which so many requests were made, of these acts in turn.
    fn asked(model: &mut Model, act: Act) -> RequestId {
        let request = RequestId { client: 7, number: model.requests() as u64 };
        model.ask(request, OBJECT, act);
        request
    }

    /// A write with version 3, followed by a read with this outcome.
    fn read_after_write(outcome: Answered) -> Result<(), String> {
        let mut model = Model::default();
        let other = RequestId { client: 8, number: 0 };
        model.ask(other, Object { group: 1, ..OBJECT }, Act::Set(Some(9)));
        let write = asked(&mut model, Act::Set(Some(0)));
        model.answer(write, Answered::Done(version(3)))?;
        let read = asked(&mut model, Act::Read(None));
        model.answer(read, outcome)
    }

    #[test]
    fn a_history_of_one_object_passes_and_others_do_not() {
        assert_eq!(read_after_write(read(Some((3, 0)), 5)), Ok(()));
        let faults = [
            (read(Some((2, 0)), 5), "done twice"),
            (read(Some((4, 0)), 5), "done twice"),
            (read(None, 5), "does not find"),
            (read(None, 2), "came before"),
            (read(Some((4, 9)), 5), "content of another object"),
        ];
        for (outcome, want) in faults {
            let fault = read_after_write(outcome).expect_err("it is not a history of one object");
            assert!(fault.contains(want), "{outcome:?}: {fault}");
        }
    }

    #[test]
    fn two_reads_that_find_nothing_have_no_order() {
        let mut model = Model::default();
        for as_of in [5, 4] {
            let absent = asked(&mut model, Act::Read(None));
            assert_eq!(model.answer(absent, read(None, as_of)), Ok(()));
        }
    }

    #[test]
    fn an_older_version_after_a_newer_one_is_found() {
        let mut model = Model::default();
        let first = asked(&mut model, Act::Set(Some(0)));
        let second = asked(&mut model, Act::Set(Some(1)));
        assert_eq!(model.answer(first, Answered::Done(version(1))), Ok(()));
        assert_eq!(model.answer(second, Answered::Done(version(2))), Ok(()));
        let late = asked(&mut model, Act::Read(None));
        let fault = model.answer(late, read(Some((1, 0)), 2)).expect_err("it is out of date");
        assert!(fault.contains("came before"), "{fault}");
    }
}

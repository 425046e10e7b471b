//! What clients know: a history of each object, which must be that of a single object with one instant for
//! each operation between its request and its answer.

use std::collections::BTreeMap;

use towtank_replication::history::{self, Act};
use towtank_replication::{Key, Operation, Outcome, RequestId, Version};

/// A request, and what is known of it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub key: Key,
    pub operation: Operation<Vec<u8>>,
    pub asked_at: u64,
    pub answered_at: Option<u64>,
    /// For a write or delete, its version as far as a client knows; for a read, the version it returned.
    version: Option<Version>,
    /// For a read, whether the object existed; `read` is the number of its content.
    found: bool,
    read: Option<u64>,
}

impl Asked {
    fn is_read(&self) -> bool {
        self.operation == Operation::Read
    }
}

#[derive(Debug, Default)]
pub struct Model {
    asked: BTreeMap<RequestId, Asked>,
    clock: u64,
    /// The number of unanswered requests per object.
    open: BTreeMap<Key, usize>,
    /// Whether answers are compared by their times only, without versions: what a client can see.
    pub ignores_versions: bool,
}

/// The content of write `number`: distinct from all others, with one to four parts.
pub fn content(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + number as usize % 4)
}

fn number_of(content: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(content.get(..8)?.try_into().ok()?);
    (self::content(number) == content).then_some(number)
}

impl Model {
    pub fn ask(&mut self, key: Key, operation: Operation<Vec<u8>>) -> RequestId {
        self.clock += 1;
        let request = RequestId { client: 7, number: self.asked.len() as u64 };
        let asked_at = self.clock;
        let asked =
            Asked { key, operation, asked_at, answered_at: None, version: None, found: false, read: None };
        *self.open.entry(key).or_default() += 1;
        self.asked.insert(request, asked);
        request
    }

    pub fn next_number(&self) -> u64 {
        self.asked.len() as u64
    }

    pub fn get(&self, request: RequestId) -> &Asked {
        &self.asked[&request]
    }

    pub fn is_answered(&self, request: RequestId) -> bool {
        self.asked[&request].answered_at.is_some()
    }

    /// The number of unanswered requests for an object.
    pub fn open_of(&self, key: Key) -> usize {
        self.open.get(&key).copied().unwrap_or(0)
    }

    pub fn unanswered(&self) -> usize {
        self.asked.values().filter(|asked| asked.answered_at.is_none()).count()
    }

    /// Records an answer, which must be consistent with everything known before.
    pub fn answer(&mut self, request: RequestId, outcome: Outcome<Vec<u8>>) -> Result<(), String> {
        self.clock += 1;
        match outcome {
            Outcome::Retry => return Ok(()),
            Outcome::Done(version) => self.learn(request, version)?,
            Outcome::Read { found, as_of } => {
                if let Some((version, content)) = &found {
                    self.learn_content(request, *version, content)?;
                }
                let asked = self.asked.get_mut(&request).ok_or("an answer to nothing")?;
                if asked.answered_at.is_some() {
                    return Ok(());
                }
                asked.found = found.is_some();
                asked.read = found.as_ref().and_then(|(_, content)| number_of(content));
                asked.version = Some(found.map_or(as_of, |(version, _)| version));
            }
        }
        let clock = self.clock;
        let asked = self.asked.get_mut(&request).ok_or("an answer to nothing")?;
        if asked.answered_at.is_none() {
            asked.answered_at = Some(clock);
            if let Some(open) = self.open.get_mut(&asked.key) {
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
        // The low bit of the hash is the group, and a group assigns each version once.
        let group = asked.key.hash() & 1;
        let twin = self.asked.iter().find(|(other, asked)| {
            let is_other = **other != request && asked.key.hash() & 1 == group;
            is_other && !asked.is_read() && asked.version == Some(version)
        });
        twin.map_or(Ok(()), |(other, _)| Err(format!("{request:?} and {other:?} share {version:?}")))
    }

    fn learn_content(&mut self, reader: RequestId, version: Version, content: &[u8]) -> Result<(), String> {
        let number = number_of(content).ok_or("content that nobody wrote")?;
        let writer = RequestId { client: 7, number };
        if self.asked.get(&writer).map(|asked| asked.key) != Some(self.asked[&reader].key) {
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
            other.key == this.key && other.answered_at.is_some_and(|answered| answered < this.asked_at)
        });
        for (other_request, other) in earlier {
            // Two reads that find nothing are not ordered: the first may have counted a change of another
            // object that was then undone.
            let is_absent = |asked: &Asked| asked.is_read() && !asked.found;
            if is_absent(this) && is_absent(other) {
                continue;
            }
            // A read may return the version that an earlier operation returned or made; any other operation
            // must have a later version.
            let has_object = if other.is_read() { other.found } else { other.operation != Operation::Delete };
            let may_be_equal = this.is_read() && (has_object || !this.found);
            let is_after =
                if may_be_equal { this.version >= other.version } else { this.version > other.version };
            if !is_after {
                return Err(format!("{request:?} {this:?} came before {other_request:?} {other:?}"));
            }
            let misses = this.is_read() && !this.found && has_object;
            if misses && !self.may_be_deleted_after(this.key, other.version) {
                return Err(format!("{request:?} does not find {other_request:?} {other:?}"));
            }
        }
        Ok(())
    }

    fn may_be_deleted_after(&self, key: Key, version: Option<Version>) -> bool {
        self.asked.values().any(|other| {
            other.key == key
                && other.operation == Operation::Delete
                && (other.version.is_none() || other.version > version)
        })
    }

    /// With all requests answered: checks that some order of each object's requests explains all answers,
    /// ignoring versions.
    pub fn check_histories(&self) -> Result<(), String> {
        let mut of_each: BTreeMap<Key, Vec<history::Operation>> = BTreeMap::new();
        for (request, asked) in &self.asked {
            let answered = asked.answered_at.ok_or_else(|| format!("{request:?} is not answered"))?;
            let act = match asked.operation {
                Operation::Write(_) => Act::Set(Some(request.number)),
                Operation::Delete => Act::Set(None),
                Operation::Read => Act::Read(asked.read),
            };
            let operation = history::Operation { called: asked.asked_at, answered, act };
            of_each.entry(asked.key).or_default().push(operation);
        }
        for (key, operations) in of_each {
            history::explain(None, &history::in_sequences(operations))
                .map_err(|violation| format!("{key:?}: {violation}"))?;
        }
        Ok(())
    }

    /// With all requests answered: the expected state of each object.
    pub fn last_of_each(&self) -> BTreeMap<Key, Option<(Version, Vec<u8>)>> {
        let mut last: BTreeMap<Key, (Version, Option<Vec<u8>>)> = BTreeMap::new();
        for asked in self.asked.values().filter(|asked| !asked.is_read()) {
            let version = asked.version.expect("it was answered");
            let content = match &asked.operation {
                Operation::Write(content) => Some(content.clone()),
                _ => None,
            };
            let entry = last.entry(asked.key).or_insert((version, content.clone()));
            if version > entry.0 {
                *entry = (version, content);
            }
        }
        last.into_iter()
            .map(|(key, (version, content))| (key, content.map(|content| (version, content))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(counter: u64) -> Version {
        Version { epoch: 1, counter }
    }

    fn read(found: Option<(u64, u64)>, as_of: u64) -> Outcome<Vec<u8>> {
        let found = found.map(|(counter, number)| (version(counter), content(number)));
        Outcome::Read { found, as_of: version(as_of) }
    }

    /// A write with version 3, followed by a read with this outcome.
    fn read_after_write(outcome: Outcome<Vec<u8>>) -> Result<(), String> {
        let mut model = Model::default();
        let write = model.ask(Key::MIN, Operation::Write(content(0)));
        model.answer(write, Outcome::Done(version(3)))?;
        let read = model.ask(Key::MIN, Operation::Read);
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
            let fault = read_after_write(outcome.clone()).expect_err("it is not a history of one object");
            assert!(fault.contains(want), "{outcome:?}: {fault}");
        }
    }

    #[test]
    fn two_reads_that_find_nothing_have_no_order() {
        let mut model = Model::default();
        for as_of in [5, 4] {
            let absent = model.ask(Key::MIN, Operation::Read);
            assert_eq!(model.answer(absent, read(None, as_of)), Ok(()));
        }
    }

    #[test]
    fn an_older_version_after_a_newer_one_is_found() {
        let mut model = Model::default();
        let first = model.ask(Key::MIN, Operation::Write(content(0)));
        let second = model.ask(Key::MIN, Operation::Write(content(1)));
        assert_eq!(model.answer(first, Outcome::Done(version(1))), Ok(()));
        assert_eq!(model.answer(second, Outcome::Done(version(2))), Ok(()));
        let late = model.ask(Key::MIN, Operation::Read);
        let fault = model.answer(late, read(Some((1, 0)), 2)).expect_err("it is out of date");
        assert!(fault.contains("came before"), "{fault}");
    }
}

//! The requests of a schedule, and the model that judges their answers. The content of a write is its number,
//! repeated.

use std::collections::BTreeMap;

use towtank_replication::history::Act;
use towtank_replication::model::{self, Answered, Object};
use towtank_replication::{Key, Operation, Outcome, RequestId, Version};

/// A request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub key: Key,
    pub operation: Operation<Vec<u8>>,
}

#[derive(Debug, Default)]
pub struct Model {
    asked: BTreeMap<RequestId, Asked>,
    pub judge: model::Model,
}

/// The content of write `number`: distinct from all others, with one to four parts.
pub fn content(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + number as usize % 4)
}

fn number_of(content: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(content.get(..8)?.try_into().ok()?);
    (self::content(number) == content).then_some(number)
}

/// The low bit of the hash is the group.
fn object(key: Key) -> Object {
    Object { group: key.hash() & 1, key }
}

impl Model {
    pub fn ask(&mut self, key: Key, operation: Operation<Vec<u8>>) -> RequestId {
        let request = RequestId { client: 7, number: self.next_number() };
        let act = match operation {
            Operation::Write(_) => Act::Set(Some(request.number)),
            Operation::Delete => Act::Set(None),
            Operation::Read => Act::Read(None),
        };
        self.judge.ask(request, object(key), act);
        self.asked.insert(request, Asked { key, operation });
        request
    }

    pub fn next_number(&self) -> u64 {
        self.asked.len() as u64
    }

    pub fn get(&self, request: RequestId) -> &Asked {
        &self.asked[&request]
    }

    pub fn open_of(&self, key: Key) -> usize {
        self.judge.open_of(object(key))
    }

    /// Records an answer, which must be consistent with everything known before.
    pub fn answer(&mut self, request: RequestId, outcome: Outcome<Vec<u8>>) -> Result<(), String> {
        match outcome {
            Outcome::Retry => Ok(()),
            Outcome::Done(version) => self.judge.answer(request, Answered::Done(version)),
            Outcome::Read { found, as_of } => {
                let number = |(version, content): (Version, Vec<u8>)| {
                    number_of(&content).map(|number| (version, number)).ok_or("content that nobody wrote")
                };
                let found = found.map(number).transpose()?;
                self.judge.answer(request, Answered::Read { found, as_of: Some(as_of) })
            }
        }
    }

    /// With all requests answered: the expected state of each object.
    pub fn last_of_each(&self) -> BTreeMap<Key, Option<(Version, Vec<u8>)>> {
        let last = self.judge.last_of_each().into_iter();
        last.map(|(object, last)| (object.key, last.map(|(version, number)| (version, content(number)))))
            .collect()
    }
}

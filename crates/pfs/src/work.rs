//! What clients do: files that they read and write, request by request, in phases.

use serde::{Deserialize, Serialize};
use towtank_streams::Uniform;
use towtank_units::{Frequency, SimSpan};

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operation {
    /// It reads bytes.
    Read,
    /// It writes bytes.
    Write,
    /// It makes a file; nothing is read or written.
    Create,
    /// It asks for a file's attributes.
    Stat,
    /// It removes a file.
    Remove,
}

impl Operation {
    /// Whether data servers have a part in it.
    #[must_use]
    pub fn moves_bytes(self) -> bool {
        matches!(self, Operation::Read | Operation::Write)
    }
}

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wish {
    /// What it does.
    pub operation: Operation,
    /// To which file.
    pub file: u64,
    /// From which byte on.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What all clients do at the same time. The next phase begins when all of them are through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// They read their files.
    Read,
    /// They write them.
    Write,
    /// They do both: of each 1,000,000 requests so many read.
    Mix(u32),
    /// They make their files, one request each.
    Create,
    /// They ask for their attributes.
    Stat,
    /// They remove them.
    Remove,
}

/// In which order requests go through the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    /// File by file, from the first byte to the last.
    #[default]
    Sequential,
    /// Each request to a place drawn at random, as many as it would take to go through all.
    Random,
}

/// Whose files are whose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sharing {
    /// Each client has its own files.
    #[default]
    Own,
    /// The clients of an application have files in common, and requests in turn: client by client (IOR's segments with
    /// blocks of one transfer).
    Interleaved,
    /// The same, each client with one contiguous part of each file.
    Segmented,
}

/// The generated work of all clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Clients of each application, one after the other.
    pub applications: Vec<u32>,
    /// Files of a client, or of an application where they are shared.
    pub files: u64,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Bytes of a request; the last one of a file may have fewer.
    pub request_bytes: u64,
    /// One after the other.
    pub phases: Vec<Phase>,
    /// The order within a phase.
    pub order: Order,
    /// Whose the files are.
    pub sharing: Sharing,
    /// Requests that a client has under way at once.
    pub flows: u16,
    /// How long a flow rests after each request.
    pub think: SimSpan,
    /// Where it is given, a client's requests come at this rate whatever is done, and `think` plays no part.
    pub arrivals: Option<Frequency>,
}

/// A client's place in the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rank {
    /// Its application.
    pub application: u16,
    /// Its number among the clients of it.
    pub rank: u32,
    /// How many these are.
    pub of: u32,
}

impl Work {
    /// All clients.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.applications.iter().sum()
    }

    /// A client's place.
    ///
    /// # Panics
    /// When there is no such client.
    #[must_use]
    pub fn rank(&self, client: u32) -> Rank {
        let mut before = 0;
        for (application, &of) in self.applications.iter().enumerate() {
            if client < before + of {
                return Rank { application: application as u16, rank: client - before, of };
            }
            before += of;
        }
        panic!("there are {before} clients, and {client} is none of them")
    }

    /// Requests of a file that one client makes.
    fn per_file(&self, rank: Rank) -> u64 {
        let all = self.file_bytes.div_ceil(self.request_bytes);
        match self.sharing {
            Sharing::Own => all,
            Sharing::Interleaved => {
                (all + u64::from(rank.of)).saturating_sub(1 + u64::from(rank.rank)) / u64::from(rank.of)
            }
            Sharing::Segmented => {
                let (from, to) = self.segment(rank);
                to - from
            }
        }
    }

    /// The requests of a file that are a client's, where each has a contiguous part.
    fn segment(&self, rank: Rank) -> (u64, u64) {
        let all = self.file_bytes.div_ceil(self.request_bytes);
        let at = |rank: u32, of: u32| (u128::from(all) * u128::from(rank) / u128::from(of)) as u64;
        (at(rank.rank, rank.of), at(rank.rank + 1, rank.of))
    }

    /// Requests of a client in a phase.
    #[must_use]
    pub fn requests(&self, phase: Phase, rank: Rank) -> u64 {
        match phase {
            Phase::Create | Phase::Stat | Phase::Remove => match self.sharing {
                Sharing::Own => self.files,
                Sharing::Interleaved | Sharing::Segmented => {
                    (self.files + u64::from(rank.of)).saturating_sub(1 + u64::from(rank.rank)) / u64::from(rank.of)
                }
            },
            Phase::Read | Phase::Write | Phase::Mix(_) => self.files * self.per_file(rank),
        }
    }

    /// The file's number among all of the run.
    fn file(&self, client: u32, rank: Rank, file: u64) -> u64 {
        match self.sharing {
            Sharing::Own => u64::from(client) * self.files + file,
            Sharing::Interleaved | Sharing::Segmented => u64::from(rank.application) * self.files + file,
        }
    }

    /// A client's request by its number in a phase. Draws, where places are drawn.
    #[must_use]
    pub fn wish(&self, client: u32, rank: Rank, phase: Phase, number: u64, draws: &mut impl Uniform) -> Wish {
        let operation = match phase {
            Phase::Read => Operation::Read,
            Phase::Write => Operation::Write,
            Phase::Mix(reads) => match draws.below(1_000_000) < u64::from(reads) {
                true => Operation::Read,
                false => Operation::Write,
            },
            Phase::Create => Operation::Create,
            Phase::Stat => Operation::Stat,
            Phase::Remove => Operation::Remove,
        };
        if !operation.moves_bytes() {
            let file = match self.sharing {
                Sharing::Own => number,
                Sharing::Interleaved | Sharing::Segmented => number * u64::from(rank.of) + u64::from(rank.rank),
            };
            return Wish { operation, file: self.file(client, rank, file), offset: 0, bytes: 0 };
        }
        let per_file = self.per_file(rank).max(1);
        let number = match self.order {
            Order::Sequential => number,
            Order::Random => draws.below(self.files * per_file),
        };
        let within = number % per_file;
        let place = match self.sharing {
            Sharing::Own => within,
            Sharing::Interleaved => within * u64::from(rank.of) + u64::from(rank.rank),
            Sharing::Segmented => self.segment(rank).0 + within,
        };
        let offset = place * self.request_bytes;
        let bytes = self.request_bytes.min(self.file_bytes.saturating_sub(offset));
        Wish { operation, file: self.file(client, rank, number / per_file), offset, bytes }
    }

    /// Bytes that all clients move in a phase, where places are not drawn.
    #[must_use]
    pub fn bytes(&self, phase: Phase) -> Option<u64> {
        let moves = matches!(phase, Phase::Read | Phase::Write | Phase::Mix(_));
        let sets = match self.sharing {
            Sharing::Own => u64::from(self.clients()),
            Sharing::Interleaved | Sharing::Segmented => {
                self.applications.iter().filter(|&&clients| clients > 0).count() as u64
            }
        };
        match self.order {
            Order::Random if moves => None,
            _ => Some(if moves { sets * self.files * self.file_bytes } else { 0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn work(sharing: Sharing) -> Work {
        Work {
            applications: vec![3, 5],
            files: 4,
            file_bytes: 1_000,
            request_bytes: 64,
            phases: vec![Phase::Write],
            order: Order::Sequential,
            sharing,
            flows: 1,
            think: SimSpan::ZERO,
            arrivals: None,
        }
    }

    /// Sequential work draws nothing.
    struct Nothing;

    impl Uniform for Nothing {
        fn next_u64(&mut self) -> u64 {
            panic!("nothing is drawn")
        }
    }

    /// Every byte of every file that there should be, once.
    fn covered(work: &Work) -> Result<(), String> {
        let mut seen: BTreeSet<(u64, u64)> = BTreeSet::new();
        let mut bytes = 0;
        for client in 0..work.clients() {
            let rank = work.rank(client);
            let mut draws = Nothing;
            for number in 0..work.requests(Phase::Write, rank) {
                let wish = work.wish(client, rank, Phase::Write, number, &mut draws);
                for byte in wish.offset..wish.offset + wish.bytes {
                    if !seen.insert((wish.file, byte)) {
                        return Err(format!("byte {byte} of file {} is written twice", wish.file));
                    }
                }
                bytes += wish.bytes;
            }
        }
        let expected = work.bytes(Phase::Write);
        if expected == Some(bytes) { Ok(()) } else { Err(format!("{bytes} bytes, {expected:?} expected")) }
    }

    proptest! {
        #[test]
        fn every_byte_is_written_once(
            apps in proptest::collection::vec(1_u32..6, 1..4), files in 1_u64..4, file in 1_u64..500, request in 1_u64..90,
            sharing in 0_usize..3,
        ) {
            let sharing = [Sharing::Own, Sharing::Interleaved, Sharing::Segmented][sharing];
            let work = Work { applications: apps, files, file_bytes: file, request_bytes: request, ..work(sharing) };
            prop_assert_eq!(covered(&work), Ok(()));
        }
    }

    /// The same count finds files that clients have in common but should not.
    #[test]
    fn files_that_are_shared_by_mistake_are_noticed() {
        let mut wrong = work(Sharing::Own);
        assert_eq!(covered(&wrong), Ok(()));
        wrong.applications = vec![8];
        wrong.sharing = Sharing::Interleaved;
        let rank = Rank { application: 0, rank: 0, of: 1 };
        // A client that believes it is alone does all the requests.
        assert!(wrong.requests(Phase::Write, rank) > wrong.requests(Phase::Write, wrong.rank(0)));
    }

    #[test]
    fn clients_have_their_ranks() {
        let work = work(Sharing::Own);
        let of = |client| {
            let rank = work.rank(client);
            (rank.application, rank.rank, rank.of)
        };
        assert_eq!([of(0), of(2), of(3), of(7)], [(0, 0, 3), (0, 2, 3), (1, 0, 5), (1, 4, 5)]);
    }
}

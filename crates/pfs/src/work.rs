//! The work of clients: files that they read and write, request by request, in phases; generated or recorded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use towtank_streams::Uniform;
use towtank_units::{Frequency, SimSpan};

use crate::replay::{Loop, Replay};
pub use crate::wish::{Operation, Rank, Wish};

/// What all clients do at the same time. The next phase begins when all of them have finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// They read their files.
    Read,
    /// They write their files.
    Write,
    /// They read and write: this many of each 1,000,000 requests read.
    Mix(u32),
    /// They write all of their files in order, whatever the order of the other phases.
    Fill,
    /// They create their files, one request each.
    Create,
    /// They ask for the attributes of their files.
    Stat,
    /// They remove their files.
    Remove,
    /// They do nothing; other applications may work in this phase.
    Rest,
    /// They issue the recorded requests.
    Replay,
}

/// The order in which requests go through the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    /// File by file, from the first byte to the last.
    #[default]
    Sequential,
    /// Each request goes to a position drawn at random; there are as many as it takes to go through all
    /// files.
    Random,
}

/// Which clients share files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sharing {
    /// Each client has its own files.
    #[default]
    Own,
    /// The clients of an application share files and take requests in turn: client by client (IOR's segments
    /// with blocks of one transfer).
    Interleaved,
    /// They share files, and each client has one contiguous part of each file.
    Segmented,
}

/// When the data of a write that a client's cache absorbed must be at servers. At the end of a phase it
/// always must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Syncs {
    /// Not before the end of the phase.
    #[default]
    Phase,
    /// When a client writes its last request of a file.
    File,
    /// With each request.
    Request,
}

/// The work of one application's clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The number of clients.
    pub clients: u32,
    /// Files per client, or of all clients together where files are shared.
    pub files: u64,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Bytes per request; the last request of a file may have fewer.
    pub request_bytes: u64,
    /// The phases, one after the other. Every application has the same number of them.
    pub phases: Vec<Phase>,
    /// The order within a phase.
    pub order: Order,
    /// Which clients share files.
    pub sharing: Sharing,
    /// Requests that a client has under way at once.
    pub flows: u16,
    /// How long a flow rests after each request.
    pub think: SimSpan,
    /// If set, a client's requests come at this rate regardless of completions, and `think` has no effect.
    pub arrivals: Option<Frequency>,
    /// When a write that the client's cache absorbed is done.
    pub syncs: Syncs,
    /// The records that [`Phase::Replay`] replays. Files and times are then those of the records.
    pub replay: Option<Arc<Replay>>,
}

/// What determines a client's next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A completion, followed by the think time.
    Closed,
    /// Random arrivals at this rate.
    Drawn(Frequency),
    /// The times of the records.
    Recorded,
}

/// The work of all clients: those of the first application come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    applications: Vec<Application>,
}

impl Work {
    /// The work of these applications.
    ///
    /// # Panics
    /// When their numbers of phases differ, or an application has requests or files of 0 bytes, or no flows.
    #[must_use]
    pub fn new(applications: Vec<Application>) -> Work {
        let phases = applications.first().map_or(0, |one| one.phases.len());
        assert!(applications.iter().all(|one| one.phases.len() == phases), "phases are common to all");
        let sound = |one: &Application| one.request_bytes > 0 && one.file_bytes > 0 && one.flows > 0;
        assert!(applications.iter().all(sound), "a request moves something, and somebody asks for it");
        Work { applications }
    }

    /// The applications.
    #[must_use]
    pub fn applications(&self) -> &[Application] {
        &self.applications
    }

    /// The number of phases.
    #[must_use]
    pub fn phases(&self) -> usize {
        self.applications.first().map_or(0, |one| one.phases.len())
    }

    /// The number of clients.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.applications.iter().map(|one| one.clients).sum()
    }

    /// A client's place in the work.
    ///
    /// # Panics
    /// When there is no such client.
    #[must_use]
    pub fn rank(&self, client: u32) -> Rank {
        let (mut before, mut first_file) = (0, 0);
        for (number, application) in self.applications.iter().enumerate() {
            let of = application.clients;
            debug_assert!(client >= before, "clients of earlier applications were passed by");
            if client < before + of {
                return Rank { application: number as u16, rank: client - before, of, first_file };
            }
            before += of;
            first_file += application.all_files();
        }
        panic!("there are {before} clients, and {client} is none of them")
    }

    /// The number of an application's first file among all files of the run.
    ///
    /// # Panics
    /// When there is no such application.
    #[must_use]
    pub fn first_file(&self, application: usize) -> u64 {
        self.applications[..application].iter().map(Application::all_files).sum()
    }

    /// The application of a client.
    #[must_use]
    pub fn of(&self, rank: Rank) -> &Application {
        &self.applications[usize::from(rank.application)]
    }

    /// Bytes that all clients move in a phase, where positions are not drawn.
    #[must_use]
    pub fn bytes(&self, phase: usize) -> Option<u64> {
        self.applications.iter().map(|one| one.bytes(one.phases[phase])).sum()
    }
}

impl Application {
    fn all_files(&self) -> u64 {
        if let Some(replay) = &self.replay {
            return u64::from(replay.files());
        }
        match self.sharing {
            Sharing::Own => u64::from(self.clients) * self.files,
            Sharing::Interleaved | Sharing::Segmented => self.files,
        }
    }

    /// The number of requests that one client makes of a file.
    fn per_file(&self, rank: Rank) -> u64 {
        let all = self.file_bytes.div_ceil(self.request_bytes);
        match self.sharing {
            Sharing::Own => all,
            Sharing::Interleaved => share_of(all, rank),
            Sharing::Segmented => {
                let (from, to) = self.segment(rank);
                to - from
            }
        }
    }

    /// A client's requests of a file, where each has a contiguous part.
    fn segment(&self, rank: Rank) -> (u64, u64) {
        let all = self.file_bytes.div_ceil(self.request_bytes);
        debug_assert!(rank.rank < rank.of, "client {} of {}", rank.rank, rank.of);
        let at = |rank: u32, of: u32| (u128::from(all) * u128::from(rank) / u128::from(of)) as u64;
        (at(rank.rank, rank.of), at(rank.rank + 1, rank.of))
    }

    /// Requests of a client in a phase.
    #[must_use]
    pub fn requests(&self, phase: Phase, rank: Rank) -> u64 {
        match phase {
            Phase::Create | Phase::Stat | Phase::Remove => match self.sharing {
                Sharing::Own => self.files,
                Sharing::Interleaved | Sharing::Segmented => share_of(self.files, rank),
            },
            Phase::Read | Phase::Write | Phase::Fill | Phase::Mix(_) => self.files * self.per_file(rank),
            Phase::Rest => 0,
            Phase::Replay => self.replay.as_ref().map_or(0, |replay| replay.of(rank).len() as u64),
        }
    }

    /// What determines a client's next request in a phase.
    #[must_use]
    pub fn pace(&self, phase: Phase) -> Pace {
        match (phase, &self.replay, self.arrivals) {
            (Phase::Replay, Some(replay), _) if replay.pace() == Loop::Open => Pace::Recorded,
            (Phase::Replay, ..) | (_, _, None) => Pace::Closed,
            (_, _, Some(rate)) => Pace::Drawn(rate),
        }
    }

    /// Whether a write, by its number in a phase, is done only when servers have all that its client has
    /// written to the file.
    #[must_use]
    pub fn syncs(&self, rank: Rank, phase: Phase, number: u64) -> bool {
        match self.syncs {
            Syncs::Phase => false,
            Syncs::Request => true,
            Syncs::File => phase != Phase::Replay && (number + 1).is_multiple_of(self.per_file(rank).max(1)),
        }
    }

    /// The file's number among all files of the run.
    fn file(&self, rank: Rank, file: u64) -> u64 {
        match self.sharing {
            Sharing::Own => rank.first_file + u64::from(rank.rank) * self.files + file,
            Sharing::Interleaved | Sharing::Segmented => rank.first_file + file,
        }
    }

    /// A client's request by its number in a phase. Draws random numbers where positions are drawn.
    #[must_use]
    pub fn wish(&self, rank: Rank, phase: Phase, number: u64, draws: &mut impl Uniform) -> Wish {
        if let (Phase::Replay, Some(replay)) = (phase, &self.replay)
            && let Some(wish) = replay.wish(rank, number)
        {
            return wish;
        }
        let operation = match phase {
            Phase::Read | Phase::Rest | Phase::Replay => Operation::Read,
            Phase::Write | Phase::Fill => Operation::Write,
            Phase::Mix(reads) if draws.below(1_000_000) < u64::from(reads) => Operation::Read,
            Phase::Mix(_) => Operation::Write,
            Phase::Create => Operation::Create,
            Phase::Stat => Operation::Stat,
            Phase::Remove => Operation::Remove,
        };
        if !operation.moves_bytes() {
            let file = match self.sharing {
                Sharing::Own => number,
                Sharing::Interleaved | Sharing::Segmented => {
                    number * u64::from(rank.of) + u64::from(rank.rank)
                }
            };
            return Wish { operation, file: self.file(rank, file), offset: 0, bytes: 0 };
        }
        let per_file = self.per_file(rank).max(1);
        let number = match self.order {
            Order::Random if phase != Phase::Fill => draws.below(self.files * per_file),
            _ => number,
        };
        let within = number % per_file;
        let place = match self.sharing {
            Sharing::Own => within,
            Sharing::Interleaved => within * u64::from(rank.of) + u64::from(rank.rank),
            Sharing::Segmented => self.segment(rank).0 + within,
        };
        let offset = place * self.request_bytes;
        let bytes = self.request_bytes.min(self.file_bytes.saturating_sub(offset));
        debug_assert!(bytes > 0 && offset + bytes <= self.file_bytes, "byte {offset} of {}", self.file_bytes);
        Wish { operation, file: self.file(rank, number / per_file), offset, bytes }
    }

    /// Bytes that its clients move in a phase, where positions are not drawn.
    fn bytes(&self, phase: Phase) -> Option<u64> {
        match phase {
            Phase::Read | Phase::Write | Phase::Mix(_) if self.order == Order::Random => None,
            Phase::Read | Phase::Write | Phase::Mix(_) | Phase::Fill => {
                Some(if self.clients == 0 { 0 } else { self.all_files() * self.file_bytes })
            }
            Phase::Create | Phase::Stat | Phase::Remove | Phase::Rest => Some(0),
            Phase::Replay => Some(self.replay.as_ref().map_or(0, |replay| replay.bytes())),
        }
    }
}

/// A client's share of things that are distributed in turn.
fn share_of(all: u64, rank: Rank) -> u64 {
    debug_assert!(rank.rank < rank.of, "client {} of {}", rank.rank, rank.of);
    (all + u64::from(rank.of)).saturating_sub(1 + u64::from(rank.rank)) / u64::from(rank.of)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn application(clients: u32, sharing: Sharing) -> Application {
        Application {
            clients,
            files: 4,
            file_bytes: 1_000,
            request_bytes: 64,
            phases: vec![Phase::Write],
            order: Order::Sequential,
            sharing,
            flows: 1,
            think: SimSpan::ZERO,
            arrivals: None,
            syncs: Syncs::Phase,
            replay: None,
        }
    }

    /// A random source that must not be used: sequential work draws nothing.
    struct Nothing;

    impl Uniform for Nothing {
        fn next_u64(&mut self) -> u64 {
            panic!("nothing is drawn")
        }
    }

    /// Checks that every byte of every file is covered once. `alone` is a client that believes it is the only
    /// one.
    fn covered(work: &Work, alone: Option<u32>) -> Result<(), String> {
        let mut seen: BTreeSet<(u64, u64)> = BTreeSet::new();
        let mut bytes = 0;
        for client in 0..work.clients() {
            let rank = work.rank(client);
            let rank = if alone == Some(client) { Rank { rank: 0, of: 1, ..rank } } else { rank };
            let application = work.of(rank);
            for number in 0..application.requests(Phase::Write, rank) {
                let wish = application.wish(rank, Phase::Write, number, &mut Nothing);
                for byte in wish.offset..wish.offset + wish.bytes {
                    if !seen.insert((wish.file, byte)) {
                        return Err(format!("byte {byte} of file {} is written twice", wish.file));
                    }
                }
                bytes += wish.bytes;
            }
        }
        let expected = work.bytes(0);
        if expected == Some(bytes) { Ok(()) } else { Err(format!("{bytes} bytes, {expected:?} expected")) }
    }

    proptest! {
        #[test]
        fn every_byte_is_written_once(
            clients in proptest::collection::vec(1_u32..6, 1..4), files in 1_u64..4, file_bytes in 1_u64..500,
            request_bytes in 1_u64..90, sharing in 0_usize..3,
        ) {
            let sharing = [Sharing::Own, Sharing::Interleaved, Sharing::Segmented][sharing];
            let one = |clients| Application { files, file_bytes, request_bytes, ..application(clients, sharing) };
            let work = Work::new(clients.into_iter().map(one).collect());
            prop_assert_eq!(covered(&work, None), Ok(()));
        }
    }

    /// The same count finds a client that does not know of the others.
    #[test]
    fn what_is_written_twice_is_noticed() {
        for sharing in [Sharing::Own, Sharing::Interleaved, Sharing::Segmented] {
            let work = Work::new(vec![application(3, sharing), application(5, sharing)]);
            assert_eq!(covered(&work, None), Ok(()));
            assert!(covered(&work, Some(4)).is_err(), "{sharing:?}");
        }
    }

    #[test]
    fn clients_have_their_ranks() {
        let work = Work::new(vec![application(3, Sharing::Own), application(5, Sharing::Own)]);
        let of = |client| {
            let rank = work.rank(client);
            (rank.application, rank.rank, rank.of, rank.first_file)
        };
        assert_eq!([of(0), of(2), of(3), of(7)], [(0, 0, 3, 0), (0, 2, 3, 0), (1, 0, 5, 12), (1, 4, 5, 12)]);
    }
}

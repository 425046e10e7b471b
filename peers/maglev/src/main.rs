//! Compares Towtank's Maglev with the `maglev` crate, key by key, for several tables and changes of the
//! servers.
//!
//! The crate fills its table by itself. Its hash function is given the integers that Towtank hashes servers
//! and keys to: with the seeds that the crate uses for offset and skip, a server's number hashes to the first
//! and the second of its words, and a key hashes to its slot. Each comparison is repeated with a planted
//! fault, one server whose skip is one more, and must then differ.

use std::hash::{BuildHasher, Hasher};
use std::process::ExitCode;

use maglev::{ConsistentHasher, Maglev as Judge};
use towtank_placement::algorithms::hashing::{self, SPREAD, mix, scatter, virtual_node_id};
use towtank_placement::algorithms::{Cluster, Maglev, Placement, ServerId, Weight};

const KEYS: u64 = 100_000;
const COPIES: usize = 3;

/// The crate's seed of a server's offset and of keys, and that of a server's skip.
const OFFSET: u32 = 0xdead_babe;
const SKIP: u32 = 0xdead_beef;

/// A hash function of servers (32 bits) and keys (64 bits), which are slots already.
#[derive(Clone, Copy)]
struct Words {
    seed: u32,
    slots: u64,
    /// The server whose skip is changed, if a fault is planted.
    fault: Option<u32>,
}

struct Word {
    words: Words,
    kind: Option<u32>,
    value: u64,
}

impl BuildHasher for Words {
    type Hasher = Word;

    fn build_hasher(&self) -> Word {
        Word { words: *self, kind: None, value: 0 }
    }
}

impl Hasher for Word {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed");
    }

    /// The first number is the seed of the crate, the second one the server.
    fn write_u32(&mut self, number: u32) {
        let Words { seed, slots, fault } = self.words;
        match self.kind {
            None => self.kind = Some(number),
            Some(OFFSET) => self.value = virtual_node_id(number, 0, seed),
            Some(SKIP) => {
                // The crate takes the remainder itself.
                let skip = virtual_node_id(number, 1, seed) % (slots - 1).max(1);
                self.value = skip + u64::from(fault == Some(number));
            }
            Some(other) => unreachable!("the crate uses the seed {other:#x}"),
        }
    }

    fn write_u64(&mut self, slot: u64) {
        self.value = slot;
    }

    fn finish(&self) -> u64 {
        self.value
    }
}

/// The servers of a key by the crate: a slot is drawn until enough servers differ.
fn judged(judge: &Judge<u32, Words>, key: u64, words: Words) -> Vec<ServerId> {
    let mut found = Vec::new();
    let copies = COPIES.min(judge.nodes().len());
    for attempt in 0u64.. {
        let word = mix(key ^ scatter(u64::from(words.seed)), SPREAD[0]);
        let word = mix(word ^ attempt.wrapping_mul(SPREAD[1]), SPREAD[1]);
        let slot = ((u128::from(word) * u128::from(words.slots)) >> 64) as u64;
        let server = ServerId(judge[&slot]);
        if !found.contains(&server) {
            found.push(server);
        }
        if found.len() == copies {
            break;
        }
    }
    found
}

/// The number of keys whose servers differ.
fn differing(servers: &[u32], ids: u32, words: Words) -> u64 {
    let weight = |server: u32| if servers.contains(&server) { Weight::ONE } else { Weight::ZERO };
    let cluster = Cluster::weighted((0..ids).map(weight).collect());
    let slots = u32::try_from(words.slots).expect("tables are small here");
    let ours = Maglev::new(&cluster, slots, words.seed).expect("the table is legal");
    let judge = Judge::with_capacity_and_hasher(servers.iter().copied(), words.slots as usize, words);
    assert_eq!(judge.capacity() as u64, words.slots);
    let differs = |id: &u64| {
        let key = hashing::scatter(*id);
        let mut places = [ServerId::NONE; COPIES];
        let found = ours.lookup(key, &mut places);
        places[..found] != judged(&judge, key, words)[..]
    };
    (0..KEYS).filter(differs).count() as u64
}

fn main() -> ExitCode {
    let mut sound = true;
    for (servers, slots, seed) in
        [(1u32, 101u64, 1u32), (3, 101, 2), (8, 1_009, 3), (16, 65_537, 4), (64, 65_537, 5), (64, 6_421, 6)]
    {
        let all: Vec<u32> = (0..servers).collect();
        let added: Vec<u32> = (0..=servers).collect();
        let removed: Vec<u32> = all.iter().copied().filter(|server| servers == 1 || *server != servers / 2).collect();
        for (change, list) in [("before", &all), ("one more", &added), ("one less", &removed)] {
            let words = Words { seed, slots, fault: None };
            let found = differing(list, servers + 1, words);
            let planted = differing(list, servers + 1, Words { fault: list.last().copied(), ..words });
            // One server has the whole table, whatever its skip.
            let noticed = planted > 0 || list.len() == 1;
            println!(
                "{servers} servers, {slots} slots, {change}: {found} of {KEYS} keys differ; {planted} with a planted fault"
            );
            sound &= found == 0 && noticed;
        }
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

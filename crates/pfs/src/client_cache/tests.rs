//! The cache compared with a model that has a state for each byte, and its audit of damaged states.

use proptest::prelude::*;

use super::*;

const FILE_BYTES: u64 = 60;

fn run(file: u64, from: u64, to: u64) -> Run {
    Run { file, from, to }
}

/// The state of each byte.
#[derive(Default)]
struct ByByte(BTreeMap<(u64, u64), Held>);

impl ByByte {
    fn of(cache: &ClientCache) -> ByByte {
        let bytes = cache
            .ranges
            .iter()
            .flat_map(|(&(file, from), range)| (from..range.to).map(move |byte| ((file, byte), range.held)));
        ByByte(bytes.collect())
    }

    fn find(&self, run: Run) -> Lookup {
        let at = |byte| self.0.get(&(run.file, byte)).map(|held| *held == Held::Coming);
        let first = at(run.from);
        let bytes = (run.from..run.to).take_while(|byte| at(*byte) == first).count() as u64;
        match first {
            None => Lookup::Missing(bytes),
            Some(true) => Lookup::Coming(bytes),
            Some(false) => Lookup::Here(bytes),
        }
    }

    /// Changes the bytes of a run from one state to another.
    fn turned(mut self, run: Run, before: Held, after: Held) -> ByByte {
        for (_, held) in self.0.range_mut((run.file, run.from)..(run.file, run.to)) {
            *held = if *held == before { after } else { *held };
        }
        self
    }

    fn count(&self, held: Held) -> u64 {
        self.0.values().filter(|one| **one == held).count() as u64
    }
}

/// One step of a client, with the reads and write-backs under way. Returns the broken invariant, if any.
fn step(
    cache: &mut ClientCache,
    (reading, leaving): (&mut Vec<Run>, &mut Vec<Run>),
    (kind, at, length): (u8, Run, u64),
) -> Result<(), String> {
    let before = ByByte::of(cache);
    if cache.find(at) != before.find(at) {
        return Err(format!("{:?} of {at:?}, {:?} expected", cache.find(at), before.find(at)));
    }
    match kind {
        0 | 1 => {
            let written = cache.write(at);
            let after = ByByte::of(cache);
            if written != (at.from..at.to).all(|byte| after.0.get(&(at.file, byte)) == Some(&Held::Dirty)) {
                return Err(format!("{at:?} was written ({written}), and its bytes do not say so"));
            }
            if !written && after.0 != before.0 {
                return Err(format!("{at:?} had no room, and something has changed"));
            }
        }
        2 => {
            if let Lookup::Missing(bytes) = cache.find(at) {
                let missing = run(at.file, at.from, at.from + bytes);
                if cache.begin_read(missing) {
                    reading.push(missing);
                }
            }
        }
        3 => {
            if let Some(came) = reading.pop() {
                cache.end_read(came);
                if ByByte::of(cache).0 != before.turned(came, Held::Coming, Held::Clean).0 {
                    return Err(format!("{came:?} came, and more or less than that is clean"));
                }
            }
        }
        4 => leaving.extend(cache.take_dirty((length % 2 == 0).then_some(at.file), length)),
        5 => {
            if let Some(done) = leaving.pop() {
                cache.end_write(done);
                if ByByte::of(cache).0 != before.turned(done, Held::Leaving, Held::Clean).0 {
                    return Err(format!("{done:?} was written, and more or less than that is clean"));
                }
            }
        }
        6 => cache.remove(at.file),
        7 => cache.drop_clean(),
        _ => cache.touch(at),
    }
    let after = ByByte::of(cache);
    for held in [Held::Clean, Held::Dirty, Held::Coming, Held::Leaving] {
        if cache.bytes(held) != after.count(held) {
            return Err(format!("{} bytes are {held:?}, {} expected", cache.bytes(held), after.count(held)));
        }
    }
    let under_way: u64 = leaving.iter().map(Run::bytes).sum();
    if cache.on_the_way() != under_way {
        return Err(format!("{} bytes are on their way, {under_way} expected", cache.on_the_way()));
    }
    cache.audit()
}

proptest! {
    #[test]
    fn any_steps_keep_bytes(
        capacity in 20_u64..150,
        steps in proptest::collection::vec((0_u8..10, 0_u64..3, 0..FILE_BYTES, 1_u64..30), 1..60),
    ) {
        let mut cache = ClientCache::new(capacity);
        let (mut reading, mut leaving) = (Vec::new(), Vec::new());
        for (kind, file, from, length) in steps {
            let at = run(file, from, from + length);
            let result = step(&mut cache, (&mut reading, &mut leaving), (kind, at, length));
            prop_assert_eq!(result, Ok(()), "step {} of {:?}", kind, at);
        }
        // All reads and write-backs end, and then nothing is unsaved that was not dirty before.
        let dirty = cache.bytes(Held::Dirty);
        leaving.drain(..).for_each(|run| cache.end_write(run));
        reading.drain(..).for_each(|run| cache.end_read(run));
        prop_assert_eq!(cache.unsaved(), dirty);
        prop_assert_eq!(cache.bytes(Held::Coming) + cache.bytes(Held::Leaving), 0);
        prop_assert_eq!(cache.audit(), Ok(()));
    }
}

#[test]
fn what_was_used_longest_ago_goes_first() {
    let mut cache = ClientCache::new(30);
    for file in 0..3 {
        assert!(cache.begin_read(run(file, 0, 10)));
        cache.end_read(run(file, 0, 10));
    }
    cache.touch(run(0, 0, 10));
    assert!(cache.begin_read(run(3, 0, 4)));
    assert_eq!(cache.find(run(0, 0, 10)), Lookup::Here(10));
    assert_eq!(cache.find(run(1, 0, 10)), Lookup::Missing(4));
    assert_eq!(cache.find(run(1, 4, 10)), Lookup::Here(6));
    assert_eq!(cache.find(run(3, 0, 10)), Lookup::Coming(4));
}

#[test]
fn dirty_bytes_stay_and_neighbours_leave_together() {
    let mut cache = ClientCache::new(30);
    assert!(cache.write(run(0, 0, 10)) && cache.write(run(0, 20, 30)) && cache.write(run(0, 10, 20)));
    assert!(!cache.write(run(1, 0, 1)), "dirty bytes are never evicted");
    assert_eq!(cache.take_dirty(None, 25), Some(run(0, 0, 25)));
    // Written again while it is being written back: it stays dirty after the acknowledgement.
    assert!(cache.write(run(0, 5, 8)));
    cache.end_write(run(0, 0, 25));
    assert_eq!([cache.bytes(Held::Clean), cache.bytes(Held::Dirty)], [22, 8]);
    assert_eq!((cache.absorbed, cache.taken, cache.written), (33, 25, 25));
    assert!(cache.is_dirty(0) && !cache.is_dirty(1));
    cache.remove(0);
    assert_eq!((cache.held(), cache.discarded, cache.audit()), (0, 8, Ok(())));
}

/// The audit notices each kind of damage made behind the cache's back.
#[test]
fn damage_is_noticed() {
    let sound = || {
        let mut cache = ClientCache::new(100);
        assert!(cache.write(run(0, 0, 10)) && cache.write(run(0, 30, 40)));
        assert_eq!(cache.take_dirty(None, 5), Some(run(0, 0, 5)));
        cache
    };
    assert_eq!(sound().audit(), Ok(()));
    let complaint = |damage: fn(&mut ClientCache)| {
        let mut cache = sound();
        damage(&mut cache);
        cache.audit().expect_err("damage is noticed")
    };
    assert!(complaint(|cache| cache.absorbed += 1).contains("became dirty"));
    assert!(complaint(|cache| cache.discarded += 1).contains("discarded"));
    assert!(complaint(|cache| cache.written = 6).contains("were acknowledged"));
    assert!(complaint(|cache| cache.capacity = 19).contains("holds"));
    assert!(complaint(|cache| cache.bytes[0] += 1).contains("by state"));
    assert!(complaint(|cache| cache.ranges.get_mut(&(0, 5)).expect("it is there").to = 35).contains("twice"));
    assert!(complaint(|cache| cache.order.clear()).contains("no place"));
}

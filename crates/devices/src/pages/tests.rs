//! The cache compared with a list of single pages, and its audit checked against damaged states.

use proptest::prelude::*;

use super::*;

/// A list of single pages, the least recently used first.
struct Slow {
    capacity: usize,
    replacement: Replacement,
    pages: Vec<(FileId, u64, State)>,
}

impl Slow {
    fn state(&self, file: FileId, page: u64) -> Option<State> {
        self.pages.iter().find(|one| (one.0, one.1) == (file, page)).map(|one| one.2)
    }

    fn use_again(&mut self, file: FileId, page: u64, state: State) {
        self.pages.retain(|one| (one.0, one.1) != (file, page));
        self.pages.push((file, page, state));
    }

    fn make_room(&mut self, pages: u64) -> bool {
        while self.capacity - self.pages.len() < pages as usize {
            let clean = |one: &(FileId, u64, State)| one.2 == State::Clean;
            let at = match self.replacement {
                Replacement::Lru | Replacement::Fifo => self.pages.iter().position(clean),
                Replacement::Mru => self.pages.iter().rposition(clean),
            };
            let Some(at) = at else { return false };
            self.pages.remove(at);
        }
        true
    }

    fn touch(&mut self, extent: &Extent) {
        if self.replacement != Replacement::Fifo {
            for page in extent.pages.clone() {
                if let Some(state) = self.state(extent.file, page) {
                    self.use_again(extent.file, page, state);
                }
            }
        }
    }

    fn begin_read(&mut self, extent: &Extent) -> bool {
        let room = self.make_room(extent.len());
        if room {
            extent.pages.clone().for_each(|page| self.use_again(extent.file, page, State::Reading));
        }
        room
    }

    fn end_read(&mut self, extent: &Extent) {
        for page in extent.pages.clone() {
            if self.state(extent.file, page) == Some(State::Reading) {
                self.use_again(extent.file, page, State::Clean);
            }
        }
    }

    fn write(&mut self, extent: &Extent) -> bool {
        let before = self.pages.clone();
        self.pages.retain(|one| one.0 != extent.file || !extent.pages.contains(&one.1));
        if !self.make_room(extent.len()) {
            let gone: Vec<(FileId, u64)> = before
                .iter()
                .filter(|one| one.2 == State::Clean)
                .filter(|one| one.0 != extent.file || !extent.pages.contains(&one.1))
                .map(|one| (one.0, one.1))
                .collect();
            self.pages = before;
            self.pages.retain(|one| !gone.contains(&(one.0, one.1)));
            return false;
        }
        extent.pages.clone().for_each(|page| self.use_again(extent.file, page, State::Dirty));
        true
    }

    fn take_dirty(&mut self, first: Option<FileId>, most: u64) -> Vec<(FileId, u64)> {
        let mut dirty: Vec<(FileId, u64)> =
            self.pages.iter().filter(|one| one.2 == State::Dirty).map(|one| (one.0, one.1)).collect();
        dirty.sort_by_key(|(file, page)| (Some(*file) != first, *file, *page));
        dirty.truncate(most as usize);
        for one in &mut self.pages {
            if dirty.contains(&(one.0, one.1)) {
                one.2 = State::Writing;
            }
        }
        dirty
    }

    fn end_write(&mut self, extent: &Extent) {
        for one in &mut self.pages {
            if one.0 == extent.file && extent.pages.contains(&one.1) && one.2 == State::Writing {
                one.2 = State::Clean;
            }
        }
    }
}

/// An operation: its kind, file, first page, number of pages.
type Step = (u8, u64, u64, u64);

/// Applies the same operations to both, and reports the first difference.
fn compare(cache: &mut PageCache, slow: &mut Slow, steps: &[Step]) -> Result<(), String> {
    let mut writing: Vec<Extent> = Vec::new();
    for (at, &(what, file, start, length)) in steps.iter().enumerate() {
        let extent = Extent { file: FileId(file), pages: start..start + length };
        match what {
            0 => (cache.touch(&extent), slow.touch(&extent)).0,
            1 => {
                if let Found::Missing(pages) = cache.find(&extent) {
                    let missing = Extent { pages: start..start + pages, ..extent.clone() };
                    let (ours, theirs) = (cache.begin_read(&missing), slow.begin_read(&missing));
                    if ours != theirs {
                        return Err(format!("step {at}: room {ours}, {theirs} expected"));
                    }
                }
            }
            2 => (cache.end_read(&extent), slow.end_read(&extent)).0,
            3 => {
                let (ours, theirs) = (cache.write(&extent), slow.write(&extent));
                if ours != theirs {
                    return Err(format!("step {at}: written {ours}, {theirs} expected"));
                }
            }
            4 => {
                let first = (start % 2 == 0).then_some(FileId(file));
                let taken = cache.take_dirty(first, length);
                let pages: Vec<(FileId, u64)> = taken
                    .iter()
                    .flat_map(|one| one.pages.clone().map(move |page| (one.file, page)))
                    .collect();
                let expected = slow.take_dirty(first, length);
                if pages != expected {
                    return Err(format!("step {at}: {pages:?} to be written, {expected:?} expected"));
                }
                writing.extend(taken);
            }
            5 => {
                if let Some(extent) = writing.pop() {
                    cache.end_write(&extent);
                    slow.end_write(&extent);
                }
            }
            _ => {
                cache.forget(FileId(file));
                slow.pages.retain(|one| one.0 != FileId(file));
            }
        }
        same(cache, slow).map_err(|error| format!("step {at} {:?}: {error}", steps[at]))?;
    }
    Ok(())
}

fn same(cache: &PageCache, slow: &Slow) -> Result<(), String> {
    cache.audit().map_err(|error| error.to_string())?;
    let mut ours: Vec<(FileId, u64, State)> = cache
        .pieces
        .sorted()
        .into_iter()
        .flat_map(|((file, start), piece)| (start..piece.end).map(move |page| (file, page, piece.state)))
        .collect();
    let mut theirs = slow.pages.clone();
    let by_page = |one: &(FileId, u64, State)| (one.0, one.1);
    ours.sort_by_key(by_page);
    theirs.sort_by_key(by_page);
    if ours != theirs {
        return Err(format!("{ours:?}, {theirs:?} expected"));
    }
    for (file, page, state) in &theirs {
        let found = cache.find(&Extent { file: *file, pages: *page..*page + 1 });
        let expected = if *state == State::Reading { Found::Coming(1) } else { Found::Here(1) };
        if found != expected {
            return Err(format!("page {page} of {file:?}: {found:?}"));
        }
    }
    Ok(())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (prop_oneof![0_u8..4, 0_u8..6, 0_u8..7], 0_u64..3, 0_u64..24, 1_u64..9);
    proptest::collection::vec(step, 1..120)
}

const ALL: [Replacement; 3] = [Replacement::Lru, Replacement::Fifo, Replacement::Mru];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn ranges_are_what_single_pages_are(steps in steps(), capacity in 8_u64..40, which in 0_usize..3) {
        let mut cache = PageCache::new(capacity, ALL[which]);
        let mut slow = Slow { capacity: capacity as usize, replacement: ALL[which], pages: Vec::new() };
        prop_assert_eq!(compare(&mut cache, &mut slow, &steps), Ok(()));
    }
}

/// The comparison detects a cache with another replacement rule than its oracle.
#[test]
fn another_rule_is_noticed() {
    // Four pages fit: the first two are read and used again, then two more come; the fifth evicts one.
    let read = |page: u64| [(1, 0, page, 1), (2, 0, page, 1)];
    let mut steps: Vec<Step> = [0, 1].into_iter().flat_map(read).collect();
    steps.extend([(1, 0, 2, 1), (2, 0, 2, 1), (1, 0, 3, 1), (2, 0, 3, 1), (0, 0, 0, 1), (1, 0, 9, 1)]);
    for (ours, theirs) in [
        (Replacement::Lru, Replacement::Fifo),
        (Replacement::Fifo, Replacement::Lru),
        (Replacement::Mru, Replacement::Lru),
    ] {
        let mut cache = PageCache::new(4, ours);
        let mut slow = Slow { capacity: 4, replacement: theirs, pages: Vec::new() };
        assert!(compare(&mut cache, &mut slow, &steps).is_err(), "{ours:?} for {theirs:?}");
    }
}

#[test]
fn broken_counts_are_noticed() {
    let whole = |start: u64, end: u64| Extent { file: FileId(1), pages: start..end };
    let mut sound = PageCache::new(16, Replacement::Lru);
    assert!(sound.write(&whole(0, 4)) && sound.begin_read(&whole(8, 10)));
    assert_eq!(sound.audit(), Ok(()));
    let broken = |change: fn(&mut PageCache)| {
        let mut cache = sound.clone();
        change(&mut cache);
        cache.audit().is_err()
    };
    assert!(broken(|cache| cache.used_pages += 1));
    assert!(broken(|cache| cache.dirty_pages -= 1));
    assert!(broken(|cache| cache.capacity = 3));
    assert!(broken(|cache| {
        let piece = Piece { end: 6, state: State::Clean, used: 9 };
        cache.pieces.insert((FileId(1), 2), piece);
        cache.used_pages += 4;
    }));
}

#[test]
fn pages_that_are_dirty_already_are_not_counted_again() {
    let extent = |start: u64, end: u64| Extent { file: FileId(0), pages: start..end };
    let mut cache = PageCache::new(64, Replacement::Lru);
    assert!(cache.write(&extent(2, 6)));
    assert_eq!(cache.not_dirty(&extent(0, 8)), 4);
    assert_eq!(cache.not_dirty(&extent(4, 5)), 0);
    // Rewritten clean pages count as dirty (PFSsim does not count them).
    let taken = cache.take_dirty(None, 64);
    taken.iter().for_each(|one| cache.end_write(one));
    assert_eq!((cache.dirty_pages(), cache.not_dirty(&extent(0, 8))), (0, 8));
    assert!(cache.write(&extent(0, 8)));
    assert_eq!(cache.dirty_pages(), 8);
}

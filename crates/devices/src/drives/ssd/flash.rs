//! The flash pages of a drive: their contents, which are stale, and which block is collected next.

use super::Wear;
use crate::Broken;

/// No page.
const NONE: u32 = u32::MAX;

/// The dimensions of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Shape {
    pub dies: u32,
    pub die_blocks: u32,
    pub block_pages: u32,
}

/// The work that was done to make room for a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moves {
    /// Pages moved.
    pub pages: u64,
    /// Blocks erased.
    pub blocks: u64,
}

/// The state of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Block {
    /// Pages programmed since it was erased.
    used: u32,
    /// Of these, in use.
    valid: u32,
}

/// The open block and the free blocks of a die.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Die {
    /// The block that the die is writing.
    open: u32,
    /// Erased blocks.
    free: Vec<u32>,
}

/// The map of all pages of a drive.
///
/// **Conservation:** pages programmed = in use + stale + erased, and each page in use is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Flash {
    shape: Shape,
    /// The number of free blocks of a die below which it collects garbage.
    free_blocks: u32,
    /// The physical page of each logical page.
    map: Vec<u32>,
    /// The logical page that each physical page holds.
    holds: Vec<u32>,
    blocks: Vec<Block>,
    dies: Vec<Die>,
    wear: Wear,
}

impl Flash {
    /// All pages erased. Each die has more blocks than `free_blocks` and its share of the user's pages need.
    pub(super) fn new(shape: Shape, user_pages: u32, free_blocks: u32) -> Flash {
        let blocks = shape.dies * shape.die_blocks;
        let die = |die: u32| {
            let first = die * shape.die_blocks;
            Die { open: first, free: (first + 1..first + shape.die_blocks).rev().collect() }
        };
        Flash {
            shape,
            free_blocks,
            map: vec![NONE; user_pages as usize],
            holds: vec![NONE; (blocks * shape.block_pages) as usize],
            blocks: vec![Block::default(); blocks as usize],
            dies: (0..shape.dies).map(die).collect(),
            wear: Wear::default(),
        }
    }

    pub(super) fn user_pages(&self) -> u32 {
        self.map.len() as u32
    }

    #[cfg(test)]
    pub(super) fn wear(&self) -> Wear {
        self.wear
    }

    pub(super) fn die_of(&self, page: u32) -> usize {
        (page % self.shape.dies) as usize
    }

    pub(super) fn is_written(&self, page: u32) -> bool {
        self.map[page as usize] != NONE
    }

    /// Writes a logical page, collecting garbage first if needed; returns what was moved and erased.
    pub(super) fn write(&mut self, page: u32) -> Moves {
        let old = self.map[page as usize];
        if old != NONE {
            self.holds[old as usize] = NONE;
            self.blocks[(old / self.shape.block_pages) as usize].valid -= 1;
        }
        let die = self.die_of(page);
        let mut moves = Moves::default();
        if self.is_full(die) {
            self.open_another(die);
            while self.dies[die].free.len() < self.free_blocks as usize {
                moves.pages += self.collect(die);
                moves.blocks += 1;
            }
        }
        // Collection may have filled the block in which it made room.
        self.put(die, page);
        self.wear.host_pages += 1;
        self.wear.moved_pages += moves.pages;
        self.wear.erased_blocks += moves.blocks;
        moves
    }

    fn is_full(&self, die: usize) -> bool {
        self.blocks[self.dies[die].open as usize].used == self.shape.block_pages
    }

    fn open_another(&mut self, die: usize) {
        let die = &mut self.dies[die];
        die.open = die.free.pop().expect("a die collects before its last free block is full");
    }

    fn put(&mut self, die: usize, page: u32) {
        if self.is_full(die) {
            self.open_another(die);
        }
        let open = self.dies[die].open;
        let block = &mut self.blocks[open as usize];
        let place = open * self.shape.block_pages + block.used;
        block.used += 1;
        block.valid += 1;
        self.holds[place as usize] = page;
        self.map[page as usize] = place;
    }

    /// Moves the pages in use out of the block with the fewest of them, erases that block, and returns the
    /// number of pages moved.
    fn collect(&mut self, die: usize) -> u64 {
        let (first, pages) = (die as u32 * self.shape.die_blocks, self.shape.block_pages);
        let open = self.dies[die].open;
        let full = |block: &u32| *block != open && self.blocks[*block as usize].used == pages;
        let least = (first..first + self.shape.die_blocks)
            .filter(full)
            .min_by_key(|block| self.blocks[*block as usize].valid)
            .expect("a die without free blocks has full ones");
        let moved = self.blocks[least as usize].valid;
        assert!(moved < pages, "all pages of die {die} are in use, although some are spare");
        for place in least * pages..(least + 1) * pages {
            let page = std::mem::replace(&mut self.holds[place as usize], NONE);
            if page != NONE {
                self.put(die, page);
            }
        }
        self.blocks[least as usize] = Block::default();
        self.dies[die].free.insert(0, least);
        u64::from(moved)
    }

    /// Checks the conservation law.
    pub(super) fn audit(&self) -> Result<(), Broken> {
        let mut mapped = 0;
        for (logical, &physical) in (0u64..).zip(&self.map).filter(|(_, place)| **place != NONE) {
            mapped += 1;
            if self.holds.get(physical as usize).is_none_or(|page| u64::from(*page) != logical) {
                return Err(Broken::WrongPage { logical, physical: physical.into() });
            }
        }
        let sum =
            |part: fn(&Block) -> u32| self.blocks.iter().map(|block| u64::from(part(block))).sum::<u64>();
        let (used, valid) = (sum(|block| block.used), sum(|block| block.valid));
        let programmed = self.wear.host_pages + self.wear.moved_pages;
        let erased = self.wear.erased_blocks * u64::from(self.shape.block_pages);
        let held = self.holds.iter().filter(|page| **page != NONE).count() as u64;
        if programmed != erased + used || valid != mapped || held != mapped {
            let stale = used.saturating_sub(valid);
            return Err(Broken::LostPages { programmed, erased, stale, valid, mapped });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used() -> Flash {
        let shape = Shape { dies: 2, die_blocks: 8, block_pages: 4 };
        let mut flash = Flash::new(shape, 40, 2);
        (0..40).for_each(|page| assert_eq!(flash.write(page), Moves::default()));
        for write in 0..400u32 {
            flash.write(write.wrapping_mul(0x9e37_79b9) >> 16 & 31);
            assert_eq!(flash.audit(), Ok(()), "after {write} writes");
        }
        flash
    }

    #[test]
    fn pages_are_conserved_and_what_is_lost_is_noticed() {
        let flash = used();
        assert!(flash.wear.moved_pages > 0 && flash.wear.erased_blocks > 0);
        let planted = |change: fn(&mut Flash)| {
            let mut flash = flash.clone();
            change(&mut flash);
            flash.audit().unwrap_err()
        };
        assert!(matches!(planted(|flash| flash.map.swap(3, 5)), Broken::WrongPage { logical: 3, .. }));
        assert!(matches!(planted(|flash| flash.map[3] = NONE), Broken::LostPages { mapped: 39, .. }));
        assert!(matches!(planted(|flash| flash.wear.moved_pages -= 1), Broken::LostPages { .. }));
        assert!(matches!(planted(|flash| flash.wear.erased_blocks += 1), Broken::LostPages { .. }));
        assert!(matches!(planted(|flash| flash.blocks[1].valid += 1), Broken::LostPages { .. }));
        assert!(matches!(planted(|flash| flash.blocks[2].used += 1), Broken::LostPages { .. }));
    }

    #[test]
    fn free_blocks_never_run_out() {
        let mut flash = used();
        for write in 0..2_000u32 {
            flash.write(write.wrapping_mul(0x9e37_79b9) >> 16 & 31);
            assert!(flash.dies.iter().all(|die| !die.free.is_empty()), "after {write} writes");
        }
    }
}

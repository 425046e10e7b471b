//! A file on a disk that loses power: pages that were written and not synced are kept, lost or torn.

use std::collections::BTreeMap;

use towtank_streams::Uniform;

/// The bytes that a cache writes back together.
pub(crate) const PAGE: usize = 4 << 10;

/// The bytes of a page that a disk writes at once: a page that is torn has some of them.
const SECTOR: usize = 512;

/// A file that grows at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimDisk {
    bytes: Vec<u8>,
    /// What the disk holds of pages that were written since the last sync.
    unsynced: BTreeMap<usize, Vec<u8>>,
}

impl SimDisk {
    /// The bytes as a process reads them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds bytes at the end.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (first, end) = (self.bytes.len() / PAGE, self.bytes.len() + bytes.len());
        for page in first..end.div_ceil(PAGE) {
            let on_disk = self.bytes.get(page * PAGE..).unwrap_or_default();
            let on_disk = on_disk[..on_disk.len().min(PAGE)].to_vec();
            self.unsynced.entry(page).or_insert(on_disk);
        }
        self.bytes.extend(bytes);
    }

    /// Makes all bytes durable.
    pub(crate) fn sync(&mut self) {
        self.unsynced.clear();
    }

    /// Cuts the file, durably.
    pub(crate) fn cut(&mut self, at: usize) {
        self.bytes.truncate(at);
        self.unsynced.clear();
    }

    /// Inverts a bit of what is on the disk.
    pub(crate) fn flip(&mut self, at: usize) {
        if let Some(byte) = self.bytes.get_mut(at) {
            *byte ^= 1 << (at % 8);
        }
    }

    /// The machine loses power: each page that was not synced is kept, lost, or torn. Returns whether any is
    /// not as it was written.
    pub(crate) fn lose_power(&mut self, draws: &mut impl Uniform) -> bool {
        let mut is_changed = false;
        for (page, mut on_disk) in std::mem::take(&mut self.unsynced) {
            let end = self.bytes.len().min((page + 1) * PAGE);
            let written = &mut self.bytes[page * PAGE..end];
            on_disk.resize(written.len(), 0);
            let sectors = written.len().div_ceil(SECTOR) as u64;
            let kept = match draws.below(3) {
                0 => 0,
                1 => written.len(),
                _ => (draws.below(sectors + 1) as usize * SECTOR).min(written.len()),
            };
            is_changed |= written[kept..] != on_disk[kept..];
            written[kept..].copy_from_slice(&on_disk[kept..]);
        }
        is_changed
    }
}

#[cfg(test)]
mod tests {
    use towtank_streams::{Draws, Purpose, Seed};

    use super::*;

    #[test]
    fn what_is_synced_stays_and_the_rest_may_be_lost() {
        let (mut lost, mut kept, mut torn) = (0, 0, 0);
        for seed in 0..200 {
            let mut draws = Draws::new(Seed(seed), 0, 0);
            let mut disk = SimDisk::default();
            disk.append(&[1; 3 * PAGE / 2]);
            disk.sync();
            disk.append(&[2; PAGE]);
            disk.lose_power(&mut draws.of(Purpose(0)));
            let bytes = disk.bytes();
            assert_eq!(bytes.len(), 5 * PAGE / 2);
            assert!(bytes[..3 * PAGE / 2].iter().all(|byte| *byte == 1), "it was synced");
            let left = bytes[3 * PAGE / 2..].iter().filter(|byte| **byte == 2).count();
            match left {
                0 => lost += 1,
                PAGE => kept += 1,
                _ => torn += 1,
            }
        }
        assert!(lost > 10 && kept > 10 && torn > 10, "{lost} lost, {kept} kept, {torn} torn");
    }
}

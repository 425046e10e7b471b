//! How far the backfill of a group has come.

use towtank_imports::ceph::GroupStat;
use towtank_placement::crush::{ItemId, NONE, RuleKind};

use crate::cluster::Group;
use crate::{Gains, PoolState};

/// The objects of a group that its new devices have already, as a dump counts them: while a group is
/// backfilled, its objects that are degraded or misplaced are those that the new devices still lack
/// (`PeeringState::update_calc_stats` of Ceph), and so are those that a device lacks which came back and
/// recovers by the log. Nothing where that is not known: the counts are guesses after a split, and 0 for some
/// seconds while a group peers.
pub(crate) fn copied(stat: &GroupStat, pool: &PoolState) -> Option<u64> {
    const COPIED: [&str; 6] = [
        "backfilling",
        "backfill_wait",
        "backfill_toofull",
        "recovering",
        "recovery_wait",
        "recovery_toofull",
    ];
    let is_copied = COPIED.iter().any(|word| stat.is(word));
    let by_place = pool.placed.kind == RuleKind::Erasure;
    let targets = Gains::between(&stat.acting, &stat.up, by_place).gained.len() as u64;
    if !is_copied || targets == 0 || stat.stats_invalid || stat.sum.is_negative {
        return None;
    }
    let objects = stat.sum.num_objects;
    let held = stat.up.iter().filter(|id| **id != NONE).count() as u64;
    let absent = u64::from(pool.placed.size).saturating_sub(held).checked_mul(objects)?;
    let lacking = stat.sum.num_objects_degraded.checked_add(stat.sum.num_objects_misplaced)?;
    let lacking = lacking.checked_sub(absent)?.div_ceil(targets);
    // One object at least is not there, or the group would be clean.
    (lacking > 0).then(|| objects.checked_sub(lacking)).flatten()
}

impl Group {
    /// How many of its objects the devices have to which it is being copied, and which these are; nothing
    /// where none has any, or that is not known.
    #[must_use]
    pub fn begun(&self, coded: bool) -> Option<(u64, Vec<ItemId>)> {
        let copied = self.copied.filter(|copied| *copied > 0)?;
        let to = Gains::between(self.acting.as_ref()?, self.up.as_ref()?, coded).gained;
        Some((copied, to.into_iter().map(|(_, to)| to).collect()))
    }

    /// How many of its objects each device has already that gains it: none where others gain it than those to
    /// which it is being copied.
    #[must_use]
    pub fn had(&self, gains: &Gains, coded: bool) -> u64 {
        let begun = self.begun(coded).filter(|(_, homes)| {
            homes.len() == gains.gained.len() && gains.gained.iter().all(|(_, to)| homes.contains(to))
        });
        begun.map_or(0, |(objects, _)| objects)
    }

    /// This many bytes of each copy or shard, of so many, are those of some objects.
    #[must_use]
    pub fn bytes_of(&self, objects: u64, shard: u64) -> u64 {
        (u128::from(shard) * u128::from(objects) / u128::from(self.objects.max(1))) as u64
    }
}

#[cfg(test)]
mod tests {
    use towtank_imports::File;
    use towtank_imports::ceph::{read_osd_dump, read_pg_dump};

    use super::*;

    fn of(kind: u8, state: &str, (up, acting): ([i32; 3], [i32; 3]), sums: [u64; 3]) -> Option<u64> {
        let [objects, degraded, misplaced] = sums;
        let dump = format!(
            r#"{{"pg_stats":[{{"pgid":"1.0","state":"{state}","up":{up:?},"acting":{acting:?},"acting_primary":1,
            "stat_sum":{{"num_bytes":1000,"num_objects":{objects},"num_objects_degraded":{degraded},
            "num_objects_misplaced":{misplaced}}}}}]}}"#
        );
        let dump = read_pg_dump(File { name: "pgs", bytes: dump.as_bytes() }).unwrap().value;
        let osds = format!(
            r#"{{"pools":[{{"pool":1,"pool_name":"data","type":{kind},"size":3,"crush_rule":0,"flags":1,"pg_num":1,"pg_placement_num":1}}],"osds":[]}}"#
        );
        let osds = read_osd_dump(File { name: "osds", bytes: osds.as_bytes() }).unwrap().value;
        let placed = osds.pools[0].placed();
        let pool =
            PoolState { name: "data".to_owned(), placed, data_shards: 1, min_size: None, groups: Vec::new() };
        copied(&dump.groups[0], &pool)
    }

    #[test]
    fn what_is_not_degraded_or_misplaced_any_more_is_there() {
        const NO: i32 = NONE;
        let moves = ([4, 2, 3], [1, 2, 3]);
        assert_eq!(of(1, "active+remapped+backfilling", moves, [100, 0, 30]), Some(70));
        assert_eq!(of(1, "active+remapped+backfill_wait", moves, [100, 0, 100]), Some(0));
        let lost = "active+undersized+degraded+remapped+backfilling";
        assert_eq!(of(1, lost, ([4, 2, 3], [2, 3, NO]), [100, 30, 0]), Some(70));
        assert_eq!(of(3, lost, ([4, 2, 3], [NO, 2, 3]), [100, 30, 0]), Some(70));
        // Two new devices; and one that is to be, of two that are missing.
        assert_eq!(of(1, lost, ([4, 5, 3], [3, 1, NO]), [100, 30, 30]), Some(70));
        assert_eq!(of(1, lost, ([4, 3, NO], [3, NO, NO]), [100, 130, 0]), Some(70));
        // A device that came back, and lacks what was written meanwhile.
        let back = ([4, 2, 3], [2, 3, NO]);
        assert_eq!(of(1, "active+undersized+degraded+remapped+recovering", back, [100, 3, 0]), Some(97));
        // Shards that change places on the same devices.
        assert_eq!(of(3, "active+remapped+backfilling", ([2, 1, 3], [1, 2, 3]), [100, 0, 60]), Some(70));
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let moves = ([4, 2, 3], [1, 2, 3]);
        for (state, sums) in [
            ("active+clean", [100, 0, 30]),
            // While it peers.
            ("active+remapped+backfilling", [100, 0, 0]),
            // More than there are.
            ("active+remapped+backfilling", [100, 0, 130]),
        ] {
            assert_eq!(of(1, state, moves, sums), None, "{state} {sums:?}");
        }
        // Nothing is new to it: what its devices lack, and which, is in no export.
        assert_eq!(of(1, "active+recovering+degraded", ([1, 2, 3], [1, 2, 3]), [100, 3, 0]), None);
    }
}

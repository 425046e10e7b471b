//! What a wide cluster has besides: devices of two classes, with weights in the CRUSH map and primary
//! affinities; rules that take one class; more codes; groups that were split, and places that follow in
//! steps; whole mappings; devices that come back or are made anew; and `noout` of a device, a host or a
//! class.
//!
//! Data shards are powers of two, so that no shard is rounded up.
//!
//! Rules of splits are those of Ceph (`pg_t::get_ancestor`): a child holds what its parent held, on the same
//! devices. Statistics are divided, and not scrubbed since. A device that comes back has whatever it had; of
//! a group that took writes meanwhile that counts for nothing.

use super::cluster::{Cluster, Draw, Group, NONE, Osd};

use towtank_placement::crush::pools::{FULL, PgId};

impl Cluster {
    /// The wide cluster of a seed.
    pub(super) fn wide(seed: u64) -> Cluster {
        let mut more = crate::draws(seed ^ 0x3d1d_e000);
        Cluster::drawn(seed, Some(&mut more))
    }

    /// Classes, weights and affinities of devices; the rules and codes of pools.
    pub(super) fn widen(&mut self, draw: Draw<'_>) {
        let (two_classes, weighted, by_affinity) = (draw(2) == 0, draw(2) == 0, draw(3) == 0);
        for osd in &mut self.devices {
            if two_classes {
                osd.class = ["hdd", "ssd"][draw(2) as usize];
            }
            if weighted {
                osd.heavy = [0, 50, 100, 100, 150, 273][draw(6) as usize];
            }
            if by_affinity {
                osd.affinity = [0, FULL / 2, FULL][draw(3) as usize];
            }
        }
        for at in 0..self.pools.len() {
            let (code, plain, first) = (draw(4), draw(3) > 0, draw(2));
            let hosts_of = |class: &str| {
                let has = |osd: &i32| {
                    let Osd { class: own, heavy, .. } = self.devices[*osd as usize];
                    own == class && heavy > 0
                };
                self.hosts.iter().filter(|host| host.osds.iter().any(has)).count()
            };
            let widest = ["hdd", "ssd"].map(hosts_of);
            let hosts = self.hosts.len();
            let pool = &mut self.pools[at];
            if code == 0 {
                let [data, width] = [[2, 5], [4, 7], [8, 10]][draw(3) as usize];
                if width as usize <= hosts {
                    // Of each two rules the second is for codes.
                    pool.rule = pool.rule / 2 * 2 + 1;
                    (pool.data, pool.width, pool.least) = (data, width, data + draw(2) as u32);
                }
            }
            pool.plugin = if draw(3) == 0 { "isa" } else { "jerasure" };
            let of_class = widest[first as usize];
            if !plain && of_class > 0 && (of_class >= pool.width as usize || draw(6) == 0) {
                pool.rule += 4 * (1 + first as u32);
            }
        }
        self.unite_plugins();
    }

    /// Pools of one code share a profile, and so its plugin.
    fn unite_plugins(&mut self) {
        for at in 0..self.pools.len() {
            let code = (self.pools[at].data, self.pools[at].width);
            let first = self.pools.iter().find(|pool| (pool.data, pool.width) == code);
            self.pools[at].plugin = first.expect("it is one of them").plugin;
        }
    }

    /// An event that others do not have, and what was copied since.
    pub(super) fn happen_wide(&mut self, draw: Draw<'_>) {
        let what = match draw(9) {
            0 | 1 => self.come_back(draw),
            2 => self.weigh(draw),
            3 => self.make_anew(),
            4 | 5 => self.split(draw),
            6 => self.place_more(draw),
            7 => self.map_whole(draw),
            _ => self.take_in(),
        };
        self.course.push(what);
        self.follow(draw);
    }

    /// Devices that were down are up again; some of them stay out.
    fn come_back(&mut self, draw: Draw<'_>) -> String {
        let mut back = 0;
        for osd in &mut self.devices {
            if !osd.up && !osd.destroyed && draw(3) > 0 {
                osd.up = true;
                osd.weight = if draw(3) > 0 { FULL } else { osd.weight };
                back += 1;
            }
        }
        format!("{back} devices up again")
    }

    fn weigh(&mut self, draw: Draw<'_>) -> String {
        let osd = draw(self.devices.len() as u64) as usize;
        self.devices[osd].heavy = [0, 50, 120, 200][draw(4) as usize];
        self.draw_map();
        format!("osd.{osd} weighs {} hundredths", self.devices[osd].heavy)
    }

    /// What was destroyed has new disks, which are empty.
    fn make_anew(&mut self) -> String {
        let destroyed = self.devices.iter_mut().filter(|osd| osd.destroyed);
        let made = destroyed.map(|osd| (osd.up, osd.weight, osd.destroyed) = (true, FULL, false)).count();
        format!("{made} devices made anew")
    }

    /// A pool has more groups. Each child is where its parent is.
    fn split(&mut self, draw: Draw<'_>) -> String {
        let pool = draw(self.pools.len() as u64) as usize;
        let (id, before) = (self.pools[pool].id, self.pools[pool].groups);
        let after = before + [before, 1 + draw(u64::from(before)) as u32][draw(2) as usize];
        let after = after.min(128);
        let held = |group: &Group| group.pool == pool && group.objects > 0;
        let counts = self.groups.iter().filter(|group| held(group)).count();
        for number in before..after {
            let seed = ancestor(number, before);
            let own = self.groups.iter().position(|group| group.pool == pool && group.id.seed == seed);
            let own = own.expect("each number below that of the groups has a group");
            let mut child = self.groups[own].clone();
            child.id = PgId { pool: id, seed: number };
            let parent = &mut self.groups[own];
            // The first part of each sum is the larger one.
            let each = parent.bytes.checked_div(parent.objects).unwrap_or(0);
            let whole = parent.objects;
            child.objects = parent.objects / 2;
            parent.objects -= child.objects;
            (child.bytes, parent.bytes) = (child.objects * each, parent.objects * each);
            (child.invalid, parent.invalid) = (true, true);
            for group in [parent, &mut child] {
                group.part.values_mut().for_each(|has| *has = *has * group.objects / whole.max(1));
            }
            self.groups.push(child);
        }
        self.pools[pool].groups = after;
        self.pools[pool].goal = after;
        // Until 16 the places followed at once where nobody said otherwise.
        if draw(4) == 0 {
            self.pools[pool].placed_groups = after;
        }
        format!("pool {id} split from {before} to {after} groups, {counts} of them with objects")
    }

    /// The manager makes steps towards the number of groups.
    fn place_more(&mut self, draw: Draw<'_>) -> String {
        for pool in &mut self.pools {
            let room = pool.groups - pool.placed_groups;
            pool.placed_groups += draw(u64::from(room) + 1) as u32;
        }
        "places of split groups on their own".to_owned()
    }

    /// Names all devices of some groups: those of the map, with one exchanged.
    fn map_whole(&mut self, draw: Draw<'_>) -> String {
        let mut named = 0;
        for at in 0..self.groups.len() {
            let group = &self.groups[at];
            let pool = self.pool(group);
            let full = group.up.len() == pool.width as usize && !group.up.contains(&NONE);
            if draw(8) > 0 || !full || !pool.is_by_host() || self.upmaps.contains_key(&group.id) {
                continue;
            }
            let hosts: Vec<_> = group.up.iter().map(|osd| self.host_of(*osd)).collect();
            let free = |osd: &i32| self.may_serve(pool, *osd) && !hosts.contains(&self.host_of(*osd));
            let to: Vec<i32> = (0..self.devices.len() as i32).filter(free).collect();
            if to.is_empty() {
                continue;
            }
            let mut whole = group.up.clone();
            let place = draw(whole.len() as u64) as usize;
            whole[place] = to[draw(to.len() as u64) as usize];
            self.whole_upmaps.insert(group.id, whole);
            named += 1;
        }
        format!("{named} groups on named devices")
    }

    /// All devices that are up and not destroyed are fully in.
    fn take_in(&mut self) -> String {
        self.devices.iter_mut().filter(|osd| osd.up).for_each(|osd| osd.weight = FULL);
        "all that is up is in".to_owned()
    }

    /// Splits that go on, and flags of parts of the cluster.
    pub(super) fn finish_wide(&mut self, draw: Draw<'_>) {
        for pool in &mut self.pools {
            if draw(12) == 0 {
                pool.goal = pool.groups * 2;
            }
        }
        match draw(12) {
            0 => {
                let osd = draw(self.devices.len() as u64) as usize;
                self.devices[osd].noout = true;
            }
            1 => {
                let host = draw(self.hosts.len() as u64) as usize;
                self.hosts[host].noout = true;
            }
            2 => self.noout_class = Some(self.devices[0].class),
            _ => {}
        }
    }

    /// Whether the groups of a pool are to be split.
    pub(super) fn is_to_be_split(&self) -> bool {
        self.pools.iter().any(|pool| pool.goal > pool.groups)
    }

    /// Whether any group has an explicit mapping.
    pub(super) fn has_mappings(&self) -> bool {
        !self.upmaps.is_empty() || !self.whole_upmaps.is_empty()
    }

    /// Whether a device is down and not out.
    pub(super) fn has_down_and_in(&self) -> bool {
        self.devices.iter().any(|device| !device.up && device.weight > 0)
    }

    /// Whether groups with objects get places of their own.
    pub(super) fn is_splitting(&self) -> bool {
        let holds = |at: usize| self.groups.iter().any(|group| group.pool == at && group.objects > 0);
        (0..self.pools.len()).any(|at| self.pools[at].goal != self.pools[at].placed_groups && holds(at))
    }
}

/// The group that a new number is split off, of so many: its number without the highest bit, as often as it
/// takes.
fn ancestor(number: u32, groups: u32) -> u32 {
    let mut found = number;
    while found >= groups {
        found -= 1 << found.ilog2();
    }
    found
}

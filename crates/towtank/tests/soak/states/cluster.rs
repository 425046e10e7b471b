//! Clusters in a bad state, each drawn from a seed: hosts, pools and groups, and a course of events that
//! brought them there. What a group's devices hold is followed event by event, so the exports can be compared
//! with it.
//!
//! Placements are those of CRUSH; everything else is by the rules of Ceph's peering, written here anew: a
//! group is served by the complete devices of `up`, then by others that are complete. Left out: logs, so a
//! device that comes back; writes alter no sizes.

use std::collections::{BTreeMap, BTreeSet};

use towtank_placement::crush::Map;
use towtank_placement::crush::pools::{Device, FULL, Overlay, PgId, Placer, Pool};

use super::exports;

pub(super) use towtank_placement::crush::NONE;

pub(super) type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

/// A cluster at the end of its course of events.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) map: Map,
    pub(super) hosts: Vec<Host>,
    pub(super) racks: u32,
    pub(super) devices: Vec<Osd>,
    pub(super) pools: Vec<Pooled>,
    pub(super) groups: Vec<Group>,
    pub(super) upmaps: BTreeMap<PgId, Vec<(i32, i32)>>,
    /// Groups with all their devices named (`pg_upmap`).
    pub(super) whole_upmaps: BTreeMap<PgId, Vec<i32>>,
    pub(super) flags: Vec<&'static str>,
    /// A class of devices with `noout`.
    pub(super) noout_class: Option<&'static str>,
    /// Whether it has what [`super::wide`] draws.
    pub(super) is_wide: bool,
    pub(super) release: Option<&'static str>,
    /// Whether the map has the tunables of old releases.
    pub(super) is_old: bool,
    /// Size of a device in KiB.
    pub(super) size_kib: u64,
    /// Whether devices have far more room than data.
    pub(super) is_roomy: bool,
    /// Whether the dump has `num_objects`.
    pub(super) counts_objects: bool,
    /// What happened, in words.
    pub(super) course: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) rack: u32,
    pub(super) osds: Vec<i32>,
    pub(super) noout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Osd {
    pub(super) up: bool,
    /// In 16.16 fixed point; 0 is out.
    pub(super) weight: u32,
    /// Its data are gone: it was destroyed, and is only a name in the map.
    pub(super) destroyed: bool,
    pub(super) class: &'static str,
    /// Its weight in the CRUSH map, in hundredths.
    pub(super) heavy: u32,
    /// In 16.16 fixed point.
    pub(super) affinity: u32,
    pub(super) noout: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Pooled {
    pub(super) id: i64,
    /// Data shards; 1 for copies.
    pub(super) data: u32,
    pub(super) width: u32,
    pub(super) least: u32,
    /// Below 4 it takes all devices; of the next four those of `hdd`, and of four more those of `ssd`.
    pub(super) rule: u32,
    pub(super) groups: u32,
    /// Groups that CRUSH distinguishes.
    pub(super) placed_groups: u32,
    /// What both numbers of groups are to become.
    pub(super) goal: u32,
    pub(super) plugin: &'static str,
}

/// How a dump shows a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// As it is.
    Now,
    /// The devices that served it have died, and nobody has reported it since: as it was before.
    Stale,
    /// The manager has heard nothing of it.
    Unknown,
    /// The dump lacks it.
    Left,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) id: PgId,
    /// Its place in the list of pools.
    pub(super) pool: usize,
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) up: Vec<i32>,
    pub(super) acting: Vec<i32>,
    /// Devices with complete and current data, up or down: by position for shards, and in any order for
    /// copies.
    pub(super) holders: Vec<i32>,
    pub(super) shown: Shown,
    /// `up` and `acting` when a dump last had news of it.
    pub(super) last: (Vec<i32>, Vec<i32>),
    pub(super) last_state: String,
    /// Whether its backfill has begun, of those that wait for one.
    pub(super) begun: bool,
    /// Objects that devices of `up` have already, of those that do not have all of them.
    pub(super) part: BTreeMap<i32, u64>,
    /// Whether a device came back and lacks some objects, which the log names: no dump says which device.
    pub(super) behind: bool,
    /// The primary of `up`.
    pub(super) primary: i32,
    /// A split has left its statistics without a scrub.
    pub(super) invalid: bool,
}

impl Pooled {
    pub(super) fn is_coded(&self) -> bool {
        self.data > 1
    }

    pub(super) fn placed(&self) -> Pool {
        use towtank_placement::crush::RuleKind;
        Pool {
            id: self.id,
            kind: if self.is_coded() { RuleKind::Erasure } else { RuleKind::Replicated },
            size: self.width,
            rule: self.rule,
            pg_num: self.groups,
            pgp_num: self.placed_groups,
            hashpspool: true,
        }
    }

    /// Whether its groups spread over hosts.
    pub(super) fn is_by_host(&self) -> bool {
        self.rule % 4 < 2
    }

    /// The class that its rule takes.
    pub(super) fn class(&self) -> Option<&'static str> {
        [None, Some("hdd"), Some("ssd")][self.rule as usize / 4]
    }
}

impl Cluster {
    /// The cluster of a seed.
    pub(super) fn of(seed: u64) -> Cluster {
        Cluster::drawn(seed, None)
    }

    /// The cluster of a seed, with what `more` draws besides.
    pub(super) fn drawn(seed: u64, mut more: Option<Draw<'_>>) -> Cluster {
        let mut draws = crate::draws(seed ^ 0x0057_a7e5);
        let draw: Draw<'_> = &mut draws;
        let racks = if draw(4) == 0 { 3 + draw(2) as u32 } else { 0 };
        let hosts = 3 + draw(10) as u32;
        let hosts = hosts.max(racks);
        let class = if draw(4) == 0 { "ssd" } else { "hdd" };
        let mut cluster = Cluster {
            map: Map::default(),
            hosts: Vec::new(),
            racks,
            devices: Vec::new(),
            pools: Vec::new(),
            groups: Vec::new(),
            upmaps: BTreeMap::new(),
            whole_upmaps: BTreeMap::new(),
            flags: Vec::new(),
            noout_class: None,
            is_wide: more.is_some(),
            release: [None, Some("pacific"), Some("quincy"), Some("reef")][draw(4) as usize],
            is_old: draw(10) == 0,
            size_kib: 0,
            is_roomy: true,
            counts_objects: draw(8) > 0,
            course: Vec::new(),
        };
        let most = 1 + draw(4);
        (0..hosts).for_each(|_| cluster.add_host(1 + draw(most), class));
        for number in 0..1 + draw(3) {
            cluster.add_pool(number as i64 + 1, draw);
        }
        if let Some(more) = &mut more {
            cluster.widen(more);
        }
        cluster.settle();
        for _ in 0..draw(5) {
            let is_wide = more.as_mut().is_some_and(|more| more(2) == 0);
            match &mut more {
                Some(more) if is_wide => cluster.happen_wide(more),
                _ => cluster.happen(draw),
            }
        }
        cluster.flags = flags(draw);
        if let Some(more) = &mut more {
            cluster.finish_wide(more);
        }
        cluster.show(draw);
        cluster.is_roomy = draw(10) > 0;
        cluster.size_kib = cluster.size(draw);
        cluster
    }

    fn add_host(&mut self, disks: u64, class: &'static str) {
        let first = self.devices.len() as i32;
        let rack = self.hosts.len() as u32 % self.racks.max(1);
        self.hosts.push(Host { rack, osds: (first..first + disks as i32).collect(), noout: false });
        let (weight, affinity) = (FULL, FULL);
        let osd = Osd { up: true, weight, destroyed: false, class, heavy: 100, affinity, noout: false };
        self.devices.extend((0..disks).map(|_| osd));
    }

    fn add_pool(&mut self, id: i64, draw: Draw<'_>) {
        let hosts = self.hosts.len() as u32;
        let [mut data, mut width] =
            [[1, 2], [1, 3], [1, 3], [1, 4], [2, 3], [2, 4], [4, 6]][draw(7) as usize];
        // A pool that its hosts cannot hold is rare.
        if width > hosts && draw(6) > 0 {
            [data, width] = [1, 3];
        }
        let usual = if data > 1 { data + 1.min(width - data - 1) } else { width - width / 2 };
        let least = match draw(5) {
            0 => data,
            1 => (usual + 1).min(width),
            _ => usual,
        };
        let by_rack = self.racks >= width && draw(2) == 0;
        let rule = u32::from(data > 1) + if by_rack { 2 } else { 0 };
        let groups = [8, 16, 32, 64, 8 + draw(57) as u32][draw(5) as usize];
        let equal = draw(2) == 0;
        let (objects, bytes) = (draw(12), [4_096, 65_536, 4 << 20][draw(3) as usize]);
        let pool = self.pools.len();
        for seed in 0..groups {
            let objects = if equal { objects + 1 } else { objects + draw(6) };
            self.groups.push(Group {
                id: PgId { pool: id, seed },
                pool,
                objects,
                bytes: objects * bytes,
                up: Vec::new(),
                acting: Vec::new(),
                holders: Vec::new(),
                shown: Shown::Now,
                last: (Vec::new(), Vec::new()),
                last_state: String::new(),
                begun: false,
                part: BTreeMap::new(),
                behind: false,
                primary: NONE,
                invalid: false,
            });
        }
        let plugin = "jerasure";
        self.pools.push(Pooled {
            id,
            data,
            width,
            least,
            rule,
            groups,
            placed_groups: groups,
            goal: groups,
            plugin,
        });
    }

    /// All groups are where the map puts them.
    fn settle(&mut self) {
        self.draw_map();
        self.place();
        for at in 0..self.groups.len() {
            let group = &mut self.groups[at];
            group.holders = group.up.clone();
            group.acting = group.up.clone();
            self.remember(at);
        }
    }

    pub(super) fn pool(&self, group: &Group) -> &Pooled {
        &self.pools[group.pool]
    }

    /// The map of the hosts that there are now.
    pub(super) fn draw_map(&mut self) {
        self.map =
            towtank_placement::crush::text::compile(&exports::map(self)).expect("a drawn map is sound");
    }

    fn overlay(&self) -> Overlay {
        let device = |osd: &Osd| Device {
            exists: true,
            up: osd.up,
            weight: osd.weight,
            primary_affinity: osd.affinity,
        };
        Overlay {
            devices: self.devices.iter().map(device).collect(),
            upmap: self.whole_upmaps.clone(),
            upmap_items: self.upmaps.clone(),
            ..Overlay::default()
        }
    }

    /// Where the map puts each group. The monitors drop explicit mappings that no longer make sense.
    pub(super) fn place(&mut self) {
        loop {
            let overlay = self.overlay();
            let placer = Placer::new(&self.map, &overlay);
            let mut dropped = Vec::new();
            for at in 0..self.groups.len() {
                let pool = self.pool(&self.groups[at]);
                let group = self.groups[at].id;
                let found = placer.place(&pool.placed(), group.seed);
                let mut up = found.up.devices;
                if pool.is_coded() {
                    up.resize(pool.width as usize, NONE);
                }
                let raw = &found.raw.devices;
                let swap = self.upmaps.get(&group).map(|swaps| swaps[0]);
                let whole = self.whole_upmaps.get(&group);
                if swap.is_some_and(|swap| !self.is_sound(pool, raw, swap))
                    || whole.is_some_and(|whole| whole == raw || !self.is_allowed(pool, whole))
                {
                    dropped.push(group);
                }
                self.groups[at].up = up;
                self.groups[at].primary = found.up.primary.unwrap_or(NONE);
            }
            for group in &dropped {
                self.upmaps.remove(group);
                self.whole_upmaps.remove(group);
            }
            if dropped.is_empty() {
                return;
            }
        }
    }

    pub(super) fn host_of(&self, osd: i32) -> Option<usize> {
        self.hosts.iter().position(|host| host.osds.contains(&osd))
    }

    /// Whether the monitors keep a swap: its first device is one of CRUSH's, and all others are in and among
    /// those that the rule may take, and the new one shares no host with the rest.
    fn is_sound(&self, pool: &Pooled, raw: &[i32], (from, to): (i32, i32)) -> bool {
        let mut rest = raw.iter().copied().filter(|osd| *osd != from && *osd != NONE);
        let host = self.host_of(to);
        let fits = |osd: i32| self.host_of(osd) != host && self.may_serve(pool, osd);
        raw.contains(&from) && self.may_serve(pool, to) && rest.all(fits)
    }

    /// Whether a device is in and among those that the rule of a pool takes.
    pub(super) fn may_serve(&self, pool: &Pooled, osd: i32) -> bool {
        let Osd { weight, heavy, class, .. } = self.devices[osd as usize];
        weight > 0 && heavy > 0 && pool.class().is_none_or(|own| own == class)
    }

    /// Whether the monitors keep these devices as those of a group: all may serve it, each on another host.
    fn is_allowed(&self, pool: &Pooled, whole: &[i32]) -> bool {
        let hosts: BTreeSet<_> = whole.iter().map(|osd| self.host_of(*osd)).collect();
        let serve = |osd: &i32| self.may_serve(pool, *osd);
        whole.len() == pool.width as usize && hosts.len() == whole.len() && whole.iter().all(serve)
    }

    /// The cluster once the monitors have marked out what was down, and then these devices, which failed.
    /// They mark out none under `noout`, none of a rack that is down as a whole, and none while less than
    /// three quarters of all devices are in.
    pub(super) fn after(&self, failed: &[i32]) -> Cluster {
        let mut after = self.clone();
        failed.iter().for_each(|osd| after.devices[*osd as usize].up = false);
        let of_rack = |rack: u32| after.hosts.iter().filter(move |host| host.rack == rack);
        let whole = |rack: &u32| of_rack(*rack).flat_map(|host| &host.osds).all(|osd| !after.is_up(*osd));
        let racks: Vec<u32> = (0..self.racks).filter(whole).collect();
        let stays = |osd: i32| {
            let host = &self.hosts[self.host_of(osd).expect("each has a host")];
            let Osd { class, noout, .. } = self.devices[osd as usize];
            let flagged = noout || host.noout || self.noout_class == Some(class);
            flagged || self.has_flag("noout") || racks.contains(&host.rack)
        };
        // What was down before is marked out first, whether it is said to fail or not.
        let all = || 0..self.devices.len() as i32;
        let down = all().filter(|osd| !self.is_up(*osd));
        let later = all().filter(|osd| self.is_up(*osd) && failed.contains(osd));
        let due: Vec<i32> = down.chain(later).filter(|osd| !stays(*osd)).collect();
        for osd in due {
            let within = after.devices.iter().filter(|osd| osd.weight > 0).count();
            if 4 * within >= 3 * after.devices.len() {
                after.devices[osd as usize].weight = 0;
            }
        }
        // The manager gives split groups places of their own.
        after.pools.iter_mut().for_each(|pool| pool.placed_groups = pool.goal.min(pool.groups));
        after.place();
        after
    }

    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|flags| flags.split(',').any(|own| own == flag))
    }

    pub(super) fn is_up(&self, osd: i32) -> bool {
        osd != NONE && self.devices[osd as usize].up
    }

    /// Devices with a group's data that are up, without holes.
    pub(super) fn live(&self, group: &Group) -> Vec<i32> {
        group.holders.iter().copied().filter(|osd| self.is_up(*osd)).collect()
    }

    /// Devices with a group's data that are down, and may come back with them.
    pub(super) fn asleep(&self, group: &Group) -> usize {
        let asleep = |osd: i32| osd != NONE && !self.is_up(osd) && !self.devices[osd as usize].destroyed;
        group.holders.iter().filter(|osd| asleep(**osd)).count()
    }

    /// An event, and what was copied since.
    fn happen(&mut self, draw: Draw<'_>) {
        let osd = draw(self.devices.len() as u64) as i32;
        let host = self.host_of(osd).expect("each has a host");
        let (some, name) = match draw(3) {
            0 => (self.hosts[host].osds.clone(), format!("host h{host}")),
            _ => (vec![osd], format!("osd.{osd}")),
        };
        let mut all = |change: &dyn Fn(&mut Osd)| {
            some.iter().for_each(|osd| change(&mut self.devices[*osd as usize]));
        };
        let what = match draw(11) {
            0..3 => {
                all(&|osd| osd.up = false);
                "down"
            }
            3..5 => {
                all(&|osd| (osd.up, osd.weight) = (false, 0));
                "down and out"
            }
            5 | 6 => {
                all(&|osd| osd.weight = 0);
                "out"
            }
            7 => {
                let weight = FULL * (3 + draw(6) as u32) / 10;
                all(&|osd| osd.weight = osd.weight.min(weight));
                "reweighted"
            }
            8 => {
                all(&|osd| (osd.up, osd.weight, osd.destroyed) = (false, 0, true));
                "destroyed"
            }
            9 => {
                self.add_host(some.len() as u64, self.devices[0].class);
                self.draw_map();
                "the model of a new host"
            }
            _ => {
                self.remap(draw);
                "as before, but some groups have explicit mappings"
            }
        };
        self.course.push(format!("{name} {what}"));
        self.follow(draw);
    }

    /// What comes of an event: groups peer, and some are copied.
    pub(super) fn follow(&mut self, draw: Draw<'_>) {
        self.peer();
        let share = [0, 30, 70, 100][draw(4) as usize];
        self.copy(share, draw);
    }

    /// Swaps a device of some groups for one of a host that they do not have.
    fn remap(&mut self, draw: Draw<'_>) {
        for at in 0..self.groups.len() {
            if draw(8) > 0 || self.whole_upmaps.contains_key(&self.groups[at].id) {
                continue;
            }
            let group = &self.groups[at];
            let taken: Vec<_> = group.up.iter().map(|osd| self.host_of(*osd)).collect();
            let from = group.up.iter().copied().filter(|osd| *osd != NONE).nth(draw(2) as usize);
            let free = |osd: &i32| {
                let pool = &self.pools[group.pool];
                let up = self.devices[*osd as usize].up;
                up && self.may_serve(pool, *osd) && !taken.contains(&self.host_of(*osd)) && pool.is_by_host()
            };
            let to: Vec<i32> = (0..self.devices.len() as i32).filter(free).collect();
            if let (Some(from), false) = (from, to.is_empty()) {
                let to = to[draw(to.len() as u64) as usize];
                self.upmaps.entry(group.id).or_insert_with(|| vec![(from, to)]);
            }
        }
    }

    /// New placements after an event; what serves each group now.
    fn peer(&mut self) {
        self.place();
        for at in 0..self.groups.len() {
            let destroyed = |osd: &i32| *osd != NONE && self.devices[*osd as usize].destroyed;
            let coded = self.pool(&self.groups[at]).is_coded();
            let mut holders = self.groups[at].holders.clone();
            if coded {
                holders.iter_mut().filter(|osd| destroyed(osd)).for_each(|osd| *osd = NONE);
            } else {
                holders.retain(|osd| !destroyed(osd));
            }
            self.groups[at].holders = holders;
            self.serve(at);
            self.keep_parts(at);
        }
    }

    /// A device that is no home of a group any more loses what it has of it.
    fn keep_parts(&mut self, at: usize) {
        let homes = super::oracle::new_homes(self, &self.groups[at]);
        self.groups[at].part.retain(|osd, _| homes.contains(osd));
    }

    /// Copies some more objects of a group to each of its new homes, but never all of them. How many follows
    /// from the group and the number of events, so that a seed draws the same events with and without them.
    fn copy_part(&mut self, at: usize) {
        let homes = super::oracle::new_homes(self, &self.groups[at]);
        let events = self.course.len() as u64;
        let group = &mut self.groups[at];
        let percent = (u64::from(group.id.seed) * 37 + group.id.pool as u64 * 17 + events * 53) % 100;
        for home in homes {
            let has = group.part.entry(home).or_default();
            *has += (group.objects - *has) * percent / 100;
        }
    }

    /// Chooses the devices that serve a group. Where it takes writes, those that are down are not current.
    fn serve(&mut self, at: usize) {
        let group = &self.groups[at];
        let pool = self.pool(group).clone();
        let live = self.live(group);
        let anyone = group.up.iter().any(|osd| *osd != NONE);
        if live.is_empty() && !(self.is_wide && anyone) {
            if self.groups[at].shown == Shown::Now {
                self.groups[at].shown = Shown::Stale;
            }
            self.groups[at].acting = Vec::new();
            return;
        }
        let acting = if live.len() < pool.data as usize {
            group.up.clone()
        } else if pool.is_coded() {
            group.holders.iter().map(|osd| if self.is_up(*osd) { *osd } else { NONE }).collect()
        } else {
            let first = group.up.iter().filter(|osd| live.contains(osd));
            let others = live.iter().filter(|osd| !group.up.contains(osd));
            first.chain(others).copied().take(pool.width as usize).collect()
        };
        let writes = live.len() >= pool.least as usize;
        let group = &mut self.groups[at];
        if group.shown == Shown::Stale {
            group.shown = Shown::Now;
        }
        group.acting = acting;
        if writes && pool.is_coded() {
            group.holders.clone_from(&group.acting);
        } else if writes {
            group.holders = live;
        }
        self.remember(at);
    }

    fn remember(&mut self, at: usize) {
        let state = exports::state(self, &self.groups[at]);
        let group = &mut self.groups[at];
        group.last = (group.up.clone(), group.acting.clone());
        group.last_state = state;
    }

    /// This share of the groups, in percent, is where the map puts it.
    fn copy(&mut self, share: u64, draw: Draw<'_>) {
        for at in 0..self.groups.len() {
            let group = &self.groups[at];
            let done = draw(100) < share;
            let begun = draw(2) == 0;
            let (pool, live) = (self.pool(group), self.live(group));
            let mut holders = group.holders.clone();
            if live.len() < pool.data as usize {
                continue;
            }
            if done && pool.is_coded() {
                let moved = holders.iter_mut().zip(&group.up).filter(|(_, up)| **up != NONE);
                moved.for_each(|(osd, up)| *osd = *up);
            } else if done {
                let mut kept: Vec<i32> = group.up.clone();
                let rest = (live.iter().filter(|osd| !group.up.contains(osd)))
                    .chain(holders.iter().filter(|osd| !self.is_up(**osd)));
                kept.extend(rest.take((pool.width as usize).saturating_sub(group.up.len())));
                holders = kept;
            }
            self.groups[at].holders = holders;
            self.groups[at].begun = begun;
            self.serve(at);
            self.keep_parts(at);
            if begun {
                self.copy_part(at);
            }
        }
    }

    /// What of the groups a dump shows.
    fn show(&mut self, draw: Draw<'_>) {
        let (unknown, left, behind) = (draw(10) == 0, draw(12) == 0, draw(10) == 0);
        let widths: Vec<u32> = self.pools.iter().map(|pool| pool.width).collect();
        for group in &mut self.groups {
            let serving = group.acting.iter().filter(|osd| **osd != NONE).count();
            let is_whole = group.acting == group.up && serving == widths[group.pool] as usize;
            let is_clean = is_whole && group.objects > 0 && group.last_state.contains("clean");
            group.behind = behind && is_clean && draw(6) == 0;
            if unknown && draw(12) == 0 {
                group.shown = Shown::Unknown;
            } else if left && draw(8) == 0 {
                group.shown = Shown::Left;
            }
        }
    }

    /// Bytes of a shard or a copy.
    pub(super) fn shard(&self, group: &Group) -> u64 {
        group.bytes / u64::from(self.pool(group).data)
    }

    /// The bytes that each device holds.
    pub(super) fn held(&self) -> Vec<u64> {
        let mut held = vec![0; self.devices.len()];
        for group in &self.groups {
            for osd in group.holders.iter().filter(|osd| **osd != NONE) {
                held[*osd as usize] += self.shard(group);
            }
            for (osd, objects) in &group.part {
                held[*osd as usize] += self.shard(group) * objects / group.objects.max(1);
            }
        }
        held
    }

    /// A size of devices with much room, and rarely with little.
    fn size(&self, draw: Draw<'_>) -> u64 {
        let most = self.held().into_iter().max().unwrap_or(0) / 1_024 + 4_096;
        let all: u64 = self.groups.iter().map(|group| group.bytes * 3 / 1_024).sum();
        if self.is_roomy { (most + all) * (4 + draw(8)) } else { most * (105 + draw(100)) / 100 }
    }
}

/// Flags that each cluster has.
pub(super) const USUAL_FLAGS: [&str; 3] = ["sortbitwise", "recovery_deletes", "purged_snapdirs"];

/// Flags of the osd map.
fn flags(draw: Draw<'_>) -> Vec<&'static str> {
    const FLAGS: [&str; 9] = [
        "noout",
        "norecover",
        "nobackfill",
        "norebalance",
        "nodown",
        "noup",
        "noin",
        "pauserd,pausewr",
        "noout,norebalance",
    ];
    let mut flags = USUAL_FLAGS.to_vec();
    if draw(5) < 2 {
        flags.extend((0..1 + draw(2)).map(|_| FLAGS[draw(9) as usize]));
    }
    flags
}

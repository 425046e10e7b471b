//! Random CRUSH maps of all kinds, as texts, from a seed.
//!
//! They have every bucket algorithm, zero and arbitrary weights, independently chosen tunables, weight sets
//! and ids, device classes, and rules of one and several steps. Left out is what makes crushtool 16.2.15
//! crash or read out of bounds: uniform buckets of weight 0, tree buckets under device classes, rules that
//! emit buckets.
#![allow(dead_code)]

use std::fmt::Write;

/// A small random generator (SplitMix64), so that a seed always gives the same map.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A random map and the arguments of its test.
pub struct RandomMap {
    pub text: String,
    pub rules: usize,
    /// Devices to reweight, in the form of `--weight`.
    pub reweights: Vec<(usize, f32)>,
}

#[derive(Clone)]
struct Node {
    name: String,
    id: i32,
    /// 0 is a device, 1 a host, 2 a rack, 3 a root.
    level: usize,
    weight: f64,
    straw2_items: Option<usize>,
}

const TYPES: [&str; 4] = ["osd", "host", "rack", "root"];
const ALGS: [&str; 5] = ["uniform", "list", "tree", "straw", "straw2"];

struct Maker {
    dice: Dice,
    out: String,
    algs: Vec<&'static str>,
    classes: bool,
    /// Whether buckets and devices may be in two buckets, as after `ceph osd crush link`. Not with classes:
    /// crushtool 16.2.15 makes several shadows of such a bucket.
    links: bool,
    next_bucket: i32,
    buckets: Vec<Node>,
    weights: usize,
}

/// The map of a seed.
pub fn random_map(seed: u64) -> RandomMap {
    let mut dice = Dice(seed);
    let classes = dice.one_in(3);
    let algs = match dice.below(4) {
        _ if classes => vec!["list", "straw", "straw2", "straw2"],
        0 => ALGS.to_vec(),
        1 => vec![dice.pick(&ALGS)],
        _ => vec!["straw2"],
    };
    let weights = dice.below(5);
    let links = seed % 4 == 1 && !classes;
    let mut maker = Maker {
        dice,
        out: String::new(),
        algs,
        classes,
        links,
        next_bucket: 0,
        buckets: Vec::new(),
        weights,
    };
    maker.tunables();
    let devices = maker.devices();
    for (id, name) in TYPES.iter().enumerate() {
        writeln!(maker.out, "type {id} {name}").expect("it cannot fail here");
    }
    let roots = maker.hierarchy(devices.clone());
    let rules = maker.rules(&roots);
    maker.choose_args();
    let mut reweights = Vec::new();
    for device in &devices {
        if maker.dice.one_in(6) {
            let weight = maker.dice.pick(&[0.0, 0.5, 0.01, 0.99, 1.0, 0.25]);
            reweights.push((device.id as usize, weight));
        }
    }
    if maker.dice.one_in(3) {
        reweights.clear();
    }
    RandomMap { text: maker.out, rules, reweights }
}

impl Maker {
    fn tunables(&mut self) {
        let profiles: [[u32; 7]; 5] = [
            [2, 5, 19, 0, 0, 0, 0],
            [0, 0, 50, 1, 0, 0, 0],
            [0, 0, 50, 1, 1, 0, 0],
            [0, 0, 50, 1, 1, 0, 1],
            [0, 0, 50, 1, 1, 1, 1],
        ];
        let mut values = self.dice.pick(&profiles);
        if self.dice.one_in(2) {
            let limits = [4, 8, 60, 2, 6, 2, 2];
            let which = self.dice.below(7);
            values[which] = self.dice.below(limits[which]) as u32;
        }
        if self.dice.one_in(6) {
            let limits = [4, 8, 60, 2, 6, 2, 2];
            for (value, limit) in values.iter_mut().zip(limits) {
                *value = self.dice.below(limit) as u32;
            }
        }
        let names = [
            "choose_local_tries",
            "choose_local_fallback_tries",
            "choose_total_tries",
            "chooseleaf_descend_once",
            "chooseleaf_vary_r",
            "chooseleaf_stable",
            "straw_calc_version",
        ];
        for (name, value) in names.iter().zip(values) {
            writeln!(self.out, "tunable {name} {value}").expect("it cannot fail here");
        }
        writeln!(self.out, "tunable allowed_bucket_algs {}", self.dice.pick(&[22, 54, 62]))
            .expect("it cannot fail here");
    }

    fn devices(&mut self) -> Vec<Node> {
        let count = match self.dice.below(10) {
            0 => 1 + self.dice.below(3),
            1 => 100 + self.dice.below(200),
            _ => 4 + self.dice.below(60),
        };
        let gaps = self.dice.one_in(4);
        let mut devices = Vec::new();
        let mut id = 0;
        for _ in 0..count {
            if gaps {
                id += self.dice.below(4) as i32;
            }
            let class = if self.classes {
                self.dice.pick(&["", " class ssd", " class hdd", " class hdd"])
            } else {
                ""
            };
            writeln!(self.out, "device {id} osd.{id}{class}").expect("it cannot fail here");
            let weight = self.weight();
            devices.push(Node { name: format!("osd.{id}"), id, level: 0, weight, straw2_items: None });
            id += 1;
        }
        devices
    }

    fn weight(&mut self) -> f64 {
        let zero = self.dice.one_in(12);
        let thousandths = match self.weights {
            0 => 1_000,
            1 => self.dice.pick(&[500, 1_000, 2_000, 4_000, 8_000]),
            2 => 1 + self.dice.below(99_999),
            3 => 1 + self.dice.below(30),
            _ => self.dice.pick(&[909, 1_819, 3_638, 5_458, 7_277, 9_095, 100_000]),
        };
        if zero { 0.0 } else { thousandths as f64 / 1_000.0 }
    }

    /// Groups nodes level by level up to roots. Some nodes are left out, or are in two buckets.
    fn hierarchy(&mut self, devices: Vec<Node>) -> Vec<Node> {
        let mut nodes = devices;
        let levels = 1 + self.dice.below(3);
        for level in (4 - levels)..3 {
            let mut next = Vec::new();
            let mut placed: Vec<Node> = Vec::new();
            while !nodes.is_empty() {
                let take = (1 + self.dice.below(8)).min(nodes.len());
                let mut group: Vec<Node> = nodes.drain(..take).collect();
                if self.links {
                    let linked = group.clone();
                    if !placed.is_empty() && self.dice.one_in(2) {
                        group.push(placed[self.dice.below(placed.len())].clone());
                    }
                    placed.extend(linked);
                }
                // Some nodes skip a level.
                if self.dice.one_in(15) {
                    next.extend(group);
                    continue;
                }
                next.push(self.bucket(level, &group));
            }
            nodes = next;
        }
        let mut roots = Vec::new();
        let count = if self.dice.one_in(5) { 2 } else { 1 };
        let share = nodes.len().div_ceil(count).max(1);
        for group in nodes.chunks(share) {
            roots.push(self.bucket(3, group));
        }
        roots
    }

    fn bucket(&mut self, level: usize, members: &[Node]) -> Node {
        let mut alg = self.dice.pick(&self.algs.clone());
        let mut members: Vec<&Node> = members.iter().collect();
        if self.dice.one_in(30) {
            members.truncate(0);
        }
        if members.len() > 64 && alg == "tree" {
            alg = "list";
        }
        self.next_bucket -= 1 + if self.dice.one_in(10) { self.dice.below(4) as i32 } else { 0 };
        let name = format!("b{}", -self.next_bucket);
        writeln!(self.out, "{} {name} {{", TYPES[level]).expect("it cannot fail here");
        writeln!(self.out, "\tid {}\n\talg {alg}", self.next_bucket).expect("it cannot fail here");
        if self.dice.one_in(40) {
            writeln!(self.out, "\thash 7").expect("it cannot fail here");
        } else if self.dice.one_in(2) {
            writeln!(self.out, "\thash {}", self.dice.pick(&["0", "rjenkins1"]))
                .expect("it cannot fail here");
        }
        let uniform = 0.5 + self.dice.below(8) as f64;
        let mut sum = 0.0;
        let positions = self.positions(members.len());
        for (member, position) in members.iter().zip(positions) {
            let odd = self.dice.one_in(10);
            let weight = match alg {
                "uniform" => uniform,
                _ if odd => self.weight(),
                _ => member.weight,
            };
            sum += weight;
            write!(self.out, "\titem {} weight {weight:.3}", member.name).expect("it cannot fail here");
            if let Some(position) = position {
                write!(self.out, " pos {position}").expect("it cannot fail here");
            }
            self.out.push('\n');
        }
        self.out.push_str("}\n");
        let size = members.len();
        let straw2_items = (alg == "straw2").then_some(size);
        let node = |name: &str, id| Node { name: name.to_owned(), id, level, weight: sum, straw2_items };
        self.buckets.push(node(&name, self.next_bucket));
        node(&name, self.next_bucket)
    }

    fn positions(&mut self, count: usize) -> Vec<Option<usize>> {
        if !self.dice.one_in(8) {
            return vec![None; count];
        }
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, self.dice.below(at + 1));
        }
        let every = self.dice.one_in(2);
        order.into_iter().map(|position| (every || self.dice.one_in(2)).then_some(position)).collect()
    }

    fn rules(&mut self, roots: &[Node]) -> usize {
        let count = 1 + self.dice.below(4);
        for id in 0..count {
            let kind = self.dice.pick(&["replicated", "erasure"]);
            let most = 1 + self.dice.below(8);
            writeln!(self.out, "rule r{id} {{\n\tid {id}\n\ttype {kind}\n\tmin_size 1\n\tmax_size {most}")
                .expect("it cannot fail here");
            self.settings();
            let takes = if self.dice.one_in(6) { 2 } else { 1 };
            for _ in 0..takes {
                self.take(roots);
                self.descend(takes);
                self.out.push_str("\tstep emit\n");
            }
            self.out.push_str("}\n");
        }
        count
    }

    fn settings(&mut self) {
        let settings = [
            ("set_choose_tries", 100),
            ("set_chooseleaf_tries", 8),
            ("set_choose_local_tries", 4),
            ("set_choose_local_fallback_tries", 6),
            ("set_chooseleaf_vary_r", 6),
            ("set_chooseleaf_stable", 2),
        ];
        for (name, limit) in settings {
            if self.dice.one_in(7) {
                writeln!(self.out, "\tstep {name} {}", self.dice.below(limit)).expect("it cannot fail here");
            }
        }
    }

    fn take(&mut self, roots: &[Node]) {
        let from = if self.dice.one_in(6) {
            self.buckets[self.dice.below(self.buckets.len())].name.clone()
        } else {
            roots[self.dice.below(roots.len())].name.clone()
        };
        // Only classes that some device certainly has exist in every map.
        let class = if self.classes && self.out.contains("class ssd") && self.dice.one_in(2) {
            " class ssd"
        } else {
            ""
        };
        writeln!(self.out, "\tstep take {from}{class}").expect("it cannot fail here");
    }

    /// Adds the steps down to devices.
    fn descend(&mut self, takes: usize) {
        let mode = self.dice.pick(&["firstn", "indep"]);
        let count = |dice: &mut Dice| match dice.below(6) {
            0 => 1,
            1 => 2,
            2 => 3,
            3 => -1,
            _ => 0,
        };
        match self.dice.below(6) {
            0 => {
                let n = count(&mut self.dice);
                writeln!(self.out, "\tstep choose {mode} {n} type osd").expect("it cannot fail here");
            }
            1 | 2 if takes == 1 => {
                let (top, inner) = self.dice.pick(&[("rack", "host"), ("rack", "osd"), ("host", "osd")]);
                let n = self.dice.pick(&[0, 1, 2, 3, 4]);
                writeln!(self.out, "\tstep choose {mode} {n} type {top}").expect("it cannot fail here");
                let verb = self.dice.pick(&["choose", "chooseleaf"]);
                let mode = if self.dice.one_in(4) { self.dice.pick(&["firstn", "indep"]) } else { mode };
                let m = self.dice.pick(&[1, 2, 2, 3]);
                let (verb, inner) = if verb == "choose" { ("choose", "osd") } else { ("chooseleaf", inner) };
                writeln!(self.out, "\tstep {verb} {mode} {m} type {inner}").expect("it cannot fail here");
            }
            _ => {
                let n = count(&mut self.dice);
                let kind = self.dice.pick(&["host", "host", "rack", "osd"]);
                writeln!(self.out, "\tstep chooseleaf {mode} {n} type {kind}").expect("it cannot fail here");
            }
        }
    }

    fn choose_args(&mut self) {
        if !self.dice.one_in(3) {
            return;
        }
        let index = self.dice.pick(&["0", "18446744073709551615", "5"]);
        writeln!(self.out, "choose_args {index} {{").expect("it cannot fail here");
        let positions = 1 + self.dice.below(4);
        for at in 0..self.buckets.len() {
            let (id, Some(size)) = (self.buckets[at].id, self.buckets[at].straw2_items) else { continue };
            if size == 0 || self.dice.one_in(3) {
                continue;
            }
            let (sets, ids) = self.dice.pick(&[(true, false), (true, true), (false, true)]);
            write!(self.out, "  {{\n    bucket_id {id}\n").expect("it cannot fail here");
            if sets {
                self.out.push_str("    weight_set [\n");
                for _ in 0..positions {
                    let weights: Vec<String> = (0..size).map(|_| format!("{:.3}", self.weight())).collect();
                    writeln!(self.out, "      [ {} ]", weights.join(" ")).expect("it cannot fail here");
                }
                self.out.push_str("    ]\n");
            }
            if ids {
                let ids: Vec<String> =
                    (0..size).map(|_| (self.dice.below(3_000) as i64 - 1_500).to_string()).collect();
                writeln!(self.out, "    ids [ {} ]", ids.join(" ")).expect("it cannot fail here");
            }
            self.out.push_str("  }\n");
        }
        self.out.push_str("}\n");
    }
}

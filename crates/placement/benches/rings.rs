//! The number of placements per second of the rings, under the conditions in which libch-placement was
//! measured: random 64-bit keys in random order, three replicas, one core.
//!
//! `cargo bench -p towtank-placement --bench rings -- [runs] [keys] [part of a case's name]`. Rates are by
//! processor time if the system reports it (Linux: `/proc/self/schedstat`), to reduce the effect of other
//! work on the machine; otherwise by the wall clock.

use std::hint::black_box;
use std::time::Instant;

use towtank_placement::algorithms::{
    Cluster, Jump, Maglev, MultiRing, Placement, Rendezvous, Ring, ServerId, StaticModulo, TwoD, Xor, hashing,
};

const REPLICAS: usize = 3;
/// The number of keys of the published runs.
const KEYS: usize = 500_000;
/// Keys per batch: their servers stay in the first-level cache.
const BATCH: usize = 1024;

/// A textbook ring: binary search, then a walk that skips servers already in the list. A baseline that runs
/// under the same load.
struct Textbook {
    at: Vec<u64>,
    servers: Vec<u32>,
}

impl Textbook {
    fn new(servers: u32, virtual_nodes: u32) -> Textbook {
        let numbers = (0..servers).flat_map(|server| (0..virtual_nodes).map(move |number| (server, number)));
        let mut nodes: Vec<(u64, u32)> =
            numbers.map(|(server, number)| (hashing::virtual_node_id(server, number, 1), server)).collect();
        nodes.sort_unstable();
        let (at, servers) = nodes.into_iter().unzip();
        Textbook { at, servers }
    }

    fn lookup(&self, key: u64, places: &mut [ServerId]) {
        let above = self.at.partition_point(|at| *at <= key);
        let mut node = if above == 0 { self.at.len() - 1 } else { above - 1 };
        let mut filled = 0;
        while filled < places.len() {
            let server = ServerId(self.servers[node]);
            if !places[..filled].contains(&server) {
                places[filled] = server;
                filled += 1;
            }
            node = if node + 1 == self.at.len() { 0 } else { node + 1 };
        }
    }

    fn run(&self, keys: &[u64]) {
        let mut sum = 0u32;
        let mut servers = [ServerId::NONE; REPLICAS];
        for key in keys {
            self.lookup(*key, &mut servers);
            sum = sum.wrapping_add(servers[REPLICAS - 1].0);
        }
        black_box(sum);
    }
}

/// One line of the table.
struct Case {
    name: String,
    placement: Box<dyn Placement>,
    /// Thousands of placements per second of processor time by libch-placement, where that was measured.
    published: Option<f64>,
    keys: usize,
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let runs = numbers.first().copied().unwrap_or(9);
    let keys = numbers.get(1).copied().unwrap_or(KEYS);
    let stream: Vec<u64> = (0..keys as u64).map(|id| hashing::scatter(id ^ 8_675_309)).collect();
    println!(
        "{runs} runs of {keys} keys, {REPLICAS} replicas; millions of placements a second: median (min to max)"
    );
    let is_word = |argument: &String| argument.parse::<usize>().is_err() && !argument.starts_with("--");
    let wanted = std::env::args().skip(1).find(is_word).unwrap_or_default();
    for case in cases(keys).into_iter().filter(|case| case.name.contains(&wanted)) {
        let stream = &stream[..case.keys.min(keys)];
        let rounds = keys.div_ceil(stream.len() * if case.keys < keys { 20 } else { 1 });
        let single = rates(runs, || single(&*case.placement, stream, rounds), stream.len() * rounds);
        let batch = rates(runs, || batch(&*case.placement, stream, rounds), stream.len() * rounds);
        let published = case.published.map_or(String::new(), |thousands| {
            format!("  published {:.2}, {:.1} times", thousands / 1e3, batch[1] / thousands * 1e3)
        });
        println!("{:32} one by one {}  batch {}{published}", case.name, show(single), show(batch));
    }
    for (servers, virtual_nodes) in [(64, 64), (1024, 64), (1024, 1024)] {
        let name = format!("textbook ring {servers} x {virtual_nodes}");
        if name.contains(&wanted) {
            let textbook = Textbook::new(servers, virtual_nodes);
            println!("{name:32} one by one {}", show(rates(runs, || textbook.run(&stream), stream.len())));
        }
    }
}

fn cases(keys: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, placement: Box<dyn Placement>, published: Option<f64>, keys: usize| {
        cases.push(Case { name, placement, published, keys });
    };
    for (servers, virtual_nodes, ring, multiring) in [
        (64, 64, 6710.0, 11115.0),
        (256, 64, 6263.0, 9955.0),
        (1024, 64, 4206.0, 6921.0),
        (4096, 64, 2768.0, 3426.0),
        (1024, 1024, 1348.0, 2423.0),
    ] {
        let cluster = Cluster::equal(servers);
        let name = |kind: &str| format!("{kind} {servers} x {virtual_nodes}");
        add(name("ring"), set_up(Ring::new(&cluster, virtual_nodes, 1)), Some(ring), keys);
        add(name("multiring"), set_up(MultiRing::new(&cluster, virtual_nodes, 1)), Some(multiring), keys);
    }
    let cluster = Cluster::equal(1024);
    add("static_modulo 1024".into(), set_up(StaticModulo::new(&cluster)), Some(62572.0), keys);
    add("maglev 1024 x 100".into(), set_up(Maglev::new(&cluster, Maglev::slots_for(1024), 1)), None, keys);
    add("jump 1024".into(), set_up(Jump::new(&cluster, 1)), None, keys / 5);
    add("xor 1024 x 1".into(), set_up(Xor::new(&cluster, 1, 1)), Some(159.0), keys / 5);
    add("rendezvous 1024".into(), set_up(Rendezvous::new(&cluster, 1)), Some(16.88), keys / 50);
    add("two_d 1024 x 1".into(), set_up(TwoD::new(&cluster, 1, 1)), Some(49.56), keys / 50);
    cases
}

fn set_up<P: Placement + 'static, E: std::fmt::Debug>(placement: Result<P, E>) -> Box<dyn Placement> {
    Box::new(placement.expect("the cases are well-formed"))
}

fn single(placement: &dyn Placement, keys: &[u64], rounds: usize) {
    let mut sum = 0u32;
    let mut servers = [ServerId::NONE; REPLICAS];
    for _ in 0..rounds {
        for key in keys {
            placement.lookup(*key, &mut servers);
            sum = sum.wrapping_add(servers[REPLICAS - 1].0);
        }
    }
    black_box(sum);
}

fn batch(placement: &dyn Placement, keys: &[u64], rounds: usize) {
    let mut sum = 0u32;
    let mut servers = [ServerId::NONE; REPLICAS * BATCH];
    for _ in 0..rounds {
        for keys in keys.chunks(BATCH) {
            let servers = &mut servers[..keys.len() * REPLICAS];
            placement.lookup_batch(keys, REPLICAS, servers);
            sum = servers.iter().fold(sum, |sum, server| sum.wrapping_add(server.0));
        }
    }
    black_box(sum);
}

/// Minimum, median and maximum of lookups per second, in millions, after one run that is not counted.
fn rates(runs: usize, work: impl Fn(), lookups: usize) -> [f64; 3] {
    // Short work is repeated: the system updates processor time in steps of some milliseconds.
    let mut times = 1;
    while seconds(&work, times) < 0.2 {
        times *= 2;
    }
    let rate = |_| (lookups * times) as f64 / seconds(&work, times) / 1e6;
    let mut rates: Vec<f64> = (0..runs.max(1)).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    [rates[0], rates[rates.len() / 2], rates[rates.len() - 1]]
}

#[allow(clippy::disallowed_methods, reason = "a bench is what measures")]
fn seconds(work: &impl Fn(), times: usize) -> f64 {
    let (wall, processor) = (Instant::now(), processor_ns());
    (0..times).for_each(|_| work());
    match (processor, processor_ns()) {
        (Some(before), Some(after)) if after > before => (after - before) as f64 / 1e9,
        _ => wall.elapsed().as_secs_f64(),
    }
}

/// The processor time of this thread in nanoseconds.
fn processor_ns() -> Option<u64> {
    let account = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    account.split_whitespace().next()?.parse().ok()
}

fn show([least, median, most]: [f64; 3]) -> String {
    format!("{median:7.2} ({least:.2} to {most:.2})")
}

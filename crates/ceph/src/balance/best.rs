//! The bytes that fit if every group is placed as well as its rule allows, whatever the weights.
//!
//! Shares of devices are amounts, not whole shards: each pool's bytes flow through the tree of its rule to
//! the devices, and a failure domain takes at most what its part of each group is. Data stay on the class of
//! devices that they are on, as in a plan. So the result is a bound: no such set of explicit mappings gives
//! more, and many small groups come near it. Where groups lie against their rule already, they may stay
//! there.
//!
//! A device above the limit may keep what it holds; as in a plan, nothing makes it fuller. If it cannot come
//! below the limit, because pools cannot leave it, no group of a pool that grows may be on it. Otherwise it
//! counts with what it holds, so the bound is then higher than the best placement by no more than that
//! exceeds the limit.

use std::collections::{BTreeMap, BTreeSet};

use towtank_placement::crush::ItemId;

use super::flow::Network;
use super::room::{Mix, Room, growths};
use super::shape::Node;
use super::spread::Spread;

/// What must pass an edge at least and at most: an amount, and its growth with each byte that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Amount {
    bytes: f64,
    growth: f64,
}

impl Amount {
    fn at(self, written: f64, mix: f64) -> f64 {
        self.bytes + self.growth * written * mix
    }
}

/// A capacity that grows with a pool.
struct Growing {
    edge: u32,
    pool: usize,
    rule: Amount,
    actual: Amount,
    /// The device that it leads to, if it leads to one.
    device: Option<ItemId>,
}

/// What a device may hold.
struct Drain {
    id: ItemId,
    edge: u32,
    /// Until it is full.
    limit: u64,
    /// What it holds now.
    held: u64,
}

/// The network of a cluster.
pub struct Best<'a> {
    spread: &'a Spread,
    network: Network,
    source: u32,
    sink: u32,
    /// Edges from the source, each with its pool and what must pass.
    demands: Vec<(u32, usize, Amount)>,
    growing: Vec<Growing>,
    devices: Vec<Drain>,
    /// Devices that stay above the limit in every placement.
    stuck: BTreeSet<ItemId>,
}

/// Of each pool: what its groups have on each device now.
type Actual = Vec<BTreeMap<ItemId, Amount>>;

fn actual(spread: &Spread) -> Actual {
    let mut actual = vec![BTreeMap::new(); spread.pools.len()];
    for group in &spread.groups {
        for id in group.held() {
            let amount: &mut Amount = actual[group.pool].entry(id).or_default();
            amount.bytes += group.shard as f64;
            amount.growth += group.growth;
        }
    }
    actual
}

impl<'a> Best<'a> {
    /// The network of a cluster, without amounts.
    #[must_use]
    pub fn of(spread: &'a Spread) -> Best<'a> {
        let mut network = Network::default();
        let (source, sink) = (network.node(), network.node());
        let mut best = Best {
            spread,
            network,
            source,
            sink,
            demands: Vec::new(),
            growing: Vec::new(),
            devices: Vec::new(),
            stuck: BTreeSet::new(),
        };
        let mut nodes = BTreeMap::new();
        for (id, load) in &spread.devices {
            let node = best.network.node();
            let edge = best.network.edge(node, sink);
            let room = spread.limits.full * load.capacity - load.overhead;
            // A device whose overhead alone is above the limit takes nothing.
            let limit = room.max(0.0) as u64;
            best.devices.push(Drain { id: *id, edge, limit, held: load.bytes });
            nodes.insert(*id, node);
        }
        let actual = actual(spread);
        for (at, held) in actual.iter().enumerate() {
            best.add_pool(at, held, &nodes);
        }
        best.find_stuck();
        best
    }

    /// Finds the devices above the limit that no placement brings below it.
    fn find_stuck(&mut self) {
        let nothing_grows = vec![0.0; self.spread.pools.len()];
        for at in 0..self.devices.len() {
            let Drain { id, limit, held, .. } = self.devices[at];
            if held > limit {
                self.devices[at].held = limit;
                if !self.fits(0.0, &nothing_grows) {
                    self.stuck.insert(id);
                }
                self.devices[at].held = held;
            }
        }
    }

    /// A pool, in one part for each class of devices that it is on.
    fn add_pool(&mut self, pool: usize, held: &BTreeMap<ItemId, Amount>, nodes: &BTreeMap<ItemId, u32>) {
        let spread = self.spread;
        let of_pool = || spread.groups.iter().filter(|group| group.pool == pool);
        let one = sum(of_pool().map(|group| Amount { bytes: group.shard as f64, growth: group.growth }));
        let mut classes: BTreeMap<Option<&str>, BTreeMap<ItemId, Amount>> = BTreeMap::new();
        for (id, amount) in held {
            classes.entry(self.class(*id)).or_default().insert(*id, *amount);
        }
        let shape = &spread.pools[pool].shape;
        for (class, held) in classes {
            let node = self.network.node();
            let edge = self.network.edge(self.source, node);
            self.demands.push((edge, pool, sum(held.values().copied())));
            let context = Context { pool, one, held: &held, nodes, class };
            for branch in &shape.branches {
                self.add_node(&branch.top, node, branch.asked, &context);
            }
            // Shards on devices that the rule does not reach may stay.
            for (id, amount) in held.iter().filter(|(id, _)| !shape.devices.contains_key(id)) {
                let edge = self.network.edge(node, nodes[id]);
                let (rule, actual) = (Amount::default(), *amount);
                self.growing.push(Growing { edge, pool, rule, actual, device: Some(*id) });
            }
        }
    }

    fn class(&self, device: ItemId) -> Option<&'a str> {
        self.spread.devices.get(&device)?.class.as_deref()
    }

    fn add_node(&mut self, node: &Node, above: u32, most: u32, context: &Context<'_>) {
        if node.item >= 0 && self.class(node.item) != context.class {
            return;
        }
        let load = self.spread.devices.get(&node.item);
        let actual = actual_below(node, context.held);
        let usable = node.item < 0 || load.is_some_and(|load| load.effective > 0.0);
        let most = if usable { f64::from(most) } else { 0.0 };
        let rule = Amount { bytes: context.one.bytes * most, growth: context.one.growth * most };
        let own = match context.nodes.get(&node.item).filter(|_| node.item >= 0) {
            Some(device) => *device,
            None if node.item >= 0 => return,
            None => self.network.node(),
        };
        let edge = self.network.edge(above, own);
        let device = (node.item >= 0).then_some(node.item);
        self.growing.push(Growing { edge, pool: context.pool, rule, actual, device });
        for child in &node.children {
            self.add_node(child, own, child.most(), context);
        }
    }

    /// Whether this fits.
    fn fits(&mut self, written: f64, mix: &Mix) -> bool {
        let mut wanted = 0u64;
        for (edge, pool, amount) in &self.demands {
            let bytes = amount.at(written, mix[*pool]).floor() as u64;
            wanted += bytes;
            self.network.set(*edge, bytes);
        }
        for Growing { edge, pool, rule, actual, device } in &self.growing {
            let is_closed = mix[*pool] > 0.0 && device.is_some_and(|id| self.stuck.contains(&id));
            let bytes = rule.at(written, mix[*pool]).max(actual.at(written, mix[*pool]));
            self.network.set(*edge, if is_closed { 0 } else { bytes.ceil() as u64 });
        }
        for Drain { edge, limit, held, .. } in &self.devices {
            self.network.set(*edge, *limit.max(held));
        }
        self.network.largest(self.source, self.sink) >= wanted - wanted / ROUNDED
    }

    /// Bytes that fit. `known` is an amount that is known to fit, from where the search begins.
    pub fn room(&mut self, mix: &Mix, known: f64) -> Room {
        let growths = growths(&self.spread.groups, mix);
        let growth: f64 = growths.values().sum();
        if growth <= 0.0 {
            return Room { bytes: 0.0, device: None };
        }
        let free: f64 = self.devices.iter().map(|device| device.limit.max(device.held) as f64).sum();
        let stored: f64 = self.demands.iter().map(|(_, _, amount)| amount.bytes).sum();
        let (mut low, mut high) = (known, ((free - stored) / growth).max(0.0));
        if !self.fits(low, mix) {
            (low, high) = (0.0, low.min(high));
        }
        // To four parts in a billion of the first guess, which may be a thousand times as much.
        for _ in 0..STEPS {
            if high <= low {
                break;
            }
            let middle = f64::midpoint(low, high);
            if self.fits(middle, mix) { low = middle } else { high = middle }
        }
        Room { bytes: low, device: None }
    }
}

/// Amounts are sums of floats, and of the same bytes in different orders: where a pool has as many shards as
/// domains, each edge must be full to the last byte. One part in so many may be left over, which is less than
/// the result is exact to, and keeps it a bound.
const ROUNDED: u64 = 1_000_000_000;

/// Halvings of the range in which the result lies.
const STEPS: u32 = 28;

struct Context<'a> {
    pool: usize,
    /// One copy or shard of every group of the pool.
    one: Amount,
    held: &'a BTreeMap<ItemId, Amount>,
    nodes: &'a BTreeMap<ItemId, u32>,
    /// The class of devices that this part of the pool is on.
    class: Option<&'a str>,
}

fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::default(), |sum, amount| Amount {
        bytes: sum.bytes + amount.bytes,
        growth: sum.growth + amount.growth,
    })
}

fn actual_below(node: &Node, held: &BTreeMap<ItemId, Amount>) -> Amount {
    match node.item {
        0.. => held.get(&node.item).copied().unwrap_or_default(),
        _ => sum(node.children.iter().map(|child| actual_below(child, held))),
    }
}

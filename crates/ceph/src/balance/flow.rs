//! The largest flow through a network, by Dinic's method (1970): augment along shortest paths, all of one
//! length at a time. Amounts are whole bytes, so that the result is exact.

/// A network of nodes and edges with capacities.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The edges that leave each node, by index.
    leaving: Vec<Vec<u32>>,
    /// The node that each edge leads to; edge `i ^ 1` is the reverse of edge `i`.
    to: Vec<u32>,
    /// What can still flow through each edge.
    left: Vec<u64>,
    level: Vec<u32>,
    next: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;

impl Network {
    /// Adds a node.
    pub fn node(&mut self) -> u32 {
        self.leaving.push(Vec::new());
        self.leaving.len() as u32 - 1
    }

    /// Adds an edge without capacity; returns its index.
    pub(super) fn edge(&mut self, from: u32, to: u32) -> u32 {
        let index = self.to.len() as u32;
        self.to.extend([to, from]);
        self.left.extend([0, 0]);
        self.leaving[from as usize].push(index);
        self.leaving[to as usize].push(index + 1);
        index
    }

    /// Sets the capacity of an edge, and empties it.
    pub fn set(&mut self, edge: u32, capacity: u64) {
        assert!(
            edge.is_multiple_of(2),
            "an edge has a capacity, and its reverse has none: {edge} is a reverse"
        );
        self.left[edge as usize] = capacity;
        self.left[edge as usize ^ 1] = 0;
    }

    /// The largest flow from one node to another.
    pub fn largest(&mut self, from: u32, to: u32) -> u64 {
        assert!(from != to, "a flow leads from one node to another: {from} is both");
        let mut sum = 0;
        while self.reaches(from, to) {
            self.next = vec![0; self.leaving.len()];
            loop {
                let pushed = self.push(from, to, u64::MAX);
                if pushed == 0 {
                    break;
                }
                sum += pushed;
            }
        }
        sum
    }

    fn reaches(&mut self, from: u32, to: u32) -> bool {
        self.level = vec![UNREACHED; self.leaving.len()];
        self.level[from as usize] = 0;
        let mut open = std::collections::VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            for &edge in &self.leaving[node as usize] {
                let there = self.to[edge as usize] as usize;
                if self.left[edge as usize] > 0 && self.level[there] == UNREACHED {
                    self.level[there] = self.level[node as usize] + 1;
                    open.push_back(there as u32);
                }
            }
        }
        self.level[to as usize] != UNREACHED
    }

    /// Pushes what it can, at most `limit`; paths are as long as the levels of a rule, so recursion is flat.
    fn push(&mut self, node: u32, to: u32, limit: u64) -> u64 {
        if node == to {
            return limit;
        }
        let mut pushed = 0;
        while let Some(&edge) = self.leaving[node as usize].get(self.next[node as usize] as usize) {
            let (at, there) = (edge as usize, self.to[edge as usize]);
            if self.left[at] > 0 && self.level[there as usize] == self.level[node as usize] + 1 {
                let part = self.push(there, to, (limit - pushed).min(self.left[at]));
                self.left[at] -= part;
                self.left[at ^ 1] += part;
                pushed += part;
                if pushed == limit {
                    return pushed;
                }
            }
            self.next[node as usize] += 1;
        }
        pushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_flow_is_the_smallest_cut() {
        let mut network = Network::default();
        let nodes: Vec<u32> = (0..6).map(|_| network.node()).collect();
        // The example of Cormen et al., "Introduction to Algorithms", chapter 26: 23.
        for (from, to, capacity) in [
            (0, 1, 16),
            (0, 2, 13),
            (1, 3, 12),
            (2, 1, 4),
            (2, 4, 14),
            (3, 2, 9),
            (3, 5, 20),
            (4, 3, 7),
            (4, 5, 4),
        ] {
            let edge = network.edge(nodes[from], nodes[to]);
            network.set(edge, capacity);
        }
        assert_eq!(network.largest(nodes[0], nodes[5]), 23);
        assert_eq!(network.largest(nodes[0], nodes[5]), 0, "nothing is left");
    }

    #[test]
    #[should_panic(expected = "an edge has a capacity, and its reverse has none: 1 is a reverse")]
    fn a_reverse_edge_with_a_capacity_breaks_a_law() {
        let mut network = Network::default();
        let (from, to) = (network.node(), network.node());
        let edge = network.edge(from, to);
        network.set(edge + 1, 5);
    }

    #[test]
    #[should_panic(expected = "a flow leads from one node to another: 0 is both")]
    fn a_flow_that_leads_nowhere_breaks_a_law() {
        let mut network = Network::default();
        let node = network.node();
        network.largest(node, node);
    }
}

//! What servers sent each other, as it is drawn, and with how many others each one exchanged anything.

use serde::{Deserialize, Serialize};
use towtank_rebuild::hardware::Hardware;

/// The traffic between servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Servers, or ranges of them, by name or number.
    pub labels: Vec<String>,
    /// Bytes as `[from][to]`.
    pub matrix: Vec<Vec<u64>>,
}

/// The most segments of a circle whose names can still be read; above it, neighbouring servers are merged.
/// The slides of the first paper draw 63.
const SEGMENTS_MAX: usize = 64;

impl Traffic {
    /// The traffic between all pairs of servers, without servers that are `gone` and sent and took nothing.
    /// None if nothing was sent at all.
    #[must_use]
    pub fn of(bytes: &[u64], hardware: &Hardware, gone: impl Fn(u32) -> bool) -> Option<Traffic> {
        let servers = hardware.servers();
        let at = |from: u32, to: u32| bytes[(from * servers + to) as usize];
        let takes_part = |server: u32| (0..servers).any(|other| at(server, other) + at(other, server) > 0);
        let shown: Vec<u32> = (0..servers).filter(|&server| !gone(server) || takes_part(server)).collect();
        let each = shown.len().div_ceil(SEGMENTS_MAX).max(1);
        let ranges: Vec<&[u32]> = shown.chunks(each).collect();
        let between = |from: &[u32], to: &[u32]| -> u64 {
            from.iter().flat_map(|&from| to.iter().map(move |&to| at(from, to))).sum()
        };
        let row = |from: &&[u32]| ranges.iter().map(|to| between(from, to)).collect::<Vec<u64>>();
        let matrix: Vec<Vec<u64>> = ranges.iter().map(row).collect();
        let one = |server: u32| match hardware.names() {
            Some(names) => names.servers[server as usize].clone(),
            None => server.to_string(),
        };
        let label = |range: &&[u32]| match **range {
            [only] => one(only),
            [first, .., last] => format!("{}\u{2013}{}", one(first), one(last)),
            [] => unreachable!("a chunk has at least one server"),
        };
        let any = matrix.iter().flatten().any(|&bytes| bytes > 0);
        any.then(|| Traffic { labels: ranges.iter().map(label).collect(), matrix })
    }
}

/// With how many other servers a server exchanged anything.
#[must_use]
pub fn peers(bytes: &[u64], servers: u32, server: u32) -> u32 {
    let at = |from: u32, to: u32| bytes[(from * servers + to) as usize];
    let exchanges = |other: &u32| *other != server && at(server, *other) + at(*other, server) > 0;
    (0..servers).filter(exchanges).count() as u32
}

#[cfg(test)]
mod tests {
    use towtank_rebuild::hardware::Layout;
    use towtank_units::SimSpan;

    use super::*;
    use crate::keys::Keys;
    use crate::settings::{Settings, Usual};

    /// Servers of one disk each.
    fn machines(servers: u32) -> Hardware {
        let usual = Usual { of_ceph: false, grouped: false, has_queue: false, peering: SimSpan::ZERO };
        let settings = Settings::of(&mut Keys::default(), usual);
        let each = || (0..servers).collect::<Vec<u32>>();
        let layout = Layout {
            server_of: each(),
            rack_of: vec![0; servers as usize],
            class_of: vec![0; servers as usize],
        };
        Hardware::new(layout, vec![settings.disk()], settings.card(), None, settings.unit)
    }

    /// Server 0 sends 5 to 1 and takes 7 from it, and sends 1 to 3; server 2 failed.
    const SMALL: [u64; 16] = [0, 5, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    fn each_server_is_a_segment_but_one_that_failed() {
        let traffic = Traffic::of(&SMALL, &machines(4), |server| server == 2).unwrap();
        assert_eq!(traffic.labels, ["0", "1", "3"]);
        assert_eq!(traffic.matrix, [[0, 5, 1], [7, 0, 0], [0, 0, 0]]);
        // What failed later has sent something before.
        let late = Traffic::of(&SMALL, &machines(4), |server| server == 1).unwrap();
        assert_eq!(late.labels, ["0", "1", "2", "3"]);
        assert_eq!(Traffic::of(&[0; 16], &machines(4), |_| false), None);
    }

    #[test]
    fn sixty_four_servers_are_shown_alone_and_more_are_merged() {
        for (servers, labels, last) in
            [(64, 63, "63"), (65, 64, "64"), (66, 33, "65"), (200, 50, "197\u{2013}199")]
        {
            let mut bytes = vec![0; (servers * servers) as usize];
            bytes[1] = 9;
            bytes[(servers * servers - 2) as usize] = 4;
            let traffic = Traffic::of(&bytes, &machines(servers), |server| server == 2).unwrap();
            assert_eq!(traffic.labels.len(), labels, "{servers} servers");
            assert_eq!(traffic.labels.last().map(String::as_str), Some(last), "{servers} servers");
            assert_eq!(traffic.matrix.iter().flatten().sum::<u64>(), 13, "no byte is lost in merging");
        }
    }

    #[test]
    fn a_peer_is_one_that_sends_or_takes() {
        assert_eq!([0, 1, 2, 3].map(|server| peers(&SMALL, 4, server)), [2, 1, 0, 1]);
    }
}

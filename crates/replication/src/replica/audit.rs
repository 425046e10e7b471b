//! Invariants of a replica between any two calls. Each check looks at a few numbers only, so the checks
//! always run.

use towtank_units::SimTime;

use super::Replica;
use super::fill::{Fill, Phase};
use super::primary::{Peer, Primary, Slot, Stage};
use crate::{Cursor, DeviceId, Payload};

impl<P: Payload> Replica<P> {
    pub(super) fn audit(&self, now: SimTime) {
        self.audit_durable();
        let Some(map) = &self.map else {
            assert!(self.primary.is_none(), "a primary without a map");
            assert!(self.links.is_empty() && self.pending.is_empty(), "work was begun without a map");
            assert!(
                self.remote_slot.is_none() && self.sending.is_empty(),
                "a backfill was begun without a map"
            );
            return;
        };
        assert_eq!(map.epoch, self.durable.epoch, "the map is not the one that was noted");
        assert!(self.early.iter().all(|(_, early)| early.interval > map.epoch), "a message is kept too long");
        assert!(!self.links.contains_key(&self.me), "a replica writes to itself");
        if let Some(primary) = &self.primary {
            assert_eq!(map.acting.first(), Some(&self.me), "a primary that is not the first");
            assert!(self.remote_slot.is_none(), "a primary fills itself");
            self.audit_primary(primary, now);
        }
    }

    fn audit_durable(&self) {
        let durable = &self.durable;
        let (epoch, started, clean) = (durable.epoch, durable.last_epoch_started, durable.last_epoch_clean);
        assert!(clean <= started, "clean in {clean}, and started in {started}");
        assert!(started <= epoch, "started in {started}, and the last map is {epoch}");
        let last = durable.intervals.last().map_or(epoch, |interval| interval.epoch);
        assert_eq!(last, epoch, "the present interval is not noted");
        let (tail, head) = (durable.log.tail(), durable.log.head());
        assert!(tail <= head, "the log begins with {tail} and ends with {head}");
        assert!(head.epoch <= epoch, "a change of epoch {} before its map", head.epoch);
        let last = durable.missing.last_key_value();
        assert!(
            last.is_none_or(|(key, _)| durable.cursor.covers(*key)),
            "{last:?} is missing above the cursor"
        );
    }

    fn audit_primary(&self, primary: &Primary<P>, now: SimTime) {
        let (durable, config) = (&self.durable, &self.config);
        assert_eq!(primary.stage == Stage::Asking, !primary.asked.is_empty(), "nobody is waited for");
        assert!(!primary.peers.contains_key(&self.me), "a primary follows itself");
        assert!(primary.infos.contains_key(&self.me), "a primary does not know itself");
        let follows = matches!(primary.stage, Stage::Activating | Stage::Active);
        assert!(!follows || durable.is_complete(), "a primary is to be filled itself");
        assert!(!follows || durable.last_epoch_started == durable.epoch, "an interval has not been noted");
        let is_idle =
            primary.in_flight.is_empty() && primary.recovering.is_empty() && primary.fills.is_empty();
        let is_coded = config.data_shards > 1;
        assert!(is_coded || primary.gathers.is_empty(), "shards of a group without a code");
        for gather in primary.gathers.values() {
            let version = self.sending.get(&(gather.to, gather.key));
            assert_eq!(version, Some(&gather.version), "a shard is made that nobody waits for");
        }
        assert!(primary.stage == Stage::Active || is_idle, "work was begun before all follow");
        assert!(primary.stage != Stage::Active || primary.peers.values().all(|peer| peer.follows));
        let serves = self.acting().len() >= config.size_min;
        assert!(serves || primary.only_reverts(), "too few replicas take a write");
        if let Some((first, last)) = primary.in_flight.keys().next().zip(primary.in_flight.keys().next_back())
        {
            assert!(*first > durable.log.tail(), "{first} was trimmed and is not committed");
            assert!(*last <= durable.log.head(), "{last} is in flight and not in the log");
            assert!(
                first.epoch == durable.epoch && last.epoch == durable.epoch,
                "a write of another interval"
            );
        }
        assert!(primary.active() <= config.active_max, "{} objects are on their way", primary.active());
        assert!(!primary.rests || config.sleep.as_ns() > 0, "it rests without end");
        let lease = config.lease.unwrap_or_default();
        assert!(primary.lease_until <= now.saturating_add(lease), "a lease is longer than was agreed");
        if primary.is_clean {
            assert!(durable.missing.is_empty(), "a clean group misses objects");
            assert!(!primary.is_reverting(), "a clean group undoes changes");
            assert_eq!(durable.last_epoch_clean, durable.epoch, "being clean was not noted");
            assert!(primary.targets().next().is_none(), "a clean group has targets");
        }
        let has_slot = matches!(primary.slot, Slot::Held(_));
        assert!(has_slot || primary.fills.is_empty(), "a backfill without a slot");
        for (target, fill) in &primary.fills {
            audit_fill(*target, fill, &primary.peers[target]);
        }
    }
}

fn audit_fill(target: DeviceId, fill: &Fill, peer: &Peer) {
    assert!(peer.is_target, "{target:?} is filled and need not be");
    assert!(peer.missing.is_empty(), "{target:?} is filled before its log is recovered");
    assert!(fill.started >= peer.cursor, "the backfill of {target:?} is behind what is done");
    let last = fill.in_flight.last_key_value();
    assert!(last.is_none_or(|(key, _)| fill.started.covers(*key)), "{last:?} is sent before its turn");
    let is_looking = matches!(fill.phase, Phase::Looking(_));
    assert!(is_looking || fill.in_flight.is_empty(), "objects are sent before what differs is known");
    let ends = matches!(fill.phase, Phase::Ending);
    assert!(!ends || fill.started == Cursor::End, "a backfill ends at {:?}", fill.started);
}

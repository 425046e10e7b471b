//! The volatile state of a group's primary, which is reset in each interval.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use towtank_units::SimTime;

use super::fill::Fill;
use super::gathering::Gather;
use crate::{Cursor, DeviceId, Info, Key, Member, Missed, Operation, RequestId, Token, Version};

/// The progress of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Stage {
    /// The other replicas are asked for their state.
    Asking,
    /// Other replicas should act; the primary has asked for a new map.
    WantsOthers,
    /// No available replica knows of all acknowledged writes.
    Down,
    /// The authoritative log is being fetched.
    Fetching,
    /// The other replicas are asked to follow.
    Activating,
    /// All replicas follow.
    Active,
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Ask<P> {
    pub(super) request: RequestId,
    pub(super) key: Key,
    pub(super) operation: Operation<P>,
}

/// A write that not all replicas have committed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct InFlight {
    pub(super) request: RequestId,
    pub(super) key: Key,
    pub(super) waits_for: BTreeSet<DeviceId>,
    /// Whether the client has its answer; true for a revert, which answers nobody.
    pub(super) is_answered: bool,
    pub(super) is_revert: bool,
}

/// A replica that follows: acting, or a target of a backfill.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Peer {
    pub(super) follows: bool,
    #[serde(with = "towtank_units::pairs")]
    pub(super) missing: BTreeMap<Key, Version>,
    /// What it said of those objects when it followed.
    #[serde(with = "towtank_units::pairs")]
    pub(super) missed: BTreeMap<Key, Missed>,
    /// Objects below this cursor are as its log says, as far as it was sent them: never behind its stored
    /// cursor.
    pub(super) cursor: Cursor,
    pub(super) is_target: bool,
    /// Whether its objects are as an earlier backfill left them.
    pub(super) resumes: bool,
}

/// An object that is being recovered.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Recovering {
    /// The replicas that were asked for it, if the primary itself misses it.
    pub(super) tried: BTreeSet<DeviceId>,
    /// Those of them that have certainly never had it in this version.
    pub(super) never_had: BTreeSet<DeviceId>,
    /// The replicas to which it is being sent.
    pub(super) waits_for: BTreeSet<DeviceId>,
}

/// The state of the primary's own slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Slot {
    None,
    Asked(Token),
    Held(Token),
}

/// The primary's state of a group.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Primary<P> {
    pub(super) stage: Stage,
    /// Replicas that have not answered yet.
    pub(super) asked: BTreeSet<DeviceId>,
    #[serde(with = "towtank_units::pairs")]
    pub(super) infos: BTreeMap<DeviceId, Info>,
    /// Until when an earlier primary may answer reads.
    pub(super) promised_until: SimTime,
    #[serde(with = "towtank_units::pairs")]
    pub(super) peers: BTreeMap<DeviceId, Peer>,
    #[serde(with = "towtank_units::pairs")]
    pub(super) in_flight: BTreeMap<Version, InFlight>,
    /// Requests that wait until the group serves.
    pub(super) waiting: VecDeque<Ask<P>>,
    /// Requests that wait for an object.
    #[serde(with = "towtank_units::pairs")]
    pub(super) blocked: BTreeMap<Key, VecDeque<Ask<P>>>,
    /// Reads that wait for the lease.
    pub(super) reads: Vec<Ask<P>>,
    pub(super) lease_until: SimTime,
    /// When the lease was requested, and which replicas have not confirmed it.
    pub(super) renewing: Option<(SimTime, BTreeSet<DeviceId>)>,
    #[serde(with = "towtank_units::pairs")]
    pub(super) recovering: BTreeMap<Key, Recovering>,
    /// Shards that are being decoded from others.
    #[serde(with = "towtank_units::pairs")]
    pub(super) gathers: BTreeMap<u64, Gather<P>>,
    pub(super) gathers_begun: u64,
    /// Objects that clients wait for.
    pub(super) urgent: BTreeSet<Key>,
    /// Objects that no available replica has.
    pub(super) unfound: BTreeSet<Key>,
    /// Objects whose version not all replicas of any interval are known to have had, and that some replica
    /// that acts still misses: clients must not see them. With the first of the changes that may yet be
    /// reverted, which the log must keep.
    #[serde(with = "towtank_units::pairs")]
    pub(super) unsettled: BTreeMap<Key, Option<Version>>,
    pub(super) recovers_by_log: bool,
    pub(super) slot: Slot,
    #[serde(with = "towtank_units::pairs")]
    pub(super) fills: BTreeMap<DeviceId, Fill>,
    pub(super) rounds: u64,
    pub(super) rests: bool,
    /// Whether a pause is due but has not begun, because the operation before it is not done.
    pub(super) rest_is_due: bool,
    pub(super) is_clean: bool,
}

impl<P> Primary<P> {
    pub(super) fn new(promised_until: SimTime) -> Primary<P> {
        Primary {
            stage: Stage::Asking,
            asked: BTreeSet::new(),
            infos: BTreeMap::new(),
            promised_until,
            peers: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            waiting: VecDeque::new(),
            blocked: BTreeMap::new(),
            reads: Vec::new(),
            lease_until: SimTime::ZERO,
            renewing: None,
            recovering: BTreeMap::new(),
            gathers: BTreeMap::new(),
            gathers_begun: 0,
            urgent: BTreeSet::new(),
            unfound: BTreeSet::new(),
            unsettled: BTreeMap::new(),
            recovers_by_log: false,
            slot: Slot::None,
            fills: BTreeMap::new(),
            rounds: 0,
            rests: false,
            rest_is_due: false,
            is_clean: false,
        }
    }

    /// Whether a device has answered in this life.
    pub(super) fn has_heard(&self, member: Member) -> bool {
        self.infos.get(&member.device).is_some_and(|info| info.incarnation == member.incarnation)
    }

    /// Targets of backfills that are not complete yet.
    pub(super) fn targets(&self) -> impl Iterator<Item = DeviceId> + '_ {
        self.peers.iter().filter(|(_, peer)| peer.is_target).map(|(device, _)| *device)
    }

    /// Whether a write to this object must wait because the object is missing somewhere or in flight.
    pub(super) fn holds_up_writes(&self, key: Key) -> bool {
        self.recovering.contains_key(&key)
            || self.peers.values().any(|peer| peer.missing.contains_key(&key))
            || self.fills.values().any(|fill| fill.in_flight.contains_key(&key))
    }

    /// Whether a revert is not committed by all: until then it may be undone itself, and what proves that it
    /// is right must be kept.
    pub(super) fn is_reverting(&self) -> bool {
        self.in_flight.values().any(|write| write.is_revert)
    }

    /// Whether no client's write is in flight.
    pub(super) fn only_reverts(&self) -> bool {
        self.in_flight.values().all(|write| write.is_revert)
    }

    /// Whether a replica that acts, other than the primary, misses an object.
    pub(super) fn is_missing_at_acting(&self, key: Key) -> bool {
        self.peers.values().any(|peer| !peer.is_target && peer.missing.contains_key(&key))
    }

    pub(super) fn is_being_written(&self, key: Key) -> bool {
        self.in_flight.values().any(|write| write.key == key)
    }

    /// The number of objects in flight.
    pub(super) fn active(&self) -> usize {
        let filled: usize = self.fills.values().map(|fill| fill.in_flight.len()).sum();
        self.recovering.len() + filled
    }
}

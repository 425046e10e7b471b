//! How a backfill finds out what to look at: it compares the trees, sketches or bitmaps of both sides.
//!
//! Both sides compare copies, so that writes can continue. Objects written meanwhile that do not reach the
//! target are recorded, and looked at whatever the comparison says.

use std::collections::BTreeSet;

use towtank_merkle::exchange::{Found, Message, Side, answer};
use towtank_merkle::{Bitmap, Position, PositionRange, SkipSet};

use super::Turn;
use super::exchanging::Exchanging;
use super::fill::Phase;
use super::look::Look;
use crate::objects::Objects;
use crate::{Body, DeviceId, Discovery, Epoch, Key, Note};

impl<O: Objects> Turn<'_, O> {
    /// Starts discovery for a target that has a slot.
    pub(super) fn discover(&mut self, target: DeviceId) {
        let discovery = self.it.config.discovery;
        let Some(primary) = self.it.primary.as_mut() else { return };
        let resumed = primary.peers[&target].resumes;
        let Some(fill) = primary.fills.get_mut(&target) else { return };
        let round = fill.round;
        fill.phase = Phase::Discovering { exchange: None, touched: BTreeSet::new() };
        self.note(Note::BackfillBegan { target, discovery, resumed });
        match discovery {
            Discovery::Scan => self.discovered(target, Discovery::Scan, None),
            Discovery::Bitmap => self.say(target, Body::GetBitmap(round)),
            by => self.open_exchange(target, by),
        }
    }

    fn open_exchange(&mut self, target: DeviceId, by: Discovery) {
        let it = &mut *self.it;
        let summary = &it.durable.summary;
        let Some(primary) = it.primary.as_mut() else { return };
        let Some(fill) = primary.fills.get_mut(&target) else { return };
        let Phase::Discovering { exchange, .. } = &mut fill.phase else { return };
        // After an overflow of the sketch, use the earlier copies: writes since then have been recorded.
        let (tree, sketch) = match exchange.take() {
            Some(earlier) => (earlier.tree, earlier.sketch),
            None => (summary.tree.clone().expect("a tree is kept for it"), summary.sketch.clone()),
        };
        let (opened, head) = Exchanging::open(&it.config, by, tree, sketch);
        *exchange = Some(Box::new(opened));
        let bytes = head.encode();
        fill.tally.exchanged_bytes += bytes.len() as u64;
        let round = fill.round;
        self.say(target, Body::Exchange(round, bytes));
    }

    /// Handles a message of an exchange: from the target if this replica is the primary, otherwise from the
    /// primary.
    pub(super) fn take_exchange(&mut self, from: DeviceId, round: u64, bytes: &[u8]) {
        if self.it.primary.is_none() {
            self.answer_exchange(from, round, bytes);
            return;
        }
        let Some(fill) = self.fill_of(from, round).filter(|fill| fill.is_discovering(round)) else { return };
        fill.tally.exchanged_bytes += bytes.len() as u64;
        let Phase::Discovering { exchange: Some(exchange), .. } = &mut fill.phase else { return };
        let by = exchange.by;
        let Some(answer) = exchange.receive(bytes) else {
            self.discovered(from, Discovery::Scan, None);
            return;
        };
        let reply = answer.reply.filter(|_| answer.found.is_none()).map(|reply| reply.encode());
        if let Some(reply) = reply {
            fill.tally.exchanged_bytes += reply.len() as u64;
            self.say(from, Body::Exchange(round, reply));
        }
        match answer.found {
            Some(Found::Overflow) => self.open_exchange(from, Discovery::MerkleLevels),
            Some(found) => self.discovered(from, by, Some(found)),
            None => {}
        }
    }

    /// The target's side, which keeps only the copy that is being compared.
    fn answer_exchange(&mut self, from: DeviceId, round: u64, bytes: &[u8]) {
        let it = &mut *self.it;
        let message = Message::decode(bytes).ok();
        if matches!(message, Some(Message::Head { .. })) {
            let summary = &it.durable.summary;
            it.snapshot = summary.tree.clone().map(|tree| (tree, summary.sketch.clone()));
        }
        let turn = it.snapshot.as_mut().zip(message).and_then(|((tree, sketch), message)| {
            answer(Side { tree: tree.settle(), sketch: sketch.as_ref() }, &message).ok()
        });
        // An empty reply is not a valid message; the primary then scans.
        let reply = turn.map_or(Some(Vec::new()), |turn| turn.reply.map(|reply| reply.encode()));
        if let Some(reply) = reply {
            self.say(from, Body::Exchange(round, reply));
        }
    }

    pub(super) fn tell_bitmap(&mut self, to: DeviceId, round: u64) {
        let dirty = self.it.durable.summary.dirty();
        let bitmap = dirty.map(|dirty| (dirty.since, dirty.ranges.encode()));
        self.say(to, Body::Bitmap(round, bitmap));
    }

    /// The ranges written to on either side since both were equal, provided that both bitmaps begin at the
    /// same interval.
    pub(super) fn take_bitmap(&mut self, from: DeviceId, round: u64, bitmap: Option<(Epoch, Vec<u8>)>) {
        let ours = self.it.durable.summary.dirty().map(|dirty| (dirty.since, dirty.ranges.ranges()));
        let Some(fill) = self.fill_of(from, round).filter(|fill| fill.is_discovering(round)) else { return };
        fill.tally.exchanged_bytes += bitmap.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64);
        let theirs = bitmap.and_then(|(since, bytes)| Some((since, Bitmap::decode(&bytes).ok()?.ranges())));
        match (ours, theirs) {
            (Some((since, ours)), Some((their_since, theirs))) if since == their_since => {
                let mut dirty = SkipSet::new();
                ours.into_iter().chain(theirs).for_each(|range| dirty.insert(range));
                self.discovered(from, Discovery::Bitmap, Some(Found::Ranges(dirty.iter().collect())));
            }
            _ => self.discovered(from, Discovery::Scan, None),
        }
    }

    /// Ends discovery: what was found must be looked at, or everything if discovery failed.
    fn discovered(&mut self, target: DeviceId, by: Discovery, found: Option<Found>) {
        let it = &mut *self.it;
        let Some(fill) = it.primary.as_mut().and_then(|primary| primary.fills.get_mut(&target)) else {
            return;
        };
        let Phase::Discovering { touched, .. } = &mut fill.phase else { return };
        let touched = std::mem::take(touched);
        assert!(fill.in_flight.is_empty(), "objects are sent before what differs is known");
        let all = it.config.shape.space().range();
        let but =
            |ranges: &[PositionRange]| Look::Ranges { skipped: SkipSet::all_but(all, ranges), batch: None };
        let (mut look, differing) = match found {
            None => (Look::Ranges { skipped: SkipSet::new(), batch: None }, 1),
            Some(Found::Ranges(ranges)) => {
                assert!(
                    ranges.is_sorted_by(|left, right| left.last < right.first),
                    "ranges are out of order"
                );
                (but(&ranges), ranges.len() as u64)
            }
            Some(Found::Objects(objects)) => {
                let key = |hash: u32, id| Key { position: Position::of_hash(hash).0, id };
                let named = objects.iter().map(|object| key(object.hash, object.id.0));
                let named: BTreeSet<Key> = named.filter(|key| !fill.started.covers(*key)).collect();
                let differing = named.len() as u64;
                assert!(
                    named.iter().all(|key| all.contains(key.at())),
                    "a sketch has named another group's object"
                );
                (Look::Objects { named, taken: 0 }, differing)
            }
            Some(Found::Nothing | Found::Overflow) => (but(&[]), 0),
        };
        for key in touched {
            look.touch(&it.config, key);
        }
        fill.phase = Phase::Looking(look);
        let bytes = fill.tally.exchanged_bytes;
        self.note(Note::Discovered { target, by, differing, bytes });
        self.fill(target);
    }
}

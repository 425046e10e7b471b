//! Crashes that wait for their moment: while a device writes, or when a client has just been answered.

use towtank_replication::{Body, Key};
use towtank_store::engine::{Table, Tables as _, key_bytes};
use towtank_store::frames::Reply;
use towtank_store::names::address;
use towtank_store::osd::core::Effect;
use towtank_units::SimSpan;

use super::host::{Door, Host};
use super::{Event, World};
use crate::faults::{Fault, Kind};

/// How long a daemon is away at most that is to crash once more: the others still count it as up.
const SHORT: SimSpan = SimSpan::from_ms(200);

/// How long clients want to read an object of which the last change was interrupted.
const WANTED: SimSpan = SimSpan::from_secs(3);

impl World {
    /// A device writes, for some time yet: the crash that waits for this comes meanwhile. If it writes what
    /// clients have just asked it for, then that may be on its disk and on no other, the crash comes again
    /// once it shows that, and clients want to see it.
    pub(super) fn crash_in_commit_of(&mut self, osd: u32, soon: SimSpan, leads: Option<(u32, Key)>) {
        let Some(at) = self.crash_in_commit else { return };
        let Fault { kind, device, .. } = self.faults[at];
        match leads {
            _ if kind == Kind::PowerCutAll => {}
            Some(object) => {
                self.faults[at].device = osd;
                if self.below(3) > 0 {
                    self.tell(|| format!("osd.{osd} has written what no other replica has"));
                    self.strikes_again.insert(at);
                    self.wanted = Some((object, self.now.saturating_add(WANTED)));
                }
            }
            None if device == osd && self.below(4) == 0 => {}
            None => return,
        }
        self.crash_in_commit = None;
        self.after(soon, Event::Fault { at });
    }

    /// The object of a change that a portion sends to the other replicas.
    pub(super) fn led_by(effects: &[Effect<Door>]) -> Option<(u32, Key)> {
        effects.iter().find_map(|effect| match effect {
            Effect::Send { group, message, .. } => match &message.body {
                Body::Write { entry, .. } => Some((*group, entry.key)),
                _ => None,
            },
            _ => None,
        })
    }

    /// The place of the name that clients want to read now, if there is one.
    pub(super) fn wanted(&self) -> Option<usize> {
        let ((group, key), _) = self.wanted.filter(|(_, until)| *until > self.now)?;
        self.names.iter().position(|name| {
            let at = address(name, self.settings.groups);
            (at.group, at.key) == (group, key)
        })
    }

    /// How long a crash lasts that is to come again when the daemon shows what it alone has.
    pub(super) fn span_before_next(&mut self, at: usize) -> SimSpan {
        self.crash_when_alone.push(at);
        self.faults[at].span.min(SHORT)
    }

    /// A daemon tells a client that something is written, or what it has read: now a crash may come.
    pub(super) fn tells(&mut self, by: u32, client: usize, reply: &Reply) {
        if matches!(reply, Reply::Done(_)) {
            self.acknowledges(by);
        }
        let shows = matches!(reply, Reply::Done(_) | Reply::Found(Some(_)));
        if !shows || self.crash_when_alone.is_empty() {
            return;
        }
        let asked = self.clients.get(client).and_then(super::Client::asks_of);
        if asked.is_some_and(|(group, key, acting)| self.is_alone(by, (group, key), &acting)) {
            self.tell(|| format!("osd.{by} shows what another replica does not have"));
            self.answered_by = by;
            for at in std::mem::take(&mut self.crash_when_alone) {
                self.faults[at].device = by;
                // What is on its way to the others stays with it, unless they lose power too.
                if self.below(2) == 0 {
                    self.faults[at].kind = Kind::PowerCutAll;
                    self.is_aimed = true;
                }
                self.after(SimSpan::from_ns(1), Event::Fault { at });
            }
        }
    }

    /// Whether a replica that acts and runs does not have an object as this one has it.
    fn is_alone(&self, by: u32, (group, key): (u32, Key), acting: &[u32]) -> bool {
        let row = |osd: u32| {
            let run = self.hosts.get(&osd).and_then(|host| host.run.as_ref())?;
            Some(run.twin.get(Table::Heads, &key_bytes(group, key)).expect("the twin can be read"))
        };
        let own = row(by);
        acting.iter().any(|osd| row(*osd).is_some_and(|other| own.as_ref().is_some_and(|own| *own != other)))
    }

    /// A daemon says to a client that something is written.
    fn acknowledges(&mut self, by: u32) {
        self.answered_by = by;
        let writes = |host: &Host| {
            let pending = host.run.as_ref().and_then(|run| run.pending.as_ref());
            pending.is_some_and(|portion| !portion.writes.is_empty())
        };
        let others_write = self.hosts.iter().any(|(osd, host)| *osd != by && writes(host));
        // All lose something only if a disk has not written all.
        let (now, later): (Vec<usize>, Vec<usize>) = std::mem::take(&mut self.crash_after_answer)
            .into_iter()
            .partition(|at| self.faults[*at].kind != Kind::PowerCutAll || others_write);
        self.crash_after_answer = later;
        for at in now {
            let soon = self.around(100);
            self.after(soon, Event::Fault { at });
        }
    }
}

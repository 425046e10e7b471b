//! What a daemon asks the monitor, and what the answers mean: it registers, and then says from time to time
//! that it runs, until it says that it ends. Connections are made elsewhere, as often as they break.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use towtank_replication::Epoch;
use towtank_units::{SimSpan, SimTime};

use crate::frames::{FromMonitor, Report, ToMonitor};
use crate::identity::Shown;
use crate::map::MapId;

/// How often a daemon reports that it runs.
pub(super) const PING: SimSpan = SimSpan::from_ms(200);

/// How long it waits until it asks again what the monitor does not do now.
const LATER: SimSpan = SimSpan::from_ms(100);

/// The identity of a daemon, as it registers.
#[derive(Clone, Debug)]
pub struct Me {
    /// The daemon.
    pub osd: u32,
    /// The number of its run.
    pub instance: u64,
    /// The address on which it listens.
    pub address: String,
    /// The identity of its directory.
    pub shown: Shown,
}

/// A rule that is broken on purpose, so that a test can prove that it would notice.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Planted {
    /// A daemon that has said that it ends still says that it runs, and registers again.
    SpeaksAfterLeaving,
    /// A daemon that registers again does not say which map it knows.
    ForgetsItsMap,
}

/// What a daemon does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It asks the monitor. If there is no answer, it asks the same again.
    Ask(Box<ToMonitor>),
    /// It has nothing to say for this long.
    Rest(SimSpan),
    /// It has said that it ends, and says nothing any more.
    End,
}

/// What an answer means for the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing further.
    Nothing,
    /// It is registered for the first time.
    Registered,
    /// Groups that are clean elsewhere, with the interval.
    Clean(Vec<(u32, Epoch)>),
    /// It has to wait, with the reason, and goes on meanwhile as if there were no monitor.
    Waits(String),
    /// It is not let in, with the reason, and has to end.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// It registers; `is_new` before it was registered at all.
    Boots {
        is_new: bool,
    },
    /// It says what waits, and that it runs.
    Speaks,
    Rests {
        until: SimTime,
    },
    Ended,
}

/// The side of a daemon.
#[derive(Debug)]
pub struct Talk {
    me: Me,
    step: Step,
    /// The newest map that the directory was known to have.
    known: Option<MapId>,
    /// The monitor is not asked before that.
    not_before: SimTime,
    waiting: VecDeque<ToMonitor>,
    /// Whether the question that is open is the first that waits: one that comes later is not answered by it.
    asks_first: bool,
    planted: Option<Planted>,
}

impl Talk {
    /// A daemon that is not registered, whose directory knows this map.
    #[must_use]
    pub fn new(me: Me, known: Option<MapId>) -> Talk {
        let (step, not_before) = (Step::Boots { is_new: true }, SimTime::ZERO);
        Talk { me, step, known, not_before, waiting: VecDeque::new(), asks_first: false, planted: None }
    }

    /// The same with a rule that is broken.
    #[doc(hidden)]
    #[must_use]
    pub fn planted(self, planted: Option<Planted>) -> Talk {
        Talk { planted, ..self }
    }

    /// Adds a request, which is made as soon as possible. If it is out of date by then, it does no harm.
    pub fn want(&mut self, group: u32, epoch: Epoch, acting: Vec<u32>) {
        self.waiting.push_back(ToMonitor::Wants { group, epoch, acting });
    }

    /// The daemon ends: nothing is said after that.
    pub fn leave(&mut self) {
        let Me { osd, instance, .. } = self.me;
        self.waiting.push_back(ToMonitor::Leave { osd, instance });
    }

    /// What to do now.
    #[must_use]
    pub fn next(&mut self, now: SimTime, report: &Report) -> Next {
        let Me { osd, instance, .. } = self.me;
        let epoch_of = |known: Option<MapId>| known.map(|known| known.epoch);
        if epoch_of(report.known) > epoch_of(self.known) {
            self.known = report.known;
        }
        match &self.step {
            Step::Ended => Next::End,
            _ if self.not_before > now => Next::Rest(self.not_before.since(now)),
            Step::Boots { is_new } => {
                let (address, shown) = (self.me.address.clone(), self.me.shown.clone());
                let forgets = !is_new && self.planted == Some(Planted::ForgetsItsMap);
                let known = self.known.filter(|_| !forgets);
                Next::Ask(Box::new(ToMonitor::Boot { osd, instance, address, shown, known }))
            }
            Step::Rests { until } if self.waiting.is_empty() && *until > now => Next::Rest(until.since(now)),
            Step::Rests { .. } | Step::Speaks => {
                self.asks_first = !self.waiting.is_empty();
                Next::Ask(Box::new(match self.waiting.front() {
                    Some(ask) => ask.clone(),
                    None => ToMonitor::Ping { osd, instance, report: report.clone() },
                }))
            }
        }
    }

    /// Takes the answer to what was asked last.
    pub fn take(&mut self, now: SimTime, answer: FromMonitor) -> Heard {
        if let FromMonitor::Later(why) = answer {
            // The same is asked again.
            (self.asks_first, self.not_before) = (false, now.saturating_add(LATER));
            return Heard::Waits(why);
        }
        if let Step::Boots { is_new, .. } = self.step {
            if let FromMonitor::Refused(why) = answer {
                return Heard::Refused(why);
            }
            self.step = Step::Speaks;
            return if is_new { Heard::Registered } else { Heard::Nothing };
        }
        if let Some(asked) = std::mem::take(&mut self.asks_first).then(|| self.waiting.pop_front()).flatten()
        {
            let ends =
                matches!(asked, ToMonitor::Leave { .. }) && self.planted != Some(Planted::SpeaksAfterLeaving);
            // A ping after that would be refused, and register the daemon again.
            self.step = if ends { Step::Ended } else { Step::Speaks };
            return Heard::Nothing;
        }
        self.step = Step::Rests { until: now.saturating_add(PING) };
        match answer {
            FromMonitor::Clean(groups) if !groups.is_empty() => Heard::Clean(groups),
            FromMonitor::Refused(_) => {
                self.step = Step::Boots { is_new: false };
                Heard::Nothing
            }
            _ => Heard::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Option<MapId> = Some(MapId { epoch: 4, digest: 7 });

    fn asked(next: Next) -> ToMonitor {
        match next {
            Next::Ask(ask) => *ask,
            next => panic!("it has something to say, and not {next:?}"),
        }
    }

    fn me() -> Me {
        Me { osd: 0, instance: 9, address: String::new(), shown: Shown::of_stranger(1) }
    }

    /// A daemon that was marked down registered again as one that knows no map, so that a monitor that was an
    /// older copy let it in.
    #[test]
    fn a_daemon_that_registers_again_says_what_it_knows() {
        let later = Some(MapId { epoch: 6, digest: 8 });
        let said = |planted| {
            let now = SimTime::ZERO;
            let mut talk = Talk::new(me(), KNOWN).planted(planted);
            talk.take(now, FromMonitor::Done);
            let report = Report { known: later, ..Report::default() };
            assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Ping { .. }));
            talk.take(now, FromMonitor::Refused("boot again".to_owned()));
            match asked(talk.next(now, &Report::default())) {
                ToMonitor::Boot { known, .. } => known,
                other => panic!("it registers again, and not {other:?}"),
            }
        };
        assert_eq!(said(None), later);
        assert_eq!(said(Some(Planted::ForgetsItsMap)), None);
    }

    #[test]
    fn what_is_put_off_is_asked_again() {
        let (report, now) = (Report::default(), SimTime::ZERO);
        let put_off = || FromMonitor::Later("others are heard".to_owned());
        let mut talk = Talk::new(me(), KNOWN);
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Boot { .. }));
        assert!(matches!(talk.take(now, put_off()), Heard::Waits(_)));
        assert_eq!(talk.next(now, &report), Next::Rest(LATER));
        let now = now.saturating_add(LATER);
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Boot { known: KNOWN, .. }));
        assert_eq!(talk.take(now, FromMonitor::Done), Heard::Registered);
        talk.want(3, 5, vec![0]);
        talk.leave();
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Wants { .. }));
        assert!(matches!(talk.take(now, put_off()), Heard::Waits(_)));
        let now = now.saturating_add(LATER);
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Wants { .. }), "it is not forgotten");
        talk.take(now, FromMonitor::Done);
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Leave { .. }));
    }

    /// What is wanted while a ping is on its way was taken for answered with the ping.
    #[test]
    fn an_answer_is_of_what_was_asked() {
        let (report, now) = (Report::default(), SimTime::ZERO);
        let mut talk = Talk::new(me(), KNOWN);
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Boot { known: KNOWN, .. }));
        assert_eq!(talk.take(now, FromMonitor::Done), Heard::Registered);
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Ping { .. }));
        talk.want(3, 5, vec![0]);
        assert_eq!(talk.take(now, FromMonitor::Clean(vec![(1, 2)])), Heard::Clean(vec![(1, 2)]));
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Wants { group: 3, .. }));
        talk.leave();
        assert_eq!(talk.take(now, FromMonitor::Done), Heard::Nothing);
        assert!(matches!(asked(talk.next(now, &report)), ToMonitor::Leave { .. }));
        assert_eq!(talk.take(now, FromMonitor::Done), Heard::Nothing);
        assert_eq!(talk.next(now, &report), Next::End);
    }
}

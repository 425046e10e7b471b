//! Flags of a cluster that keep something from happening, over time.

use towtank_units::SimTime;

/// What the flags of a moment keep from happening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Nothing is recovered (`norecover`).
    pub no_recovery: bool,
    /// No group is backfilled (`nobackfill`); what a log names is copied.
    pub no_backfill: bool,
    /// No group is backfilled that lacks nothing (`norebalance`).
    pub no_rebalance: bool,
    /// No device is marked out because it is down (`noout`).
    pub no_out: bool,
    /// No device is marked down (`nodown`).
    pub no_down: bool,
}

/// What is to be done for one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Whether it lacks a copy or shard.
    pub lacks: bool,
    /// Whether a log names all that it lacks, so that it needs no backfill.
    pub logged: bool,
}

impl Flags {
    /// The flag that keeps a record from being copied, if one does.
    #[must_use]
    pub fn stop(self, need: Need) -> Option<&'static str> {
        match need {
            _ if self.no_recovery => Some("norecover"),
            Need { logged: true, .. } => None,
            _ if self.no_backfill => Some("nobackfill"),
            Need { lacks: false, .. } if self.no_rebalance => Some("norebalance"),
            _ => None,
        }
    }
}

/// The flags over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlagsOverTime {
    /// From when each set of flags is in force, in order; before the first, none is.
    pub changes: Vec<(SimTime, Flags)>,
}

impl FlagsOverTime {
    /// No flag is ever set.
    pub const NEVER: FlagsOverTime = FlagsOverTime { changes: Vec::new() };

    /// The flags at a moment.
    #[must_use]
    pub fn at(&self, moment: SimTime) -> Flags {
        let begun = self.changes.iter().take_while(|(from, _)| *from <= moment);
        begun.last().map(|(_, flags)| *flags).unwrap_or_default()
    }

    /// The first moment from `from` on at which a flag is not set; none if it is never unset.
    #[must_use]
    pub(crate) fn first_without(&self, from: SimTime, flag: fn(Flags) -> bool) -> Option<SimTime> {
        if !flag(self.at(from)) {
            return Some(from);
        }
        let later = self.changes.iter().filter(|(at, _)| *at > from);
        later.into_iter().find(|(_, flags)| !flag(*flags)).map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_stops_what_it_stops_in_ceph() {
        let [lost, moved, logged] = [(true, false), (false, false), (true, true)];
        let by = |flags: Flags, (lacks, logged)| flags.stop(Need { lacks, logged });
        let cases = [
            (Flags::default(), [None, None, None]),
            (Flags { no_recovery: true, ..Flags::default() }, [Some("norecover"); 3]),
            (Flags { no_backfill: true, ..Flags::default() }, [Some("nobackfill"), Some("nobackfill"), None]),
            (Flags { no_rebalance: true, ..Flags::default() }, [None, Some("norebalance"), None]),
            (Flags { no_out: true, no_down: true, ..Flags::default() }, [None, None, None]),
        ];
        for (flags, want) in cases {
            assert_eq!([lost, moved, logged].map(|need| by(flags, need)), want, "{flags:?}");
        }
    }

    #[test]
    fn flags_change_with_time() {
        let at = |ns: u64| SimTime::from_ns(ns);
        let out = Flags { no_out: true, ..Flags::default() };
        let flags = FlagsOverTime { changes: vec![(at(5), out), (at(9), Flags::default()), (at(12), out)] };
        assert_eq!(
            [4, 5, 8, 9, 12, 99].map(|ns| flags.at(at(ns)).no_out),
            [false, true, true, false, true, true]
        );
        let free = |ns: u64| flags.first_without(at(ns), |flags| flags.no_out);
        assert_eq!([3, 5, 9, 11, 12].map(free), [Some(at(3)), Some(at(9)), Some(at(9)), Some(at(11)), None]);
        assert_eq!(FlagsOverTime::NEVER.first_without(at(7), |flags| flags.no_down), Some(at(7)));
    }
}

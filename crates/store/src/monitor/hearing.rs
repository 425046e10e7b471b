//! What a monitor that starts again hears from its daemons before it publishes a map.
//!
//! A copy of `monitor/` from earlier lacks maps that daemons know. What it would publish has the epochs
//! of these maps, with other contents: two maps of one epoch, by which two replicas could both be the primary
//! of a group. So a monitor that starts hears the daemons that its last map calls up, or waits until they
//! have been silent for as long as a daemon is that is marked down, and all others that run for as long as
//! they need to connect again. If one knows a later map, or another map of an epoch that the monitor has
//! too, `monitor/` is an older copy, and nothing is published any more: the daemons that run go on as if
//! there were no monitor.
//!
//! Not noticed: an older copy, if nobody who knows more reaches it meanwhile.

use std::collections::BTreeSet;

use towtank_units::{SimSpan, SimTime};

use crate::map::{ClusterMap, MapId};

/// How long a daemon that runs may need to reach a monitor that starts: twice the time between its attempts.
const LEAST: SimSpan = SimSpan::from_ms(400);

/// What is said to a daemon while others are heard.
pub(super) const FIRST: &str = "the monitor has just started, and hears its daemons first: try again";

/// Who was heard, and what follows.
#[derive(Debug)]
pub(super) struct Hearing {
    since: SimTime,
    /// The daemons that were up before and have not been heard yet.
    unheard: BTreeSet<u32>,
    is_over: bool,
    /// Why this monitor publishes nothing any more.
    older: Option<String>,
}

impl Hearing {
    /// The hearing of a monitor that starts, with the maps that it has: without any there is nobody to hear.
    pub(super) fn new(newest: Option<&ClusterMap>, now: SimTime) -> Hearing {
        let up = newest.iter().flat_map(|map| &map.osds).filter(|(_, osd)| osd.is_up);
        let unheard = up.map(|(id, _)| *id).collect();
        Hearing { since: now, unheard, is_over: newest.is_none(), older: None }
    }

    /// A daemon was heard, which knows no more than the monitor.
    pub(super) fn heard(&mut self, osd: u32) {
        self.unheard.remove(&osd);
    }

    /// Time passes; after `grace` a daemon counts as silent.
    pub(super) fn pass(&mut self, now: SimTime, grace: SimSpan) {
        let span = now.since(self.since);
        self.is_over |= span > grace || self.unheard.is_empty() && span >= LEAST;
    }

    /// Nobody is waited for.
    pub(super) fn skip(&mut self) {
        self.is_over = true;
    }

    /// Whether the monitor may publish maps.
    pub(super) fn is_done(&self) -> bool {
        self.is_over && self.older.is_none()
    }

    /// Why it publishes nothing any more, if that is so.
    pub(super) fn older(&self) -> Option<&str> {
        self.older.as_deref()
    }

    /// Takes what a daemon knows; returns why the monitor publishes nothing any more, if that shows it.
    pub(super) fn compare(&mut self, osd: u32, known: Option<MapId>, maps: &[ClusterMap]) -> Option<&str> {
        if let Some(why) = known.and_then(|known| fault_of(osd, known, maps)) {
            self.older.get_or_insert(why);
        }
        self.older()
    }
}

/// What a map that a daemon knows says of the monitor's maps; none if it may be one of them.
fn fault_of(osd: u32, known: MapId, maps: &[ClusterMap]) -> Option<String> {
    let (epoch, newest) = (known.epoch, maps.last().map_or(0, |map| map.epoch));
    let ways = "bring the newest one back, or `towtank store rebuild-monitor` makes one from the devices";
    if epoch > newest {
        return Some(format!(
            "osd.{osd} knows map {epoch}, and the monitor's newest is {newest}: monitor/ is an older copy; {ways}"
        ));
    }
    let own = maps.binary_search_by_key(&epoch, |map| map.epoch).ok().map(|at| maps[at].id());
    // One that is not needed any more cannot be compared.
    own.is_some_and(|own| own != known).then(|| {
        format!("osd.{osd} knows another map {epoch} than the monitor: monitor/ is an older copy that went on; {ways}")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use towtank_replication::Incarnation;

    use super::*;
    use crate::frames::{FromMonitor, Report, ToMonitor};
    use crate::identity::{ClusterId, Shown};
    use crate::monitor::state::{Changed, Planted, State};
    use crate::runs::Runs;
    use crate::settings::Settings;

    fn at(ms: u64) -> SimTime {
        SimTime::ZERO.saturating_add(SimSpan::from_ms(ms))
    }

    fn made(state: &mut State) -> Vec<ClusterMap> {
        let map = |change| match change {
            Changed::Made(map) => Some(map),
            Changed::Forgotten(_) => None,
        };
        state.changes().into_iter().filter_map(map).collect()
    }

    fn monitor(maps: &[ClusterMap], planted: Option<Planted>) -> State {
        let settings = Settings { osds: 3, grace_ms: 1_000, ..Settings::default() };
        let devices: BTreeMap<u32, Incarnation> = (0..3).map(|osd| (osd, Incarnation(osd.into()))).collect();
        State::new(settings, ClusterId::of(1), maps.to_vec(), &devices, at(0)).planted(planted)
    }

    fn boot(osd: u32, instance: u64, known: Option<MapId>) -> ToMonitor {
        let mut runs = Runs::default();
        (10 + u64::from(osd)..=instance).step_by(10).for_each(|run| runs.begin(run));
        let shown = Shown { cluster: ClusterId::of(1), incarnation: Incarnation(osd.into()), runs };
        ToMonitor::Boot { osd, instance, address: String::new(), shown, known }
    }

    fn ping(osd: u32, known: Option<MapId>) -> ToMonitor {
        ToMonitor::Ping { osd, instance: 10 + u64::from(osd), report: Report { known, ..Report::default() } }
    }

    /// The maps of a cluster whose three daemons have started, one after the other.
    fn history() -> Vec<ClusterMap> {
        let mut state = monitor(&[], None);
        for osd in 0..3 {
            assert_eq!(state.take(at(0), boot(osd, 10 + u64::from(osd), None)), FromMonitor::Done);
        }
        made(&mut state)
    }

    fn is_put_off(answer: &FromMonitor, why: &str) -> bool {
        matches!(answer, FromMonitor::Later(said) if said.contains(why))
    }

    /// A monitor that was restored from an older copy published maps with the epochs of those that it lacked.
    #[test]
    fn an_older_monitor_publishes_nothing() {
        let maps = history();
        let newest = maps.last().map(ClusterMap::id);
        let out = || ToMonitor::Mark { osd: 0, is_in: false };
        let mut older = monitor(&maps[..3], None);
        assert!(is_put_off(&older.take(at(1), out()), FIRST), "nobody was heard");
        assert!(is_put_off(&older.take(at(200), ping(2, newest)), "osd.2 knows map 4"));
        // Silent daemons are not marked down, and nobody is let in.
        older.look(at(60_000));
        assert!(
            matches!(older.take(at(60_000), out()), FromMonitor::Refused(why) if why.contains("older copy"))
        );
        let wants = ToMonitor::Wants { group: 0, epoch: 3, acting: vec![0] };
        assert!(is_put_off(&older.take(at(60_000), wants), "is an older copy"));
        assert!(is_put_off(&older.take(at(60_000), ping(0, maps.first().map(ClusterMap::id))), "older copy"));
        let refused = older.take(at(60_000), boot(1, 21, newest));
        assert!(matches!(refused, FromMonitor::Refused(why) if why.contains("is an older copy")));
        assert_eq!(made(&mut older), []);
        assert_eq!(older.maps_after(2, Some(maps[1].id().digest)), [], "and nobody hears of its maps");
        assert!(older.standing().older.is_some());
        // Without the hearing there are two maps 4.
        let mut planted = monitor(&maps[..3], Some(Planted::HearsNobody));
        assert_eq!(planted.take(at(1), out()), FromMonitor::Done);
        let again = made(&mut planted);
        assert!(again[0].epoch == maps[3].epoch && again[0] != maps[3]);
    }

    /// It went on before anybody who knows more could reach it.
    #[test]
    fn a_monitor_with_other_maps_publishes_nothing() {
        let maps = history();
        let mut older = monitor(&maps[..3], None);
        older.look(at(1_100));
        let others = made(&mut older);
        assert_eq!(others[0].epoch, 4, "those that it knows are silent");
        assert_eq!(
            older.maps_after(4, Some(maps[3].id().digest)),
            [],
            "whoever has the other map 4 hears none"
        );
        assert!(is_put_off(
            &older.take(at(1_200), ping(2, maps.last().map(ClusterMap::id))),
            "another map 4"
        ));
        older.look(at(60_000));
        assert_eq!(made(&mut older), []);
    }

    #[test]
    fn a_monitor_goes_on_once_its_daemons_are_heard() {
        let maps = history();
        let newest = maps.last().map(ClusterMap::id);
        let heard = |who: &[u32], ms| {
            let mut state = monitor(&maps, None);
            for osd in who {
                assert!(matches!(state.take(at(100), ping(*osd, newest)), FromMonitor::Clean(_)));
            }
            let answer = state.take(at(ms), ToMonitor::Mark { osd: 0, is_in: false });
            (answer == FromMonitor::Done, made(&mut state).len())
        };
        assert_eq!(heard(&[0, 1, 2], 399), (false, 0), "others may run that it calls down");
        assert_eq!(heard(&[0, 1, 2], 400), (true, 1));
        assert_eq!(heard(&[0, 2], 1_000), (false, 0), "1 may know more");
        assert_eq!(heard(&[0, 2], 1_001), (true, 1));
        // A run that begins is heard too.
        let mut state = monitor(&maps, None);
        for osd in 0..3 {
            let answer = state.take(at(100), boot(osd, 20 + u64::from(osd), newest));
            assert!(is_put_off(&answer, FIRST));
        }
        assert_eq!(state.take(at(400), boot(0, 20, newest)), FromMonitor::Done);
    }
}

//! Which directories are let in: those that the monitor's map means.

use towtank_replication::Member;

use crate::identity::{Identity, IdentityError, Register, Shown, refused, ways_on};
use crate::map::ClusterMap;
use crate::settings::Home;

/// Why the monitor does not let a daemon in.
pub(crate) fn fault_in(map: &ClusterMap, osd: u32, shown: &Shown) -> Option<IdentityError> {
    let Some(state) = map.osds.get(&osd) else {
        let known: Vec<String> = map.osds.keys().map(ToString::to_string).collect();
        let hint = format!("there are {}; `towtank store osd add` adds one", known.join(", "));
        return Some(refused(format!("there is no osd.{osd}"), &hint));
    };
    let is_gone = |it: &&Member| it.device.0 == osd && it.incarnation == shown.incarnation;
    if map.gone.iter().any(|it| is_gone(&it)) {
        let what = format!("the directory of osd.{osd} was declared lost, so its objects are not used");
        return Some(refused(what, &format!("`towtank store osd replace {osd}` begins with a new one")));
    }
    if state.incarnation != Some(shown.incarnation) {
        let what = format!("the directory of osd.{osd} is not the one that the monitor knows");
        return Some(refused(what, &ways_on(osd)));
    }
    (!shown.runs.reach(state.last_run)).then(|| {
        let what =
            format!("the directory of osd.{osd} is an older copy: the last run of the daemon is not in it");
        refused(what, &ways_on(osd))
    })
}

/// Why a device cannot be started, from its directory and the monitor's map.
///
/// # Errors
/// With what is wrong, and the ways on.
pub fn check(home: &Home, map: &ClusterMap, osd: u32) -> Result<(), IdentityError> {
    let shown = Identity::of_osd(home.directory(), osd)?.shown();
    fault_in(map, osd, &shown).map_or(Ok(()), Err)
}

/// Why the monitor cannot be started, from its directory.
///
/// # Errors
/// With what is wrong, and the ways on.
pub fn check_monitor(home: &Home) -> Result<(), IdentityError> {
    Register::open(home.directory()).map(drop)
}

#[cfg(test)]
mod tests;

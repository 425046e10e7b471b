//! What objects wait for whose devices stay in although they are down, with what ends that.

use std::collections::BTreeMap;

use towtank_rebuild::failures::Struck;
use towtank_rebuild::recovery::Recovery;
use towtank_units::SimSpan;

use super::case::Ready;
use super::stages::{kept_by, too_few, whole_rack};

/// In words that follow a number of objects: wait for osd.3, which stays in because of `noout` of host h1.
pub(super) fn waits(ready: &Ready, recovery: &Recovery<'_>) -> String {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (why, devices) in &ready.down.stay {
        reasons.entry(why.clone()).or_default().push(devices.clone());
    }
    let is_back = |struck: &&Struck| struck.devices.iter().all(|device| ready.added.back.contains(device));
    // What was down before is among those above.
    let down = ready.real.groups.down();
    let was_down = |struck: &&Struck| struck.devices.iter().all(|device| down.contains(device));
    for struck in recovery.struck.iter().filter(|struck| !is_back(struck) && !was_down(struck)) {
        let (down, out) = recovery.moments_of(struck);
        if let (Some(_), None, Some(why)) = (down, out, reason(ready, recovery, struck)) {
            let names = reasons.entry(why).or_default();
            if !names.contains(&struck.name) {
                names.push(struck.name.clone());
            }
        }
    }
    let each = reasons.iter().map(|(why, names)| {
        let verb = if names.len() == 1 && !names[0].contains(',') { "stays" } else { "stay" };
        format!("{}, which {verb} in because of {why}", names.join(", "))
    });
    let each: Vec<String> = each.collect();
    match each[..] {
        [] => "wait for devices that are not marked out".to_owned(),
        _ => format!("wait for {}", each.join(", and for ")),
    }
}

/// Why what has failed is never marked out; none where it is, after all.
fn reason(ready: &Ready, recovery: &Recovery<'_>, struck: &Struck) -> Option<String> {
    let device = *struck.devices.first()?;
    let osd = ready.real.groups.machines.osds[device.index()];
    let in_the_end = ready.real.flags.holder("noout", osd, SimSpan::MAX).map(kept_by);
    match () {
        () if ready.kept.contains(&osd) => Some(too_few()),
        () if struck.noout => in_the_end,
        () if recovery.waiting.noout => Some(in_the_end.unwrap_or_else(|| "`noout = true`".to_owned())),
        () if struck.rack && !recovery.waiting.rack_out => Some(whole_rack()),
        () => in_the_end,
    }
}

//! The name of the resource or setting that limited the rebuild, and what would have to change.

use crate::levers::{NO_SLEEP, Tried, helps_most};
use crate::resources::{Kind, Resource, of_kind};

/// What limited the rebuild, in a few words; nothing where nothing was rebuilt. Where changes were tried, the
/// best of them decides between sleep and the reservations that wait for sleeping disks.
#[must_use]
pub fn name(resources: &[Resource], reservations: Option<u32>, tried: &[Tried]) -> Option<String> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let waits = [Kind::Sleep, Kind::IdleItems, Kind::Reservations];
    let top = resources.iter().find(|resource| !waits.contains(&resource.kind))?;
    let mean = |kind: Kind| of_kind(resources, kind).map_or(0.0, |resource| resource.mean);
    // The shares over all leading disks are small where a few of them lead much longer than the others. So
    // where no resource was busy, the larger of the two shares is named.
    let idle = |share: f64| top.busiest < 0.7 && share > top.mean.max(0.1);
    let (slept, waits) = (mean(Kind::Sleep), mean(Kind::Reservations));
    if waits > slept && slept > 0.0 && helps_most(tried, NO_SLEEP) {
        let others = mean(Kind::IdleItems);
        let others = if others < 0.005 {
            String::new()
        } else {
            format!(" and {} for groups that wait", percent(others))
        };
        return Some(format!(
            "the sleep after each object: disks slept {} of the time{others}, and groups waited {} of it for reserved disks",
            percent(slept),
            percent(waits)
        ));
    }
    let others = mean(Kind::IdleItems);
    if others > slept.max(waits) && idle(others) {
        return Some(format!(
            "work items of groups that wait for reservations: they start nothing, but each takes a sleep, {} of the time \
             of all leading disks",
            percent(others)
        ));
    }
    if slept > 0.5 || (idle(slept) && slept >= waits) {
        return Some(format!(
            "the sleep after each object, {} of the time of all leading disks",
            percent(slept)
        ));
    }
    if top.busiest <= 0.0 {
        return None;
    }
    if idle(waits) || (waits > 0.3 && top.mean < 0.7) {
        return Some(format!(
            "reservations: with {} per disk, groups waited {} of the time while disks were busy {}",
            reservations.unwrap_or(0),
            percent(waits),
            percent(mean(Kind::Disks))
        ));
    }
    let what = format!("{} ({}: {})", top.kind.name(), top.which, percent(top.busiest));
    if top.busiest < 0.7 {
        return Some(format!("nothing was busy: at most {what}; too little work was in flight at once"));
    }
    if top.mean < 0.75 * top.busiest {
        return Some(format!(
            "{what}, while the mean of all was {}: the placement loads some more than others",
            percent(top.mean)
        ));
    }
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(kind: Kind, mean: f64) -> Resource {
        Resource { kind, which: String::new(), busiest: mean, mean, saturated: 0, count: 10 }
    }

    /// Groups wait for reservations longer than disks sleep; the trial decides which of the two is named.
    #[test]
    fn a_trial_decides_between_sleep_and_reservations() {
        let resources =
            [resource(Kind::Reservations, 0.34), resource(Kind::Sleep, 0.19), resource(Kind::Disks, 0.07)];
        let named = |change: &str, time_s| {
            let tried = [Tried { change: change.to_owned(), time_s, clients: None }];
            name(&resources, Some(1), &tried).unwrap()
        };
        assert!(named(NO_SLEEP, Some(7_690.0)).starts_with("the sleep after each object"));
        for (change, time_s) in [(NO_SLEEP, None), ("max_backfills = 4", Some(7_690.0))] {
            assert!(named(change, time_s).starts_with("reservations"), "{change}");
        }
        assert!(name(&resources, Some(1), &[]).unwrap().starts_with("reservations"));
    }
}

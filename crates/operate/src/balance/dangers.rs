//! What is unsafe or not known, in words: it comes first, the worst before the rest.

use towtank_ceph::FillLevel;
use towtank_report::{Standing, Status, Warning};

use super::observed::{Device, Kept, Unmappable};
use crate::states::{self, groups};

/// `12.3 %`.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", (part * 1e3).round() / 10.0)
}

/// What is unsafe or not known, the worst first; empty where there is nothing.
#[must_use]
pub(crate) fn dangers(kept: &Kept) -> Vec<String> {
    let safety = &kept.safety;
    let mut said: Vec<String> = FillLevel::ALL.into_iter().filter_map(|level| above(kept, level)).collect();
    said.extend(of_states(kept).into_iter().map(|(_, text)| text));
    if safety.short > 0 {
        said.push(groups(safety.short, ("is", "are")) + " short of copies");
    }
    said.extend(crowded(kept));
    said.extend(of_splits(kept));
    said.extend(not_known(kept));
    said
}

/// Where data will be after a split is not known, so that none of its pool is moved.
fn of_splits(kept: &Kept) -> Vec<String> {
    let said = |change: &String| {
        format!(
            "{change}: where its data will be is not known, so the plan moves no group of it and may be wrong afterwards"
        )
    };
    kept.safety.splits.iter().map(said).collect()
}

/// What the states of groups tell.
fn of_states(kept: &Kept) -> Vec<(Status, String)> {
    states::found(&kept.safety.states, kept.pools.len() as u64)
}

/// The devices above a limit of fill, without those above a worse one.
fn above(kept: &Kept, level: FillLevel) -> Option<String> {
    let limits = &kept.safety.limits;
    let is = |device: &&Device| device.fill_now.is_some_and(|fill| limits.above(fill) == Some(level));
    let mut found: Vec<&Device> = kept.devices.iter().filter(is).collect();
    found.sort_by(|left, right| right.fill_now.unwrap_or(0.0).total_cmp(&left.fill_now.unwrap_or(0.0)));
    let (first, limit) = (found.first()?, percent(limits.at(level)));
    let fill = percent(first.fill_now.unwrap_or(0.0));
    let name = level.name();
    Some(match found.len() - 1 {
        0 => format!("{} is {fill} full, above {name} ({limit})", first.name),
        more => format!("{} is {fill} full, and {more} more are above {name} ({limit})", first.name),
    })
}

/// Devices with more groups than Ceph allows.
fn crowded(kept: &Kept) -> Option<String> {
    let most = kept.safety.groups.max;
    let crowded = || kept.devices.iter().filter(|device| device.shards_now > u64::from(most));
    let worst = crowded().max_by_key(|device| device.shards_now)?;
    let more = match crowded().count() - 1 {
        0 => String::new(),
        more => format!(", and {more} more are above it"),
    };
    Some(format!(
        "{} has {} groups, above {most} (the default of mon_max_pg_per_osd){more}",
        worst.name, worst.shards_now
    ))
}

fn not_known(kept: &Kept) -> Vec<String> {
    let mut said = Vec::new();
    let takes = || kept.devices.iter().filter(|device| device.takes);
    let unknown = takes().filter(|device| !device.reported).count();
    if unknown > 0 && unknown == takes().count() {
        said.push(
            "the sizes and the fill of the devices are not known, so 1 TiB for each unit of weight is assumed (`--osd-df` has \
             them)"
                .to_owned(),
        );
    } else if unknown > 0 {
        let (sizes, devices) = if unknown == 1 {
            ("size", "1 device is")
        } else {
            ("sizes", &*format!("{unknown} devices are"))
        };
        said.push(format!(
            "the {sizes} of {devices} not known, so 1 TiB for each unit of weight is assumed for them (`--osd-df` \
             has them)"
        ));
    }
    let unsized_pools = kept.pools.iter().filter(|pool| !pool.sized && pool.bytes > 0).count();
    if unsized_pools > 0 {
        said.push(
            "the sizes of groups are not known, so those of a pool count as equal (`--pg-dump` has them)"
                .to_owned(),
        );
    }
    said
}

/// Warnings for the reader.
#[must_use]
pub fn warnings(kept: &Kept) -> Vec<Warning> {
    let safety = &kept.safety;
    let mut warnings = Vec::new();
    if let (count @ 1.., Some(example)) = &safety.disagreeing {
        warnings.push(Warning::unknown(format!(
            "{} elsewhere by `crush_map` and `osd_dump` than by `pg_dump`, such as {example}: were they \
             exported at different times?",
            groups(*count, ("belongs", "belong"))
        )));
    }
    if let (count @ 1.., Some(example)) = &safety.compressing {
        let devices = if *count == 1 { "1 device reports" } else { &format!("{count} devices report") };
        warnings.push(Warning::unknown(format!(
            "{devices} less used space than the objects there have bytes, such as {example}: do they compress, or \
             were the dumps made at different times? The difference stays the same in every fill that is shown, \
             although compressed objects that move take their saving with them"
        )));
    }
    for Unmappable { pool, rule, groups: (count, all) } in &safety.unmappable {
        warnings.push(Warning::note(format!(
            "{count} of {all} groups of pool `{pool}` are not moved, because monitors would drop the explicit \
             mappings: by rule `{rule}` several of their copies are in one bucket of a type that the rule picks, as \
             where such buckets are inside each other; give the outer or the inner ones another type"
        )));
    }
    if safety.upmaps.1 > 0 {
        warnings.push(Warning::note(format!(
            "{} of {} explicit mappings have no effect or would be dropped or cut by the monitors",
            safety.upmaps.1, safety.upmaps.0
        )));
    }
    warnings
}

/// Not safe where a device is full or data are lost or not served; at risk where anything else is unsafe or
/// not known, or a host could not be lost.
#[must_use]
pub fn status(kept: &Kept) -> Standing {
    let safety = &kept.safety;
    let fullest = kept.largest(|device| device.fill_now);
    let full = fullest.and_then(|fill| safety.limits.above(fill)) == Some(FillLevel::Full);
    let mut reasons = dangers(kept);
    reasons.extend(no_room_after_loss(kept));
    let of_states = of_states(kept).into_iter().map(|(status, _)| status).max();
    let unknown = kept.devices.iter().any(|device| device.takes && !device.reported);
    let own = match reasons.is_empty() {
        _ if full => Status::NotSafe,
        _ if unknown || !safety.splits.is_empty() => Status::Unknown,
        false => Status::AtRisk,
        true => Status::Safe,
    };
    let status = own.max(of_states.unwrap_or(Status::Safe));
    Standing::new(status, if reasons.is_empty() { ALL_WELL.to_owned() } else { reasons.join("; ") })
}

/// Why a cluster is safe.
const ALL_WELL: &str =
    "no device is above a limit of fill, no copy is missing, and the data fit after the loss of a host";

/// The host without which a device would be full.
fn no_room_after_loss(kept: &Kept) -> Option<String> {
    let loss = kept.whole.as_ref()?.after_loss.as_ref().filter(|loss| loss.room.bytes <= 0.0)?;
    let full = loss.fill.map(|(fill, _)| format!(": a device would be {} full", percent(fill)));
    Some(format!("nothing more fits after the loss of {}{}", loss.host, full.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use towtank_ceph::{FillLimits, GroupStates};

    use super::super::observed::Safety;
    use super::*;

    fn device(fill: f64, shards_now: u64) -> Device {
        Device {
            name: format!("osd.{shards_now}"),
            shards_now,
            fill_now: Some(fill),
            reported: true,
            takes: true,
            ..Device::default()
        }
    }

    #[test]
    fn the_worst_comes_first_and_nothing_is_said_of_what_is_well() {
        let of = |devices: Vec<Device>| Kept { devices, ..Kept::default() };
        assert_eq!(dangers(&of(vec![device(0.5, 100)])), Vec::<String>::new());
        assert_eq!(status(&of(vec![device(0.5, 100)])).status(), Status::Safe);
        let states = GroupStates { stated: 9, lost: 1, ..GroupStates::default() };
        let safety = Safety { states, short: 4, limits: FillLimits::default(), ..Safety::default() };
        let bad = Kept {
            devices: vec![device(0.86, 1), device(0.87, 2), device(0.91, 3), device(0.97, 300)],
            safety,
            ..Kept::default()
        };
        assert_eq!(
            dangers(&bad),
            [
                "osd.300 is 97 % full, above full (95 %)",
                "osd.3 is 91 % full, above backfillfull (90 %)",
                "osd.2 is 87 % full, and 1 more are above nearfull (85 %)",
                "1 group has unfound objects now",
                "4 groups are short of copies",
                "osd.300 has 300 groups, above 250 (the default of mon_max_pg_per_osd)",
            ]
        );
        assert_eq!(status(&bad).status(), Status::NotSafe);
    }

    /// From Ceph 21 on a device may have 500 groups.
    #[test]
    fn how_many_groups_are_too_many_depends_on_the_release() {
        use crate::release::GroupLimits;
        use towtank_recovery::releases::CephRelease;
        let of = |major: u32, groups: u64| {
            let groups_of = GroupLimits::of(Some(CephRelease::of_major(major)));
            let safety = Safety { groups: groups_of, ..Safety::default() };
            dangers(&Kept { devices: vec![device(0.5, groups)], safety, ..Kept::default() }).join("; ")
        };
        assert!(of(20, 251).contains("above 250 (the default of mon_max_pg_per_osd)"), "{}", of(20, 251));
        assert_eq!([of(20, 250), of(21, 500)], [""; 2]);
        assert!(of(21, 501).contains("above 500 (the default of mon_max_pg_per_osd)"), "{}", of(21, 501));
        assert_eq!(
            [GroupLimits::of(None).target, GroupLimits::of(Some(CephRelease::of_major(21))).target],
            [100, 200]
        );
    }

    #[test]
    fn sizes_that_nobody_knows_are_reported() {
        let mut unknown = device(0.5, 1);
        (unknown.reported, unknown.fill_now) = (false, None);
        let one = Kept { devices: vec![device(0.5, 2), unknown.clone()], ..Kept::default() };
        assert!(dangers(&one)[0].starts_with("the size of 1 device is not known"));
        let all = Kept { devices: vec![unknown], ..Kept::default() };
        assert!(dangers(&all)[0].starts_with("the sizes and the fill of the devices are not known"));
        assert_eq!(status(&all).status(), Status::Unknown);
    }
}

//! When failures are detected, and their devices marked out.

use serde::{Deserialize, Serialize};
use towtank_rebuild::failures::Struck;
use towtank_rebuild::plan::DeviceId;
use towtank_rebuild::recovery::Recovery;
use towtank_report::Step;
use towtank_units::{SimSpan, SimTime};

use super::case::Ready;

/// What becomes of a failure, in seconds from the beginning; none for what never happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noticed {
    /// What fails, in words.
    pub name: String,
    /// When it is detected.
    pub down_s: Option<f64>,
    /// When it is marked out.
    pub out_s: Option<f64>,
}

/// All failures; what is back before it is marked out stays in.
pub(super) fn all(ready: &Ready, recovery: &Recovery<'_>) -> Vec<Noticed> {
    let returns = &recovery.later.returns;
    let seconds = |at: SimTime| ready.start.as_secs_f64() + at.as_secs_f64();
    let of = |struck: &Struck| {
        let (down, out) = recovery.moments_of(struck);
        let osd = |device: &DeviceId| ready.real.groups.machines.osds[device.index()];
        let was_out = struck.devices.iter().all(|device| ready.was_out.contains(&osd(device)));
        let is_back = |until: SimTime| {
            let back = |device| returns.iter().any(|back| back.at <= until && back.devices.contains(device));
            struck.devices.iter().all(back)
        };
        // Before objects move onto other devices, groups peer.
        let peering = ready.real.waiting().peering;
        let out = out
            .filter(|out| !is_back(*out) && !was_out)
            .map(|out| SimTime::ZERO.saturating_add(out.since(SimTime::ZERO).saturating_sub(peering)));
        Noticed {
            name: struck.name.clone(),
            // What is noticed because it boots is back then.
            down_s: down
                .filter(|down| {
                    struck.down_for.is_none() && !is_back(down.saturating_add(SimSpan::from_ns(1)))
                })
                .map(seconds),
            out_s: out.map(seconds),
        }
    };
    recovery.struck.iter().map(of).collect()
}

/// Whether nothing of what fails first is ever marked out.
pub(super) fn stays_in(recovery: &Recovery<'_>) -> bool {
    let first = recovery.struck.first().map(|struck| struck.at);
    let mut at_first = recovery.struck.iter().filter(|struck| Some(struck.at) == first);
    first.is_some() && at_first.all(|struck| recovery.moments_of(struck).1.is_none())
}

/// The steps of a course up to a time, of failures that are detected and of devices that are marked out. They
/// are named where there are several at different times, or if that is asked for.
pub(super) fn steps(all: &[Noticed], until: f64, by_name: bool) -> Vec<(f64, Step)> {
    let times = |one: &Noticed| (one.down_s, one.out_s);
    let by_name = by_name || all.windows(2).any(|pair| times(&pair[0]) != times(&pair[1]));
    let downs = all.iter().filter_map(|one| Some((one.down_s?, &*one.name, "detected")));
    let outs = all.iter().filter_map(|one| Some((one.out_s?, &*one.name, "marked out")));
    let mut every: Vec<(f64, &str, &str)> = downs.chain(outs).filter(|(at, ..)| *at < until).collect();
    every.sort_by(|one, other| one.0.total_cmp(&other.0));
    let alike = every.chunk_by(|one, other| (one.0, one.2) == (other.0, other.2));
    let step = |chunk: &[(f64, &str, &str)]| {
        let (at, _, what) = chunk[0];
        let names: Vec<&str> = chunk.iter().map(|(_, name, _)| *name).collect();
        (at, Step::at(at, if by_name { format!("{} {what}", names.join(", ")) } else { what.to_owned() }))
    };
    alike.map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens at once is one step; what happens after the end is none, and neither is what never
    /// happens.
    #[test]
    fn failures_are_named_at_their_times() {
        let of = |name: &str, down_s, out_s| Noticed { name: name.to_owned(), down_s, out_s };
        let all = [
            of("osd.1", Some(20.0), Some(620.0)),
            of("osd.2", Some(20.0), None),
            of("osd.3", Some(80.0), Some(680.0)),
        ];
        let said = |all: &[Noticed], by_name| -> Vec<(f64, String)> {
            steps(all, 650.0, by_name).into_iter().map(|(at, step)| (at, step.what)).collect()
        };
        let [both, third, out] =
            [(20.0, "osd.1, osd.2 detected"), (80.0, "osd.3 detected"), (620.0, "osd.1 marked out")]
                .map(|(at, what)| (at, what.to_owned()));
        let expected = [both.clone(), third, out.clone()];
        assert_eq!(said(&all, false), expected);
        assert_eq!(said(&all, true), expected);
        // What is alike needs no name.
        let alike = [of("osd.1", Some(20.0), Some(620.0)), of("osd.2", Some(20.0), Some(620.0))];
        let without = [(20.0, "detected".to_owned()), (620.0, "marked out".to_owned())];
        assert_eq!(said(&alike, false), without);
        assert_eq!(said(&alike, true)[0].1, "osd.1, osd.2 detected");
    }
}

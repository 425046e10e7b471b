//! The parts of the time until all is as it should be, in words: what takes longest comes first.
//!
//! A resource that is busy, or not, explains the transfers only. Where most of the time passes before them,
//! no faster disk helps, so that is said first.

use towtank_report::human;

/// Where all but this part of the time are transfers, the bottleneck of the transfers says enough. A choice.
const TRANSFERS_ONLY: f64 = 0.05;

/// Parts below this share are left out. A choice.
const WORTH_TELLING: f64 = 0.01;

/// The transfers among the parts.
pub const TRANSFERS: &str = "transfers";

/// The time until a failure is detected.
pub const DETECTION: &str = "until the failure is detected (`detection`)";

/// The time until devices are marked out.
pub const DOWN_OUT: &str = "until the failed devices are marked out (`down_out`)";

/// The time until devices are back.
pub const IN_PLACE: &str = "until what failed is replaced or back";

/// The parts in a figure over time, in the order of time.
pub mod phases {
    /// Until the failure is noticed.
    pub const DETECTION: &str = "detection";
    /// Until devices are marked out.
    pub const DOWN_OUT: &str = "wait until marked out";
    /// Until devices are back.
    pub const IN_PLACE: &str = "replaced or back";
    /// Until the first object moves.
    pub const START: &str = "peering";
    /// The rest.
    pub const TRANSFERS: &str = "transfers";
}

/// The rest, where several things happen: from one failure or change of the map to the next.
const BETWEEN: &str = "before or between transfers";

/// The parts with their times and shares, the longest first: `10 min (94 %) until …, 40 s (6 %) transfers`.
/// Nothing where nearly all of the time are transfers. What the parts lack of the whole passes between them.
#[must_use]
pub fn in_words(mut parts: Vec<(&'static str, f64)>, whole_s: f64) -> Option<String> {
    let known: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    parts.push((BETWEEN, (whole_s - known).max(0.0)));
    let transfers: f64 =
        parts.iter().filter(|(what, _)| *what == TRANSFERS).map(|(_, seconds)| seconds).sum();
    // Parts may overlap where several devices fail one after the other.
    let all = whole_s.max(known);
    if all <= 0.0 || transfers >= (1.0 - TRANSFERS_ONLY) * all {
        return None;
    }
    parts.sort_by(|left, right| right.1.total_cmp(&left.1));
    let shown = parts.iter().filter(|(_, seconds)| *seconds >= WORTH_TELLING * all);
    let texts: Vec<String> = shown
        .map(|(what, seconds)| {
            format!("{} ({:.0} %) {what}", human::quantity(*seconds, "s"), 100.0 * seconds / all)
        })
        .collect();
    Some(texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 10.67 min, 10 are `down_out`, and the answer said that nothing was busy.
    #[test]
    fn the_part_that_takes_longest_comes_first() {
        let parts = || vec![(DETECTION, 20.0), (DOWN_OUT, 600.0), (TRANSFERS, 20.2)];
        assert_eq!(
            in_words(parts(), 640.2).unwrap(),
            "10 min (94 %) until the failed devices are marked out (`down_out`), 20.2 s (3 %) transfers, \
             20 s (3 %) until the failure is detected (`detection`)"
        );
        let second = in_words(parts(), 1_640.2).unwrap();
        assert!(
            second.starts_with("16.67 min (61 %) before or between transfers, 10 min (37 %) until"),
            "{second}"
        );
    }

    #[test]
    fn where_nearly_all_are_transfers_nothing_is_said() {
        assert_eq!(in_words(vec![(DETECTION, 1.0), (TRANSFERS, 99.0)], 100.0), None);
        assert_eq!(in_words(Vec::new(), 0.0), None);
        assert!(in_words(vec![(DETECTION, 10.0), (TRANSFERS, 90.0)], 100.0).is_some());
    }
}

//! Times as messages show them.

use towtank_imports::past::Clock;

const SECOND_US: i64 = 1_000_000;
const DAY_S: i64 = 86_400;

/// The time, to a tenth of a second: `2026-11-28T09:53:33.4Z`, without the `Z` where the zone is not known,
/// and `12.5 s` of a clock that starts anywhere.
#[must_use]
pub fn shown(clock: Clock, at_us: i64) -> String {
    let tenths = at_us.div_euclid(SECOND_US / 10);
    let (seconds, tenth) = (tenths.div_euclid(10), tenths.rem_euclid(10));
    let zone = match clock {
        Clock::Start => {
            let sign = if at_us < 0 { "-" } else { "" };
            let tenths = (at_us.unsigned_abs() + 50_000) / 100_000;
            return format!("{sign}{}.{} s", tenths / 10, tenths % 10);
        }
        Clock::Local => "",
        Clock::Zoned => "Z",
    };
    let (year, month, day) = date(seconds.div_euclid(DAY_S));
    let of_day = seconds.rem_euclid(DAY_S);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{tenth}{zone}")
}

/// Year, month and day of a day counted from 1970, by eras of 400 years that begin in March.
fn date(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown() {
        assert_eq!(shown(Clock::Zoned, 1_795_858_872_950_000), "2026-11-28T09:41:12.9Z");
        assert_eq!(shown(Clock::Local, 0), "1970-01-01T00:00:00.0");
        assert_eq!(shown(Clock::Zoned, 951_782_400_000_000), "2000-02-29T00:00:00.0Z");
        assert_eq!(shown(Clock::Zoned, -1), "1969-12-31T23:59:59.9Z");
        assert_eq!(shown(Clock::Start, 12_460_000), "12.5 s");
        assert_eq!(shown(Clock::Start, -510_000), "-0.5 s");
    }
}

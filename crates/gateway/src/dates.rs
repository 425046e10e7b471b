//! Times in the forms of S3: `20261122T220000Z` in signatures, `Sun, 22 Nov 2026 22:00:00 GMT` in headers,
//! `2026-11-22T22:00:00.000Z` in documents.
//!
//! Days are converted to dates by the algorithms of Howard Hinnant, "chrono-Compatible Low-Level Date
//! Algorithms".

/// Milliseconds since the start of 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// The first second of the year 10000, which none of the forms can express.
const SECONDS_END: u64 = 253_402_300_800;

struct Parts {
    year: u64,
    month: u64,
    day: u64,
    seconds: u64,
}

impl Moment {
    /// The current time: the only place where the gateway reads the machine's clock.
    #[must_use]
    #[allow(clippy::disallowed_methods)]
    pub fn now() -> Moment {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Moment((since.as_millis() as u64).min(SECONDS_END * 1_000 - 1))
    }

    /// Whole seconds since the start of 1970.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0 / 1_000
    }

    fn parts(self) -> Parts {
        let seconds = self.seconds().min(SECONDS_END - 1);
        // Years begin in March, in eras of 400 years from the year 0.
        let days = seconds / 86_400 + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        Parts { year, month, day, seconds: seconds % 86_400 }
    }

    fn of(year: u64, month: u64, day: u64, clock: [u64; 3]) -> Option<Moment> {
        let [hour, minute, second] = clock;
        let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
        let length = match month {
            2 => 28 + u64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        // A leap second counts as the first second of the next minute.
        if !(1970..10_000).contains(&year)
            || day == 0
            || day > length
            || hour > 23
            || minute > 59
            || second > 60
        {
            return None;
        }
        let shifted = if month > 2 { month - 3 } else { month + 9 };
        let year = year - u64::from(month <= 2);
        let of_year = (153 * shifted + 2) / 5 + day - 1;
        let (era, of_era) = (year / 400, year % 400);
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
        Some(Moment((days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000))
    }

    /// The form of documents, with milliseconds.
    #[must_use]
    pub(crate) fn iso(self) -> String {
        let Parts { year, month, day, seconds } = self.parts();
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let ms = self.0 % 1_000;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }

    /// The form of headers.
    #[must_use]
    pub(crate) fn http(self) -> String {
        let Parts { year, month, day, seconds } = self.parts();
        let weekday = DAYS[(self.seconds() / 86_400 % 7) as usize];
        let month = MONTHS[month as usize - 1];
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }

    /// The form of signatures.
    #[must_use]
    pub(crate) fn basic(self) -> String {
        let Parts { year, month, day, seconds } = self.parts();
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }

    /// Parses the form of signatures; none for anything else.
    #[must_use]
    pub(crate) fn from_basic(text: &str) -> Option<Moment> {
        let bytes = text.as_bytes();
        if bytes.len() != 16 || bytes[8] != b'T' || bytes[15] != b'Z' {
            return None;
        }
        let date = (number(&bytes[..4])?, number(&bytes[4..6])?, number(&bytes[6..8])?);
        let clock = [number(&bytes[9..11])?, number(&bytes[11..13])?, number(&bytes[13..15])?];
        Moment::of(date.0, date.1, date.2, clock)
    }

    /// Parses the form of headers; none for anything else, including the obsolete forms of HTTP.
    #[must_use]
    pub(crate) fn from_http(text: &str) -> Option<Moment> {
        let bytes = text.trim().as_bytes();
        if bytes.len() != 29 || !bytes.ends_with(b" GMT") || &bytes[3..5] != b", " {
            return None;
        }
        let month = MONTHS.iter().position(|month| month.as_bytes() == &bytes[8..11])? as u64 + 1;
        let clock = [number(&bytes[17..19])?, number(&bytes[20..22])?, number(&bytes[23..25])?];
        Moment::of(number(&bytes[12..16])?, month, number(&bytes[5..7])?, clock)
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments_are_written_and_read() {
        for (ms, basic, http, iso) in [
            (0, "19700101T000000Z", "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.000Z"),
            // The example of RFC 9110, and a leap day.
            (
                784_111_777_000,
                "19941106T084937Z",
                "Sun, 06 Nov 1994 08:49:37 GMT",
                "1994-11-06T08:49:37.000Z",
            ),
            (
                951_782_400_001,
                "20000229T000000Z",
                "Tue, 29 Feb 2000 00:00:00 GMT",
                "2000-02-29T00:00:00.001Z",
            ),
        ] {
            let moment = Moment(ms);
            assert_eq!(
                (moment.basic(), moment.http(), moment.iso()),
                (basic.into(), http.into(), iso.into())
            );
            let whole = Some(Moment(ms / 1_000 * 1_000));
            assert_eq!((Moment::from_basic(basic), Moment::from_http(http)), (whole, whole));
        }
    }

    #[test]
    fn days_that_are_not_are_refused() {
        for text in ["20230229T000000Z", "20231301T000000Z", "20230100T000000Z", "20230101T240000Z", "", "x"]
        {
            assert_eq!(Moment::from_basic(text), None, "{text}");
        }
        for text in
            ["Thu, 31 Feb 2000 00:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "é, 06 Nov 1994 08:49 GMT"]
        {
            assert_eq!(Moment::from_http(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seconds in 0..SECONDS_END) {
            let moment = Moment(seconds * 1_000);
            prop_assert_eq!(Moment::from_basic(&moment.basic()), Some(moment));
            prop_assert_eq!(Moment::from_http(&moment.http()), Some(moment));
        }

        /// Consecutive days have consecutive dates: a simple oracle for the date arithmetic.
        #[test]
        fn days_follow_each_other(day in 0..2_900_000_u64) {
            let (one, next) = (Moment(day * 86_400_000).parts(), Moment((day + 1) * 86_400_000).parts());
            let is_next = (one.year, one.month, one.day + 1) == (next.year, next.month, next.day)
                || (one.year, one.month + 1, 1) == (next.year, next.month, next.day) && one.day >= 28
                || (one.year + 1, 1, 1) == (next.year, next.month, next.day) && (one.month, one.day) == (12, 31);
            prop_assert!(is_next, "{} {} {}", one.year, one.month, one.day);
        }

        #[test]
        fn hostile_text_is_refused_or_read(text in ".{0,40}") {
            let _ = (Moment::from_basic(&text), Moment::from_http(&text));
        }
    }
}

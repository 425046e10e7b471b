//! Timestamps of RFC 3339 with fractions and zones, as nanoseconds since 1970.

/// The timestamp, if the text is one with a zone.
pub(crate) fn nanoseconds(text: &str) -> Option<i128> {
    let (_, time) = text.split_once(['T', ' '])?;
    time.contains(['Z', 'z', '+', '-']).then(|| nanoseconds_of_any(text))?
}

/// The timestamp, if the text is one, also without a zone, as Ceph writes it before 16: then in the time of
/// its machine, so that only two of these can be compared.
pub(crate) fn nanoseconds_of_any(text: &str) -> Option<i128> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let second = parts.next()?;
    let (second, fraction) = match second.split_once('.') {
        Some((second, fraction)) => (digits(second)?, nanos(fraction)?),
        None => (digits(second)?, 0),
    };
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || year > 9999
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset(zone)?;
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(fraction))
}

fn digits(text: &str) -> Option<i64> {
    let sound = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok())?
}

/// Nanoseconds of a decimal fraction: `5` is half a second.
fn nanos(fraction: &str) -> Option<i64> {
    let kept = fraction.get(..fraction.len().min(9))?;
    let scale = 9 - u32::try_from(kept.len()).ok()?;
    Some(digits(kept)? * 10_i64.pow(scale))
}

/// Seconds east of Greenwich: of `+01:00`, `+0100` or `Z`.
fn offset(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let clock = zone.get(1..)?;
    let (hours, minutes) = clock.split_once(':').or_else(|| clock.split_at_checked(2))?;
    Some(sign * (digits(hours)? * 60 + digits(minutes)?) * 60)
}

/// Days since 1970 of a date of the Gregorian calendar, counted from the first of March of year 0.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 1
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        for (text, want) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T01:00:00.5+01:00", 500_000_000),
            ("2000-03-01T00:00:00Z", 951_868_800_000_000_000),
            ("2019-11-13T17:07:06.3173431+01:00", 1_573_661_226_317_343_100),
        ] {
            assert_eq!(nanoseconds(text), Some(want), "{text}");
        }
        for (text, want) in [
            ("1970-01-01 00:00:01.5", 1_500_000_000),
            ("1970-01-01T01:00:00+0100", 0),
            ("2019-11-13T17:07:06.3173431+01:00", 1_573_661_226_317_343_100),
        ] {
            assert_eq!(nanoseconds_of_any(text), Some(want), "{text}");
        }
        assert_eq!(nanoseconds_of_any("0.000000"), None, "never");
        assert_eq!(nanoseconds_of_any("1970-01-01T01:00:00+1"), None);
        for wrong in [
            "",
            "2019",
            "2019-11-13",
            "2019-13-13T00:00:00Z",
            "2019-11-13T17:07Z",
            "2019-11-13T17:07:06",
            "é-11-13T17:07:06Z",
        ] {
            assert_eq!(nanoseconds(wrong), None, "{wrong}");
        }
    }
}

//! Times of files: with a zone, without one, or seconds since 1970; and their order.

use std::str::FromStr;

use super::Clock;
use crate::{ImportError, moment};

/// How far a clock is ahead of Greenwich.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    seconds_east: i64,
}

/// Hours of a zone: from -12 to +14.
const HOURS_MAX: i64 = 14;

impl FromStr for Zone {
    type Err = String;

    /// Reads `+01:00`, `-0800` or `Z`.
    fn from_str(text: &str) -> Result<Zone, String> {
        let wrong = || format!("`{text}` is not a zone, such as +01:00 or Z");
        if text != "Z" && !text.starts_with(['+', '-']) {
            return Err(wrong());
        }
        let midnight = moment::nanoseconds(&format!("2000-01-01T00:00:00{text}")).ok_or_else(wrong)?;
        let ahead = moment::nanoseconds("2000-01-01T00:00:00Z").ok_or_else(wrong)? - midnight;
        let seconds_east = i64::try_from(ahead / 1_000_000_000).map_err(|_| wrong())?;
        if seconds_east.abs() > HOURS_MAX * 3_600 { Err(wrong()) } else { Ok(Zone { seconds_east }) }
    }
}

/// A time as a file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instant {
    /// Microseconds since 1970, by the clock of the file.
    pub at_us: i64,
    /// Whether that clock is known.
    pub zoned: bool,
}

impl Instant {
    /// The same in the zone, where the file does not say one.
    pub(super) fn within(self, zone: Option<Zone>) -> Instant {
        match zone {
            Some(zone) if !self.zoned => {
                Instant { at_us: self.at_us - zone.seconds_east * 1_000_000, zoned: true }
            }
            _ => self,
        }
    }
}

/// The time of RFC 3339, also without a zone.
pub(super) fn of(text: &str) -> Option<Instant> {
    let zoned = moment::nanoseconds(text);
    let nanos = zoned.or_else(|| moment::nanoseconds_of_any(text))?;
    let at_us = i64::try_from(nanos.div_euclid(1_000)).ok()?;
    Some(Instant { at_us, zoned: zoned.is_some() })
}

/// The time on a line of its own: of RFC 3339, seconds since 1970, or what `date -u` prints.
pub(super) fn of_line(line: &str) -> Option<Instant> {
    let line = line.trim();
    of(line).or_else(|| of_seconds(line)).or_else(|| of_date(line))
}

/// Seconds between 2001 and 2286 have ten digits.
const DIGITS_OF_SECONDS: usize = 10;

/// Seconds since 1970, possibly with a fraction.
fn of_seconds(text: &str) -> Option<Instant> {
    let (whole, _) = text.split_once('.').unwrap_or((text, ""));
    let at_us = decimal_us(text).filter(|_| whole.len() == DIGITS_OF_SECONDS)?;
    Some(Instant { at_us, zoned: true })
}

/// Millionths of a plain decimal number of at least 0, rounded down.
pub(super) fn decimal_us(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let micros: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Sat Nov 28 09:41:12 UTC 2026`.
fn of_date(text: &str) -> Option<Instant> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, clock, zone, year] = words[..] else { return None };
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    let is_utc = matches!(zone, "UTC" | "GMT");
    is_utc.then(|| of(&format!("{year}-{month:02}-{day:0>2}T{clock}Z")))?
}

/// How far times may go back: two managers, one after the other, have clocks of their own.
const BACK_MAX_US: i64 = 5_000_000;

/// The times of a file, one after the other.
pub(super) struct Order<'a> {
    file: &'a str,
    first: Option<(usize, bool)>,
    last: Option<i64>,
}

impl<'a> Order<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, first: None, last: None }
    }

    /// Takes the next time.
    ///
    /// # Errors
    /// If it is before the last one, or by another clock.
    pub(super) fn next(&mut self, line: usize, at: Instant) -> Result<(), ImportError> {
        self.same_clock(line, at)?;
        let back = self.last.map_or(0, |last| last.saturating_sub(at.at_us));
        if back > BACK_MAX_US {
            let seconds = back.div_euclid(1_000_000);
            return Err(ImportError::new(self.file, format!("the time goes back by {seconds} s"))
                .key(format!("line {line}"))
                .hint("put what is before that line and what is after it into files of their own"));
        }
        self.last = Some(self.last.map_or(at.at_us, |last| last.max(at.at_us)));
        Ok(())
    }

    /// Takes a time whose order does not matter.
    pub(super) fn same_clock(&mut self, line: usize, at: Instant) -> Result<(), ImportError> {
        let (first, zoned) = *self.first.get_or_insert((line, at.zoned));
        if zoned == at.zoned {
            return Ok(());
        }
        let (with, without) = if zoned { (first, line) } else { (line, first) };
        let reason = format!("the time at line {with} has a zone, and that at line {without} has none");
        Err(ImportError::new(self.file, reason).hint("say the zone of those without one: --zone +01:00"))
    }

    pub(super) fn clock(&self) -> Clock {
        if self.first.is_none_or(|(_, zoned)| zoned) { Clock::Zoned } else { Clock::Local }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_lines() {
        let nine = 1_795_858_872_000_000;
        for (text, at_us, zoned) in [
            ("2026-11-28T09:41:12Z", nine, true),
            ("2026-11-28T10:41:12.5+0100", nine + 500_000, true),
            ("2026-11-28 09:41:12", nine, false),
            (" 1795858872 ", nine, true),
            ("1795858872.25", nine + 250_000, true),
            ("Sat Nov 28 09:41:12 UTC 2026", nine, true),
        ] {
            assert_eq!(of_line(text), Some(Instant { at_us, zoned }), "{text}");
        }
        for wrong in
            ["", "cluster:", "33 pgs: 33 active+clean", "Sat Nov 28 09:41:12 CET 2026", "17", "1.2.3"]
        {
            assert_eq!(of_line(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn zones_move_what_has_none() {
        let local = of("2026-11-28 09:41:12").unwrap();
        let there = local.within(Some("+01:00".parse().unwrap()));
        assert_eq!(Some(there), of("2026-11-28T09:41:12+01:00"));
        assert_eq!(there.within(Some("-08:00".parse().unwrap())), there, "a zone that is known stays");
        assert_eq!(local.within(None), local);
        for wrong in ["", "1", "CET", "+15:00", "+1", "+"] {
            assert!(wrong.parse::<Zone>().is_err(), "{wrong}");
        }
    }
}

//! Numbers for people: four digits, a unit that keeps them short, separated thousands.
//!
//! The page has the same rules in `web/src/human.ts`; both are checked against `web/test/golden/human.json`.
//! JSON and CSV do not use this module. `setting` has the settings of points in words.

mod setting;

pub(crate) use setting::of_keys;
pub use setting::{beside, setting, settings};

/// Digits kept of a number below a thousand; above, all digits before the point.
const SIGNIFICANT: i32 = 4;

/// From this power of ten on, numbers are written as `1.235e15`.
const PLAIN: i32 = 15;

/// A unit for display, and the number of stored units in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    factor: f64,
    unit: String,
}

/// Nanoseconds per unit of time.
const SPANS: [(&str, f64); 7] =
    [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12), ("d", 8.64e13)];

/// Bytes, by powers of 1,024: disks are sold in powers of ten, but all sizes here are shown in these units.
const SIZES: [(&str, f64); 7] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("PiB", 1_125_899_906_842_624.0),
    ("EiB", 1_152_921_504_606_846_976.0),
];

/// Bits, by powers of ten, as link rates are specified.
const BITS: [(&str, f64); 5] = [("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("Tbit", 1e12)];

impl Shown {
    /// The best unit to show a number of this size in `unit`.
    #[must_use]
    pub fn fitting(size: f64, unit: &str) -> Self {
        let (bare, per) = match unit.strip_suffix("/s") {
            Some(bare) => (bare, "/s"),
            None => (unit, ""),
        };
        let span = |base: f64| Self::ladder(&SPANS, size, base, "");
        match (bare, per) {
            ("ns", "") => span(1.0),
            ("us" | "µs", "") => span(1e3),
            ("ms", "") => span(1e6),
            ("s", "") => span(1e9),
            ("min", "") => span(6e10),
            ("h", "") => span(3.6e12),
            ("d", "") => span(8.64e13),
            ("bytes" | "byte" | "B", _) => Self::ladder(&SIZES, size, 1.0, per),
            ("bits" | "bit", _) => Self::ladder(&BITS, size, 1.0, per),
            // Units that say to programs what a bare number is; people do not need them.
            ("ratio" | "1", "") => Self { factor: 1.0, unit: String::new() },
            // Parts of a whole; a share may be negative or exceed the whole.
            ("fraction" | "share", "") => Self { factor: 0.01, unit: "%".to_owned() },
            ("per_s", "") => Self { factor: 1.0, unit: "/s".to_owned() },
            _ => Self { factor: 1.0, unit: unit.to_owned() },
        }
    }

    /// The unit for a whole column: the one that fits its median, so that most numbers are short and all can
    /// be compared.
    #[must_use]
    pub fn column(values: impl Iterator<Item = f64>, unit: &str) -> Self {
        let mut sizes: Vec<f64> = values.map(f64::abs).filter(|size| *size > 0.0).collect();
        sizes.sort_by(f64::total_cmp);
        Self::fitting(sizes.get(sizes.len() / 2).copied().unwrap_or(0.0), unit)
    }

    /// The largest step with at least one digit before the point after rounding: 999.96 ms is 1 s.
    fn ladder(steps: &[(&str, f64)], size: f64, base: f64, per: &str) -> Self {
        let factor = |step: usize| steps[step].1 / base;
        // Zero keeps its stored unit.
        let home = steps.iter().position(|(_, each)| *each == base).unwrap_or(0);
        let step = if size == 0.0 {
            home
        } else {
            (0..steps.len() - 1)
                .find(|&step| rounded(size.abs() / factor(step)) < factor(step + 1) / factor(step))
                .unwrap_or(steps.len() - 1)
        };
        Self { factor: factor(step), unit: format!("{}{per}", steps[step].0) }
    }

    /// The name of the unit; empty for a bare number.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Whether this unit shows a number with its first digit before the point, or right behind it.
    #[must_use]
    pub fn fits(&self, value: f64) -> bool {
        value == 0.0 || (value / self.factor).abs() >= 0.1
    }

    /// A number of the stored unit, converted to this one, without the unit's name.
    #[must_use]
    pub fn digits(&self, value: f64) -> String {
        digits(value / self.factor)
    }

    /// The same with the unit's name.
    #[must_use]
    pub fn quantity(&self, value: f64) -> String {
        with_unit(&self.digits(value), &self.unit)
    }

    /// Both ends of a range: `3.92 to 4.04 s`. Ends that are shown with the same digits are shown once.
    #[must_use]
    pub fn range(&self, low: f64, high: f64) -> String {
        let (low, high) = (self.digits(low), self.digits(high));
        let both = if low == high { low } else { format!("{low} to {high}") };
        with_unit(&both, &self.unit)
    }

    /// The digits alone, only two of them, for half widths of intervals.
    #[must_use]
    pub fn rough(&self, value: f64) -> String {
        digits_to(2, value / self.factor)
    }
}

/// A number with its unit: `1.25 ms`, `340 MiB/s`, `12,345 requests`, `0.8`, `12 %`.
#[must_use]
pub fn quantity(value: f64, unit: &str) -> String {
    Shown::fitting(value, unit).quantity(value)
}

/// A small probability in words, cut to two digits: `1 in 2,400`.
#[must_use]
pub fn odds(share: f64) -> String {
    let odds = (1.0 / share) as u128;
    let step = 10u128.pow(odds.max(1).ilog10().saturating_sub(1));
    format!("1 in {}", digits((odds / step * step) as f64))
}

/// The value of a measure that is a probability, as one in so many where as a percentage it would have an
/// exponent; none for any other.
#[must_use]
pub fn small_probability(measure: &str, value: f64) -> Option<String> {
    (measure.contains("probability") && value > 0.0 && value < 1e-6).then(|| odds(value))
}

/// Both ends of a range of such probabilities, the likelier first.
#[must_use]
pub(crate) fn small_range(measure: &str, low: f64, high: f64) -> Option<String> {
    let (low, high) = (small_probability(measure, low)?, small_probability(measure, high)?);
    Some(if low == high { low } else { format!("{high} to {low}") })
}

/// Quantities that one sentence compares, all in one unit: `0.86 min` and `1.19 min`. Where no unit suits all
/// of them, each has its own: `1 h` and `100 d`.
#[must_use]
pub fn alike<const N: usize>(values: [f64; N], unit: &str) -> [String; N] {
    match middle(&values, unit) {
        Some(shown) => values.map(|value| shown.quantity(value)),
        None => values.map(|value| quantity(value, unit)),
    }
}

/// A range in one unit, where one suits both ends: `3.92 to 4.04 s`. Ends that are shown with the same digits
/// are shown once.
#[must_use]
pub fn range(low: f64, high: f64, unit: &str) -> String {
    match middle(&[low, high], unit) {
        Some(shown) => shown.range(low, high),
        None => format!("{} to {}", quantity(low, unit), quantity(high, unit)),
    }
}

/// The unit that fits the middle of the smallest and the largest value, by their ratio; none if it does not
/// suit all of them.
fn middle(values: &[f64], unit: &str) -> Option<Shown> {
    let sizes = || values.iter().map(|value| value.abs()).filter(|size| size.is_finite() && *size > 0.0);
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let shown = Shown::fitting(if most > 0.0 { least.sqrt() * most.sqrt() } else { 0.0 }, unit);
    sizes().all(|size| shown.fits(size)).then_some(shown)
}

fn with_unit(digits: &str, unit: &str) -> String {
    match unit {
        "" => digits.to_owned(),
        unit if digits == "1" => format!("1 {}", singular(unit)),
        unit => format!("{digits} {unit}"),
    }
}

/// A unit as one of it is called: `group` of `groups`. Names of units of physics, such as `s` and `IOPS`, and
/// words that are no plurals stay.
pub(crate) fn singular(unit: &str) -> &str {
    const COUNTED: [&str; 22] = [
        "chunks",
        "clients",
        "commands",
        "devices",
        "events",
        "groups",
        "hosts",
        "jobs",
        "mappings",
        "messages",
        "objects",
        "operations",
        "points",
        "reads",
        "requests",
        "rounds",
        "runs",
        "servers",
        "shards",
        "steps",
        "windows",
        "writes",
    ];
    unit.strip_suffix('s').filter(|_| COUNTED.contains(&unit)).unwrap_or(unit)
}

/// A name as a heading: `mean_wait` is `Mean wait`.
#[must_use]
pub fn heading(name: &str) -> String {
    crate::title::capital(&name.replace(['_', '-'], " "))
}

/// A count with the word for one thing, or for several.
///
/// ```
/// use towtank_report::human::plural;
/// assert_eq!(plural(1.0, ["group", "groups"]), "1 group");
/// assert_eq!(plural(1_200.0, ["group", "groups"]), "1,200 groups");
/// ```
#[must_use]
pub fn plural(count: f64, [one, several]: [&str; 2]) -> String {
    format!("{} {}", digits(count), if count == 1.0 { one } else { several })
}

/// A bare number, rounded for reading; a dash for a number that is not finite.
#[must_use]
pub fn digits(value: f64) -> String {
    digits_to(SIGNIFICANT, value)
}

fn digits_to(least: i32, value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let (kept, exponent) = significant(value.abs(), least);
    let kept = kept.trim_end_matches('0');
    if !(-4..PLAIN).contains(&exponent) {
        let (first, rest) = kept.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{exponent}");
    }
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if exponent < 0 {
        return format!("{sign}0.{}{kept}", zeros(-exponent - 1));
    }
    let before = usize::try_from(exponent + 1).expect("the exponent is not negative here");
    if kept.len() <= before {
        let padded = format!("{kept}{}", "0".repeat(before - kept.len()));
        return format!("{sign}{}", grouped(&padded));
    }
    format!("{sign}{}.{}", grouped(&kept[..before]), &kept[before..])
}

/// Separates thousands: `1234567` is `1,234,567`.
fn grouped(whole: &str) -> String {
    let mut out = String::with_capacity(whole.len() + whole.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The number after rounding for display.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let (kept, exponent) = significant(value, SIGNIFICANT);
    let (first, rest) = kept.split_at(1);
    format!("{first}.{rest}e{exponent}").parse().expect("digits, a point and an exponent are a number")
}

/// The digits kept of a positive number (`least`, or all before the point), and the power of ten of the first
/// digit. Halves round up, as in ECMAScript's `toExponential`; Rust's own formatting rounds them to even.
fn significant(value: f64, least: i32) -> (String, i32) {
    // The exact value of a double that is not a tie differs from one well within 30 digits.
    let exact = format!("{value:.30e}");
    let (mantissa, exponent) = exact.split_once('e').expect("{:e} always prints an exponent");
    let exponent: i32 = exponent.parse().expect("{:e} prints a whole exponent");
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    let keep = if exponent < PLAIN { least.max(exponent + 1) } else { least };
    let keep = usize::try_from(keep).expect("some digits are kept");
    let up = digits[keep] >= 5;
    digits.truncate(keep);
    let carried = up && carry(&mut digits);
    let text = digits.iter().map(|&digit| char::from(b'0' + digit)).collect();
    (text, exponent + i32::from(carried))
}

/// Adds one in the last place; true when the number became one digit longer (and the last digit was dropped).
fn carry(digits: &mut Vec<u8>) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return false;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
    digits.pop();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn quantities_read_well() {
        let cases = [
            (0.0, "s", "0 s"),
            (0.00125, "s", "1.25 ms"),
            (0.999_96, "s", "1 s"),
            (59.9999, "s", "1 min"),
            (7200.0, "s", "2 h"),
            (1e7, "s", "115.7 d"),
            (-3.2e-7, "s", "-320 ns"),
            (250_000.0, "ns", "250 µs"),
            (4096.0, "bytes", "4 KiB"),
            (1.5e9, "bytes/s", "1.397 GiB/s"),
            (1e10, "bits/s", "10 Gbit/s"),
            (12_345.0, "requests", "12,345 requests"),
            (1.0, "requests", "1 request"),
            (1.4, "requests", "1.4 requests"),
            (1.0, "IOPS", "1 IOPS"),
            (12_345.67, "requests/s", "12,346 requests/s"),
            (1234.5, "", "1,235"),
            (0.8, "", "0.8"),
            (0.8, "fraction", "80 %"),
            (1.01, "share", "101 %"),
            (1.01, "ratio", "1.01"),
            (154.9, "per_s", "154.9 /s"),
            (f64::NAN, "s", "– d"),
            (f64::INFINITY, "", "–"),
            (1.0 / 3.0, "", "0.3333"),
            (99.995, "%", "100 %"),
            (1.234e-9, "", "1.234e-9"),
            (-2.5e18, "", "-2.5e18"),
            (123_456_789_012_345.0, "", "123,456,789,012,345"),
        ];
        for (value, unit, want) in cases {
            assert_eq!(quantity(value, unit), want, "{value} {unit}");
        }
        assert_eq!(range(3.921, 4.04, "s"), "3.921 to 4.04 s");
        assert_eq!(range(900.0, 4000.0, "bytes/s"), "0.8789 to 3.906 KiB/s");
        // One by one, these have two units.
        assert_eq!([51.52, 71.52].map(|time| quantity(time, "s")), ["51.52 s", "1.192 min"]);
        assert_eq!(alike([51.52, 71.52], "s"), ["0.8587 min", "1.192 min"]);
        // About an hour beside a day is no small part of a day, and beside many days it has its own unit.
        assert_eq!(alike([3_696.0, 86_400.0], "s"), ["1.027 h", "24 h"]);
        assert_eq!(alike([3_600.0, 8.64e6], "s"), ["1 h", "100 d"]);
        assert_eq!(
            [range(3_696.0, 86_400.0, "s"), range(3_600.0, 8.64e6, "s")],
            ["1.027 to 24 h", "1 h to 100 d"]
        );
        assert_eq!(alike([0.0, f64::NAN, 900.0], "bytes"), ["0 B", "– B", "900 B"]);
        assert_eq!(heading("mean_wait"), "Mean wait");
        assert_eq!(heading(""), "");
    }

    /// The page must round as the terminal does; its tests read this file.
    #[test]
    fn the_page_is_given_the_same_cases() {
        let units = [
            "",
            "s",
            "ns",
            "bytes",
            "bytes/s",
            "bits/s",
            "requests/s",
            "%",
            "fraction",
            "share",
            "ratio",
            "per_s",
        ];
        let mut seeds =
            vec![0.0, 0.5, 1.0, 1.5, 2.5, 1234.5, 1235.5, 0.12345, 999.95, 9999.5, 1023.96, 59.996];
        seeds.extend((-12..20).flat_map(|power| [1.0, 3.765_432_1, 9.9996].map(|m| scaled(m, power))));
        let mut cases = Vec::new();
        for unit in units {
            for &value in &seeds {
                cases.push(serde_json::json!([value, unit, quantity(value, unit)]));
                cases.push(serde_json::json!([-value, unit, quantity(-value, unit)]));
            }
        }
        let lines: Vec<String> = cases.iter().map(ToString::to_string).collect();
        golden::check("web/test/golden/human.json", &format!("[\n{}\n]\n", lines.join(",\n")));
        let shares = seeds.iter().map(|share| share / 1e14).filter(|share| *share > 0.0);
        let odds = shares.map(|share| serde_json::json!([share, odds(share)]).to_string());
        let odds: Vec<String> = odds.collect();
        golden::check("web/test/golden/odds.json", &format!("[\n{}\n]\n", odds.join(",\n")));
    }

    /// `m` × 10^`power`, read from text so that it is the same double everywhere.
    fn scaled(m: f64, power: i32) -> f64 {
        format!("{m}e{power}").parse().unwrap()
    }
}

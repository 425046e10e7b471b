//! The units of a quantity, and exact decimal arithmetic between them and whole base units.
//!
//! "1.5GiB" is exactly 1,610,612,736 bytes: numbers are read digit by digit into integers, never through a
//! float, and a value that is not a whole number of base units is refused rather than rounded.

use crate::kind::UnitErrorKind;

/// One unit of a quantity; one of it is `times / over` base units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// The spelling of the unit.
    pub(crate) name: &'static str,
    /// The number of base units in `over` of this unit.
    pub(crate) times: u64,
    /// The divisor of `times`; 1 unless the unit is a fraction of the base unit, such as a bit.
    pub(crate) over: u64,
    /// Whether and how values are printed in this unit.
    pub(crate) print: Print,
}

/// How a unit is used when a value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Print {
    /// With decimals where needed: `1.5ms`.
    Decimal,
    /// For whole numbers only: `90s` reads better than `1.5min`.
    Whole,
    /// Never printed, but accepted when read.
    Never,
}

/// The units of one quantity, and the words used in messages about it.
#[derive(Debug)]
pub struct Scale {
    /// The quantity with its article: "a duration".
    pub(crate) what: &'static str,
    /// The base units in words: "nanoseconds".
    pub(crate) base_words: &'static str,
    /// The smallest step in text form: "1ns".
    pub(crate) step: &'static str,
    /// The unit that a bare number most likely means, and its name in words.
    pub(crate) likely: (&'static str, &'static str),
    /// Well-formed values for hints and schemas.
    pub(crate) examples: &'static [&'static str],
    /// The units, from the smallest to the largest.
    pub(crate) units: &'static [Unit],
    /// Spellings that are refused because they are ambiguous, and what to write instead.
    pub(crate) mistaken: &'static [(&'static str, &'static str)],
}

impl Unit {
    pub(crate) const fn new(name: &'static str, times: u64, print: Print) -> Self {
        Self { name, times, over: 1, print }
    }

    pub(crate) const fn fraction(name: &'static str, times: u64, over: u64) -> Self {
        Self { name, times, over, print: Print::Never }
    }
}

impl Scale {
    /// The quantity with its article, for messages: "a duration".
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// The spellings of the legal units, from small to large.
    pub(crate) fn unit_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.units.iter().map(|unit| unit.name)
    }

    /// Well-formed values.
    #[must_use]
    pub fn examples(&self) -> &'static [&'static str] {
        self.examples
    }

    /// A description of one sentence for a JSON Schema.
    #[must_use]
    pub fn description(&self) -> String {
        let units: Vec<&str> = self.unit_names().collect();
        let what = self.what.strip_prefix("a ").unwrap_or(self.what);
        format!("A {what}: a number with one of the units {}.", units.join(", "))
    }

    /// A regular expression (ECMA 262, as JSON Schema requires) for the accepted texts.
    #[must_use]
    pub fn pattern(&self) -> String {
        let units: Vec<&str> = self.unit_names().collect();
        format!(r"^[0-9]+(_[0-9]+)*(\.[0-9]+)? ?({})$", units.join("|"))
    }

    pub(crate) fn parse_kind(&self, text: &str) -> Result<u64, UnitErrorKind> {
        if text.is_empty() {
            return Err(UnitErrorKind::Empty);
        }
        if text.starts_with(['-', '\u{2212}']) {
            return Err(UnitErrorKind::Negative);
        }
        let number_len =
            text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
        let (number, rest) = text.split_at(number_len);
        let number = Decimal::parse(number)?;
        let name = rest.strip_prefix(' ').unwrap_or(rest);
        if name.is_empty() {
            return Err(UnitErrorKind::MissingUnit);
        }
        match self.units.iter().find(|unit| unit.name == name) {
            Some(unit) => number.in_base_units(unit),
            None => Err(unknown_unit(name)),
        }
    }

    /// Prints `value` base units exactly, in the unit that needs the fewest digits; among equals, in the
    /// largest.
    pub(crate) fn print(&self, value: u64) -> String {
        let mut best: Option<String> = None;
        let mut best_digits = usize::MAX;
        let zero_unit = self.likely.0;
        for unit in self.units {
            let fits = match unit.print {
                Print::Never => false,
                _ if value == 0 => unit.name == zero_unit,
                Print::Whole => value >= unit.times && value.is_multiple_of(unit.times),
                Print::Decimal => value >= unit.times || unit.times == self.smallest_printed(),
            };
            let Some((digits, text)) = fits.then(|| divide_exactly(value, unit.times)).flatten() else {
                continue;
            };
            if digits <= best_digits {
                best_digits = digits;
                best = Some(format!("{text}{}", unit.name));
            }
        }
        best.expect("the smallest printed unit divides every value into a finite decimal")
    }

    /// The smallest unit in which values are printed; values below it get a leading zero (`0.5/s`).
    fn smallest_printed(&self) -> u64 {
        let printed = self.units.iter().find(|unit| unit.print != Print::Never);
        printed.expect("every scale prints in at least one unit").times
    }
}

fn unknown_unit(name: &str) -> UnitErrorKind {
    let mut chars = name.chars();
    let exponent = chars.next().is_some_and(|c| c == 'e' || c == 'E')
        && chars.next().is_some_and(|c| c.is_ascii_digit() || c == '+' || c == '-');
    if exponent {
        return UnitErrorKind::Exponent;
    }
    if name.starts_with(',') {
        return UnitErrorKind::NotANumber;
    }
    UnitErrorKind::UnknownUnit { unit: name.to_owned() }
}

/// `value / unit` as a decimal and the number of its digits, or `None` if twelve decimals are not enough.
fn divide_exactly(value: u64, unit: u64) -> Option<(usize, String)> {
    const DECIMALS_MAX: usize = 12;
    let mut text = (value / unit).to_string();
    let mut digits = text.len();
    let mut rest = u128::from(value % unit);
    if rest != 0 {
        text.push('.');
    }
    let unit = u128::from(unit);
    for _ in 0..DECIMALS_MAX {
        if rest == 0 {
            break;
        }
        rest *= 10;
        text.push(char::from(b'0' + (rest / unit) as u8));
        digits += 1;
        rest %= unit;
    }
    (rest == 0).then_some((digits, text))
}

/// A parsed number: `whole + fraction / 10^places`.
struct Decimal {
    whole: u64,
    fraction: u128,
    places: u32,
}

/// A number with more decimals is not a whole number of base units in practice, and would overflow.
const PLACES_MAX: usize = 18;

impl Decimal {
    fn parse(text: &str) -> Result<Self, UnitErrorKind> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let grouped = |digits: &str| digits.split('_').all(|group| !group.is_empty() && is_digits(group));
        if !grouped(whole) || fraction.is_some_and(|digits| digits.is_empty() || !is_digits(digits)) {
            return Err(UnitErrorKind::NotANumber);
        }
        let whole = whole.replace('_', "").parse().map_err(|_| UnitErrorKind::TooLarge)?;
        let fraction = fraction.unwrap_or("").trim_end_matches('0');
        if fraction.len() > PLACES_MAX {
            return Err(UnitErrorKind::NotWhole);
        }
        let places = u32::try_from(fraction.len()).expect("at most 18");
        let fraction = if fraction.is_empty() { 0 } else { fraction.parse().expect("at most 18 digits") };
        Ok(Self { whole, fraction, places })
    }

    fn in_base_units(&self, unit: &Unit) -> Result<u64, UnitErrorKind> {
        let (times, over) = (u128::from(unit.times), u128::from(unit.over));
        let of_whole = u128::from(self.whole) * times;
        let tens = 10_u128.pow(self.places);
        // Below 8.64e4 * 10^18 + 10^18 * 2^64, which fits in 128 bits.
        let of_fraction = (of_whole % over) * tens + self.fraction * times;
        if !of_fraction.is_multiple_of(tens * over) {
            return Err(UnitErrorKind::NotWhole);
        }
        u64::try_from(of_whole / over + of_fraction / (tens * over)).map_err(|_| UnitErrorKind::TooLarge)
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

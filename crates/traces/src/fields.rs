//! Rows of text and the numbers in them, parsed directly from bytes without allocating strings for fields.

use crate::error::Fault;

/// The maximum number of characters of a field shown in messages.
const SHOWN_MAX: usize = 40;
/// Significant digits of a fraction: a nanosecond, with nine to spare for units above the second.
const FRACTION_DIGITS_MAX: u32 = 18;
const NS_PER_SEC: u64 = 1_000_000_000;

/// The separator of the cells of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Comma,
    Blanks,
}

/// A line, read cell by cell.
pub(crate) struct Row<'l> {
    /// The rest of the line; none after the last cell.
    rest: Option<&'l [u8]>,
    columns: &'static [&'static str],
    /// Number of cells read.
    taken: usize,
    mark: Mark,
}

/// A cell, with the name of its column for messages.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'l> {
    /// Its content without surrounding blanks.
    pub text: &'l [u8],
    column: &'static str,
}

impl<'l> Row<'l> {
    /// A row with cells separated by commas.
    #[inline]
    pub(crate) fn commas(line: &'l [u8], columns: &'static [&'static str]) -> Row<'l> {
        Row { rest: Some(line), columns, taken: 0, mark: Mark::Comma }
    }

    /// A row with cells separated by any number of blanks and tabs.
    #[inline]
    pub(crate) fn words(line: &'l [u8], columns: &'static [&'static str]) -> Row<'l> {
        let rest = Some(line.trim_ascii()).filter(|rest| !rest.is_empty());
        Row { rest, columns, taken: 0, mark: Mark::Blanks }
    }

    /// The next cell.
    #[inline]
    pub(crate) fn cell(&mut self) -> Result<Cell<'l>, Box<Fault>> {
        match self.next() {
            Some(cell) => Ok(cell),
            None => Err(self.too_few()),
        }
    }

    /// The next cell as a whole number, reading its digits only once.
    #[inline]
    pub(crate) fn whole(&mut self) -> Result<u64, Box<Fault>> {
        let Some((rest, number, length)) = self.rest.and_then(leading) else { return self.cell()?.whole() };
        match (rest.get(length), self.mark) {
            (None, _) => self.rest = None,
            (Some(b','), Mark::Comma) => self.rest = Some(&rest[length + 1..]),
            (Some(b' '), Mark::Blanks) => self.rest = Some(rest[length + 1..].trim_ascii_start()),
            _ => return self.cell()?.whole(),
        }
        self.taken += 1;
        Ok(number)
    }

    /// The next cell as a whole number of units, multiplied by `unit`.
    #[inline]
    pub(crate) fn whole_of(&mut self, unit: u64) -> Result<u64, Box<Fault>> {
        let (rest, taken) = (self.rest, self.taken);
        if let Some(product) = self.whole()?.checked_mul(unit) {
            return Ok(product);
        }
        (self.rest, self.taken) = (rest, taken);
        self.cell()?.whole_of(unit)
    }

    /// The next cell, if there is one.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Cell<'l>> {
        let rest = self.rest?;
        // One loop per separator, so that the separator is not tested for each byte.
        let end = match self.mark {
            Mark::Comma => rest.iter().position(|byte| *byte == b','),
            Mark::Blanks => rest.iter().position(|byte| matches!(byte, b' ' | b'\t')),
        };
        let text = match end {
            Some(end) => {
                let next = &rest[end + 1..];
                self.rest = Some(if self.mark == Mark::Blanks { next.trim_ascii_start() } else { next });
                &rest[..end]
            }
            None => {
                self.rest = None;
                rest
            }
        };
        let column = self.columns.get(self.taken).copied().unwrap_or("a column");
        self.taken += 1;
        Some(Cell { text: trimmed(text), column })
    }

    /// Whether all cells were read.
    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_none()
    }

    /// The rest of the line.
    pub(crate) fn rest(&self) -> &'l [u8] {
        self.rest.unwrap_or_default()
    }

    /// Checks that there are no more cells.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<(), Box<Fault>> {
        if self.rest.is_none() { Ok(()) } else { Err(self.too_many()) }
    }

    #[cold]
    fn too_few(&self) -> Box<Fault> {
        let (taken, wanted) = (self.taken, self.columns.len());
        let missing = self.columns.get(taken).copied().unwrap_or("a column");
        Fault::new(format!("it has {taken} of {wanted} columns: `{missing}` is missing")).hint(self.list())
    }

    #[cold]
    fn too_many(&mut self) -> Box<Fault> {
        let wanted = self.taken;
        while self.next().is_some() {}
        let taken = self.taken;
        Fault::new(format!("it has {taken} columns, but must have {wanted}")).hint(self.list())
    }

    fn list(&self) -> String {
        let part = if self.mark == Mark::Comma { "," } else { " " };
        format!("a line of this format is `{}`; is the format right?", self.columns.join(part))
    }
}

impl Cell<'_> {
    /// A whole number.
    #[inline]
    pub(crate) fn whole(self) -> Result<u64, Box<Fault>> {
        match whole(self.text) {
            Some(number) => Ok(number),
            None => Err(self.no_number("a whole number")),
        }
    }

    /// A whole number of units, multiplied by `unit`.
    #[inline]
    pub(crate) fn whole_of(self, unit: u64) -> Result<u64, Box<Fault>> {
        let count = self.whole()?;
        count.checked_mul(unit).ok_or_else(|| {
            let (column, limit) = (self.column, u64::MAX / unit);
            Fault::new(format!(
                "`{column}` is {count}, but must be at most {limit}, so that {unit} times it fits in 64 bits"
            ))
        })
    }

    /// A whole number of 32 bits.
    #[inline]
    pub(crate) fn small(self) -> Result<u32, Box<Fault>> {
        let number = self.whole()?;
        u32::try_from(number).map_err(|_| {
            Fault::new(format!("`{}` is {number}, but must be at most {}", self.column, u32::MAX))
        })
    }

    /// 0 or 1.
    pub(crate) fn flag(self) -> Result<bool, Box<Fault>> {
        match self.text {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.none_of("0 or 1")),
        }
    }

    /// Seconds with or without a fraction or an exponent, as nanoseconds, rounded down.
    #[inline]
    pub(crate) fn seconds(self) -> Result<u64, Box<Fault>> {
        match seconds(self.text) {
            Some(ns) => Ok(ns),
            None => Err(self.no_number("a number of seconds")),
        }
    }

    /// A whole number in base 16.
    pub(crate) fn hexadecimal(self) -> Result<u64, Box<Fault>> {
        let text = std::str::from_utf8(self.text).ok().filter(|text| !text.starts_with('+'));
        text.and_then(|text| u64::from_str_radix(text, 16).ok())
            .ok_or_else(|| self.none_of("a hexadecimal number of at most 16 digits"))
    }

    /// The error for a cell that is not what it must be.
    #[cold]
    pub(crate) fn none_of(self, wanted: &str) -> Box<Fault> {
        Fault::new(format!("`{}` is `{}`, but must be {wanted}", self.column, shown(self.text)))
    }

    #[cold]
    fn no_number(self, what: &str) -> Box<Fault> {
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let (column, text) = (self.column, shown(self.text));
        if self.text.is_empty() {
            return Fault::new(format!("`{column}` is empty, but must be {what}"));
        }
        if self.text.strip_prefix(b"-").is_some_and(|rest| digits(rest) || seconds(rest).is_some()) {
            return Fault::new(format!("`{column}` is {text}, but must be 0 or more"));
        }
        if digits(self.text) || self.text.iter().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte))
        {
            let limit = if what.ends_with("seconds") { u64::MAX / NS_PER_SEC } else { u64::MAX };
            return Fault::new(format!("`{column}` is {text}, but must be {what} of at most {limit}"));
        }
        Fault::new(format!("`{column}` is `{text}`, but must be {what}"))
    }
}

/// The text without surrounding blanks, which few fields have.
#[inline]
fn trimmed(text: &[u8]) -> &[u8] {
    match text {
        [first, .., last] if *first > b' ' && *last > b' ' => text,
        [only] if *only > b' ' => text,
        _ => text.trim_ascii(),
    }
}

/// The part of a field shown in messages, without control characters.
pub(crate) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    let mut short: String = text.chars().take(SHOWN_MAX).map(clean).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        short.push('…');
    }
    short
}

/// The number at the start of a text, and its number of digits; none if there is no digit, or so many that
/// the number may overflow.
#[inline]
fn leading(text: &[u8]) -> Option<(&[u8], u64, usize)> {
    let (mut number, mut length) = (0u64, 0);
    // Twice eight digits, then single ones; nineteen always fit.
    while length <= 8
        && let Some(eight) = text[length..].first_chunk::<8>().and_then(|chunk| eight_digits(*chunk))
    {
        number = number * 100_000_000 + eight;
        length += 8;
    }
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0'))
        && digit <= 9
    {
        if length == 19 {
            return None;
        }
        number = number * 10 + u64::from(digit);
        length += 1;
    }
    (length > 0).then_some((text, number, length))
}

/// Parses eight digits at once: neighbours are joined to pairs, pairs to fours, and these to one number (D.
/// Lemire's note on parsing eight digits, 2018).
#[inline]
fn eight_digits(chunk: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(chunk);
    let over = word.wrapping_add(0x4646_4646_4646_4646);
    let digits = word.wrapping_sub(0x3030_3030_3030_3030);
    if (over | digits) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = digits * 10 + (digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(low.wrapping_add(high) >> 32)
}

/// A number of digits only.
#[inline]
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    // Nineteen digits always fit.
    let (first, last) = text.split_at(text.len().min(19));
    let mut number = 0u64;
    for byte in first {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    for byte in last {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

/// A decimal number of seconds as nanoseconds, rounded down.
#[inline]
pub(crate) fn seconds(text: &[u8]) -> Option<u64> {
    let point = text.iter().position(|byte| matches!(byte, b'.' | b'e' | b'E')).unwrap_or(text.len());
    let fraction = match text.get(point) {
        None => &[][..],
        Some(b'.') => &text[point + 1..],
        Some(_) => return scientific(text),
    };
    let mut ns = if point == 0 && !fraction.is_empty() {
        0
    } else {
        whole(&text[..point])?.checked_mul(NS_PER_SEC)?
    };
    let mut worth = NS_PER_SEC / 10;
    for (at, byte) in fraction.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return if matches!(byte, b'e' | b'E') && at > 0 { scientific(text) } else { None };
        }
        ns = ns.checked_add(u64::from(digit) * worth)?;
        worth /= 10;
    }
    Some(ns)
}

/// The same with an exponent, as programming languages print very small and very large numbers.
#[cold]
fn scientific(text: &[u8]) -> Option<u64> {
    let mark = text.iter().position(|byte| matches!(byte, b'e' | b'E'))?;
    let (number, exponent) = (&text[..mark], &text[mark + 1..]);
    let (down, digits) = match exponent.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, exponent),
    };
    let exponent = i64::try_from(whole(digits)?).ok().filter(|exponent| *exponent < 1_000)?;
    let (mut digits, mut places, mut point) = (0u128, 0i64, false);
    if !number.iter().any(u8::is_ascii_digit) {
        return None;
    }
    for byte in number {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' if !point || places < i64::from(FRACTION_DIGITS_MAX) => {
                digits = digits.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
                places += i64::from(point);
            }
            b'0'..=b'9' => {}
            _ => return None,
        }
    }
    let shift = if down { 9 - places - exponent } else { 9 - places + exponent };
    let power = 10u128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?);
    match (shift >= 0, power) {
        (true, Some(power)) => u64::try_from(digits.checked_mul(power)?).ok(),
        (true, None) => (digits == 0).then_some(0),
        (false, power) => Some(power.map_or(0, |power| digits / power)).and_then(|ns| u64::try_from(ns).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_digits_that_fit() {
        let check = |text: &str, want: Option<u64>| assert_eq!(whole(text.as_bytes()), want, "{text}");
        check("0", Some(0));
        check("007", Some(7));
        check("18446744073709551615", Some(u64::MAX));
        check("18446744073709551616", None);
        check("00000000000000000000000001", Some(1));
        for text in ["", "-1", "+1", "1.0", "1e3", " 1", "0x10"] {
            check(text, None);
        }
    }

    #[test]
    fn what_a_text_begins_with_is_read_like_the_whole() {
        for text in [
            "1",
            "12345678",
            "123456789",
            "1234567890123456",
            "18446744073709551615",
            "99999999999999999999",
            "",
        ] {
            for tail in ["", "x", ",5", "/", ":", " 7"] {
                let both = format!("{text}{tail}");
                let found = leading(both.as_bytes()).map(|(_, number, length)| (number, length));
                let fits = !text.is_empty() && text.len() < 20;
                assert_eq!(found, fits.then(|| (text.parse().unwrap(), text.len())), "{both}");
            }
        }
        for byte in 0..=255u8 {
            let found = eight_digits([b'1', b'2', byte, b'4', b'5', b'6', b'7', b'8']);
            let want =
                byte.is_ascii_digit().then(|| 12_045_678 + u64::from(byte.wrapping_sub(b'0')) * 100_000);
            assert_eq!(found, want, "{byte}");
        }
    }

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        let check = |text: &str, want: Option<u64>| assert_eq!(seconds(text.as_bytes()), want, "{text}");
        check("0", Some(0));
        check("1.5", Some(1_500_000_000));
        check(".25", Some(250_000_000));
        check("2.", Some(2_000_000_000));
        check("0.123456789", Some(123_456_789));
        check("0.1234567899", Some(123_456_789));
        check("18446744073.709551615", Some(u64::MAX));
        check("18446744073.709551616", None);
        check("5e-05", Some(50_000));
        check("1.25E+2", Some(125_000_000_000));
        check("1e-300", Some(0));
        check("0e300", Some(0));
        check("1e300", None);
        for text in ["", ".", "-1", "1.2.3", "1e", "e5", "1.e5x", "nan", "inf", "1,5"] {
            check(text, None);
        }
    }

    #[test]
    fn a_row_tells_what_is_missing_and_what_is_too_much() {
        const COLUMNS: [&str; 2] = ["a", "b"];
        let mut row = Row::words(b"  1\t 2 3", &COLUMNS);
        assert_eq!((row.cell().unwrap().whole(), row.cell().unwrap().whole()), (Ok(1), Ok(2)));
        let error = row.end().unwrap_err().at("t", crate::Place::Line(4));
        assert_eq!(error.to_string(), "`t`, line 4: it has 3 columns, but must have 2");
        assert_eq!(error.hint.as_deref(), Some("a line of this format is `a b`; is the format right?"));
        let mut row = Row::commas(b"1", &COLUMNS);
        assert!(row.cell().is_ok() && row.end().is_ok());
        let error = row.cell().err().unwrap().at("t", crate::Place::File);
        assert_eq!(error.to_string(), "`t`: it has 1 of 2 columns: `b` is missing");
    }

    #[test]
    fn what_is_no_number_is_refused_with_the_limit() {
        let check = |text: &str, seconds: bool, want: &str| {
            let cell = Cell { text: text.as_bytes(), column: "x" };
            let read = if seconds { cell.seconds() } else { cell.whole() };
            assert_eq!(read.unwrap_err().at("t", crate::Place::File).reason, want);
        };
        check("-5", false, "`x` is -5, but must be 0 or more");
        check("", false, "`x` is empty, but must be a whole number");
        check("abc", false, "`x` is `abc`, but must be a whole number");
        check(
            "99999999999999999999",
            false,
            "`x` is 99999999999999999999, but must be a whole number of at most 18446744073709551615",
        );
        check("-0.5", true, "`x` is -0.5, but must be 0 or more");
        check("1e40", true, "`x` is 1e40, but must be a number of seconds of at most 18446744073");
    }
}

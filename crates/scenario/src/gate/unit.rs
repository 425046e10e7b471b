//! Units in gates: the unit of a measure, and the conversion of a limit in another unit to it.
//!
//! Limits are compared as floats, because means are floats; powers of ten are shifted in the text of the
//! number, so that `0.7%` is the float nearest to 0.007 and not a neighbour of it.

/// A unit: its dimension and its size.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    dimension: Dimension,
    size: Size,
}

#[derive(Clone, Debug, PartialEq)]
enum Dimension {
    Time,
    Bytes,
    BytesPerTime,
    /// Named (or unnamed) items per time.
    CountPerTime(String),
    Share,
    /// A unit that is only a word: `jobs`, or none at all.
    Word(String),
}

/// `bytes_per_s` and `per_s` as people write them: `bytes/s`, `/s`. `upper_jobs` is unchanged: `per` counts
/// only as a whole word.
fn slashed(name: &str) -> String {
    match name.strip_prefix("per_") {
        Some(time) => format!("/{time}"),
        None => name.replacen("_per_", "/", 1),
    }
}

/// `factor × 10^tens` base units (seconds, bytes, bytes per second, one).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    factor: f64,
    tens: i32,
}

impl Size {
    const ONE: Size = Size { factor: 1.0, tens: 0 };

    const fn tens(tens: i32) -> Size {
        Size { factor: 1.0, tens }
    }

    const fn times(factor: f64) -> Size {
        Size { factor, tens: 0 }
    }
}

const TIMES: &[(&str, Size)] = &[
    ("ns", Size::tens(-9)),
    ("us", Size::tens(-6)),
    ("µs", Size::tens(-6)),
    ("μs", Size::tens(-6)),
    ("ms", Size::tens(-3)),
    ("s", Size::ONE),
    ("min", Size::times(60.0)),
    ("h", Size::times(3_600.0)),
    ("d", Size::times(86_400.0)),
];

const SIZES: &[(&str, Size)] = &[
    ("B", Size::ONE),
    ("bytes", Size::ONE),
    ("kB", Size::tens(3)),
    ("MB", Size::tens(6)),
    ("GB", Size::tens(9)),
    ("TB", Size::tens(12)),
    ("PB", Size::tens(15)),
    ("EB", Size::tens(18)),
    ("KiB", Size::times(1024.0)),
    ("MiB", Size::times(1_048_576.0)),
    ("GiB", Size::times(1_073_741_824.0)),
    ("TiB", Size::times(1_099_511_627_776.0)),
    ("PiB", Size::times(1_125_899_906_842_624.0)),
    ("EiB", Size::times(1_152_921_504_606_846_976.0)),
];

/// Network rates are written in bits.
const BITS: &[(&str, Size)] = &[
    ("bit", Size::times(0.125)),
    ("kbit", Size { factor: 0.125, tens: 3 }),
    ("Mbit", Size { factor: 0.125, tens: 6 }),
    ("Gbit", Size { factor: 0.125, tens: 9 }),
    ("Tbit", Size { factor: 0.125, tens: 12 }),
];

const COUNTS: &[(&str, Size)] =
    &[("", Size::ONE), ("k", Size::tens(3)), ("M", Size::tens(6)), ("G", Size::tens(9))];

fn look_up(table: &[(&str, Size)], name: &str) -> Option<Size> {
    table.iter().find(|(known, _)| *known == name).map(|(_, size)| *size)
}

impl Unit {
    /// The unit of a measure, as written in reports: `s`, `bytes/s`, `fraction`, `jobs`.
    pub fn of_measure(name: &str) -> Unit {
        let name = slashed(name);
        Unit::written(&name).unwrap_or(Unit { dimension: Dimension::Word(name), size: Size::ONE })
    }

    /// The unit after a number. `None` for a word that is not a unit, unless it may be the name of counted
    /// items.
    pub fn written(name: &str) -> Option<Unit> {
        let name = slashed(name);
        let unit = |dimension, size| Some(Unit { dimension, size });
        if let Some((what, time)) = name.split_once('/') {
            let Size { factor, tens } = look_up(TIMES, time)?;
            let per = |size: Size| Size { factor: size.factor / factor, tens: size.tens - tens };
            return match (look_up(SIZES, what).or_else(|| look_up(BITS, what)), look_up(COUNTS, what)) {
                (Some(size), _) => unit(Dimension::BytesPerTime, per(size)),
                (None, Some(size)) => unit(Dimension::CountPerTime(String::new()), per(size)),
                (None, None) if what == "1" => unit(Dimension::CountPerTime(String::new()), per(Size::ONE)),
                (None, None) => unit(Dimension::CountPerTime(what.to_owned()), per(Size::ONE)),
            };
        }
        if let Some(size) = look_up(TIMES, &name) {
            return unit(Dimension::Time, size);
        }
        if let Some(size) = look_up(SIZES, &name) {
            return unit(Dimension::Bytes, size);
        }
        match name.as_str() {
            "%" => unit(Dimension::Share, Size::tens(-2)),
            "fraction" | "share" | "ratio" => unit(Dimension::Share, Size::ONE),
            _ => unit(Dimension::Word(name), Size::ONE),
        }
    }

    /// Whether a limit in this unit can be compared with a measure in `own`.
    pub fn fits(&self, own: &Unit) -> bool {
        match (&self.dimension, &own.dimension) {
            (Dimension::CountPerTime(written), Dimension::CountPerTime(own)) => {
                written.is_empty() || own.is_empty() || written == own
            }
            (written, own) => written == own,
        }
    }

    /// `number` of this unit in `own`, or `None` beyond the largest float.
    pub fn convert(&self, number: &str, own: &Unit) -> Option<f64> {
        let tens = self.size.tens - own.size.tens;
        let (digits, exponent) = match number.find(['e', 'E']) {
            Some(at) => (&number[..at], number[at + 1..].parse::<i32>().ok()?),
            None => (number, 0),
        };
        let shifted: f64 = format!("{digits}e{}", exponent.checked_add(tens)?).parse().ok()?;
        let limit = shifted * (self.size.factor / own.size.factor);
        limit.is_finite().then_some(limit)
    }

    /// The units that are legal for a measure in this unit, for a hint.
    pub fn legal(&self) -> String {
        let names =
            |table: &[(&str, Size)]| table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        match &self.dimension {
            Dimension::Time => "write one of ns, us, ms, s, min, h, d, or no unit".to_owned(),
            Dimension::Bytes => format!("write one of {}, or no unit", names(SIZES)),
            Dimension::BytesPerTime => "write a rate such as 400MiB/s or 10Gbit/s, or no unit".to_owned(),
            Dimension::CountPerTime(_) => {
                "write a frequency such as 200/s, 50k/s or 6/min, or no unit".to_owned()
            }
            Dimension::Share => {
                "write a percentage such as 95%, or a fraction of one without a unit".to_owned()
            }
            Dimension::Word(word) if word.is_empty() => "write the number alone".to_owned(),
            Dimension::Word(word) => format!("write the number alone, or followed by `{word}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_convert_to_the_measures_unit() {
        for (number, written, own, want) in [
            ("30", "min", "s", 1800.0),
            ("2", "ms", "s", 0.002),
            ("0.7", "%", "fraction", 0.007),
            ("400", "GiB/s", "bytes_per_s", 400.0 * 1_073_741_824.0),
            ("10", "Gbit/s", "bytes/s", 1.25e9),
            ("6", "/min", "per_s", 0.1),
            ("50", "k/s", "requests/s", 50_000.0),
            ("5", "requests/s", "requests/s", 5.0),
            ("1.5e3", "us", "ms", 1.5),
            ("3", "jobs", "jobs", 3.0),
            ("1", "h", "ns", 3.6e12),
            ("3", "upper_jobs", "upper_jobs", 3.0),
            ("7", "hyper_per_s", "hyper/s", 7.0),
        ] {
            let (written_unit, own_unit) = (Unit::written(written).expect(written), Unit::of_measure(own));
            assert!(written_unit.fits(&own_unit), "{written} fits {own}");
            assert_eq!(written_unit.convert(number, &own_unit), Some(want), "{number}{written} in {own}");
        }
    }

    #[test]
    fn per_is_replaced_as_a_whole_word_only() {
        for (written, want) in [
            ("per_s", "/s"),
            ("bytes_per_s", "bytes/s"),
            ("upper_jobs", "upper_jobs"),
            ("super_per_h", "super/h"),
            ("paper_", "paper_"),
        ] {
            assert_eq!(slashed(written), want);
        }
        assert!(Unit::of_measure("upper_jobs").legal().contains("`upper_jobs`"));
    }

    #[test]
    fn other_dimensions_do_not_fit() {
        for (written, own) in
            [("GiB", "s"), ("s", "bytes"), ("%", "s"), ("jobs/s", "requests/s"), ("ms", ""), ("/s", "s")]
        {
            let fits = Unit::written(written).is_some_and(|unit| unit.fits(&Unit::of_measure(own)));
            assert!(!fits, "{written} does not fit {own}");
        }
    }
}

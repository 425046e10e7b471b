//! Mixes of sizes, reads and writes, and their notation: `16KiB:90%:r70,1MiB:10%:r100`.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use towtank_units::{Bytes, Frequency, Percent, Rate};

/// The maximum number of parts of a mix.
pub const MIX_PARTS_MAX: usize = 64;

/// A size with its share and its read share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Bytes per operation; never zero.
    pub size_bytes: u64,
    /// The share of this part, above 0 and at most 1.
    pub share: f64,
    /// The fraction of its operations that are reads, from 0 to 1.
    pub reads: f64,
}

impl Part {
    /// The size with a unit.
    #[must_use]
    pub fn size(&self) -> String {
        Bytes::new(self.size_bytes).to_string()
    }
}

/// Sizes whose shares add up to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    parts: Vec<Part>,
}

/// What a share refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shares {
    /// Operations: one stream that chooses a size for each operation. Work adds up.
    #[default]
    Operations,
    /// Operations in flight: one stream per size, each with its own depth.
    Concurrency,
    /// The capacity of the system: the paper's (7).
    Capacity,
}

impl Shares {
    /// All variants.
    pub const ALL: [Shares; 3] = [Shares::Operations, Shares::Concurrency, Shares::Capacity];

    /// The name in files and flags.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Shares::Operations => "operations",
            Shares::Concurrency => "concurrency",
            Shares::Capacity => "capacity",
        }
    }
}

/// Why a text is not a mix, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct MixError {
    /// What is wrong.
    pub reason: String,
    /// What to write instead.
    pub hint: String,
    /// The byte range of the text that the error is about.
    pub span: Range<usize>,
}

/// Sizes closer than this are one size in two units: 4 kB and 4 KiB are 2.4 % apart, 4 GB and 4 GiB 7.4 %.
const SIZES_APART: f64 = 1.1;

/// Whether two different sizes look like one size in two units.
#[must_use]
pub(crate) fn one_size_in_two_units(small: u64, large: u64) -> bool {
    (large as f64) < SIZES_APART * small as f64
}

/// Two read shares closer than this are equal: a percentage with six decimals.
const SAME: f64 = 5e-9;

impl Mix {
    /// One size alone.
    #[must_use]
    pub fn alone(size_bytes: u64, reads: f64) -> Self {
        Self { parts: vec![Part { size_bytes, share: 1.0, reads }] }
    }

    /// A mix of these parts; `None` unless the shares add up to one and all values are within their bounds.
    #[must_use]
    pub fn new(parts: Vec<Part>) -> Option<Self> {
        let sound = |part: &Part| {
            part.size_bytes > 0
                && part.share > 0.0
                && part.share <= 1.0 + SAME
                && (0.0..=1.0).contains(&part.reads)
        };
        let sum: f64 = parts.iter().map(|part| part.share).sum();
        let fits = !parts.is_empty() && parts.len() <= MIX_PARTS_MAX && (sum - 1.0).abs() < 1e-6;
        (fits && parts.iter().all(sound)).then_some(Self { parts })
    }

    /// The parts of the mix.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The only part, if there is just one.
    #[must_use]
    pub fn single(&self) -> Option<&Part> {
        match &self.parts[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The different sizes, the smallest first.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.parts.iter().map(|part| part.size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Two sizes that look like one size in two units, which [`crate::fit`] refuses.
    #[must_use]
    pub fn one_size_twice(&self) -> Option<(u64, u64)> {
        let sizes = self.sizes();
        sizes.windows(2).map(|pair| (pair[0], pair[1])).find(|pair| one_size_in_two_units(pair.0, pair.1))
    }

    /// The same sizes and shares with this read share in all parts.
    #[must_use]
    pub(crate) fn with_reads(&self, reads: f64) -> Self {
        Self { parts: self.parts.iter().map(|part| Part { reads, ..*part }).collect() }
    }

    /// Whether the other mix is the same, apart from rounding.
    #[must_use]
    pub fn is(&self, other: &Mix) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() < SAME;
        let same = |(a, b): (&Part, &Part)| {
            a.size_bytes == b.size_bytes && near(a.share, b.share) && near(a.reads, b.reads)
        };
        self.parts.len() == other.parts.len() && self.parts.iter().zip(&other.parts).all(same)
    }

    /// How diverse the sizes are: 0 for one size, 1 for two with equal shares.
    #[must_use]
    pub(crate) fn diversity(&self) -> f64 {
        let mut sizes: Vec<(u64, f64)> = Vec::new();
        for part in &self.parts {
            match sizes.iter_mut().find(|(size, _)| *size == part.size_bytes) {
                Some((_, share)) => *share += part.share,
                None => sizes.push((part.size_bytes, part.share)),
            }
        }
        2.0 * (1.0 - sizes.iter().map(|(_, share)| share * share).sum::<f64>())
    }

    /// Parses the notation.
    ///
    /// # Errors
    /// If the text is not a mix.
    pub fn parse(text: &str) -> Result<Self, MixError> {
        let mut parts = Vec::new();
        let mut at = 0;
        let mut billionths = 0_u64;
        for piece in text.split(',') {
            let (part, share) = parse_part(piece, at)?;
            billionths = billionths.saturating_add(share.billionths());
            parts.push(part);
            at += piece.len() + 1;
        }
        let whole = 0..text.len();
        if parts.len() > MIX_PARTS_MAX {
            let reason = format!("the mix has {} parts, more than {MIX_PARTS_MAX}", parts.len());
            return Err(MixError { reason, hint: "merge the rarest sizes".to_owned(), span: whole });
        }
        if billionths != Percent::FULL.billionths() {
            let reason =
                format!("the shares add up to {}, not to 100%", Percent::from_billionths(billionths));
            return Err(MixError { reason, hint: "make them add up to 100%".to_owned(), span: whole });
        }
        Ok(Self { parts })
    }
}

impl std::fmt::Display for Mix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, part) in self.parts.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}%:r{}", part.size(), tidy(100.0 * part.share), tidy(100.0 * part.reads))?;
        }
        Ok(())
    }
}

/// Removes the last digits that a multiplication by a hundred leaves.
pub(crate) fn tidy(percent: f64) -> f64 {
    (percent * 1e7).round() / 1e7
}

/// Parses one part of a text, which begins at `start`.
fn parse_part(piece: &str, start: usize) -> Result<(Part, Percent), MixError> {
    let fields: Vec<&str> = piece.split(':').collect();
    let span = start..start + piece.len();
    let [size, share, reads] = fields[..] else {
        let reason = format!("`{}` is not a part of a mix", piece.trim());
        let hint = "a part is SIZE:SHARE%:rREADPERCENT, such as 16KiB:90%:r70".to_owned();
        return Err(MixError { reason, hint, span });
    };
    let share_at = start + size.len() + 1;
    let reads_at = share_at + share.len() + 1;
    let place = |at: usize, text: &str| at..at + text.len();
    let of_unit = |error: &towtank_units::UnitError, span| MixError {
        reason: error.to_string(),
        hint: error.hint(),
        span,
    };
    let bytes: Bytes = size.trim().parse().map_err(|error| of_unit(&error, place(start, size)))?;
    if bytes.is_zero() {
        let hint = "write a size such as 16KiB".to_owned();
        return Err(MixError {
            reason: "an operation must have at least 1 byte".to_owned(),
            hint,
            span: place(start, size),
        });
    }
    let percent: Percent = share.trim().parse().map_err(|error| of_unit(&error, place(share_at, share)))?;
    if percent == Percent::ZERO || percent > Percent::FULL {
        let reason = format!("a share of {percent} is not allowed");
        let hint = "a share is above 0% and at most 100%; leave out parts without a share".to_owned();
        return Err(MixError { reason, hint, span: place(share_at, share) });
    }
    let read_percent =
        reads.trim().strip_prefix('r').map(|number| number.strip_suffix('%').unwrap_or(number));
    let read_percent: Option<f64> = read_percent.and_then(|number| number.parse().ok());
    let Some(read_percent) = read_percent.filter(|number| (0.0..=100.0).contains(number)) else {
        let reason = format!("`{}` is not a read share", reads.trim());
        let hint = "write `r` and the reads in percent, from r0 to r100".to_owned();
        return Err(MixError { reason, hint, span: place(reads_at, reads) });
    };
    let part = Part { size_bytes: bytes.get(), share: percent.fraction_f64(), reads: read_percent / 100.0 };
    Ok((part, percent))
}

/// The planned load: operations or bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plan {
    /// Operations per second.
    Operations(f64),
    /// Bytes per second.
    Bytes(f64),
}

impl Plan {
    /// Parses `200000iops`, `200000/s`, `200k iops` or `4GiB/s`.
    ///
    /// # Errors
    /// If it is in none of these forms; the error says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let bare = trimmed.to_ascii_lowercase();
        if let Some(number) = bare.strip_suffix("iops") {
            let number = number.trim();
            let (digits, factor) = match number.strip_suffix(['k', 'm']) {
                Some(digits) => (digits, if number.ends_with('k') { 1e3 } else { 1e6 }),
                None => (number, 1.0),
            };
            let value: Option<f64> =
                digits.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
            return value.map(|value| Self::Operations(value * factor)).ok_or_else(|| {
                format!(
                    "`{trimmed}` is not a rate of operations; write a number above zero, such as 200000iops"
                )
            });
        }
        if let Ok(frequency) = trimmed.parse::<Frequency>() {
            return Ok(Self::Operations(frequency.per_second_f64()));
        }
        let rate: Result<Rate, _> = trimmed.parse();
        rate.map(|rate| Self::Bytes(rate.bytes_per_second() as f64)).map_err(|_| {
            format!("`{trimmed}` is not a rate; write operations such as 200000iops, or bytes such as 4GiB/s")
        })
    }
}

#[cfg(test)]
mod tests;

//! Sizes in fio's notation: `4k` is 4096 bytes, and with `kb_base=1024`, its default, so is `4kb`; `4kib` is
//! then 4000.

/// Sizes of reads and of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) reads: u64,
    pub(super) writes: u64,
}

/// `4k`, or `4k,8k` for reads and writes; a third size is for trims. A missing size equals the one before it.
pub(super) fn sizes(text: &str, kilo: u64) -> Option<Sizes> {
    let mut each = text.split(',').map(str::trim);
    let reads = one(each.next()?, kilo)?;
    let writes = match each.next() {
        None | Some("") => reads,
        Some(text) => one(text, kilo)?,
    };
    Some(Sizes { reads, writes })
}

/// `16k/50:256k/50`; sizes without a share divide the rest equally. A size that occurs twice is one with the
/// sum of its shares.
pub(super) fn split(text: &str, kilo: u64) -> Option<Vec<(u64, f64)>> {
    let mut kinds = text.split(',').map(str::trim);
    let first = kinds.next()?;
    if kinds.any(|other| !other.is_empty() && other != first) {
        return None;
    }
    let part = |text: &str| {
        let (size, share) = text.split_once('/').unwrap_or((text, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(share.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share))?),
        };
        Some((one(size, kilo)?, share))
    };
    let parts: Vec<(u64, Option<f64>)> = first.split(':').map(part).collect::<Option<_>>()?;
    let given: f64 = parts.iter().filter_map(|(_, share)| *share).sum();
    let open = parts.iter().filter(|(_, share)| share.is_none()).count();
    if given > 100.0 + 1e-9 || (open == 0 && given < 100.0 - 1e-9) {
        return None;
    }
    let rest = if open == 0 { 0.0 } else { (100.0 - given) / open as f64 };
    let mut all: Vec<(u64, f64)> = Vec::new();
    for (size, share) in parts.into_iter().map(|(size, share)| (size, share.unwrap_or(rest))) {
        match all.iter_mut().find(|(other, _)| *other == size) {
            Some((_, sum)) => *sum += share,
            None => all.push((size, share)),
        }
    }
    all.retain(|(_, share)| *share > 0.0);
    Some(all)
}

fn one(text: &str, kilo: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    let iec = if kilo == 1024 { 1000 } else { 1024 };
    let power = |letter: &str| ["", "k", "m", "g", "t", "p"].iter().position(|one| *one == letter);
    let (base, power) = match unit.strip_suffix("ib").or_else(|| unit.strip_suffix('i')) {
        Some(letter) if !letter.is_empty() => (iec, power(letter)?),
        _ => (kilo, power(unit.strip_suffix('b').unwrap_or(unit))?),
    };
    number.checked_mul(u64::pow(base, u32::try_from(power).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_fio_takes_them() {
        for (text, want) in [
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4KiB", 4000),
            ("4ki", 4000),
            ("1m", 1 << 20),
            ("512b", 512),
        ] {
            assert_eq!(one(text, 1024), Some(want), "{text}");
        }
        assert_eq!((one("4k", 1000), one("4KiB", 1000)), (Some(4000), Some(4096)));
        for wrong in ["", "k", "0", "-4k", "4x", "4kk", "99999999999999999999", "99999999p", "4.5k"] {
            assert_eq!(one(wrong, 1024), None, "{wrong}");
        }
        assert_eq!(sizes("4k,8k", 1024), Some(Sizes { reads: 4096, writes: 8192 }));
        assert_eq!(sizes("4k,,", 1024), Some(Sizes { reads: 4096, writes: 4096 }));
    }

    #[test]
    fn splits_add_up() {
        assert_eq!(split("16k/10:1M/90", 1024), Some(vec![(16_384, 10.0), (1 << 20, 90.0)]));
        assert_eq!(split("4k/60:8k:16k/", 1024), Some(vec![(4096, 60.0), (8192, 20.0), (16_384, 20.0)]));
        assert_eq!(split("4k/50:8k/50,4k/50:8k/50", 1024), Some(vec![(4096, 50.0), (8192, 50.0)]));
        assert_eq!(split("4k/25:8k/50:4096/25", 1024), Some(vec![(4096, 50.0), (8192, 50.0)]));
        assert_eq!(split("4k/50:4k/50", 1024), Some(vec![(4096, 100.0)]));
        for wrong in ["4k/50:8k/40", "4k/90:8k/90", "4k/50:8k/50,4k/100", "4k/x", ""] {
            assert_eq!(split(wrong, 1024), None, "{wrong}");
        }
    }
}

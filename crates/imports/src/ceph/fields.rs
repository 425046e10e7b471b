//! Fields that are not plain numbers: groups, devices, fixed-point weights.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use towtank_placement::crush::NONE;
use towtank_placement::crush::pools::PgId;

use super::DEVICE_ID_MAX;

/// `2.3f`: the pool, and the group's number in hexadecimal.
pub(super) fn group<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PgId, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    parse_group(&text)
        .ok_or_else(|| D::Error::custom(format!("{text:?} is not a placement group, such as \"2.3f\"")))
}

fn parse_group(text: &str) -> Option<PgId> {
    let (pool, seed) = text.split_once('.')?;
    // A shard of a group is written `2.3fs1`.
    let seed = seed.split_once('s').map_or(seed, |(seed, _)| seed);
    Some(PgId { pool: pool.parse().ok()?, seed: u32::from_str_radix(seed, 16).ok()? })
}

/// A device id.
pub(super) fn device<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let id = i64::deserialize(deserializer)?;
    i32::try_from(id)
        .ok()
        .filter(|id| (0..=DEVICE_ID_MAX).contains(id))
        .ok_or_else(|| D::Error::custom(format!("{id} is not a device id; ids go from 0 to {DEVICE_ID_MAX}")))
}

/// The devices of a group; holes are -1 in some places and 2^31 - 1 in others.
pub(super) fn devices<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i32>, D::Error> {
    let ids = Vec::<i64>::deserialize(deserializer)?;
    let one = |id: i64| match i32::try_from(id) {
        Ok(-1 | NONE) => Ok(NONE),
        Ok(id) if (0..=DEVICE_ID_MAX).contains(&id) => Ok(id),
        _ => Err(D::Error::custom(format!("{id} is not a device id; ids go from 0 to {DEVICE_ID_MAX}"))),
    };
    ids.into_iter().map(one).collect()
}

/// A number from 0 to 1 as 16.16 fixed point.
pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&number) {
        Ok((number * 65_536.0).round() as u32)
    } else {
        Err(D::Error::custom(format!("{number} is not between 0 and 1")))
    }
}

/// The default primary affinity: 1 in the format of [`share`].
pub(super) fn full() -> u32 {
    towtank_placement::crush::pools::FULL
}

/// A flag that is 0 or 1.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(u64::deserialize(deserializer)? != 0)
}

/// A count that may be missing, or not a number. Ceph holds it without a sign.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?.unwrap_or(0.0);
    if number < 0.0 {
        return Err(D::Error::custom(format!("{number} is negative, and a count is 0 at least")));
    }
    Ok(number as u64)
}

/// A sum over objects that may be missing: Ceph holds it with a sign, and it is negative where its statistics
/// are wrong.
pub(super) fn sum<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?.unwrap_or(0.0);
    if number.abs() > i64::MAX as f64 {
        return Err(D::Error::custom(format!("{number} is more than a sum of 64 bits holds")));
    }
    Ok(number as i64)
}

/// Words separated by `,`, or a list of them.
pub(super) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Words;
    impl<'de> Visitor<'de> for Words {
        type Value = Vec<String>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("words separated by `,`, or a list of words")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            Ok(words.map(str::to_owned).collect())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
            let mut words = Vec::new();
            while let Some(word) = list.next_element::<String>()? {
                words.push(word);
            }
            Ok(words)
        }
    }
    deserializer.deserialize_any(Words)
}

/// A fraction that may be missing, or not a number; 0 is one that is not set.
pub(super) fn ratio<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(ratio) if !(0.0..=1.0).contains(&ratio) => {
            Err(D::Error::custom(format!("{ratio} is not between 0 and 1")))
        }
        ratio => Ok(ratio.filter(|ratio| *ratio > 0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_hexadecimal() {
        assert_eq!(parse_group("2.3f"), Some(PgId { pool: 2, seed: 0x3f }));
        assert_eq!(parse_group("2.3fs1"), Some(PgId { pool: 2, seed: 0x3f }));
        for wrong in ["", "2", "2.", ".1", "2.g", "2.100000000"] {
            assert_eq!(parse_group(wrong), None, "{wrong}");
        }
    }
}

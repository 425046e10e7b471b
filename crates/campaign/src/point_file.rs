//! The file of one finished replicate of one point.
//!
//! It is a JSON object with an identification (key, replicate, settings), the outcome, and a checksum over
//! all that the report depends on. The checksum covers the exact bytes of the outcome, so that no digit can
//! change unnoticed; a file that was edited or pretty-printed counts as damaged, and its run is repeated.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use towtank_report::Outcome;

use crate::fingerprint::Fingerprint;
use crate::{PointKey, PointSpec};

/// The layout of a point file. It is raised when a field changes its meaning.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    towtank_point: u32,
    key: &'a PointKey,
    replicate: u32,
    settings: serde_json::Map<String, Value>,
    checksum: String,
    outcome: &'a RawValue,
}

#[derive(Deserialize)]
struct Read<'a> {
    towtank_point: u32,
    key: PointKey,
    replicate: u32,
    checksum: String,
    #[serde(borrow)]
    outcome: &'a RawValue,
}

/// Why a point file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    #[error("it is not a complete point file ({0})")]
    Form(String),
    #[error("its layout is {0}, and this version reads {FORMAT}")]
    Format(u32),
    #[error("it belongs to key {0}")]
    OtherKey(PointKey),
    #[error("it belongs to replicate {0}")]
    OtherReplicate(u32),
    #[error("its checksum does not match its contents")]
    Checksum,
    #[error("it contains a run that was stopped early")]
    Partial,
}

/// Why an outcome cannot be stored in a file: an error in the study.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its outcome cannot be stored as JSON: {0}")]
pub struct Unstorable(String);

/// An outcome with its stored text. It is made before anything is stored or averaged, so that a fresh outcome
/// and one that was read back are the same value.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) outcome: Outcome,
    raw: Box<RawValue>,
}

impl Stored {
    /// Converts an outcome to text, and that text back to an outcome.
    pub(crate) fn new(outcome: &Outcome) -> Result<Self, Unstorable> {
        let unstorable = |error: serde_json::Error| Unstorable(error.to_string());
        let raw = serde_json::value::to_raw_value(outcome).map_err(unstorable)?;
        let outcome = serde_json::from_str(raw.get()).map_err(unstorable)?;
        Ok(Self { outcome, raw })
    }

    /// The bytes of the file.
    pub(crate) fn to_file(&self, point: &PointSpec, replicate: u32) -> Vec<u8> {
        let written = Written {
            towtank_point: FORMAT,
            key: &point.key,
            replicate,
            settings: point.settings.iter().cloned().collect(),
            checksum: checksum(&point.key, replicate, &self.raw),
            outcome: &self.raw,
        };
        let mut bytes = serde_json::to_vec(&written).expect("every key of it is text");
        bytes.push(b'\n');
        bytes
    }

    /// The content of a file, if it is undamaged and holds this replicate of this point, finished.
    pub(crate) fn from_file(bytes: &[u8], key: &PointKey, replicate: u32) -> Result<Self, Damage> {
        let form = |error: serde_json::Error| Damage::Form(error.to_string());
        let read: Read<'_> = serde_json::from_slice(bytes).map_err(form)?;
        if read.towtank_point != FORMAT {
            return Err(Damage::Format(read.towtank_point));
        }
        if read.checksum != checksum(&read.key, read.replicate, read.outcome) {
            return Err(Damage::Checksum);
        }
        if read.key != *key {
            return Err(Damage::OtherKey(read.key));
        }
        if read.replicate != replicate {
            return Err(Damage::OtherReplicate(read.replicate));
        }
        let outcome: Outcome = serde_json::from_str(read.outcome.get()).map_err(form)?;
        if outcome.partial {
            return Err(Damage::Partial);
        }
        Ok(Self { outcome, raw: read.outcome.to_owned() })
    }

    /// The stored text: equal for equal outcomes.
    pub(crate) fn text(&self) -> &str {
        self.raw.get()
    }
}

fn checksum(key: &PointKey, replicate: u32, outcome: &RawValue) -> String {
    let print = Fingerprint::of("towtank point file 1").part(key.as_str()).number(u64::from(replicate));
    print.part(outcome.get()).hex()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::examples;

    fn sample() -> (PointSpec, Outcome, Vec<u8>) {
        let plan = examples::plan(&[8], 3);
        let outcome = examples::outcome(&plan.points()[0], 2);
        let file = Stored::new(&outcome).unwrap().to_file(&plan.points()[0], 2);
        (plan.points()[0].clone(), outcome, file)
    }

    #[test]
    fn a_file_reads_back_as_the_outcome() {
        let (point, outcome, file) = sample();
        let read = Stored::from_file(&file, &point.key, 2).unwrap();
        assert_eq!(read.outcome, outcome);
        assert_eq!(read.text(), Stored::new(&outcome).unwrap().text());
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_of_substance_is_damage() {
        let (point, outcome, file) = sample();
        for length in 0..file.len() - 1 {
            assert!(Stored::from_file(&file[..length], &point.key, 2).is_err(), "{length} bytes");
        }
        for byte in 0..file.len() {
            for bit in 0..8 {
                let mut hurt = file.clone();
                hurt[byte] ^= 1 << bit;
                // The settings are for human readers; everything else must be as written.
                if let Ok(read) = Stored::from_file(&hurt, &point.key, 2) {
                    assert_eq!(read.outcome, outcome, "byte {byte}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn a_file_in_the_wrong_place_is_damage() {
        let (point, outcome, file) = sample();
        let other = examples::plan(&[9], 1).points()[0].key.clone();
        let why = |result: Result<Stored, Damage>| result.unwrap_err();
        assert_eq!(why(Stored::from_file(&file, &other, 2)), Damage::OtherKey(point.key.clone()));
        assert_eq!(why(Stored::from_file(&file, &point.key, 1)), Damage::OtherReplicate(2));
        let partial = Outcome { partial: true, ..outcome };
        let file = Stored::new(&partial).unwrap().to_file(&point, 2);
        assert_eq!(why(Stored::from_file(&file, &point.key, 2)), Damage::Partial);
        let newer = br#"{"towtank_point":2,"key":"k","replicate":0,"checksum":"","outcome":{}}"#;
        assert_eq!(why(Stored::from_file(newer, &point.key, 0)), Damage::Format(2));
    }

    proptest! {
        #[test]
        fn no_digit_is_lost(values in prop::collection::vec(any::<f64>(), 0..20), whole in any::<u64>()) {
            let mut outcome = Outcome { events: whole, ..Outcome::default() };
            for (index, value) in values.iter().enumerate() {
                outcome.measure(format!("m{index}"), *value, "s");
            }
            outcome.series.insert("whole".to_owned(), serde_json::json!([whole, i64::MIN]));
            outcome.series.insert("all".to_owned(), serde_json::json!(values));
            let stored = Stored::new(&outcome).unwrap();
            prop_assert_eq!(&stored.outcome, &outcome);
            let again = Stored::new(&stored.outcome).unwrap();
            prop_assert_eq!(again.text(), stored.text());
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Stored::from_file(&bytes, &examples::plan(&[1], 1).points()[0].key, 0);
        }
    }
}

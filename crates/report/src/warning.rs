//! A warning, and how serious it is: whoever reads only the first one must read the worst.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How serious a warning is, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Data are lost, short of copies or not served, a device is too full, or requests fail.
    Danger,
    /// Something that the answer depends on is not known, or the values cover only a part.
    Unknown,
    /// An assumption, a setting or advice.
    Note,
}

/// A sentence that the reader must know before trusting the numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// How serious it is.
    pub severity: Severity,
    /// The sentence, without a full stop.
    pub text: String,
}

impl Warning {
    /// A warning of [`Severity::Danger`].
    pub fn danger(text: impl Into<String>) -> Warning {
        Warning { severity: Severity::Danger, text: text.into() }
    }

    /// A warning of [`Severity::Unknown`].
    pub fn unknown(text: impl Into<String>) -> Warning {
        Warning { severity: Severity::Unknown, text: text.into() }
    }

    /// A warning of [`Severity::Note`].
    pub fn note(text: impl Into<String>) -> Warning {
        Warning { severity: Severity::Note, text: text.into() }
    }

    /// The texts of warnings, the most serious first.
    #[must_use]
    pub fn texts(warnings: Vec<Warning>) -> Vec<String> {
        Warning::by_severity(warnings).into_iter().map(|warning| warning.text).collect()
    }

    /// Warnings, the most serious first; those of equal severity keep their order.
    #[must_use]
    pub fn by_severity(mut warnings: Vec<Warning>) -> Vec<Warning> {
        warnings.sort_by_key(|warning| warning.severity);
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> Vec<Warning> {
        vec![
            Warning::note("disks are assumed to be fast"),
            Warning::unknown("the fill is not known"),
            Warning::danger("3 groups are not served"),
            Warning::note("lengthen `duration`"),
            Warning::danger("osd.1 is full"),
        ]
    }

    #[test]
    fn dangers_come_before_unknowns_and_those_before_notes() {
        assert_eq!(
            Warning::texts(mixed()),
            [
                "3 groups are not served",
                "osd.1 is full",
                "the fill is not known",
                "disks are assumed to be fast",
                "lengthen `duration`",
            ]
        );
    }

    #[test]
    fn json_keeps_the_severity() {
        let json = serde_json::to_string(&mixed()).unwrap();
        assert!(
            json.starts_with(
                r#"[{"severity":"note","text":"disks are assumed to be fast"},{"severity":"unknown","text":"#
            ),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Vec<Warning>>(&json).unwrap(), mixed());
    }
}

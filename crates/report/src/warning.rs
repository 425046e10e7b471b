//! A warning, and how serious it is: whoever reads only the first one must read the worst.

use serde::{Deserialize, Serialize};

/// How serious a warning is, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
///
/// In JSON a note is its text alone, as every warning was before there were severities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Warning {
    /// How serious it is.
    pub severity: Severity,
    /// The sentence, without a full stop.
    pub text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Note(String),
    Graded { severity: Severity, text: String },
}

impl From<Written> for Warning {
    fn from(written: Written) -> Warning {
        match written {
            Written::Note(text) => Warning::note(text),
            Written::Graded { severity, text } => Warning { severity, text },
        }
    }
}

impl From<Warning> for Written {
    fn from(Warning { severity, text }: Warning) -> Written {
        if severity == Severity::Note { Written::Note(text) } else { Written::Graded { severity, text } }
    }
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

    /// The texts of warnings, the most serious first; warnings of equal severity keep their order.
    #[must_use]
    pub fn by_severity(mut warnings: Vec<Warning>) -> Vec<String> {
        warnings.sort_by_key(|warning| warning.severity);
        warnings.into_iter().map(|warning| warning.text).collect()
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
            Warning::by_severity(mixed()),
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
    fn json_keeps_the_severity_and_reads_texts_alone_as_notes() {
        let json = serde_json::to_string(&mixed()).unwrap();
        assert!(
            json.starts_with(r#"["disks are assumed to be fast",{"severity":"unknown","text":"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Vec<Warning>>(&json).unwrap(), mixed());
        let old: Vec<Warning> = serde_json::from_str(r#"["the run was stopped"]"#).unwrap();
        assert_eq!(old, [Warning::note("the run was stopped")]);
    }
}

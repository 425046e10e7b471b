//! Errors of parsing a quantity: the text, the reason, and a hint on what to write instead.

use crate::kind::UnitErrorKind;
use crate::scale::Scale;

/// Separates message and hint where both are carried in one string, as in serde errors:
/// `message.split_once(HINT_MARK)` splits them again.
pub const HINT_MARK: &str = "\nhint: ";

/// The error for a text that is not a quantity. `Display` gives the message, [`UnitError::hint`] what to
/// write instead.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.message())]
pub struct UnitError {
    text: String,
    kind: UnitErrorKind,
    scale: &'static Scale,
}

impl Scale {
    /// Parses a number with a unit into whole base units.
    pub(crate) fn parse(&'static self, text: &str) -> Result<u64, UnitError> {
        self.parse_kind(text.trim()).map_err(|kind| UnitError::new(text.trim(), kind, self))
    }
}

impl UnitError {
    pub(crate) fn new(text: &str, kind: UnitErrorKind, scale: &'static Scale) -> Self {
        Self { text: text.to_owned(), kind, scale }
    }

    /// The kind of mistake.
    #[must_use]
    pub fn kind(&self) -> &UnitErrorKind {
        &self.kind
    }

    /// The text that was refused.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The scale of the quantity that was expected.
    #[must_use]
    pub fn scale(&self) -> &'static Scale {
        self.scale
    }

    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        let Scale { examples, step, likely: (unit, unit_words), .. } = self.scale;
        let example = examples[0];
        match &self.kind {
            // A share written as a fraction means hundred times as many hundredths.
            UnitErrorKind::MissingUnit if *unit == "%" && self.fraction().is_some() => {
                let share = self.fraction().map_or(0.0, |share| (share * 1e9).round() / 1e7);
                format!("write \"{share}%\" for {} of all", self.text)
            }
            UnitErrorKind::MissingUnit => {
                format!("write \"{}{unit}\" for {unit_words}; the units are {}", self.text, self.units())
            }
            UnitErrorKind::UnknownUnit { unit } => self.hint_for_unit(unit),
            UnitErrorKind::Exponent => format!("write the number without an exponent, as in \"{example}\""),
            UnitErrorKind::NotWhole => format!("the smallest step is {step}"),
            UnitErrorKind::TooLarge => format!("the largest value is {}", self.scale.print(u64::MAX)),
            UnitErrorKind::Zero => format!("write a value above zero, such as \"{example}\""),
            UnitErrorKind::Negative => format!("write a value of zero or more, such as \"{example}\""),
            UnitErrorKind::Empty | UnitErrorKind::NotANumber => format!(
                "write digits, with a point before any decimals, and a unit, such as \"{example}\"; the units are {}",
                self.units()
            ),
        }
    }

    /// The text as a fraction of one, if it is one.
    fn fraction(&self) -> Option<f64> {
        self.text.trim().parse().ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0)
    }

    /// Message and hint in one string, with [`HINT_MARK`] between them.
    #[must_use]
    pub fn with_hint(&self) -> String {
        format!("{self}{HINT_MARK}{}", self.hint())
    }

    fn message(&self) -> String {
        let Self { text, scale, .. } = self;
        let what = scale.what;
        match &self.kind {
            UnitErrorKind::Empty => format!("an empty text is not {what}"),
            UnitErrorKind::NotANumber => format!("`{text}` is not {what}"),
            UnitErrorKind::Negative => format!("`{text}` is negative, but {what} must not be"),
            UnitErrorKind::Exponent => format!("`{text}` has an exponent, but {what} must not have one"),
            UnitErrorKind::MissingUnit => format!("`{text}` has no unit, but {what} needs one"),
            UnitErrorKind::UnknownUnit { unit } => format!("`{text}`: `{unit}` is not a unit of {what}"),
            UnitErrorKind::NotWhole => format!("`{text}` is not a whole number of {}", scale.base_words),
            UnitErrorKind::TooLarge => format!("`{text}` is too large for {what}"),
            UnitErrorKind::Zero => format!("`{text}` is zero, but {what} must not be"),
        }
    }

    fn hint_for_unit(&self, unit: &str) -> String {
        if let Some((_, instead)) = self.scale.mistaken.iter().find(|(name, _)| *name == unit) {
            return format!("write {instead}");
        }
        let folded = unit.to_lowercase();
        match self.scale.unit_names().find(|name| name.to_lowercase() == folded) {
            Some(near) => format!("did you mean `{near}`? case matters: the units are {}", self.units()),
            None => format!("the units are {}", self.units()),
        }
    }

    fn units(&self) -> String {
        let names: Vec<&str> = self.scale.unit_names().collect();
        names.join(", ")
    }
}

//! Gates: `--fail-if 'wait_mean.high > 2ms or utilisation >= 95%'`.
//!
//! ```text
//! expression = all { "or" all }
//! all        = part { "and" part }                 "and" binds tighter than "or"
//! part       = "(" expression ")" | comparison
//! comparison = NAME [ ".low" | ".high" ] ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) NUMBER [ UNIT ]
//! ```
//!
//! `NAME` is a measure of the study; alone it is the mean over replicates, `.low` and `.high` are the ends of
//! its 95 % interval. A number without a unit is in the measure's own unit. Reports show shares in percent,
//! so `utilisation > 75` is refused: no share is that large. So is every comparison that is true of all
//! values that a measure can have, or of none, and every measure that the scenario cannot have. The gate is
//! not met when the expression is true, and also when any measure in it has no value, since it cannot be
//! judged.

mod lexer;
mod parser;
mod unit;

use std::fmt;
use std::sync::Arc;

use towtank_metrics::Domain;

use crate::source::{Place, Source};
use crate::suggest::did_you_mean;
use crate::{Problem, Problems};

use unit::Unit;

/// A measure that an expression may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<'a> {
    /// Its name in the report's summary.
    pub name: &'a str,
    /// Its unit in the report's summary: `s`, `bytes/s`, `fraction`, ….
    pub unit: &'a str,
    /// The values that it can have, and the ends of its interval.
    pub domain: Domain,
    /// Why it has no value in this scenario, whatever happens.
    pub never: Option<&'a str>,
    /// Why its mean has no interval.
    pub no_interval: Option<&'a str>,
    /// A name that it had.
    pub formerly: Option<&'a str>,
}

impl<'a> Known<'a> {
    /// A measure of which no more is known: its unit says whether it can be negative.
    #[must_use]
    pub fn new(name: &'a str, unit: &'a str) -> Known<'a> {
        let domain = match unit {
            "fraction" => Domain::Fraction,
            "" | "ratio" | "share" | "%" | "percent" => Domain::Any,
            _ => Domain::NonNegative,
        };
        Known { name, unit, domain, never: None, no_interval: None, formerly: None }
    }
}

/// A measure's value after the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The mean over replicates.
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end of its interval.
    pub high: Option<f64>,
    /// Why there is no mean, or no interval.
    pub reason: Option<String>,
}

/// An expression whose names and units have been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    source: Arc<Source>,
    expression: Expression,
}

/// The result of a gate for one set of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The expression is false.
    Met,
    /// The expression is true, or a measure has no value. Each line gives one reason.
    NotMet(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Any(Vec<Expression>),
    All(Vec<Expression>),
    Comparison(Comparison),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    name: String,
    name_place: Place,
    part: Part,
    operator: Operator,
    /// The number as written, without its unit.
    number: String,
    unit: String,
    limit_place: Place,
    /// The limit in the measure's unit; set by the check.
    limit: f64,
    measure_unit: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Mean,
    Low,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Different,
}

impl Gate {
    /// Parses the expression that was given to `flag`, and checks it against the measures of the study.
    ///
    /// # Errors
    /// Syntax errors; every name that is not a measure; every unit that does not fit its measure.
    pub fn parse(flag: &str, text: &str, known: &[Known<'_>]) -> Result<Gate, Problems> {
        let source = Source::flag(flag, format!("{flag} '{text}'"));
        let offset = flag.len() + 2;
        let mut expression = parser::parse(&source, offset..offset + text.len())?;
        let mut problems = Problems::new();
        expression.each_mut(&mut |comparison| {
            if let Err(problem) = comparison.check(known) {
                problems.push(problem);
            }
        });
        problems.into_result(Gate { source, expression })
    }

    /// The expression with its flag, as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// The names of its measures.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.expression.each(&mut |comparison| {
            if !names.contains(&comparison.name.as_str()) {
                names.push(comparison.name.as_str());
            }
        });
        names
    }

    /// Each comparison: the measure, and whether its value is to be below a limit rather than above it.
    #[must_use]
    pub fn sides(&self) -> Vec<(&str, bool)> {
        let mut sides = Vec::new();
        self.expression.each(&mut |comparison| {
            let below = matches!(comparison.operator, Operator::Less | Operator::LessOrEqual);
            sides.push((comparison.name.as_str(), below));
        });
        sides
    }

    /// How far the expression is from being true, as a fraction of the limits: 0 where it is true, and
    /// infinite where a measure has no value. For goals rather than gates.
    pub fn miss(&self, read: impl Fn(&str) -> Option<Reading>) -> f64 {
        self.expression.miss(&|name: &str| read(name).unwrap_or_default())
    }

    /// Judges the values returned by `read`. A name that `read` does not know counts as a measure without a
    /// value.
    pub fn judge(&self, read: impl Fn(&str) -> Option<Reading>) -> Judgement {
        let mut without_value = Vec::new();
        self.expression.each(&mut |comparison| {
            let reading = read(&comparison.name).unwrap_or_default();
            if comparison.part.of(&reading).is_none() {
                without_value.push(comparison.no_value(&reading));
            }
        });
        if !without_value.is_empty() {
            return Judgement::NotMet(without_value);
        }
        let mut reasons = Vec::new();
        let read = |name: &str| read(name).unwrap_or_default();
        if self.expression.holds(&read, &mut reasons) { Judgement::NotMet(reasons) } else { Judgement::Met }
    }
}

impl Expression {
    fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Comparison)) {
        match self {
            Expression::Any(parts) | Expression::All(parts) => parts.iter().for_each(|part| part.each(visit)),
            Expression::Comparison(comparison) => visit(comparison),
        }
    }

    fn each_mut(&mut self, visit: &mut impl FnMut(&mut Comparison)) {
        match self {
            Expression::Any(parts) | Expression::All(parts) => {
                parts.iter_mut().for_each(|part| part.each_mut(visit))
            }
            Expression::Comparison(comparison) => visit(comparison),
        }
    }

    fn miss(&self, read: &impl Fn(&str) -> Reading) -> f64 {
        match self {
            Expression::Any(parts) => parts.iter().map(|part| part.miss(read)).fold(f64::INFINITY, f64::min),
            Expression::All(parts) => parts.iter().map(|part| part.miss(read)).fold(0.0, f64::max),
            Expression::Comparison(comparison) => comparison
                .part
                .of(&read(&comparison.name))
                .map_or(f64::INFINITY, |value| comparison.miss(value)),
        }
    }

    /// Whether the expression is true; adds the comparisons that make it true to `reasons`.
    fn holds(&self, read: &impl Fn(&str) -> Reading, reasons: &mut Vec<String>) -> bool {
        match self {
            Expression::Any(parts) => {
                // All parts are evaluated, not only the first true one, to report every reason.
                let held: Vec<bool> = parts.iter().map(|part| part.holds(read, reasons)).collect();
                held.contains(&true)
            }
            Expression::All(parts) => {
                let mut inner = Vec::new();
                let all = parts.iter().all(|part| part.holds(read, &mut inner));
                if all {
                    reasons.append(&mut inner);
                }
                all
            }
            Expression::Comparison(comparison) => {
                let value = comparison.part.of(&read(&comparison.name));
                let holds = value.is_some_and(|value| comparison.operator.holds(value, comparison.limit));
                if let (true, Some(value)) = (holds, value) {
                    reasons.push(comparison.reason(value));
                }
                holds
            }
        }
    }
}

impl Comparison {
    fn check(&mut self, known: &[Known<'_>]) -> Result<(), Problem> {
        let Some(measure) = known.iter().find(|measure| measure.name == self.name) else {
            let names = || known.iter().map(|measure| measure.name);
            let renamed = known.iter().find(|measure| measure.formerly == Some(self.name.as_str()));
            if let Some(renamed) = renamed {
                let message = format!("`{}` is called `{}` here", self.name, renamed.name);
                return Err(Problem::new(message)
                    .hint(format!("write `{}`", renamed.name))
                    .at(self.name_place.clone()));
            }
            let hint = did_you_mean(&self.name, names())
                .unwrap_or_else(|| format!("the measures are {}", names().collect::<Vec<_>>().join(", ")));
            return Err(Problem::new(format!("unknown measure `{}`", self.name))
                .hint(hint)
                .at(self.name_place.clone()));
        };
        self.check_known(measure)?;
        let own = Unit::of_measure(measure.unit);
        let written = if self.unit.is_empty() { Some(own.clone()) } else { Unit::written(&self.unit) };
        let fits = written.filter(|written| written.fits(&own));
        let Some(written) = fits else {
            let message = match measure.unit {
                "" => format!("`{}` is a bare number, and `{}` is not a unit for it", self.name, self.unit),
                unit => {
                    format!("`{}` is measured in {unit}, and `{}` is not a unit for it", self.name, self.unit)
                }
            };
            return Err(Problem::new(message).hint(own.legal()).at(self.limit_place.clone()));
        };
        self.limit = written.convert(&self.number, &own).ok_or_else(|| {
            let problem = Problem::new(format!("{}{} is too large", self.number, self.unit));
            problem.hint("write a smaller limit").at(self.limit_place.clone())
        })?;
        self.measure_unit = measure.unit.to_owned();
        if self.unit.is_empty() {
            self.check_bare_share()?;
        }
        self.check_domain(measure.domain)
    }

    /// Refuses a measure that has no value in this scenario, or not the end of an interval that is named.
    fn check_known(&self, measure: &Known<'_>) -> Result<(), Problem> {
        let refused =
            |message: String, hint: &str| Err(Problem::new(message).hint(hint).at(self.name_place.clone()));
        if let Some(reason) = measure.never {
            let message = format!("`{}` has no value in this scenario: {reason}", self.name);
            return refused(message, "name another measure, or change the scenario");
        }
        match measure.no_interval.filter(|_| self.part != Part::Mean) {
            Some(reason) => {
                let message = format!("the mean of `{}` has no interval: {reason}", self.name);
                refused(message, &format!("compare the mean: `{}`", self.name))
            }
            None => Ok(()),
        }
    }

    /// Refuses a comparison that is true of every value that the measure can have, or of none.
    fn check_domain(&self, domain: Domain) -> Result<(), Problem> {
        let (least, most, range) = match domain {
            Domain::Any => return Ok(()),
            Domain::NonNegative => (0.0, f64::INFINITY, "never negative"),
            Domain::Fraction => (0.0, 1.0, "a share from 0 to 100 %"),
        };
        let limit = self.limit;
        let [always, never] = match self.operator {
            Operator::Less => [limit > most, limit <= least],
            Operator::LessOrEqual => [limit >= most, limit < least],
            Operator::Greater => [limit < least, limit >= most],
            Operator::GreaterOrEqual => [limit <= least, limit > most],
            Operator::Equal => [false, limit < least || limit > most],
            Operator::Different => [limit < least || limit > most, false],
        };
        let word = match (always, never) {
            (true, _) => "always",
            (_, true) => "never",
            _ => return Ok(()),
        };
        let Comparison { operator, number, unit, .. } = self;
        let name = self.full_name();
        let message = format!("`{name} {operator} {number}{unit}` is {word} true: `{name}` is {range}");
        let hint = "write a limit that some values exceed and others do not";
        Err(Problem::new(message).hint(hint).at(self.limit_place.clone()))
    }

    /// Refuses a limit without a unit that was probably meant in percent: one that a `fraction` (0 to 1)
    /// cannot pass, and one above 1 for a `share`, which may exceed 1 but is shown in percent too.
    fn check_bare_share(&self) -> Result<(), Problem> {
        let bounded = self.measure_unit == "fraction";
        let never = bounded && self.part == Part::Mean && self.operator == Operator::Greater;
        let refused = match self.measure_unit.as_str() {
            "fraction" | "share" => {
                self.limit > 1.0 || (bounded && self.limit < 0.0) || (never && self.limit >= 1.0)
            }
            _ => false,
        };
        if !refused {
            return Ok(());
        }
        let Comparison { name, number, limit, .. } = self;
        let rounded = |number: f64| (number * 1e9).round() / 1e9;
        let percent = rounded(100.0 * limit);
        let (message, hint) = if *limit < 0.0 {
            (format!("`{name}` is a share of 0 to 1, never {number}"), Unit::of_measure("fraction").legal())
        } else {
            let message = format!("`{name}` is a share of one, so {number} without a unit is {percent} %");
            let else_meant =
                if bounded { String::new() } else { format!(", or `{percent}%` if that is meant") };
            (message, format!("write `{number}%` or `{}`{else_meant}", rounded(limit / 100.0)))
        };
        Err(Problem::new(message).hint(hint).at(self.limit_place.clone()))
    }

    /// How far a value is from its limit, as a fraction of the limit; a value equal to a limit that it must
    /// exceed misses it too.
    fn miss(&self, value: f64) -> f64 {
        if self.operator.holds(value, self.limit) {
            return 0.0;
        }
        ((value - self.limit).abs() / self.limit.abs().max(f64::MIN_POSITIVE)).max(f64::EPSILON)
    }

    fn full_name(&self) -> String {
        match self.part {
            Part::Mean => self.name.clone(),
            Part::Low => format!("{}.low", self.name),
            Part::High => format!("{}.high", self.name),
        }
    }

    fn reason(&self, value: f64) -> String {
        let Comparison { operator, number, unit, .. } = self;
        let own = match self.measure_unit.as_str() {
            "" | "fraction" | "share" | "ratio" => String::new(),
            unit => format!(" {unit}"),
        };
        format!("`{}` is {value}{own}, which is {operator} {number}{unit}", self.full_name())
    }

    fn no_value(&self, reading: &Reading) -> String {
        match (&reading.reason, reading.value) {
            (None, Some(_)) => {
                format!("`{}` has no value: an interval takes at least 2 replicates", self.full_name())
            }
            (Some(reason), _) => format!("`{}` has no value: {reason}", self.full_name()),
            (None, None) => format!("`{}` has no value", self.full_name()),
        }
    }
}

impl Part {
    fn of(self, reading: &Reading) -> Option<f64> {
        match self {
            Part::Mean => reading.value,
            Part::Low => reading.low,
            Part::High => reading.high,
        }
    }
}

impl Operator {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Operator::Less => value < limit,
            Operator::LessOrEqual => value <= limit,
            Operator::Greater => value > limit,
            Operator::GreaterOrEqual => value >= limit,
            Operator::Equal => value == limit,
            Operator::Different => value != limit,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Equal => "==",
            Operator::Different => "!=",
        })
    }
}

#[cfg(test)]
mod tests;

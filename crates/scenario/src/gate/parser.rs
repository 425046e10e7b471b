//! Parses tokens into an expression: `and` binds tighter than `or`, and parentheses bind tightest.

use std::ops::Range;
use std::sync::Arc;

use super::lexer::{Kind, Token, tokens};
use super::{Comparison, Expression, Part};
use crate::Problem;
use crate::source::{Place, Source};

/// Deeper than any realistic expression, and shallow enough for any stack.
const DEPTH_MAX: usize = 64;

/// Parses the part `span` of `source`. Names and units are not checked.
///
/// # Errors
/// The first syntax error.
pub(super) fn parse(source: &Arc<Source>, span: Range<usize>) -> Result<Expression, Problem> {
    let offset = span.start;
    let place = |span: Range<usize>| Place::new(source, span.start + offset..span.end + offset);
    let tokens = tokens(&source.text()[span])
        .map_err(|stray| Problem::new(stray.message).hint(stray.hint).at(place(stray.span)))?;
    let mut parser = Parser { tokens: &tokens, at: 0, place: &place };
    let expression = parser.any(0)?;
    match parser.peek().kind {
        Kind::End => Ok(expression),
        Kind::Close => Err(parser.complain("there is a `)` without a `(`", "remove it")),
        _ => Err(parser.complain(
            "there is more text after the end of the expression",
            "join comparisons with `and` or `or`",
        )),
    }
}

struct Parser<'a> {
    /// Ends in [`Kind::End`].
    tokens: &'a [Token],
    at: usize,
    place: &'a dyn Fn(Range<usize>) -> Place,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> &'a Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn complain(&self, message: impl Into<String>, hint: &str) -> Problem {
        Problem::new(message).hint(hint).at((self.place)(self.peek().span.clone()))
    }

    fn any(&mut self, depth: usize) -> Result<Expression, Problem> {
        let mut parts = vec![self.all(depth)?];
        while self.peek().kind == Kind::Or {
            self.next();
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Expression, Problem> {
        let mut parts = vec![self.part(depth)?];
        while self.peek().kind == Kind::And {
            self.next();
            parts.push(self.part(depth)?);
        }
        Ok(one_or(parts, Expression::All))
    }

    fn part(&mut self, depth: usize) -> Result<Expression, Problem> {
        match &self.peek().kind {
            Kind::Open if depth >= DEPTH_MAX => Err(self.complain(
                format!("parentheses are nested more than {DEPTH_MAX} deep"),
                "reduce the nesting",
            )),
            Kind::Open => {
                self.next();
                let inner = self.any(depth + 1)?;
                if self.peek().kind != Kind::Close {
                    return Err(self.complain("a parenthesis is not closed", "close it with `)`"));
                }
                self.next();
                Ok(inner)
            }
            Kind::Name { name, part } => self.comparison(name, part.as_deref()),
            Kind::Number { .. } => Err(self.complain(
                "a comparison begins with a measure, not with a number",
                "reverse it: `wait_mean > 2ms`",
            )),
            Kind::End => Err(self.complain(
                "a comparison is missing",
                "write a measure, a comparison and a limit: `wait_mean > 2ms`",
            )),
            _ => Err(self.complain(
                "a measure is missing here",
                "write a measure, a comparison and a limit: `wait_mean > 2ms`",
            )),
        }
    }

    fn comparison(&mut self, name: &str, part: Option<&str>) -> Result<Expression, Problem> {
        let part = match part {
            None => Part::Mean,
            Some("low") => Part::Low,
            Some("high") => Part::High,
            Some(other) => {
                let message = format!("`.{other}` is not a part of a measure");
                return Err(self.complain(
                    message,
                    "write `.low` or `.high` for the ends of the 95 % interval, nothing for the mean",
                ));
            }
        };
        let name_place = (self.place)(self.next().span.clone());
        let Kind::Operator(operator) = self.peek().kind else {
            return Err(self.complain(
                format!("`{name}` is not compared with a limit"),
                "write one of < <= > >= == != and a limit",
            ));
        };
        self.next();
        let Kind::Number { number, unit } = &self.peek().kind else {
            return Err(self.complain(
                "the limit must be a number",
                "write a number, with a unit or without: `2ms`, `0.95`, `95%`",
            ));
        };
        if number.parse::<f64>().is_err() {
            return Err(self.complain(
                format!("`{number}` is not a number"),
                "write digits, with a point before any decimals",
            ));
        }
        let limit_place = (self.place)(self.next().span.clone());
        Ok(Expression::Comparison(Comparison {
            name: name.to_owned(),
            name_place,
            part,
            operator,
            number: number.clone(),
            unit: unit.clone(),
            limit_place,
            limit: f64::NAN,
            measure_unit: String::new(),
        }))
    }
}

fn one_or(mut parts: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}

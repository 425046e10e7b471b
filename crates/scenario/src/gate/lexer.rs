//! The tokens of a gate expression.

use std::ops::Range;

use super::Operator;

/// A token and its byte range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub kind: Kind,
    pub span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Open,
    Close,
    And,
    Or,
    Operator(Operator),
    /// A name, with the part after its dot.
    Name {
        name: String,
        part: Option<String>,
    },
    Number {
        number: String,
        unit: String,
    },
    End,
}

/// A character that starts no token, or an unknown word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stray {
    pub span: Range<usize>,
    pub message: String,
    pub hint: &'static str,
}

/// Splits `text` into tokens; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Stray> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip(char::is_whitespace);
        let start = lexer.at;
        let kind = lexer.next()?;
        let end = kind == Kind::End;
        tokens.push(Token { kind, span: start..lexer.at });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, wanted: fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn next(&mut self) -> Result<Kind, Stray> {
        let Some(c) = self.peek() else { return Ok(Kind::End) };
        match c {
            '(' => Ok(self.take(1, Kind::Open)),
            ')' => Ok(self.take(1, Kind::Close)),
            '<' | '>' | '=' | '!' => self.operator(),
            c if c.is_ascii_digit() => Ok(self.number()),
            '-' | '+' | '.' if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                Ok(self.number())
            }
            c if is_name_start(c) => self.word(),
            '&' => self.stray("&&", "write `and`"),
            '|' => self.stray("||", "write `or`"),
            _ => self.stray(
                "",
                "an expression is made of measures, < <= > >= == !=, numbers, `and`, `or`, `(` and `)`",
            ),
        }
    }

    fn take(&mut self, len: usize, kind: Kind) -> Kind {
        self.at += len;
        kind
    }

    fn stray(&self, known: &'static str, hint: &'static str) -> Result<Kind, Stray> {
        let len = match known {
            known if !known.is_empty() && self.rest().starts_with(known) => known.len(),
            _ => self.peek().map_or(0, char::len_utf8),
        };
        let word = &self.rest()[..len];
        Err(Stray { span: self.at..self.at + len, message: format!("`{word}` is unexpected here"), hint })
    }

    fn operator(&mut self) -> Result<Kind, Stray> {
        let operators = [
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("==", Operator::Equal),
            ("!=", Operator::Different),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        match operators.iter().find(|(text, _)| self.rest().starts_with(text)) {
            Some((text, operator)) => Ok(self.take(text.len(), Kind::Operator(*operator))),
            None if self.peek() == Some('=') => self.stray("=", "write `==` to compare"),
            None => self.stray("!", "write `!=` for unequal; reverse a comparison instead of negating it"),
        }
    }

    fn number(&mut self) -> Kind {
        let start = self.at;
        if matches!(self.peek(), Some('-' | '+')) {
            self.at += 1;
        }
        self.skip(|c| c.is_ascii_digit() || c == '_' || c == '.');
        self.exponent();
        let number = self.text[start..self.at].replace('_', "");
        let end = self.at;
        self.skip(|c| c == ' ');
        let unit_start = self.at;
        let unit = self.skip(is_unit);
        // `2 and …`: the word after the number belongs to the expression, not to the number.
        if unit.is_empty() || matches!(unit, "and" | "or") {
            self.at = end;
            return Kind::Number { number, unit: String::new() };
        }
        debug_assert!(unit_start >= end);
        Kind::Number { number, unit: unit.to_owned() }
    }

    /// `e6` and `E-3` belong to the number; the `E` of `EiB` does not.
    fn exponent(&mut self) {
        let mut after = self.rest().chars();
        if !matches!(after.next(), Some('e' | 'E')) {
            return;
        }
        let digits = after.as_str().strip_prefix(['-', '+']).unwrap_or(after.as_str());
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            self.at = self.text.len() - digits.len();
            self.skip(|c| c.is_ascii_digit());
        }
    }

    fn word(&mut self) -> Result<Kind, Stray> {
        let start = self.at;
        self.skip(is_name);
        // A measure that exists once per item names the item in brackets: `share[batch]`.
        if self.peek() == Some('[')
            && let Some(length) = self.rest().find(']')
        {
            self.at += length + 1;
        }
        let name = &self.text[start..self.at];
        match name {
            "and" => return Ok(Kind::And),
            "or" => return Ok(Kind::Or),
            "AND" | "And" | "OR" | "Or" | "not" | "NOT" => {
                self.at = start;
                let hint = "write `and` and `or` in lower case; reverse a comparison instead of using `not`";
                return Err(Stray {
                    span: start..start + name.len(),
                    message: format!("`{name}` is unexpected here"),
                    hint,
                });
            }
            _ => {}
        }
        let part = self.rest().starts_with('.').then(|| {
            self.at += 1;
            self.skip(is_name).to_owned()
        });
        Ok(Kind::Name { name: name.to_owned(), part })
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

fn is_unit(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '%' | '/' | '_')
}

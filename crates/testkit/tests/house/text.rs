//! Rust source with its comments and the contents of its literals blanked, so that rules about code do not
//! match text about code. Supports line and nested block comments, plain, byte and raw strings, characters
//! and lifetimes; does not expand macros.

/// The code of a file, line for line as long as the source.
pub struct Code {
    pub text: String,
    /// For each line, whether it begins inside a string literal: snapshots are not code.
    pub begins_in_string: Vec<bool>,
}

pub fn code_of(source: &str) -> Code {
    let mut reader =
        Reader { source: source.as_bytes(), at: 0, text: String::new(), begins_in_string: vec![false] };
    while let Some(byte) = reader.peek(0) {
        match byte {
            b'/' if reader.peek(1) == Some(b'/') => reader.line_comment(),
            b'/' if reader.peek(1) == Some(b'*') => reader.block_comment(),
            b'"' => reader.string(),
            b'r' if reader.raw_hashes().is_some() => reader.raw_string(),
            b'\'' => reader.quote(),
            _ => reader.keep(),
        }
    }
    Code { text: reader.text, begins_in_string: reader.begins_in_string }
}

struct Reader<'a> {
    source: &'a [u8],
    at: usize,
    text: String,
    begins_in_string: Vec<bool>,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.get(self.at + ahead).copied()
    }

    fn put(&mut self, kept: bool, in_string: bool) {
        let byte = self.source[self.at];
        self.text.push(match byte {
            b'\n' => '\n',
            _ if kept && byte.is_ascii() => char::from(byte),
            _ => ' ',
        });
        if byte == b'\n' {
            self.begins_in_string.push(in_string);
        }
        self.at += 1;
    }

    fn keep(&mut self) {
        self.put(true, false);
    }

    fn blank(&mut self) {
        self.put(false, false);
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.blank();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_u32;
        while let Some(byte) = self.peek(0) {
            let pair = (byte, self.peek(1));
            if pair == (b'/', Some(b'*')) {
                depth += 1;
                self.blank();
            } else if pair == (b'*', Some(b'/')) {
                depth -= 1;
                self.blank();
            }
            self.blank();
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.keep();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' => return self.keep(),
                b'\\' if self.peek(1).is_some() => {
                    self.put(false, true);
                    self.put(false, true);
                }
                _ => self.put(false, true),
            }
        }
    }

    /// The number of `#` of a raw string that starts here; `None` where no raw string starts.
    fn raw_hashes(&self) -> Option<usize> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let before = |back: usize| self.at.checked_sub(back).map(|place| self.source[place]);
        let prefix = before(1).filter(|byte| matches!(byte, b'b' | b'c'));
        let ahead_of_prefix = if prefix.is_some() { before(2) } else { before(1) };
        if ahead_of_prefix.is_some_and(is_word) {
            return None;
        }
        let hashes = self.source[self.at + 1..].iter().take_while(|&&byte| byte == b'#').count();
        (self.peek(1 + hashes) == Some(b'"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().expect("the caller saw a raw string here");
        for _ in 0..hashes + 2 {
            self.keep();
        }
        while let Some(byte) = self.peek(0) {
            let closes = byte == b'"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some(b'#'));
            if closes {
                (0..=hashes).for_each(|_| self.keep());
                return;
            }
            self.put(false, true);
        }
    }

    /// Blanks a character literal; keeps a lifetime.
    fn quote(&mut self) {
        let rest = std::str::from_utf8(&self.source[self.at + 1..]).unwrap_or_default();
        let mut letters = rest.chars();
        let length = match (letters.next(), letters.next()) {
            (Some('\\'), Some(_)) => rest[2..].find('\'').map(|place| place + 2),
            (Some(letter), Some('\'')) => Some(letter.len_utf8()),
            _ => None,
        };
        self.keep();
        if let Some(length) = length {
            (0..length).for_each(|_| self.blank());
            self.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        for (source, want) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x { y")"#, r#"f("     ")"#),
            (r#"f("\" {") }"#, r#"f("    ") }"#),
            ("r#\"a \" {\"# }", "r#\"     \"# }"),
            ("br\"{\" }", "br\" \" }"),
            ("r#fn {", "r#fn {"),
            ("bar\"{\"", "bar\" \""),
            ("'{' '\\'' '\\u{7d}' 'é' }", "' ' '  ' '      ' '  ' }"),
            ("fn f<'a>(x: &'a str) {", "fn f<'a>(x: &'a str) {"),
        ] {
            assert_eq!(code_of(source).text, want, "{source}");
        }
    }

    #[test]
    fn lines_that_begin_inside_a_string_are_marked() {
        let code = code_of("f(r\"one\ntwo\nthree\");\ng(\"a\\\nb\");\n");
        assert_eq!(code.begins_in_string, [false, true, true, false, true, false]);
        assert_eq!(code.text.lines().count(), 5);
    }

    #[test]
    fn a_quote_in_a_raw_string_ends_nothing() {
        assert_eq!(code_of("let s = r##\"\"# {\"##; }").text, "let s = r##\"    \"##; }");
    }
}

//! JSON in the layout of Ceph's tools: four spaces per level, one value per line, empty lists and objects
//! closed immediately.

use std::fmt::{self, Write};

/// Writes one document incrementally.
pub(super) struct Json<'w> {
    out: &'w mut dyn Write,
    /// For each open list or object: its closing bracket, and its number of values.
    open: Vec<(char, usize)>,
}

impl<'w> Json<'w> {
    pub fn new(out: &'w mut dyn Write) -> Self {
        Self { out, open: Vec::new() }
    }

    /// Opens an object: a member with the name `name`, or an element of a list.
    pub fn object(&mut self, name: Option<&str>) -> fmt::Result {
        self.open('{', '}', name)
    }

    /// Opens a list.
    pub fn list(&mut self, name: Option<&str>) -> fmt::Result {
        self.open('[', ']', name)
    }

    fn open(&mut self, left: char, right: char, name: Option<&str>) -> fmt::Result {
        self.lead_in(name)?;
        self.out.write_char(left)?;
        self.open.push((right, 0));
        Ok(())
    }

    /// Closes the innermost open list or object; the outermost also ends the line.
    pub fn close(&mut self) -> fmt::Result {
        let (right, values) = self.open.pop().expect("something is open");
        if values > 0 {
            write!(self.out, "\n{:1$}", "", 4 * self.open.len())?;
        }
        self.out.write_char(right)?;
        if self.open.is_empty() { self.out.write_char('\n') } else { Ok(()) }
    }

    pub fn number(&mut self, name: &str, value: impl fmt::Display) -> fmt::Result {
        self.lead_in(Some(name))?;
        write!(self.out, "{value}")
    }

    /// Writes an element of a list.
    pub fn element(&mut self, value: impl fmt::Display) -> fmt::Result {
        self.lead_in(None)?;
        write!(self.out, "{value}")
    }

    pub fn text(&mut self, name: &str, value: &str) -> fmt::Result {
        self.lead_in(Some(name))?;
        self.quoted(value)
    }

    fn lead_in(&mut self, name: Option<&str>) -> fmt::Result {
        let depth = self.open.len();
        if let Some((_, values)) = self.open.last_mut() {
            let comma = if *values > 0 { "," } else { "" };
            *values += 1;
            write!(self.out, "{comma}\n{:1$}", "", 4 * depth)?;
        }
        if let Some(name) = name {
            self.quoted(name)?;
            self.out.write_str(": ")?;
        }
        Ok(())
    }

    fn quoted(&mut self, text: &str) -> fmt::Result {
        self.out.write_char('"')?;
        for c in text.chars() {
            match c {
                '"' => self.out.write_str("\\\"")?,
                '\\' => self.out.write_str("\\\\")?,
                '\n' => self.out.write_str("\\n")?,
                '\t' => self.out.write_str("\\t")?,
                c if c < ' ' || c == '\u{7f}' => write!(self.out, "\\u{:04x}", u32::from(c))?,
                c => self.out.write_char(c)?,
            }
        }
        self.out.write_char('"')
    }
}

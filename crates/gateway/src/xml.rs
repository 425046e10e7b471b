//! The XML documents of S3: written as text, read as a small tree.

use quick_xml::events::Event;
use quick_xml::reader::Reader;

use crate::fault::{Code, Fault};

/// The namespace of all documents of S3.
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// The greatest depth of a document.
const DEPTH_MAX: usize = 8;

/// The most elements of a document: completing an upload of 10,000 parts with checksums takes fewer. An
/// element takes many more bytes in memory than the four that it takes in a document.
const ELEMENTS_MAX: usize = 1 << 17;

/// A document being written.
#[derive(Debug)]
pub struct Writer {
    text: String,
    open: Vec<&'static str>,
}

impl Writer {
    /// Begins a document with its outermost element.
    #[must_use]
    pub fn new(name: &'static str) -> Writer {
        let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{name} xmlns=\"{NAMESPACE}\">");
        Writer { text, open: vec![name] }
    }

    /// Writes an element with text.
    pub(crate) fn leaf(&mut self, name: &str, text: impl AsRef<str>) {
        self.text += &format!("<{name}>");
        escape(&mut self.text, text.as_ref());
        self.text += &format!("</{name}>");
    }

    /// Writes an element that contains others.
    pub fn within(&mut self, name: &'static str, fill: impl FnOnce(&mut Writer)) {
        self.text += &format!("<{name}>");
        self.open.push(name);
        fill(self);
        self.open.pop();
        self.text += &format!("</{name}>");
    }

    /// Ends the document and returns it.
    #[must_use]
    pub fn end(mut self) -> String {
        let name = self.open.pop().expect("the outermost element is open");
        self.text + &format!("</{name}>")
    }
}

/// Control characters are written as character references, as S3 does, although XML 1.0 parsers reject them.
fn escape(to: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\0'..='\x1f' | '\x7f' => to.push_str(&format!("&#x{:x};", u32::from(letter))),
            letter => to.push(letter),
        }
    }
}

/// An element of a parsed document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name, without a namespace.
    pub name: String,
    /// Its text, without that of its children.
    pub text: String,
    /// Its child elements, in order.
    pub children: Vec<Element>,
}

impl Element {
    /// The children with this name.
    pub fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of the first child with this name, without surrounding blanks.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&str> {
        self.children.iter().find(|child| child.name == name).map(|child| child.text.trim())
    }
}

/// Parses a document whose outermost element must have this name. Entities defined in it are not supported.
///
/// # Errors
/// If it is malformed, or another document.
pub fn parse(bytes: &[u8], name: &str) -> Result<Element, Fault> {
    let malformed = |why: String| Code::MalformedXml.because(format!("the document cannot be parsed: {why}"));
    let text = std::str::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    let mut elements = 0;
    let named =
        |name: &[u8]| Element { name: String::from_utf8_lossy(name).into_owned(), ..Element::default() };
    loop {
        let event = reader.read_event().map_err(|error| malformed(error.to_string()))?;
        elements += usize::from(matches!(event, Event::Start(_) | Event::Empty(_)));
        if elements > ELEMENTS_MAX {
            return Err(malformed(format!("it has more than {ELEMENTS_MAX} elements")));
        }
        let top = open.last_mut().expect("the document itself stays open");
        match event {
            Event::Start(start) => open.push(named(start.local_name().as_ref())),
            Event::Empty(start) => top.children.push(named(start.local_name().as_ref())),
            Event::End(_) => {
                let ended = open.pop().filter(|_| !open.is_empty());
                let ended = ended.ok_or_else(|| malformed("an element ends without a start".to_owned()))?;
                open.last_mut().expect("one is left").children.push(ended);
            }
            Event::Text(part) => top.text += &part.decode().map_err(|error| malformed(error.to_string()))?,
            Event::CData(part) => top.text += &part.decode().map_err(|error| malformed(error.to_string()))?,
            Event::GeneralRef(entity) => {
                let letter = entity.resolve_char_ref().map_err(|error| malformed(error.to_string()))?;
                let letter = letter.or(match &entity[..] {
                    b"lt" => Some('<'),
                    b"gt" => Some('>'),
                    b"amp" => Some('&'),
                    b"apos" => Some('\''),
                    b"quot" => Some('"'),
                    _ => None,
                });
                top.text.push(letter.ok_or_else(|| malformed("an entity is unknown".to_owned()))?);
            }
            Event::DocType(_) => return Err(malformed("it has a document type".to_owned())),
            Event::Eof => break,
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
        }
        if open.len() > DEPTH_MAX {
            return Err(malformed("it is nested too deeply".to_owned()));
        }
    }
    let document = open.pop().filter(|_| open.is_empty());
    let mut outermost = document.map(|document| document.children).unwrap_or_default();
    match outermost.pop() {
        Some(element) if outermost.is_empty() && element.name == name => Ok(element),
        _ => Err(malformed(format!("the root element must be `{name}`"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn documents_are_read_and_written() {
        let text = "<?xml version=\"1.0\"?><Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                    <Object><Key>a&amp;b &#x41;<![CDATA[<]]></Key></Object><Object><Key/></Object>\
                    <Quiet> true </Quiet></Delete>";
        let read = parse(text.as_bytes(), "Delete").expect("it is well formed");
        assert_eq!(
            (read.child("Quiet"), read.child("Object"), read.all("Object").count()),
            (Some("true"), Some(""), 2)
        );
        let keys: Vec<_> = read.all("Object").map(|object| object.child("Key")).collect();
        assert_eq!(keys, [Some("a&b A<"), Some("")]);
        let mut writer = Writer::new("A");
        writer.leaf("B", "<&\"\x01>");
        writer.within("C", |writer| writer.leaf("D", "d"));
        let want = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<A xmlns=\"{NAMESPACE}\">\
             <B>&lt;&amp;&quot;&#x1;&gt;</B><C><D>d</D></C></A>"
        );
        assert_eq!(writer.end(), want);
    }

    #[test]
    fn malformed_documents_are_refused() {
        let deep = format!("{}{}", "<Delete>".repeat(20), "</Delete>".repeat(20));
        for text in [
            "",
            "<Delete>",
            "</Delete>",
            "<Delete></Other>",
            "<Other/>",
            "<Delete/><Delete/>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><Delete>&b;</Delete>",
            "<Delete>&unknown;</Delete>",
            &deep,
        ] {
            assert!(parse(text.as_bytes(), "Delete").is_err(), "{text}");
        }
    }

    /// A document of 4 MiB could have a million elements, which took 150 MiB.
    #[test]
    fn documents_of_very_many_elements_are_refused() {
        let of = |count: usize| format!("<Delete>{}</Delete>", "<a/>".repeat(count - 1));
        assert!(parse(of(ELEMENTS_MAX).as_bytes(), "Delete").is_ok());
        assert!(parse(of(ELEMENTS_MAX + 1).as_bytes(), "Delete").is_err());
    }

    proptest! {
        #[test]
        fn text_is_read_as_written(text in "[^\\p{Cc}\\s]{0,20}") {
            let mut writer = Writer::new("A");
            writer.leaf("B", &text);
            let read = parse(writer.end().as_bytes(), "A").expect("it was just written");
            prop_assert_eq!(read.child("B"), Some(text.as_str()));
        }

        #[test]
        fn hostile_text_is_refused_or_read(text in "[<>&;/a!\\[\\]\"= -]{0,40}") {
            let _ = parse(text.as_bytes(), "a");
        }
    }
}

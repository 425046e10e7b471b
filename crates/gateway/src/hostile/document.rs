//! XML documents of requests.

use super::{reads_back, says_why};
use crate::xml::{Element, Writer, parse};

/// Any bytes as each document that a request can hold. What is read has no more elements and no more text
/// than there were bytes, and its texts are written and read as the same.
pub fn document(data: &[u8]) {
    for name in ["Delete", "CompleteMultipartUpload", "CreateBucketConfiguration"] {
        match parse(data, name) {
            Ok(element) => {
                assert_eq!(element.name, name);
                takes_little(&element, data.len());
                each_text(&element, &mut |text| {
                    // A document cannot hold this letter; we write it as S3 does, and no parser reads it.
                    if !text.contains('\0') {
                        reads_back(&text.to_owned(), written(text).as_ref());
                    }
                });
            }
            Err(fault) => says_why(&fault),
        }
    }
}

/// Names and texts are parts of the document, and the shortest element has four bytes.
pub(super) fn takes_little(element: &Element, length: usize) {
    fn sizes(element: &Element) -> (usize, usize) {
        let own = (1, element.name.len() + element.text.len());
        element.children.iter().map(sizes).fold(own, |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }
    let (elements, bytes) = sizes(element);
    // An empty name needs a prefix: `<a:/>`. The replacement of a letter reference is shorter than it.
    assert!(elements * 4 <= length && bytes <= length, "{elements} elements, {bytes} of {length} bytes");
}

fn each_text(element: &Element, look: &mut dyn FnMut(&str)) {
    look(&element.text);
    element.children.iter().for_each(|child| each_text(child, look));
}

/// A text as a document of ours holds it, read again.
pub(super) fn written(text: &str) -> Option<String> {
    let mut writer = Writer::new("Delete");
    writer.leaf("Key", text);
    let read = parse(writer.end().as_bytes(), "Delete").ok()?;
    read.children.into_iter().next().map(|key| key.text)
}

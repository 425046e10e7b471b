//! Percent-encoding of addresses, in the strict form that signatures need: every byte except letters, digits
//! and `-._~` is written as `%XX`.

use std::fmt::Write;

use crate::fault::{Code, Fault};

/// Escapes text; with `keeps_slash`, `/` is kept, as in the path of a signature.
#[must_use]
pub(crate) fn escape(text: &str, keeps_slash: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte))
            }
            b'/' if keeps_slash => escaped.push('/'),
            _ => write!(escaped, "%{byte:02X}").expect("a string takes what is written to it"),
        }
    }
    escaped
}

/// Decodes escapes; `+` stands for itself.
///
/// # Errors
/// If an escape is incomplete, or the result is not UTF-8.
pub(crate) fn unescape(text: &str) -> Result<String, Fault> {
    let fault = || Code::InvalidUri.because("the URI has an invalid percent escape");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16)).ok_or_else(fault);
        let (high, low) = (digit()?, digit()?);
        bytes.push((high * 16 + low) as u8);
    }
    String::from_utf8(bytes).map_err(|_| Code::InvalidUri.because("the URI is not UTF-8"))
}

/// The query parameters of an address, in order; one without `=` has an empty value.
///
/// # Errors
/// If an escape cannot be decoded.
pub(crate) fn parameters(query: &str) -> Result<Vec<(String, String)>, Fault> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((unescape(key)?, unescape(value)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_strict() {
        assert_eq!(escape("a b/ä~*+", true), "a%20b/%C3%A4~%2A%2B");
        assert_eq!(escape("a/b", false), "a%2Fb");
        assert_eq!(unescape("a%20b+%2b"), Ok("a b++".to_owned()));
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert!(unescape(bad).is_err(), "{bad}");
        }
        let read = parameters("uploads&a=b%3Dc&=d&&e=f=g").expect("it can be read");
        let want = [("uploads", ""), ("a", "b=c"), ("", "d"), ("e", "f=g")];
        assert_eq!(read, want.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_read(text in any::<String>(), keeps_slash: bool) {
            prop_assert_eq!(unescape(&escape(&text, keeps_slash)), Ok(text));
        }
    }
}

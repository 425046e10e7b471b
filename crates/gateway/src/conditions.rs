//! Conditions and ranges of requests (RFC 9110, sections 13 and 14), as far as S3 supports them.

use std::ops::Range;

use crate::attributes::Attributes;
use crate::dates::Moment;
use crate::fault::{Code, Fault};
use crate::request::Request;

/// Whether a list of tags contains this one; `*` matches any.
fn names(list: &str, etag: &str) -> bool {
    let tag = |text: &str| text.trim().trim_start_matches("W/").trim_matches('"') == etag;
    list.split(',').any(|one| one.trim() == "*" || tag(one))
}

fn date(request: &Request, header: &str) -> Option<Moment> {
    Moment::from_http(request.header(header)?)
}

/// Dates in headers have a resolution of one second.
fn is_later(modified: Moment, than: Moment) -> bool {
    modified.seconds() > than.seconds()
}

/// Checks the conditions of a read. Their headers begin with `prefix`, like those for the source of a copy.
///
/// # Errors
/// If a condition does not hold; the fault tells whether the object is unchanged.
pub(crate) fn check_read(request: &Request, prefix: &str, object: &Attributes) -> Result<(), Fault> {
    let header = |name: &str| format!("{prefix}{name}");
    let failed = |name: &str| Err(Code::PreconditionFailed.because(format!("`{name}` does not hold")));
    if let Some(list) = request.header(&header("if-match")) {
        if !names(list, &object.etag) {
            return failed("if-match");
        }
    } else if date(request, &header("if-unmodified-since"))
        .is_some_and(|date| is_later(object.modified, date))
    {
        return failed("if-unmodified-since");
    }
    // For the source of a copy, an unchanged object is a failed condition.
    let unchanged = if prefix.is_empty() { Code::NotModified } else { Code::PreconditionFailed };
    let same = || Err(unchanged.because("the object has not been changed"));
    if let Some(list) = request.header(&header("if-none-match")) {
        if names(list, &object.etag) {
            return same();
        }
    } else if date(request, &header("if-modified-since")).is_some_and(|date| !is_later(object.modified, date))
    {
        return same();
    }
    Ok(())
}

/// Checks the conditions of a write to an object that may or may not exist.
///
/// # Errors
/// If a condition does not hold.
pub(crate) fn check_write(request: &Request, object: Option<&Attributes>) -> Result<(), Fault> {
    let failed = |what: &str| Err(Code::PreconditionFailed.because(what));
    match (request.header("if-none-match"), object) {
        (Some("*"), Some(_)) => return failed("the object already exists"),
        (Some("*"), None) | (None, _) => {}
        (Some(_), _) => return Err(Code::NotImplemented.because("`if-none-match` of a write must be `*`")),
    }
    check_tag(request.header("if-match"), object)
}

/// Checks that an object has one of these tags, if any are given.
///
/// # Errors
/// If there is no object, or its tag is another one.
pub(crate) fn check_tag(list: Option<&str>, object: Option<&Attributes>) -> Result<(), Fault> {
    match (list, object) {
        (Some(_), None) => Err(Code::NoSuchKey.because("an ETag is given, but there is no object")),
        (Some(list), Some(object)) if !names(list, &object.etag) => {
            Err(Code::PreconditionFailed.because("the object's ETag differs"))
        }
        _ => Ok(()),
    }
}

/// The bytes that a `range` header requests from an object of this length; none if it requests all bytes or
/// cannot be parsed.
///
/// # Errors
/// If none of the requested bytes exists.
pub fn range(text: Option<&str>, length: u64) -> Result<Option<Range<u64>>, Fault> {
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let bounds = text.and_then(|text| text.trim().strip_prefix("bytes=")).and_then(|it| it.split_once('-'));
    let Some((first, last)) = bounds.map(|(first, last)| (first.trim(), last.trim())) else {
        return Ok(None);
    };
    let range = match (number(first), number(last)) {
        (None, Some(last)) if first.is_empty() => length.saturating_sub(last)..length,
        (Some(first), None) if last.is_empty() => first..length,
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        // Several ranges, and ranges that cannot be parsed, are ignored.
        _ => return Ok(None),
    };
    if range.is_empty() {
        return Err(Code::InvalidRange.because(format!("the object has {length} bytes")));
    }
    Ok(Some(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "Thu, 01 Jan 1970 00:00:09 GMT";
    const SAME: &str = "Thu, 01 Jan 1970 00:00:10 GMT";

    fn object() -> Attributes {
        Attributes { etag: "abc".to_owned(), modified: Moment(10_700), ..Attributes::default() }
    }

    fn request(headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        Request::new("GET", "/b/k", headers).expect("it can be read")
    }

    #[test]
    fn reads_have_conditions() {
        let check = |headers: &[(&str, &str)], want: Result<(), Code>| {
            let found = check_read(&request(headers), "", &object()).map_err(|fault| fault.code);
            assert_eq!(found, want, "{headers:?}");
        };
        check(&[], Ok(()));
        check(&[("if-match", "\"x\", \"abc\"")], Ok(()));
        check(&[("if-match", "*")], Ok(()));
        check(&[("if-match", "\"x\"")], Err(Code::PreconditionFailed));
        check(&[("if-none-match", "abc")], Err(Code::NotModified));
        check(&[("if-none-match", "W/\"abc\"")], Err(Code::NotModified));
        check(&[("if-none-match", "\"x\"")], Ok(()));
        check(&[("if-modified-since", SAME)], Err(Code::NotModified));
        check(&[("if-modified-since", BEFORE)], Ok(()));
        check(&[("if-modified-since", "yesterday")], Ok(()));
        check(&[("if-unmodified-since", SAME)], Ok(()));
        check(&[("if-unmodified-since", BEFORE)], Err(Code::PreconditionFailed));
        // The tag takes precedence over the date.
        check(&[("if-match", "abc"), ("if-unmodified-since", BEFORE)], Ok(()));
        check(&[("if-none-match", "x"), ("if-modified-since", SAME)], Ok(()));
        let copy = request(&[("x-amz-copy-source-if-none-match", "abc")]);
        let found = check_read(&copy, "x-amz-copy-source-", &object()).map_err(|fault| fault.code);
        assert_eq!(found, Err(Code::PreconditionFailed));
    }

    #[test]
    fn writes_have_conditions() {
        let check = |header: (&str, &str), is_there: bool, want: Result<(), Code>| {
            let object = Some(object()).filter(|_| is_there);
            let found = check_write(&request(&[header]), object.as_ref()).map_err(|fault| fault.code);
            assert_eq!(found, want, "{header:?} {is_there}");
        };
        check(("if-none-match", "*"), true, Err(Code::PreconditionFailed));
        check(("if-none-match", "*"), false, Ok(()));
        check(("if-none-match", "abc"), true, Err(Code::NotImplemented));
        check(("if-match", "\"abc\""), true, Ok(()));
        check(("if-match", "\"x\""), true, Err(Code::PreconditionFailed));
        check(("if-match", "\"abc\""), false, Err(Code::NoSuchKey));
        check(("a", "b"), true, Ok(()));
    }

    #[test]
    fn ranges_lie_in_the_object() {
        for (text, length, want) in [
            ("bytes=0-9", 100, Some(0..10)),
            ("bytes=90-200", 100, Some(90..100)),
            ("bytes=99-", 100, Some(99..100)),
            ("bytes=-10", 100, Some(90..100)),
            ("bytes=-200", 100, Some(0..100)),
            ("bytes=0-18446744073709551615", 100, Some(0..100)),
            ("bytes=1-2,4-5", 100, None),
            ("bytes=9-1", 100, None),
            ("bytes=-", 100, None),
            ("bytes=+1-2", 100, None),
            ("lines=1-2", 100, None),
        ] {
            assert_eq!(range(Some(text), length), Ok(want), "{text}");
        }
        assert_eq!(range(None, 5), Ok(None));
        for (text, length) in
            [("bytes=100-", 100), ("bytes=100-101", 100), ("bytes=-0", 100), ("bytes=0-", 0)]
        {
            let found = range(Some(text), length).map_err(|fault| fault.code);
            assert_eq!(found, Err(Code::InvalidRange), "{text}");
        }
    }
}

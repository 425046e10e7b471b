//! A request without its body: the parts that are signed, and those that select an operation.

use std::collections::BTreeMap;

use crate::escape::{parameters, unescape};
use crate::fault::{Code, Fault};

/// The head of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// The path with its escapes decoded: `/bucket/key`.
    pub path: String,
    /// Query parameters with their escapes decoded, in the order of the address.
    pub parameters: Vec<(String, String)>,
    /// Headers by lower-case name. Several values of one name are joined by commas.
    pub headers: BTreeMap<String, String>,
}

impl Request {
    /// A request from a method, an address without its host, and headers.
    ///
    /// # Errors
    /// If escapes or headers are not UTF-8.
    pub fn new<'h>(
        method: &str,
        target: &str,
        headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
    ) -> Result<Request, Fault> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut joined: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in headers {
            let value = std::str::from_utf8(value)
                .map_err(|_| Code::InvalidArgument.because(format!("the header `{name}` is not UTF-8")))?;
            let value = value.trim_matches([' ', '\t']);
            let all = joined.entry(name.to_ascii_lowercase());
            all.and_modify(|all| *all = [all, ",", value].concat()).or_insert_with(|| value.to_owned());
        }
        Ok(Request {
            method: method.to_owned(),
            path: unescape(path)?,
            parameters: parameters(query)?,
            headers: joined,
        })
    }

    /// The value of a header, by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The value of a query parameter.
    #[must_use]
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The bucket and key in the path; none if they are absent.
    #[must_use]
    pub(crate) fn resource(&self) -> (Option<&str>, Option<&str>) {
        let rest = self.path.strip_prefix('/').unwrap_or(&self.path);
        let (bucket, key) = match rest.split_once('/') {
            Some((bucket, key)) => (bucket, Some(key)),
            None => (rest, None),
        };
        (Some(bucket).filter(|it| !it.is_empty()), key.filter(|it| !it.is_empty()))
    }

    /// A header whose value is a whole number.
    ///
    /// # Errors
    /// If it holds anything else.
    pub fn number(&self, header: &str) -> Result<Option<u64>, Fault> {
        let text = self.header(header);
        text.map(|text| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let fault = || Code::InvalidArgument.because(format!("the header `{header}` is not a number"));
            text.parse().ok().filter(|_| digits).ok_or_else(fault)
        })
        .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_buckets_and_objects() {
        for (path, want) in [
            ("/", (None, None)),
            ("/b", (Some("b"), None)),
            ("/b/", (Some("b"), None)),
            ("/b/a%2Fb//c", (Some("b"), Some("a/b//c"))),
            ("/b//", (Some("b"), Some("/"))),
        ] {
            let request = Request::new("GET", path, []).expect("it can be read");
            assert_eq!(request.resource(), want, "{path}");
        }
    }

    #[test]
    fn headers_are_joined_and_numbers_read() {
        let headers: [(&str, &[u8]); 4] = [("A", b" x "), ("a", b"y"), ("n", b"12"), ("m", b"+1")];
        let request = Request::new("GET", "/?a=b", headers).expect("it can be read");
        assert_eq!((request.header("a"), request.parameter("a")), (Some("x,y"), Some("b")));
        assert_eq!(request.number("n"), Ok(Some(12)));
        assert_eq!(request.number("absent"), Ok(None));
        assert!(request.number("m").is_err() && request.number("a").is_err());
    }
}

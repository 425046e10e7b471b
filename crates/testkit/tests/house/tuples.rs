//! No parameter of a function is a tuple of more than two values: three values without names are
//! distinguished by their order alone, so they are a struct. Closures, tests and generated code do not count.

use crate::text::code_of;
use crate::tree::File;

const VALUES_MAX: usize = 2;

pub fn faults(file: &File) -> Vec<String> {
    let is_source =
        file.path.starts_with("crates/") && file.path.contains("/src/") && file.path.ends_with(".rs");
    if !is_source || file.path.contains("/tests/") || file.path.ends_with("tests.rs") {
        return Vec::new();
    }
    let text = code_of(&file.text).text;
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let found = parameters(code).into_iter().filter(|found| found.values > VALUES_MAX);
    found
        .map(|Parameter { line, function, values }| {
            format!(
                "{}:{line}: `{function}` takes a tuple of {values} values: name them in a struct",
                file.path
            )
        })
        .collect()
}

struct Parameter {
    line: usize,
    function: String,
    values: usize,
}

/// The parameters of all functions that are tuples, with the number of their values.
fn parameters(code: &str) -> Vec<Parameter> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("fn ") {
        let stands_alone = !code[..start].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let rest = &code[start + 3..];
        let named = rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        let Some(name) = named.map(|end| &rest[..end]).filter(|name| stands_alone && !name.is_empty()) else {
            continue;
        };
        let Some(list) = list_of(&rest[name.len()..]) else { continue };
        let line = code[..start].matches('\n').count() + 1;
        for parameter in parts(list) {
            let Some((_, kind)) = split_kind(parameter) else { continue };
            let values = kind
                .strip_prefix('(')
                .and_then(|kind| kind.strip_suffix(')'))
                .map_or(0, |inner| parts(inner).into_iter().filter(|part| !part.trim().is_empty()).count());
            if values > 0 {
                found.push(Parameter { line, function: name.to_owned(), values });
            }
        }
    }
    found
}

/// The list of parameters that follows the name of a function and its generic parameters.
fn list_of(rest: &str) -> Option<&str> {
    let generic = if rest.starts_with('<') { end_of(rest, 0)? + 1 } else { 0 };
    let open = generic + rest[generic..].find('(').filter(|at| rest[generic..][..*at].trim().is_empty())?;
    Some(&rest[open + 1..end_of(rest, open)?])
}

/// Where the bracket at `open` is closed. The arrow `->` closes none.
fn end_of(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_i32;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b'>' if at > 0 && matches!(bytes[at - 1], b'-' | b'=') => {}
            b')' | b']' | b'}' | b'>' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts of a list between the commas that stand in no bracket.
fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
    while at < list.len() {
        match list.as_bytes()[at] {
            b'(' | b'[' | b'{' | b'<' => at = end_of(list, at).unwrap_or(list.len() - 1),
            b',' => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&list[from..]);
    parts
}

/// A parameter's pattern and its type without references.
fn split_kind(parameter: &str) -> Option<(&str, &str)> {
    let trimmed = parameter.trim();
    // The pattern may be a tuple or a struct with colons in it: the type follows the last closing bracket
    // of it.
    let pattern = if trimmed.starts_with('(') { end_of(trimmed, 0)? } else { 0 };
    let colon = pattern + trimmed[pattern..].find(':')?;
    let mut kind = trimmed[colon + 1..].trim();
    while let Some(referred) = kind.strip_prefix('&') {
        kind = referred.trim_start();
        if kind.starts_with('\'') {
            kind = kind.split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim_start();
        }
        kind = kind.strip_prefix("mut ").unwrap_or(kind).trim_start();
    }
    Some((&trimmed[..colon], kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let file =
            |text: &str| File { path: "crates/a/src/b.rs".to_owned(), bytes: 0, text: text.to_owned() };
        faults(&file(text)).len()
    }

    #[test]
    fn planted_tuples_are_found() {
        assert_eq!(found("fn long((a, b, c): (u32, Vec<(u8, u8)>, f64)) {}"), 1);
        assert_eq!(found("pub fn long<'a, T: Fn(u8) -> u8>(&self, many: &'a mut (u32, [u8; 3], T)) {}"), 1);
        assert_eq!(found("fn twice(one: (u8, u8, u8), two: (u8, u8, u8)) -> (u8, u8, u8) {}"), 2);
    }

    #[test]
    fn two_values_and_other_brackets_pass() {
        assert_eq!(found("fn pair((a, b): (u32, (u8, u8)), f: impl Fn(u8, u8, u8) -> u8) {}"), 0);
        assert_eq!(found("fn list(all: &[(u8, u8, u8)], unit: (), Seen { a, b, c }: Seen) {}"), 0);
        assert_eq!(found("#[cfg(test)]\nmod tests {\n fn long(a: (u8, u8, u8)) {}\n}"), 0);
        assert_eq!(found("// fn long(a: (u8, u8, u8))\n"), 0);
    }
}

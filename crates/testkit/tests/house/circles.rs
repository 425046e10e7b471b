//! Circular dependencies between the files of a crate. A file and the files below it (`model.rs` and
//! `model/audit.rs`) count as one module: paths between them do not count. Tests do not count either.

use std::collections::BTreeMap;

use crate::text::code_of;
use crate::tree::File;

/// Files that may be in a cycle, each with its reason.
const ALLOWED: &[(&[&str], &str)] = &[(
    &["crates/kernel/src/context.rs", "crates/kernel/src/model.rs", "crates/kernel/src/outcome.rs"],
    "a model is given a context of itself, and its audit what it has committed: three types that name each other",
)];

/// Every cycle of files, each listed once.
pub fn faults(files: &[File]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        let name = file.path.split("/src/").next().unwrap_or_default();
        crates.entry(name).or_default().push(file);
    }
    crates.values().flat_map(|files| circles(files)).collect()
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs") && !path.contains("tests")
}

/// The path of a file's module, without `crate`.
fn module_of(path: &str) -> Vec<String> {
    let inner = path.split_once("/src/").map_or(path, |(_, inner)| inner).trim_end_matches(".rs");
    let mut module: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

fn circles(files: &[&File]) -> Vec<String> {
    let modules: Vec<Vec<String>> = files.iter().map(|file| module_of(&file.path)).collect();
    let at: BTreeMap<&[String], usize> =
        modules.iter().enumerate().map(|(at, module)| (module.as_slice(), at)).collect();
    let mut uses = vec![Vec::new(); files.len()];
    for (from, file) in files.iter().enumerate() {
        for path in paths(&file.text, &modules[from]) {
            let longest = (0..=path.len()).rev().find_map(|length| at.get(&path[..length]));
            let Some(&to) = longest else { continue };
            let halves = modules[from].starts_with(&modules[to]) || modules[to].starts_with(&modules[from]);
            if !halves && !uses[from].contains(&to) {
                uses[from].push(to);
            }
        }
    }
    let reach: Vec<Vec<bool>> = (0..files.len()).map(|from| reached(from, &uses)).collect();
    let mut told = vec![false; files.len()];
    let mut found = Vec::new();
    for from in 0..files.len() {
        let circle: Vec<usize> =
            (from..files.len()).filter(|&to| reach[from][to] && reach[to][from]).collect();
        if !told[from] && circle.len() > 1 {
            circle.iter().for_each(|&file| told[file] = true);
            let names: Vec<&str> = circle.iter().map(|&file| files[file].path.as_str()).collect();
            if !ALLOWED.iter().any(|(allowed, _)| *allowed == names) {
                found.push(format!("these use each other: {}", names.join(", ")));
            }
        }
    }
    found
}

/// The files that a file refers to.
fn reached(from: usize, uses: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; uses.len()];
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for &next in &uses[file] {
            if !seen[next] {
                seen[next] = true;
                open.push(next);
            }
        }
    }
    seen
}

/// Every path that begins with `crate`, `self` or `super`, from the crate's root.
fn paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code = code_of(text).text;
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for word in ["crate::", "self::", "super::"] {
        for (start, _) in code.match_indices(word) {
            let before = code[..start].chars().next_back();
            if before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_' && letter != ':') {
                follow(&code[start..], &mut Vec::new(), &mut found);
            }
        }
    }
    found.into_iter().filter_map(|path| absolute(&path, module)).collect()
}

/// Parses a path, or each path of a group in braces; returns the rest of the text.
fn follow<'a>(mut rest: &'a str, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let depth = before.len();
    loop {
        rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            while !rest.trim_start().starts_with('}') && !rest.trim_start().is_empty() {
                rest = follow(rest, before, found).trim_start();
                rest = rest.strip_prefix(',').unwrap_or(rest);
            }
            before.truncate(depth);
            return rest.trim_start().strip_prefix('}').unwrap_or("");
        }
        let length =
            rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        before.push(rest[..length].to_owned());
        rest = &rest[length..];
        match rest.strip_prefix("::") {
            Some(inner) if length > 0 => rest = inner,
            _ => break,
        }
    }
    found.push(before.clone());
    before.truncate(depth);
    // Anything before the next comma or brace is an alias, or not a path.
    rest.find([',', '}', ';']).map_or("", |end| &rest[end..])
}

fn absolute(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let mut whole = match path.first()?.as_str() {
        "crate" => Vec::new(),
        _ => module.to_vec(),
    };
    let up = path.iter().take_while(|word| *word == "super").count();
    whole.truncate(whole.len().checked_sub(up)?);
    let down = path.iter().skip_while(|word| matches!(word.as_str(), "crate" | "self" | "super"));
    whole.extend(down.cloned());
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: format!("crates/x/src/{path}"), bytes: 0, text: text.to_owned() }
    }

    #[test]
    fn a_planted_circle_is_found() {
        let files = |last: &str| {
            vec![
                file("lib.rs", "mod a; mod b; mod c; pub use a::A;"),
                file("a.rs", "use crate::{\n    b::{B, other},\n    c::C,\n};"),
                file("b.rs", "use super::c::C;"),
                file("c.rs", last),
            ]
        };
        assert_eq!(faults(&files("")), Vec::<String>::new());
        for planted in ["use crate::a::A;", "fn f() { super::a::g(); }", "use super::{a, b};"] {
            let found = faults(&files(planted));
            assert_eq!(found.len(), 1, "{planted}: {found:?}");
            assert!(
                found[0].ends_with("crates/x/src/a.rs, crates/x/src/b.rs, crates/x/src/c.rs"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn halves_of_a_module_and_tests_do_not_count() {
        let files = [
            file("model.rs", "mod audit;\nuse self::audit::audit;"),
            file("model/audit.rs", "use super::Model;\nuse crate::model::Server;"),
            file("a.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use crate::b::B; }"),
            file("b.rs", "use crate::a::f;"),
            file("c.rs", "// use crate::b::B;\nconst S: &str = \"crate::a\";"),
        ];
        assert_eq!(faults(&files), Vec::<String>::new());
    }
}

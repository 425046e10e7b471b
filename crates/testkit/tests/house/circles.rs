//! Circular dependencies between the files of a crate. A file and all files below it (`model.rs` and
//! `model/audit.rs`) are one module: paths between them do not count, and what one of them uses, the module
//! uses. So modules are compared with their siblings, at each level of the tree. Code that only tests compile
//! does not count. A path that ends at a re-export in `lib.rs` counts as a path to `lib.rs`, not further.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::code_of;
use crate::tree::File;

/// Modules that may be in a cycle, each with its reason.
const ALLOWED: &[(&[&str], &str)] = &[(
    &["crates/kernel/src/context.rs", "crates/kernel/src/model.rs", "crates/kernel/src/outcome.rs"],
    "a model is given a context of itself, and its audit what it has committed: three types that name each other",
)];

/// A module, as the names on the way to it from the crate's root.
type Module = Vec<String>;

/// Every cycle of modules, each listed once.
pub fn faults(files: &[File]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_source(&file.path)) {
        let name = file.path.split("/src/").next().unwrap_or_default();
        crates.entry(name).or_default().push(file);
    }
    crates.iter().flat_map(|(name, files)| circles(name, files)).collect()
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs") && !path.contains("tests")
}

/// The path of a file's module, without `crate`.
fn module_of(path: &str) -> Module {
    let inner = path.split_once("/src/").map_or(path, |(_, inner)| inner).trim_end_matches(".rs");
    let mut module: Module = inner.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// For each pair of siblings of which the first uses the second, a file and the module that it names.
type Uses = BTreeMap<Module, BTreeMap<Module, String>>;

fn circles(name: &str, files: &[&File]) -> Vec<String> {
    let modules: BTreeSet<Module> = files.iter().map(|file| module_of(&file.path)).collect();
    let mut uses: Uses = BTreeMap::new();
    for file in files {
        let from = module_of(&file.path);
        for path in paths(&file.text, &from) {
            let longest = (0..=path.len()).rev().map(|length| &path[..length]);
            let Some(to) = longest.into_iter().find(|module| modules.contains(*module)) else { continue };
            let shared = from.iter().zip(to).take_while(|(left, right)| left == right).count();
            if shared < from.len() && shared < to.len() {
                let example = format!("{} names {}", from.join("::"), to.join("::"));
                let siblings = uses.entry(from[..=shared].to_vec()).or_default();
                siblings.entry(to[..=shared].to_vec()).or_insert(example);
            }
        }
    }
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|from| (from, reached(from, &uses))).collect();
    let mut found: BTreeSet<Vec<&Module>> = BTreeSet::new();
    for (from, reached) in &reach {
        let back = |to: &&&Module| reach.get(**to).is_some_and(|further| further.contains(from));
        found.insert(reached.iter().filter(back).copied().collect());
    }
    found.iter().filter_map(|circle| fault_of(name, circle, &uses)).collect()
}

/// The modules that a module uses, and those that they use, and so on.
fn reached<'a>(from: &'a Module, uses: &'a Uses) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let next = uses.get(module).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.filter(|next| seen.insert(*next)));
    }
    seen
}

/// What is said of a circle; nothing of an empty or an allowed one.
fn fault_of(name: &str, circle: &[&Module], uses: &Uses) -> Option<String> {
    let names: Vec<String> =
        circle.iter().map(|module| format!("{name}/src/{}.rs", module.join("/"))).collect();
    if names.is_empty() || ALLOWED.iter().any(|(allowed, _)| *allowed == names) {
        return None;
    }
    let inside = circle.iter().flat_map(|from| &uses[*from]).filter(|(to, _)| circle.contains(to));
    let edges: Vec<&str> = inside.map(|(_, example)| example.as_str()).collect();
    Some(format!("these use each other: {} ({})", names.join(", "), edges.join("; ")))
}

/// Every path that begins with `crate`, `self` or `super`, from the crate's root.
fn paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code = without_tests(&code_of(text).text);
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

/// The code without each item that follows `#[cfg(test)]`, up to its semicolon or its closing brace.
fn without_tests(code: &str) -> String {
    let mut parts = code.split("#[cfg(test)]");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(&part[end_of_item(part)..]);
    }
    kept
}

fn end_of_item(code: &str) -> usize {
    let mut depth = 0_i32;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(byte, b';' | b'}') {
            return at + 1;
        }
    }
    code.len()
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
                found[0].contains("crates/x/src/a.rs, crates/x/src/b.rs, crates/x/src/c.rs (a names b;"),
                "{found:?}"
            );
        }
    }

    /// No file of these uses, by way of others, itself: a module does, by way of a file below it.
    #[test]
    fn a_planted_circle_through_a_child_of_another_module_is_found() {
        let files = [
            file("lib.rs", "mod a; mod b;"),
            file("a.rs", "use crate::b::deep::B;"),
            file("b.rs", "mod deep; use crate::a::A;"),
            file("b/deep.rs", "pub struct B;"),
        ];
        let found = faults(&files);
        assert_eq!(
            found,
            ["these use each other: crates/x/src/a.rs, crates/x/src/b.rs (a names b::deep; b names a)"]
        );
        assert_eq!(faults(&files[..2]), Vec::<String>::new());
    }

    #[test]
    fn a_planted_circle_of_siblings_below_a_module_is_found() {
        let files = [
            file("a.rs", "mod b; mod c;"),
            file("a/b.rs", "use super::c::C;"),
            file("a/c.rs", "mod d; pub struct C;"),
            file("a/c/d.rs", "use crate::a::b::B;"),
        ];
        assert_eq!(
            faults(&files),
            [
                "these use each other: crates/x/src/a/b.rs, crates/x/src/a/c.rs (a::b names a::c; a::c::d names a::b)"
            ]
        );
    }

    #[test]
    fn code_after_a_module_of_tests_counts() {
        for tests in ["mod tests;", "mod tests { fn f() { g(); } }", "fn f() { { g(); } }"] {
            let text = format!("#[cfg(test)]\n{tests}\nuse crate::b::B;");
            let files = [file("a.rs", &text), file("b.rs", "use crate::a::A;")];
            assert_eq!(faults(&files).len(), 1, "{tests}");
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

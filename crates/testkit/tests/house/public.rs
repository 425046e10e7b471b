//! `pub` is what another crate uses: each public item of a library is named outside it. Outside are other
//! crates, the tests, benches and examples of the crate itself, its program, the examples in its
//! documentation, what its exported macros expand to, and files of it that a test takes as its own modules.
//!
//! Names are compared as text, so an item also passes if something else has its name in a crate that depends
//! on this one, directly or not. A type, trait or constant that a public signature, field, variant or trait
//! names has to be public, and passes too. Tests within a library, and items that macros name, do not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::code_of;
use crate::tree::File;

/// Items that may be public although no other crate names them, `crate::name`, each with its reason.
const ALLOWED: &[(&str, &str)] = &[];

/// The crate whose items Python uses.
const OTHERS: [&str; 1] = ["python"];

const TEST_MODULE: &str = "#[cfg(test)]\nmod tests {";

/// A public item.
#[derive(Debug, PartialEq, Eq)]
struct Item {
    line: usize,
    kind: String,
    name: String,
    /// The type whose `impl` block has the item.
    of: String,
    /// What others must know to use the item: its signature, or all of an enum or a trait.
    signature: String,
}

/// Where a source file belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner<'a> {
    /// The folder of its package below `crates/`, or `fuzz`, `peers`.
    package: &'a str,
    /// Whether it is a part of the library, and not of a program, test, bench or example.
    is_library: bool,
}

struct Source<'a> {
    owner: Owner<'a>,
    file: &'a File,
    code: String,
}

pub fn faults(files: &[File]) -> Vec<String> {
    let library =
        |file: &'_ File| Some(file.path.strip_prefix("crates/")?.strip_suffix("/src/lib.rs")?.to_owned());
    let libraries: BTreeSet<String> = files.iter().filter_map(library).collect();
    let sources: Vec<Source<'_>> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .map(|file| Source { owner: owner(&file.path), file, code: code_of(&file.text).text })
        .collect();
    let users = users(&sources);
    let uses = uses(files);
    let mut faults = Vec::new();
    for library in libraries.iter().filter(|library| !OTHERS.contains(&library.as_str())) {
        let is_user = |user: &Owner<'_>| match user.package == library {
            true => !user.is_library,
            false => uses.get(user.package).is_some_and(|used| used.contains(library.as_str())),
        };
        let is_used = |name: &str| users.get(name).is_some_and(|all| all.iter().any(is_user));
        let is_own = |source: &&Source<'_>| source.owner == Owner { package: library, is_library: true };
        faults.extend(faults_of(library, sources.iter().filter(is_own), is_used));
    }
    faults
}

fn owner(path: &str) -> Owner<'_> {
    let (package, rest) = path.strip_prefix("crates/").unwrap_or(path).split_once('/').unwrap_or((path, ""));
    let source = rest.strip_prefix("src/").filter(|_| path.starts_with("crates/"));
    Owner { package, is_library: source.is_some_and(|file| file != "main.rs" && !file.starts_with("bin/")) }
}

/// The packages that each package uses, in its tests too, and those that they use, and so on.
fn uses(files: &[File]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let keys = file.text.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        uses.entry(owner(&file.path).package).or_default().extend(keys.filter_map(folder));
    }
    loop {
        let further: Vec<(&str, BTreeSet<&str>)> = uses
            .iter()
            .map(|(package, used)| {
                (*package, used.iter().filter_map(|used| uses.get(used)).flatten().copied().collect())
            })
            .collect();
        let before: usize = uses.values().map(BTreeSet::len).sum();
        for (package, used) in further {
            uses.entry(package).or_default().extend(used);
        }
        if uses.values().map(BTreeSet::len).sum::<usize>() == before {
            return uses;
        }
    }
}

/// The folder of one of our own packages below `crates/`.
fn folder(package: &str) -> Option<&str> {
    match package.strip_prefix("towtank") {
        Some("") => Some(package),
        other => other.and_then(|rest| rest.strip_prefix('-')),
    }
}

/// Who names each word.
type Users<'a> = BTreeMap<&'a str, BTreeSet<Owner<'a>>>;

fn users<'a>(sources: &'a [Source<'a>]) -> Users<'a> {
    let included: BTreeSet<String> = sources.iter().flat_map(included).collect();
    let mut users = Users::new();
    for Source { owner, file, code } in sources {
        let mut add = |text: &'a str, owner: Owner<'a>| {
            for word in words(text) {
                users.entry(word).or_default().insert(owner);
            }
        };
        add(code, *owner);
        let outside = Owner { is_library: false, ..*owner };
        if included.contains(&file.path) {
            add(code, outside);
        }
        examples(&file.text).into_iter().for_each(|line| add(line, outside));
        exported_macros(code).into_iter().for_each(|body| add(body, outside));
        // Attributes name functions of other crates in literals.
        let names_paths = |line: &&str| line.contains("with = \"") || line.contains("default = \"");
        file.text.lines().filter(names_paths).for_each(|line| add(line, *owner));
    }
    users
}

fn faults_of<'a>(
    library: &str,
    own: impl Iterator<Item = &'a Source<'a>>,
    is_used: impl Fn(&str) -> bool,
) -> Vec<String> {
    let (mut all, mut exposed) = (Vec::new(), BTreeSet::new());
    for Source { file, code, .. } in own.filter(|source| !is_test(&source.file.path)) {
        let code = code.split(TEST_MODULE).next().unwrap_or_default();
        let found = items(code);
        for item in &found {
            let others = words(&item.signature).filter(|word| *word != item.name && *word != item.of);
            exposed.extend(others.map(str::to_owned));
        }
        exposed.extend(associated(code));
        all.extend(found.into_iter().map(|item| (file.path.as_str(), item)));
    }
    let may = |item: &Item| {
        let place = format!("{library}::{}", item.name);
        ALLOWED.iter().any(|(allowed, _)| *allowed == place)
    };
    all.retain(|(_, item)| {
        let is_exposed = !["fn", "mod"].contains(&item.kind.as_str()) && exposed.contains(&item.name);
        // A field or a re-export has no kind: it exposes types, but is no item.
        !item.kind.is_empty() && !is_used(&item.name) && !is_exposed && !may(item)
    });
    let say = |(path, Item { line, kind, name, .. })| {
        format!("{path}:{line}: no other crate names the {kind} `{name}`: it need not be `pub`")
    };
    all.into_iter().map(say).collect()
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("tests.rs")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    parts.filter(|word| word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_'))
}

/// The files of the library that a test has as a module of its own.
fn included(source: &Source<'_>) -> Vec<String> {
    let paths = source.file.text.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"../"));
    let inside = paths.filter_map(|path| path.trim_start_matches("../").strip_suffix("\"]"));
    inside.map(|path| format!("crates/{}/{path}", source.owner.package)).collect()
}

/// The lines of examples in comments of documentation.
fn examples(text: &str) -> Vec<&str> {
    let mut is_example = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_example = false;
            continue;
        };
        if comment.trim_start().starts_with("```") {
            is_example = !is_example;
        } else if is_example {
            found.push(comment);
        }
    }
    found
}

/// The bodies of macros that other crates expand.
fn exported_macros(code: &str) -> Vec<&str> {
    let parts = code.split("#[macro_export]\n").skip(1);
    parts.map(|part| part.split("\n}\n").next().unwrap_or_default()).collect()
}

/// The words of associated types, and the bounds of `impl` blocks.
fn associated(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in code.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("type ") {
            found.extend(words(trimmed).map(str::to_owned));
        } else if trimmed.starts_with("impl<") {
            found.extend(words(until_closed(&trimmed[4..])).map(str::to_owned));
        }
    }
    found
}

/// The text from its first bracket until that is closed. The arrow `->` closes none.
fn until_closed(text: &str) -> &str {
    let mut depth = 0_u32;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '<' | '{' | '(' | '[' => depth += 1,
            '>' if before == '-' || before == '=' => {}
            '>' | '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &text[..at];
                }
            }
            _ => {}
        }
        before = letter;
    }
    text
}

/// The public items of a file.
fn items(code: &str) -> Vec<Item> {
    let (mut found, mut at, mut of) = (Vec::new(), 0, String::new());
    for (index, line) in code.lines().enumerate() {
        let rest = &code[at..];
        at += line.len() + 1;
        if line.starts_with("impl") {
            of = implemented(rest);
        } else if line.starts_with('}') {
            of.clear();
        }
        let trimmed = line.trim_start();
        let Some(declared) = trimmed.strip_prefix("pub ") else { continue };
        let rest = rest.trim_start();
        let (kind, name) = kind_and_name(declared);
        let whole = match kind {
            "enum" | "trait" => until_closed(&rest[rest.find('{').unwrap_or(0)..]),
            _ => "",
        };
        let head = match kind {
            "const" | "static" => rest.split('=').next(),
            "type" => rest.split(';').next(),
            "" => Some(line),
            _ => rest.split(['{', ';']).next(),
        };
        let signature = format!("{} {whole}", head.unwrap_or_default());
        let (kind, name) = (kind.to_owned(), name.to_owned());
        found.push(Item { line: index + 1, kind, name, of: of.clone(), signature });
    }
    found
}

/// The type of an `impl` block.
fn implemented(rest: &str) -> String {
    let head = rest.split('{').next().unwrap_or_default();
    let head = head.split(" where").next().unwrap_or_default();
    let head = match head.strip_prefix("impl") {
        Some(generic) if generic.starts_with('<') => &generic[until_closed(generic).len() + 1..],
        Some(plain) => plain,
        None => head,
    };
    let subject = head.rsplit(" for ").next().unwrap_or_default();
    words(subject.split('<').next().unwrap_or_default()).last().unwrap_or_default().to_owned()
}

/// The kind and the name of what follows `pub`; both are empty for a field, and for what a macro names.
fn kind_and_name(declared: &str) -> (&str, &str) {
    let mut parts = declared.split_whitespace().peekable();
    let mut kind = "";
    while let Some(part) = parts.next() {
        let next = parts.peek().copied().unwrap_or_default();
        match part {
            "fn" | "struct" | "enum" | "trait" | "type" | "static" | "mod" | "union" => kind = part,
            "const" if !["fn", "unsafe", "async", "extern"].contains(&next) => kind = part,
            "const" | "unsafe" | "async" | "extern" => continue,
            _ => return ("", ""),
        }
        break;
    }
    let name = parts.next().unwrap_or_default();
    if name.starts_with('$') {
        return ("", "");
    }
    (kind, words(name).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(library: &str, other: &str) -> Vec<String> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), bytes: 0, text: text.to_owned() };
        let files = [
            file("crates/a/src/lib.rs", library),
            file("crates/b/src/lib.rs", "use towtank_a::Used;"),
            file("crates/b/Cargo.toml", "[dependencies]\ntowtank-a.workspace = true\n"),
            file("crates/c/src/lib.rs", "fn done() {}"),
            file("crates/a/tests/c.rs", other),
        ];
        let names = |fault: String| fault.split('`').nth(1).map(str::to_owned);
        faults(&files).into_iter().filter_map(names).collect()
    }

    #[test]
    fn planted_items_that_only_their_own_crate_names_are_found() {
        let text = "pub struct Used;\nimpl Used {\n    pub const fn done(&self) {}\n}\npub const MOST: u32 = 1;\n\
                    pub mod inner;\nfn within() -> Used { done(MOST) }\n// inner\n";
        assert_eq!(found(text, ""), ["done", "MOST", "inner"]);
        assert_eq!(found(text, "towtank_a::inner::all(MOST, \"done\")"), ["done"]);
        assert_eq!(found(text, "inner::all(MOST).done()"), [""; 0]);
        assert_eq!(found("pub struct Own;\nimpl Own {\n    pub fn new() -> Own {}\n}\n", "new"), ["Own"]);
    }

    #[test]
    fn what_a_public_signature_names_passes() {
        for text in [
            "pub struct Given;\npub fn give(\n    from: u32,\n) -> Given {\n}\n",
            "pub struct Given;\npub struct Used {\n    pub given: Given,\n}\n",
            "pub struct Given;\npub enum Used {\n    A { given: Given },\n}\n",
            "pub trait Given {}\npub trait Used: Given {}\n",
            "pub struct Given;\nimpl Iterator for Used {\n    type Item = Given;\n}\n",
        ] {
            assert_eq!(found(text, "give"), [""; 0], "{text}");
        }
        assert_eq!(found("pub struct Given;\nfn give() -> Given {}\n", ""), ["Given"]);
    }

    #[test]
    fn examples_and_exported_macros_are_outside_and_tests_within_are_not() {
        assert_eq!(found("/// ```\n/// show()\n/// ```\npub fn show() {}\n", ""), [""; 0]);
        assert_eq!(found("/// show()\npub fn show() {}\n", ""), ["show"]);
        assert_eq!(
            found("#[macro_export]\nmacro_rules! m {\n    $crate::show()\n}\npub fn show() {}\n", ""),
            [""; 0]
        );
        let text = "pub fn show() {}\n#[cfg(test)]\nmod tests {\n    show();\n    pub fn own() {}\n}\n";
        assert_eq!(found(text, ""), ["show"]);
        assert_eq!(found(text, "#[path = \"../src/lib.rs\"]\nmod library;\n"), [""; 0]);
        assert_eq!(found("pub fn done() {}\n", ""), ["done"], "`c` does not depend on `a`");
    }
}

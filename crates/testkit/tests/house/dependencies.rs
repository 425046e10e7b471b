//! What the dependencies may be: licences, sources and pinned versions by `deny.toml`, and one version of
//! each crate, apart from those listed here. `cargo deny` checks the same, and advisories, in `make nightly`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Crates that are there in several versions, each with what keeps the older one.
const TWICE: &[(&str, &str)] = &[
    ("block-buffer", "blake2 of snow"),
    ("chacha20", "chacha20poly1305 of snow"),
    ("cpufeatures", "curve25519-dalek and poly1305 of snow"),
    ("crypto-common", "aead and cipher of snow"),
    ("digest", "blake2 of snow"),
    ("embedded-io", "postcard, which uses neither here"),
    ("getrandom", "snow"),
    ("hashbrown", "dashmap and quick_cache of fjall"),
    ("rand", "argmin-math of argmin"),
    ("rand_core", "argmin-math of argmin"),
    ("syn", "the macros of miette, and of dependencies of snow and fjall"),
    ("unicode-width", "miette"),
];

/// A package of the dependency graph.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    /// Where it comes from; none for our own.
    pub source: Option<String>,
    /// Its requirements, with the name of what is required; those with a path are left out.
    pub requires: Vec<(String, String)>,
}

/// All packages that are compiled for the platforms that `deny.toml` names.
pub struct Graph {
    pub packages: Vec<Package>,
}

/// What is allowed.
pub struct Rules {
    pub licenses: BTreeSet<String>,
    pub sources: BTreeSet<String>,
}

pub fn rules(root: &Path) -> Rules {
    let text = std::fs::read_to_string(root.join("deny.toml")).expect("the checkout has it");
    let rules: toml::Table = text.parse().expect("it is TOML");
    let list = |part: &str, key: &str| -> BTreeSet<String> {
        let list = rules[part][key].as_array().expect("it is a list");
        list.iter().map(|item| item.as_str().expect("it is text").to_owned()).collect()
    };
    Rules { licenses: list("licenses", "allow"), sources: list("sources", "allow-registry") }
}

pub fn read(root: &Path) -> Graph {
    let platforms = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
    let filters = platforms.iter().flat_map(|platform| ["--filter-platform", platform]);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--all-features", "--format-version", "1"])
        .args(filters)
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
    Graph { packages: packages.iter().map(package).collect() }
}

fn package(entry: &serde_json::Value) -> Package {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let requires = entry["dependencies"].as_array().expect("a package lists dependencies").iter();
    Package {
        name: text(&entry["name"]).expect("a package has a name"),
        version: text(&entry["version"]).expect("a package has a version"),
        license: text(&entry["license"]),
        source: text(&entry["source"]),
        requires: requires
            .filter(|dependency| dependency["path"].is_null())
            .map(|dependency| {
                let field = |key: &str| text(&dependency[key]).expect("a requirement has it");
                (field("name"), field("req"))
            })
            .collect(),
    }
}

/// Everything that is not allowed, in words.
pub fn faults(graph: &Graph, rules: &Rules) -> Vec<String> {
    let mut faults: Vec<String> = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in &graph.packages {
        let Package { name, version, source, .. } = package;
        versions.entry(name).or_default().insert(version);
        faults.extend(license_fault(package, rules));
        match source {
            Some(source) if !rules.sources.iter().any(|allowed| source == &format!("registry+{allowed}")) => {
                faults.push(format!("`{name}` comes from {source}, which deny.toml does not list"));
            }
            Some(_) => {}
            None => {
                let any = package.requires.iter().filter(|(_, versions)| versions == "*");
                faults.extend(any.map(|(used, _)| {
                    format!("`{name}` takes any version of `{used}`: name the least that it needs")
                }));
            }
        }
    }
    let twice = |name: &str| TWICE.iter().any(|(known, _)| *known == name);
    for (name, versions) in &versions {
        if versions.len() > 1 && !twice(name) {
            let versions: Vec<&str> = versions.iter().copied().collect();
            faults.push(format!(
                "`{name}` is compiled in versions {}: use one, or list it here with what keeps the older",
                versions.join(" and ")
            ));
        }
    }
    let is_one = |name: &str| versions.get(name).is_none_or(|versions| versions.len() < 2);
    let stale = TWICE.iter().filter(|(name, _)| graph.packages.len() > 100 && is_one(name));
    faults.extend(stale.map(|(name, _)| format!("`{name}` is listed here, and there is one version of it")));
    faults
}

fn license_fault(package: &Package, rules: &Rules) -> Option<String> {
    let Package { name, license, .. } = package;
    let Some(license) = license else { return Some(format!("`{name}` names no licence")) };
    // `MIT/Apache-2.0` is an older form of `MIT OR Apache-2.0`.
    let license = license.replace('/', " OR ");
    let expression = match spdx::Expression::parse(&license) {
        Ok(expression) => expression,
        Err(error) => {
            return Some(format!("`{name}`: `{license}` is no licence expression: {}", error.reason));
        }
    };
    let is_allowed = expression.evaluate(|required| rules.licenses.contains(&required.to_string()));
    (!is_allowed).then(|| format!("`{name}` is under {license}, which deny.toml does not allow"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATES_IO: &str = "https://github.com/rust-lang/crates.io-index";

    fn of(name: &str, version: &str, license: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: license.map(str::to_owned),
            source: Some(format!("registry+{CRATES_IO}")),
            requires: Vec::new(),
        }
    }

    fn found(packages: Vec<Package>) -> Vec<String> {
        let licenses = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
        faults(&Graph { packages }, &Rules { licenses, sources: [CRATES_IO.to_owned()].into() })
    }

    #[test]
    fn what_is_allowed_is_no_fault() {
        for license in ["MIT", "MIT/GPL-3.0-only", "GPL-2.0-only OR Apache-2.0 WITH LLVM-exception"] {
            assert_eq!(found(vec![of("good", "1.0.0", Some(license))]), [""; 0], "{license}");
        }
        assert_eq!(found(vec![of("syn", "2.0.0", Some("MIT")), of("syn", "3.0.0", Some("MIT"))]), [""; 0]);
    }

    #[test]
    fn each_rule_finds_what_breaks_it() {
        let bad = |license: Option<&str>, words: &str| {
            let found = found(vec![of("bad", "1.0.0", license)]);
            assert!(found.len() == 1 && found[0].contains(words), "{license:?}: {found:?}");
        };
        bad(Some("MIT AND GPL-3.0-only"), "is under MIT AND GPL-3.0-only");
        bad(Some("Apache-2.0 WITH Classpath-exception-2.0"), "deny.toml does not allow");
        bad(Some("as you like"), "is no licence expression");
        bad(None, "names no licence");
        let two = found(vec![of("two", "1.0.0", Some("MIT")), of("two", "2.0.0", Some("MIT"))]);
        assert!(two.len() == 1 && two[0].contains("versions 1.0.0 and 2.0.0"), "{two:?}");
        let elsewhere =
            Package { source: Some("git+https://example.org".to_owned()), ..of("a", "1.0.0", Some("MIT")) };
        assert!(found(vec![elsewhere])[0].contains("comes from git+https://example.org"));
        let requires = vec![("serde".to_owned(), "*".to_owned())];
        let ours = Package { source: None, requires, ..of("ours", "0.1.0", Some("MIT")) };
        assert!(found(vec![ours])[0].contains("takes any version of `serde`"));
    }

    /// A graph large enough to be a whole one, in which each listed crate has two versions, and then one
    /// has one.
    #[test]
    fn what_is_listed_and_no_longer_there_twice_is_found() {
        let filler = (0..100).map(|number| of(&format!("filler-{number}"), "1.0.0", Some("MIT")));
        let both = |name: &str| ["1.0.0", "2.0.0"].map(|version| of(name, version, Some("MIT")));
        let whole: Vec<Package> = TWICE.iter().flat_map(|(name, _)| both(name)).chain(filler).collect();
        assert_eq!(found(whole.clone()), [""; 0]);
        let (name, _) = TWICE[0];
        let less = whole.into_iter().filter(|it| it.name != name || it.version != "1.0.0").collect();
        assert_eq!(found(less), [format!("`{name}` is listed here, and there is one version of it")]);
    }
}

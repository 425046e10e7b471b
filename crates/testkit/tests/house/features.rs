//! Dependencies must have the same features whether one of our crates is built or all are: otherwise building
//! the tests of one crate compiles its dependencies a second time. What brings this about is
//! `crates/features`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The sets of features with which each package is compiled: two where it is compiled for macros, too.
pub type Compiled = BTreeMap<String, BTreeSet<String>>;

/// What is compiled for the tests of all crates, and for those of each alone.
pub fn read(root: &Path, names: &[String]) -> (Compiled, BTreeMap<String, Compiled>) {
    let all = tree_of(root, &["--workspace"]);
    let each = std::thread::scope(|scope| {
        let trees: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(move || (name.clone(), tree_of(root, &["--package", name]))))
            .collect();
        trees.into_iter().map(|tree| tree.join().expect("it does not panic")).collect()
    });
    (all, each)
}

fn tree_of(root: &Path, what: &[&str]) -> Compiled {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--edges", "normal,build,dev", "--prefix", "none"])
        .args(["--no-dedupe", "--format", "{p}|{f}"])
        .args(what)
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    compiled(&String::from_utf8_lossy(&output.stdout))
}

fn compiled(text: &str) -> Compiled {
    let mut compiled = Compiled::new();
    for (package, features) in text.lines().filter_map(|line| line.split_once('|')) {
        let name: Vec<&str> = package.split(' ').take(2).collect();
        compiled.entry(name.join(" ")).or_default().insert(features.to_owned());
    }
    compiled
}

/// Each package with other features in the build of one crate than in that of all.
pub fn faults(all: &Compiled, each: &BTreeMap<String, Compiled>) -> Vec<String> {
    let mut others: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (crate_name, alone) in each {
        for (package, features) in alone {
            let known = all.get(package);
            let strange = features.iter().filter(|one| !known.is_some_and(|known| known.contains(*one)));
            strange.for_each(|one| others.entry((package, one)).or_default().push(crate_name));
        }
    }
    let fault = |((package, features), crates): ((&str, &str), Vec<&str>)| {
        let wanted: Vec<&str> = all.get(package).into_iter().flatten().map(String::as_str).collect();
        format!(
            "`{package}` has the features [{features}] when `{}` is built alone, and [{}] when all are: name \
             it in crates/features/Cargo.toml with the latter",
            crates[0],
            wanted.join("] or [")
        )
    };
    others.into_iter().map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_with_fewer_features_is_found() {
        let all = compiled("serde v1.0.2|alloc,std\nsyn v3.0.0 (proc-macro)|full\nsyn v3.0.0|\n");
        let alone = |text: &str| BTreeMap::from([("towtank-units".to_owned(), compiled(text))]);
        assert_eq!(faults(&all, &alone("serde v1.0.2|alloc,std\nsyn v3.0.0|full\n")), [""; 0]);
        let found = faults(&all, &alone("serde v1.0.2|std\nsyn v3.0.0|\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("`serde v1.0.2` has the features [std] when `towtank-units`"),
            "{found:?}"
        );
        assert!(found[0].contains("and [alloc,std] when all are"), "{found:?}");
    }
}

//! Allowed dependencies between crates. A crate may use crates of a strictly lower rank; ranks stand in each
//! `Cargo.toml` under `[package.metadata.layer]`. Tests may also use `testkit`, which ranks above all and
//! which nothing else may use; `features`, which has no code, ranks below all.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const TESTKIT: &str = "towtank-testkit";
const FEATURES: &str = "towtank-features";

pub struct Package {
    name: String,
    rank: Option<u64>,
    uses: Vec<Use>,
}

impl Package {
    pub fn name(&self) -> &str {
        &self.name
    }
}

struct Use {
    name: String,
    in_tests_only: bool,
}

/// The workspace's own crates and their dependencies on each other.
pub fn read(root: &Path) -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("cargo metadata lists packages");
    packages.iter().map(package).collect()
}

fn package(entry: &serde_json::Value) -> Package {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let own = |dependency: &&serde_json::Value| dependency["path"].is_string();
    let uses = entry["dependencies"].as_array().expect("a package lists dependencies").iter().filter(own);
    Package {
        name: text(&entry["name"]),
        rank: entry["metadata"]["layer"]["rank"].as_u64(),
        uses: uses
            .map(|dependency| Use {
                name: text(&dependency["name"]),
                in_tests_only: dependency["kind"] == "dev",
            })
            .collect(),
    }
}

/// Every crate without a rank and every dependency that does not point to a lower rank, in words.
pub fn faults(packages: &[Package]) -> Vec<String> {
    let ranks: BTreeMap<&str, u64> =
        packages.iter().filter_map(|package| Some((package.name.as_str(), package.rank?))).collect();
    let mut faults = Vec::new();
    for package in packages {
        let Some(rank) = package.rank else {
            faults.push(format!("`{}` has no rank: add [package.metadata.layer] rank = N", package.name));
            continue;
        };
        faults.extend(package.uses.iter().filter_map(|edge| edge_fault(&package.name, rank, edge, &ranks)));
    }
    faults
}

fn edge_fault(user: &str, rank: u64, edge: &Use, ranks: &BTreeMap<&str, u64>) -> Option<String> {
    let used = edge.name.as_str();
    if used == TESTKIT {
        let fault = || format!("`{user}` uses `{TESTKIT}` outside its tests: make it a dev-dependency");
        return (!edge.in_tests_only).then(fault);
    }
    match ranks.get(used) {
        Some(_) if used == FEATURES => None,
        None => Some(format!("`{user}` uses `{used}`, which has no rank")),
        Some(&other) if other >= rank => Some(format!(
            "`{user}` (rank {rank}) uses `{used}` (rank {other}): a dependency must have a lower rank"
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(name: &str, rank: u64, uses: &[(&str, bool)]) -> Package {
        let edge = |&(name, in_tests_only): &(&str, bool)| Use { name: name.to_owned(), in_tests_only };
        Package { name: name.to_owned(), rank: Some(rank), uses: uses.iter().map(edge).collect() }
    }

    /// `units` below `kernel` and `report`, `testkit` above all, and one crate under test.
    fn faults_with(extra: Package) -> Vec<String> {
        faults(&[
            crate_of("units", 0, &[]),
            crate_of("kernel", 2, &[("units", false), (TESTKIT, true)]),
            crate_of("report", 2, &[("units", false)]),
            crate_of(TESTKIT, 99, &[("kernel", false)]),
            extra,
        ])
    }

    #[test]
    fn edges_that_go_down_pass() {
        for uses in [&[][..], &[("kernel", false)], &[("report", true)], &[(TESTKIT, true)]] {
            assert_eq!(faults_with(crate_of("studies", 4, uses)), Vec::<String>::new(), "{uses:?}");
        }
    }

    #[test]
    fn planted_edges_that_do_not_go_down_are_found() {
        for (rank, used, in_tests_only, want) in [
            (1, "kernel", false, "`planted` (rank 1) uses `kernel` (rank 2)"),
            (2, "report", false, "`planted` (rank 2) uses `report` (rank 2)"),
            (0, "kernel", true, "`planted` (rank 0) uses `kernel` (rank 2)"),
            (4, TESTKIT, false, "outside its tests"),
            (4, "stranger", false, "which has no rank"),
        ] {
            let found = faults_with(crate_of("planted", rank, &[(used, in_tests_only)]));
            assert!(matches!(&found[..], [one] if one.contains(want)), "{found:?} should say {want}");
        }
    }

    #[test]
    fn a_crate_without_a_rank_is_found() {
        let unranked = Package { name: "stray".to_owned(), rank: None, uses: Vec::new() };
        assert_eq!(faults_with(unranked), ["`stray` has no rank: add [package.metadata.layer] rank = N"]);
    }

    #[test]
    fn metadata_is_read_as_cargo_writes_it() {
        let entry = serde_json::json!({
            "name": "towtank-kernel",
            "metadata": {"layer": {"rank": 2}},
            "dependencies": [
                {"name": "towtank-units", "path": "crates/units", "kind": null},
                {"name": "towtank-testkit", "path": "crates/testkit", "kind": "dev"},
                {"name": "serde", "kind": null}
            ]
        });
        let read = package(&entry);
        assert_eq!((read.name.as_str(), read.rank), ("towtank-kernel", Some(2)));
        let uses: Vec<_> = read.uses.iter().map(|edge| (edge.name.as_str(), edge.in_tests_only)).collect();
        assert_eq!(uses, [("towtank-units", false), ("towtank-testkit", true)]);
    }
}

//! Lists the scenario files, so that each file in `scenarios/` is built in without being named elsewhere.
//!
//! Two checkouts may share one target directory (`CARGO_TARGET_DIR`), and cargo takes a package at the same
//! path in both for the same one: it runs this script again only if a watched file or variable has changed
//! since. Scenarios older than the last build of the other checkout have not. So cargo also watches
//! `TOWTANK_CHECKOUT`, which `.cargo/config.toml` sets to the folder of the checkout, and the watched paths
//! are relative to the package. `tests/library/two_checkouts.rs` builds two in turn. Not covered: a cargo
//! that is called from outside the checkouts (`--manifest-path`), which does not read that file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The path of the scenarios from the package's folder.
const SCENARIOS: &str = "../../scenarios";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=TOWTANK_CHECKOUT");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCENARIOS}");
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = package.join(SCENARIOS).canonicalize()?;
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in files {
        let path = file.strip_prefix(&root).expect("it was found under the root").display().to_string();
        writeln!(
            code,
            "    Builtin {{ path: {path:?}, text: include_str!({:?}) }},",
            file.display().to_string()
        )
        .expect("writing to a string");
    }
    code.push(']');
    fs::write(PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("scenarios.rs"), code)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

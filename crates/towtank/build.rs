//! Lists the scenario files, so that each one added to `scenarios/` is in the binary without being named anywhere else.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = manifest_dir.join("../../scenarios").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
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
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

//! Both tools, each run in its own folder.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An empty folder.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crush").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder can be made");
    path
}

/// Our tool.
pub fn ours(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towtank"));
    command.arg("crush").args(arguments).current_dir(folder).env_clear().env("LANG", "C.UTF-8");
    command.stdin(Stdio::null()).output().expect("the binary can be run")
}

/// The real crushtool.
pub fn theirs(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("crushtool");
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.output().expect("crushtool can be run")
}

/// Whether the real crushtool is installed.
pub fn there() -> bool {
    if Command::new("crushtool").arg("--help").output().is_ok() {
        return true;
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "crushtool is missing: install Debian's ceph-base");
    println!("skipped: crushtool is not installed (Debian: ceph-base)");
    false
}

/// Names of the golden maps.
pub fn maps() -> Vec<String> {
    let golden = golden();
    let files = fs::read_dir(&golden).expect("the golden maps are there").flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".bin.gz").map(str::to_owned)).collect();
    names.sort();
    names
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../placement/tests/golden/maps")
}

/// Copies a golden map into a folder, as `map.bin`.
pub fn put(name: &str, folder: &Path) {
    let file = fs::File::open(golden().join(format!("{name}.bin.gz"))).expect("the map is there");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("it is packed by gzip");
    fs::write(folder.join("map.bin"), bytes).expect("a file can be written");
}

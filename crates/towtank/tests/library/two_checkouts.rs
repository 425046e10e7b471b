//! Two checkouts with one target directory: each has its own scenarios built in, though cargo takes their
//! packages for the same.
//!
//! The build script and cargo's settings are those of this repository; the package around them is minimal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAIN: &str = r#"
struct Builtin { path: &'static str, text: &'static str }
const ALL: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));
fn main() { for one in ALL { print!("{} {};", one.path, one.text) } }
"#;

/// A checkout with one scenario of its own and one common to both, under the name of the real package.
fn checkout(at: &Path, name: &str, settings: &str) -> PathBuf {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = at.join(name);
    let files = [
        (".cargo/config.toml", settings),
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n"),
        (
            "crates/towtank/Cargo.toml",
            "[package]\nname = \"towtank\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        ("crates/towtank/build.rs", &fs::read_to_string(ours.join("build.rs")).expect("it is there")),
        ("crates/towtank/src/main.rs", MAIN),
        ("scenarios/both.toml", name),
        (&format!("scenarios/papers/{name}.toml"), "own"),
    ];
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }
    root
}

/// The scenarios of a program built in this checkout.
fn built_in(checkout: &Path, target: &Path) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline"]).current_dir(checkout).env("CARGO_TARGET_DIR", target);
    // The cargo that runs this test has set it for this repository.
    cargo.env_remove("TOWTANK_CHECKOUT");
    let output = cargo.output().expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the scenarios are text")
}

/// The scenarios built into `first`, then into `second`, then into `first` again.
fn in_turn(name: &str, settings: &str) -> [String; 3] {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join("two_checkouts").join(name);
    if at.exists() {
        fs::remove_dir_all(&at).expect("the folder of an earlier run can be removed");
    }
    let [first, second] = ["first", "second"].map(|name| checkout(&at, name, settings));
    let target = at.join("target");
    [&first, &second, &first].map(|checkout| built_in(checkout, &target))
}

const FIRST: &str = "both.toml first;papers/first.toml own;";
const SECOND: &str = "both.toml second;papers/second.toml own;";

#[test]
fn each_checkout_has_its_own_scenarios() {
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cargo/config.toml");
    let settings = fs::read_to_string(settings).expect("the repository has settings for cargo");
    assert_eq!(in_turn("safe", &settings), [FIRST, SECOND, FIRST]);
}

/// Shows that the test can fail: without the settings the second one has the scenarios of the first build.
#[test]
fn without_the_settings_they_are_mixed_up() {
    // All three variables, since cargo merges the settings of parent folders: those of this repository.
    let settings = "[env]\nTOWTANK_CHECKOUT = { value = \"the same\", relative = false, force = true }\n";
    assert_eq!(in_turn("mixed", settings), [FIRST, FIRST, FIRST]);
}

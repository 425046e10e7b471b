//! The cores of the store name no socket, thread, file, lock or clock, so that a simulation can drive them:
//! what they need of these is an argument, and what they want is a value.

use crate::text::code_of;
use crate::tree::File;

/// The files of the cores.
const CORES: [&str; 7] = [
    "crates/store/src/client/asking.rs",
    "crates/store/src/monitor/state.rs",
    "crates/store/src/osd/core.rs",
    "crates/store/src/osd/core/",
    "crates/store/src/osd/line.rs",
    "crates/store/src/osd/links.rs",
    "crates/store/src/osd/pace.rs",
];

/// What they do not name.
const NEVER: [&str; 11] = [
    "std::net",
    "std::thread",
    "std::fs",
    "std::process",
    "mpsc",
    "Mutex",
    "Condvar",
    "Instant",
    "SystemTime",
    "crate::clock",
    "println!",
];

pub fn faults(file: &File) -> Vec<String> {
    if !CORES.iter().any(|core| file.path.starts_with(core)) {
        return Vec::new();
    }
    let code = code_of(&file.text).text;
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let named = NEVER.iter().filter(|name| code.contains(**name));
    named.map(|name| format!("{}: a core names `{name}`", file.path)).collect()
}

/// The cores that are not there.
pub fn missing(files: &[File]) -> Vec<String> {
    let is_there = |core: &&str| files.iter().any(|file| file.path.starts_with(*core));
    CORES.iter().filter(|core| !is_there(core)).map(|core| format!("{core}: no such file")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_clock_is_found() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), bytes: 0, text: text.to_owned() };
        let clock = "fn f() { let now = std::time::Instant::now(); }";
        assert_eq!(faults(&file("crates/store/src/osd/core/room.rs", clock)).len(), 1);
        assert_eq!(faults(&file("crates/store/src/osd/pump.rs", clock)).len(), 0, "it is a shell");
        let tests = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{ {clock} }}");
        assert_eq!(faults(&file("crates/store/src/osd/line.rs", &tests)).len(), 0);
        assert_eq!(missing(&[file("crates/store/src/osd/core.rs", "")]).len(), CORES.len() - 1);
    }
}

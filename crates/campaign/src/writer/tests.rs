//! Whatever the disk does, a file is either the old one or the new one.

use std::fs;

use super::*;
use crate::faults::{Fault, FaultyDisk};
use crate::scratch::Scratch;

fn writer(fault: Fault) -> Writer {
    Writer::on(Arc::new(FaultyDisk::new(fault)), Inputs::default())
}

fn leftovers(dir: &Path) -> usize {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| is_temporary(name.to_str().unwrap())).count()
}

#[test]
fn a_full_disk_leaves_the_old_file_and_no_litter() {
    let dir = Scratch::new();
    let path = dir.file("report.json", "old");
    let error = writer(Fault::FullFrom(0)).replace(&path, b"new and longer").unwrap_err();
    let message = error.to_string().replace(dir.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!(message, @"cannot write `DIR/report.json`: no storage space; an older file there is unchanged; free some space or write elsewhere, then run the same command again; stored results are kept");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(leftovers(dir.path()), 0);
}

#[test]
fn a_death_at_any_step_leaves_the_old_file_or_the_new_one() {
    let mut seen = Vec::new();
    for step in 0..3 {
        let dir = Scratch::new();
        let path = dir.file("report.json", "old");
        let _ = writer(Fault::DiesAt(step)).replace(&path, b"new");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text == "old" || text == "new", "step {step}: {text}");
        let after = writer(Fault::None);
        after.sweep_up(dir.path());
        assert_eq!(leftovers(dir.path()), 0, "step {step}");
        after.replace(&path, b"newer").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
        seen.push(text);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["new", "old"], "the faults must reach both sides of the rename");
}

#[test]
fn an_input_is_never_written_over() {
    let dir = Scratch::new();
    let input = dir.file("crush.json", "precious");
    let writer = Writer::new(Inputs::new([&input]));
    let error = writer.replace(&input, b"results").unwrap_err();
    let message = error.to_string().replace(dir.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!(message, @"writing `DIR/crush.json` would overwrite the input `DIR/crush.json`; choose another place for the results");
    assert_eq!(fs::read_to_string(&input).unwrap(), "precious");
    #[cfg(unix)]
    {
        let link = dir.path().join("report.json");
        std::os::unix::fs::symlink(&input, &link).unwrap();
        writer.replace(&link, b"results").unwrap_err();
        let hard = dir.path().join("report.csv");
        fs::hard_link(&input, &hard).unwrap();
        writer.replace(&hard, b"results").unwrap_err();
        assert_eq!(fs::read_to_string(&input).unwrap(), "precious");
    }
}

#[test]
fn an_input_that_looks_like_litter_stays() {
    let dir = Scratch::new();
    let input = dir.file(".map.towtank-tmp", "precious");
    Writer::new(Inputs::new([&input])).sweep_up(dir.path());
    assert_eq!(fs::read_to_string(&input).unwrap(), "precious");
}

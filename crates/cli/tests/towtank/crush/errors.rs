//! Refused input, with our messages.

use super::tool::{folder, ours, put};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each command has a folder of its own: tests of this file run at the same time.
static COMMANDS: AtomicUsize = AtomicUsize::new(0);

fn refuse(arguments: &[&str]) -> String {
    let folder = folder(&format!("errors{}", COMMANDS.fetch_add(1, Ordering::Relaxed)));
    put("h6x4_straw2", &folder);
    fs::write(folder.join("bad.txt"), "device 0 a\ntype 1 root\nroot r {\n\talg straw3\n}\n")
        .expect("it can be written");
    let output = ours(&folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("errors are text")
}

#[test]
fn errors_say_what_to_do() {
    insta::assert_snapshot!(refuse(&["-c", "bad.txt", "-o", "map.bin"]), @r"
    error: there is no bucket algorithm `straw3`
      --> bad.txt:4:6
    hint: use uniform, list, tree, straw or straw2
    ");
    insta::assert_snapshot!(refuse(&["-i", "bad.txt", "--tree"]), @r"
    error: not a binary CRUSH map: it starts with 0x69766564 instead of 0x00010000
      --> bad.txt
    hint: the file looks like a text map: compile it first with -c FILE -o MAP
    ");
    insta::assert_snapshot!(refuse(&["-i", "map.bin"]), @r"
    error: nothing to do is given
    hint: say what to do with the map, such as --test or --tree; `towtank crush --help` lists it all
    ");
    insta::assert_snapshot!(refuse(&["-i", "map.bin", "--reweight-item", "osd.99", "1"]), @r"
    error: the map has no item `osd.99`
    hint: did you mean `osd.9`?
    ");
    insta::assert_snapshot!(refuse(&["-i", "map.bin", "--remove-item", "host1"]), @r"
    error: bucket `host1` contains 4 items
    hint: remove or move them first
    ");
    insta::assert_snapshot!(refuse(&["-i", "map.bin", "--move", "host1", "--loc", "root", "default"]), @r"
    error: `host1` is already at root=default
    hint: leave the move out
    ");
    insta::assert_snapshot!(refuse(&["-i", "map.bin", "--add-item", "30", "1", "osd.30"]), @r"
    error: `osd.30` has no location
    hint: add `--loc TYPE NAME` with a bucket type of the map
    ");
    insta::assert_snapshot!(refuse(&["--build", "--num_osds", "4", "host", "straw9", "2"]), @r"
    error: there is no bucket algorithm `straw9`
    hint: use uniform, list, tree, straw or straw2
    ");
    insta::assert_snapshot!(refuse(&["-i", "map.bin", "--tree", "extra"]), @r"
    error: `extra` belongs to no flag
    hint: only --build takes words without a flag, its layers
    ");
}

#[test]
fn other_flags_of_crushtool_are_refused_by_name() {
    for flag in ["--simulate", "--reclassify", "--bucket-tree", "--min-rule", "--set-subtree-class"] {
        let said = refuse(&["-i", "map.bin", "--test", flag]);
        assert!(said.starts_with(&format!("error: towtank crush has no `{flag}`\n")), "{said}");
    }
}

/// crushtool makes the last of several changes of one kind only, and says nothing of the others.
#[test]
fn a_change_given_twice_is_refused() {
    insta::assert_snapshot!(refuse(&["-i", "map.bin", "--reweight-item", "osd.1", "1", "--reweight-item", "osd.2", "2"]), @r"
    error: `--reweight-item` is given 2 times, but a command makes one such change
    hint: run the command once for each change, on the map that the one before wrote
    ");
    for twice in [
        &["--remove-item", "osd.1", "--remove-item", "osd.2"][..],
        &["--add-bucket", "hx", "host", "--add-bucket", "hy", "host"],
        &["--move", "host1", "--move", "host2", "--loc", "root", "default"],
        &["--add-item", "30", "1", "osd.30", "--add-item", "31", "1", "osd.31", "--loc", "host", "host1"],
        &["--update-item", "1", "1", "osd.1", "--update-item", "2", "1", "osd.2", "--loc", "host", "host1"],
        &[
            "--create-replicated-rule",
            "a",
            "default",
            "host",
            "--create-replicated-rule",
            "b",
            "default",
            "host",
        ],
        &[
            "--create-simple-rule",
            "a",
            "default",
            "host",
            "firstn",
            "--create-simple-rule",
            "b",
            "default",
            "host",
            "firstn",
        ],
        &["--remove-rule", "a", "--remove-rule", "b"],
    ] {
        let refused = refuse(&[&["-i", "map.bin", "-o", "new.bin"], twice].concat());
        assert!(refused.contains(&format!("`{}` is given 2 times", twice[0])), "{refused}");
    }
}

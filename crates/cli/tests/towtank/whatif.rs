//! `towtank whatif` as users run it: changes in the order of the command line.

use std::fs;
use std::path::PathBuf;

use super::tool::{Folder, Said};

const EXPORTS: [&str; 3] = ["crush.txt", "osd_dump.json", "pg_dump.json.gz"];

fn whatif(folder: &Folder, changes: &[&str]) -> Said {
    let usual = ["whatif", "--crush-map", EXPORTS[0], "--osd-dump", EXPORTS[1], "--pg-dump", EXPORTS[2]];
    folder.run(&[&usual, changes, &["--quiet"]].concat())
}

#[test]
fn changes_are_made_in_the_order_of_the_command_line() {
    let folder = Folder::new("whatif-order");
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/cluster");
    for file in EXPORTS {
        folder.write(file, fs::read(examples.join(file)).expect("the example has it"));
    }
    let (add, drain) = (["--add-host", "h9=4x3.638:hdd@default"], ["--drain", "host=h9"]);
    let right = whatif(&folder, &[add, drain].concat());
    assert!(right.stdout.contains("host=h9 drained: safe. No data move"), "{}", right.stdout);
    let wrong = whatif(&folder, &[drain, add].concat());
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("there is no device or bucket called `h9`"), "{}", wrong.stderr);
    let listed = whatif(&folder, &["--change", "add-host h9=4x3.638:hdd@default", drain[0], drain[1]]);
    let front = |said: &Said| said.stdout.lines().last().map(str::to_owned);
    assert_eq!(front(&listed), front(&right));
}

//! `towtank whatif` as users run it: changes in the order of the command line.

use super::tool::{EXPORTS, Folder, Said};

fn whatif(folder: &Folder, changes: &[&str]) -> Said {
    folder.run(&[&["whatif"], &EXPORTS[..], changes, &["--quiet"]].concat())
}

#[test]
fn changes_are_made_in_the_order_of_the_command_line() {
    let folder = Folder::with_cluster("whatif-order");
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

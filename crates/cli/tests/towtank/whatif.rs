//! `towtank whatif` as users run it: changes in the order of the command line.

use insta::assert_snapshot;

use super::tool::{EXPORTS, Folder, Said};

fn whatif(folder: &Folder, changes: &[&str]) -> Said {
    folder.run(&[&["whatif"], &EXPORTS[..], changes, &["--quiet"]].concat())
}

#[test]
fn changes_are_made_in_the_order_of_the_command_line() {
    let folder = Folder::with_cluster("whatif-order");
    let (add, drain) = (["--add-host", "h9=4x3.638:hdd@default"], ["--drain", "host=h9"]);
    let right = whatif(&folder, &[add, drain].concat());
    assert!(right.stdout.contains("host=h9 drained: no data move.               SAFE"), "{}", right.stdout);
    let wrong = whatif(&folder, &[drain, add].concat());
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("there is no device or bucket called `h9`"), "{}", wrong.stderr);
    let listed = whatif(&folder, &["--change", "add-host h9=4x3.638:hdd@default", drain[0], drain[1]]);
    let front = |said: &Said| said.stdout.lines().next().map(str::to_owned);
    assert_eq!(front(&listed), front(&right));
}

/// The change that is wrong is marked, among flags as in a file.
#[test]
fn a_wrong_change_is_marked() {
    let folder = Folder::with_cluster("whatif-wrong");
    assert_snapshot!(whatif(&folder, &["--mark-out", "osd.5", "--reweight", "osd.3=2", "--drain", "host=h1"]), @r#"
    error: `changes` is "reweight osd.3=2": the override is 2, but overrides go from 0 to 1
      --> --mark-out osd.5 --reweight osd.3=2 --drain host=h1
                                      ^^^^^^^
    hint: for the weight in the map, usually the size in TiB, use `crush_reweight`
    exit 2
    "#);
    let [map, dump, groups] = [EXPORTS[1], EXPORTS[3], EXPORTS[5]];
    folder.write(
        "wrong.toml",
        format!(
            "study = \"whatif\"\ncrush_map = \"{map}\"\nosd_dump = \"{dump}\"\npg_dump = \"{groups}\"\n\
             changes = [\n    \"mark-out osd.5\",\n    \"returns osd.3@1h\",\n]\n"
        ),
    );
    assert_snapshot!(folder.run(&["run", "wrong.toml", "--quiet"]), @r#"
    error: `changes` has "returns osd.3@1h": osd.3 has not failed before 1h
      --> wrong.toml:7:5
    hint: say when it fails: --fail osd.3
    exit 2
    "#);
}

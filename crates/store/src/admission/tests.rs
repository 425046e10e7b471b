//! Each state in which a directory is not what belongs in its place, and what is said of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::identity::{make, make_all, move_aside};
use crate::map::{Change, OsdState};
use crate::settings::Settings;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("towtank-identity-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn home(&self) -> Home {
        Home::at(&self.0)
    }

    /// A cluster whose daemons have all started once, and the monitor's map of it.
    fn made(&self) -> (Home, ClusterMap) {
        let home = self.home();
        home.make(&Settings::default()).expect("it can be made");
        let register = Register::open(home.directory()).expect("it was just made");
        let mut osds = BTreeMap::new();
        for (osd, incarnation) in register.devices {
            start(&home, osd, 1);
            osds.insert(osd, OsdState { last_run: Some(1), ..OsdState::begins_with(incarnation) });
        }
        let (temporary, gone) = (BTreeMap::new(), Vec::new());
        (home, ClusterMap { epoch: 4, oldest: 1, change: Change::Osds, osds, temporary, gone })
    }
}

/// What a daemon does when it starts and reaches the monitor.
fn start(home: &Home, osd: u32, run: u64) {
    std::fs::write(home.path(&format!("osd.{osd}/version")), "tables").expect("it can be written");
    let mut identity = Identity::of_osd(home.directory(), osd).expect("it is there");
    identity.runs.begin(run);
    identity.keep(home.directory()).expect("it starts");
}

fn rename(home: &Home, from: &str, to: &str) {
    std::fs::rename(home.path(from), home.path(to)).expect("it can be renamed");
}

fn remove(home: &Home, name: &str) {
    std::fs::remove_dir_all(home.path(name)).expect("it can be removed");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("it can be made");
    for entry in std::fs::read_dir(from).expect("it is there").flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("it can be copied");
    }
}

/// What is said when a device is started, without the path of the test.
fn said(home: &Home, map: &ClusterMap, osd: u32) -> String {
    let text = check(home, map, osd).err().map_or("it starts".to_owned(), |error| error.to_string());
    text.replace(&home.directory().display().to_string(), "DIR")
}

#[test]
fn what_belongs_in_its_place_starts() {
    let folder = Folder::new("sound");
    let (home, map) = folder.made();
    assert!((0..3).all(|osd| said(&home, &map, osd) == "it starts"));
    // A run of which the monitor has not heard.
    start(&home, 1, 2);
    assert_eq!(said(&home, &map, 1), "it starts");
    assert!(check(&home, &map, 3).is_err());
}

#[test]
fn missing_and_empty_directories_are_refused() {
    let folder = Folder::new("missing");
    let (home, map) = folder.made();
    remove(&home, "osd.0");
    assert_eq!(said(&home, &map, 0), "osd.0: there is nothing in `DIR/osd.0`");
    std::fs::create_dir(home.path("osd.0")).expect("it can be made");
    assert_eq!(said(&home, &map, 0), "osd.0: there is nothing in `DIR/osd.0`");
    let error = check(&home, &map, 0).expect_err("it is refused");
    assert!(error.hint().is_some_and(|hint| hint.contains("osd replace 0") && hint.contains("osd lost 0")));
    std::fs::remove_file(home.path("osd.1/version")).expect("it is there");
    assert_eq!(said(&home, &map, 1), "osd.1: the tables in `DIR/osd.1` are missing");
    std::fs::remove_file(home.path("osd.2/identity.json")).expect("it is there");
    assert_eq!(said(&home, &map, 2), "osd.2: `DIR/osd.2` has data, but no identity");
}

#[test]
fn a_new_directory_in_the_place_of_an_old_one_is_refused() {
    let folder = Folder::new("new");
    let (home, mut map) = folder.made();
    let aside = move_aside(home.directory(), 0).expect("it can be moved").expect("there is one");
    make(home.directory(), 0).expect("it can be made");
    assert_eq!(said(&home, &map, 0), "the directory of osd.0 is not the one that the monitor knows");
    // Once the monitor knows the new one, the old one is refused: it was declared lost.
    let former = map.member(0).expect("it is there");
    map.gone.push(former);
    let new = Identity::of_osd(home.directory(), 0).expect("it was just made").incarnation;
    map.osds.insert(0, OsdState::begins_with(new));
    assert_eq!(said(&home, &map, 0), "it starts");
    remove(&home, "osd.0");
    rename(&home, aside.file_name().and_then(|name| name.to_str()).expect("it has a name"), "osd.0");
    let lost = "the directory of osd.0 was declared lost, so its objects are not used";
    assert_eq!(said(&home, &map, 0), lost);
}

#[test]
fn an_older_copy_is_refused() {
    let folder = Folder::new("older");
    let (home, mut map) = folder.made();
    copy(&home.path("osd.0"), &home.path("copy"));
    start(&home, 0, 2);
    map.osds.get_mut(&0).expect("it is there").last_run = Some(2);
    assert_eq!(said(&home, &map, 0), "it starts");
    remove(&home, "osd.0");
    rename(&home, "copy", "osd.0");
    let older = "the directory of osd.0 is an older copy: the last run of the daemon is not in it";
    assert_eq!(said(&home, &map, 0), older);
    // However often it is started without the monitor.
    (3..9).for_each(|run| start(&home, 0, run));
    assert_eq!(said(&home, &map, 0), older);
}

#[test]
fn directories_of_others_are_refused() {
    let (folder, other) = (Folder::new("swapped"), Folder::new("another"));
    let (home, map) = folder.made();
    let (elsewhere, _) = other.made();
    rename(&home, "osd.0", "kept");
    rename(&home, "osd.1", "osd.0");
    rename(&home, "kept", "osd.1");
    assert_eq!(said(&home, &map, 0), "osd.0: `DIR/osd.0` holds osd.1");
    assert_eq!(said(&home, &map, 1), "osd.1: `DIR/osd.1` holds osd.0");
    remove(&home, "osd.2");
    copy(&elsewhere.path("osd.2"), &home.path("osd.2"));
    assert_eq!(said(&home, &map, 2), "osd.2: `DIR/osd.2` holds osd.2 of another cluster");
    remove(&home, "monitor");
    copy(&elsewhere.path("monitor"), &home.path("monitor"));
    let error = Register::open(home.directory()).expect_err("it is refused").to_string();
    assert!(error.ends_with("holds monitor of another cluster"), "{error}");
}

#[test]
fn a_monitor_without_its_maps_does_not_begin_again() {
    let folder = Folder::new("monitor");
    let (home, _) = folder.made();
    assert!(Register::open(home.directory()).is_ok(), "it has not begun");
    Register::open(home.directory()).and_then(|mut it| it.begin(home.directory())).expect("it begins");
    assert!(Register::open(home.directory()).is_err(), "its tables are missing");
    std::fs::write(home.path("monitor/version"), "tables").expect("it can be written");
    let register = Register::open(home.directory()).expect("its tables are there");
    assert!(register.may_begin().is_err(), "it has had maps");
    remove(&home, "monitor");
    let error = Register::open(home.directory()).expect_err("it is refused").to_string();
    assert!(error.starts_with("the maps of the monitor are missing in"), "{error}");
}

#[test]
fn another_format_is_refused() {
    let folder = Folder::new("format");
    let (home, map) = folder.made();
    let path = home.path("osd.0/identity.json");
    let text = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, text.replace("\"format\": 3", "\"format\": 2")).expect("it can be written");
    assert_eq!(
        said(&home, &map, 0),
        "`DIR/osd.0/identity.json` has format 2, and this version reads format 3"
    );
    std::fs::write(&path, "{}").expect("it can be written");
    assert_eq!(said(&home, &map, 0), "`DIR/osd.0/identity.json`: it does not say its format");
    std::fs::remove_file(home.path("cluster.id")).expect("it is there");
    assert_eq!(said(&home, &map, 1), "the cluster in `DIR` has no identity: another version made it");
}

#[test]
fn nothing_is_made_where_data_lie() {
    let folder = Folder::new("made");
    let (home, _) = folder.made();
    let error = make(home.directory(), 0).expect_err("it has data").to_string();
    assert!(error.ends_with("is not empty"), "{error}");
    // A cluster whose making was interrupted is made again.
    let half = Folder::new("half");
    make_all(&half.0, 2).expect_err("its directory does not exist");
    std::fs::create_dir_all(&half.0).expect("it can be made");
    make_all(&half.0, 2).expect("it can be made");
    half.home().make(&Settings::default()).expect("it can be made");
}

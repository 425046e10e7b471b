//! The examples that the help of studies shows: each is a right scenario.

use towtank::studies;

use crate::tool::{Folder, Said};

/// The words of a command line, as a shell takes them; only single quotes are known. Files of a cluster are
/// those of the guide.
fn words(line: &str) -> Vec<String> {
    let exports = "--crush-map crush.txt --osd-dump osd_dump.json --pg-dump pg_dump.json.gz";
    let line = line
        .replace("--report ceph-report.json --pg-dump pg.json", exports)
        .replace("--report ceph-report.json", exports)
        .replace("--crush-map map.bin --osd-dump osd.json --pg-dump pg.json", exports)
        .replace("--crush-map map.bin --osd-dump osd.json", "--crush-map crush.txt --osd-dump osd_dump.json");
    let parts = line.split('\'').enumerate();
    let of = |(at, part): (usize, &str)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    };
    parts.flat_map(of).collect()
}

/// What the command says of its scenario, without running it.
fn checked(folder: &Folder, line: &str) -> Said {
    let words = words(line);
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    // Subcommands that only answer have no scenario: they run.
    let runs = line.contains(" plan ") || line.contains(" tune ");
    let print: &[&str] = if runs { &[] } else { &["--print-scenario"] };
    folder.run(&[&words, print].concat())
}

#[test]
fn each_example_of_a_study_asks_what_can_be_answered() {
    let folder = Folder::with_cluster("examples");
    folder.write("trace.csv", "128166372003061629,usr,0,Read,7014609920,24576,41286\n");
    for study in studies() {
        for line in study.examples() {
            // A ring is no file of this test, and a search takes long. A map alone is no cluster.
            let has_dumps = line.contains("--osd-dump ") || !line.contains("--crush-map ");
            if line.contains("--ring ") || line.contains(" tune ") || !has_dumps {
                continue;
            }
            let said = checked(&folder, line);
            assert_eq!(said.code, 0, "{line}: {said}");
        }
    }
    // Planted: a value that the study refuses, which parses.
    assert_eq!(checked(&folder, "towtank queue --arrival-rate 3/s --service-rate 1/s").code, 2);
}

/// A line that is longer than a screen is wrapped inside an example, which cannot be copied then.
fn too_long(help: &str) -> Vec<&str> {
    let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let examples = examples.take_while(|line| !line.is_empty());
    examples.filter(|line| !line.starts_with("  towtank ") || line.chars().count() > 100).collect()
}

#[test]
fn examples_stand_on_one_line() {
    let folder = Folder::new("examples");
    for study in studies() {
        let help = folder.run(&[study.name(), "-h"]).data();
        assert_eq!(too_long(&help), [""; 0], "{}", study.name());
    }
    // Planted: an example that is wrapped.
    assert_eq!(too_long("Examples:\n  towtank queue\n  --service-rate 1/s\n\n"), ["  --service-rate 1/s"]);
}

//! Hostile input: extremely long lines, deep brackets, escape sequences, direction marks.

use insta::assert_snapshot;

use crate::tool::{COUNTER, Folder, Said};

fn run(args: &[&str]) -> Said {
    Folder::with_counter("hostile").run(&[&["run", "counter.toml"], args].concat())
}

fn file(text: impl AsRef<[u8]>) -> Said {
    let folder = Folder::new("hostile");
    folder.write("ring.toml", text);
    folder.run(&["run", "ring.toml"])
}

/// Characters that a terminal would interpret instead of showing them.
fn is_obeyed(c: char) -> bool {
    c != '\n' && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

#[test]
fn a_flag_without_end_is_cut_around_its_mistake() {
    let many = vec!["1"; 3_000].join(", ");
    assert_snapshot!(run(&["--set", &format!("stations.counter.servers=[{many}]")]), @"
    error: `stations.counter.servers` is a list, but it must be a whole number
      --> --set stations.counter.servers=[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,…
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: set `stations.counter.servers` to one value, without brackets
    exit 2
    ");
    assert_snapshot!(run(&["--set", &format!("sweep.\"stations.counter.servers\"=[{many}, \"many\"]")]), @r#"
    error: `stations.counter.servers` is "many", but it must be a whole number
      --> --set … 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "many"]
                                                         ^^^^^^
    hint: set `stations.counter.servers` to a value from 1 to 100000
    exit 2
    "#);
    assert_snapshot!(run(&["--fail-if", &format!("{}wait_meen > 3s", "wait_mean > 1h or ".repeat(500))]), @"
    error: unknown measure `wait_meen`
      --> --fail-if … or wait_mean > 1h or wait_mean > 1h or wait_meen > 3s'
                                                             ^^^^^^^^^
    hint: did you mean `wait_mean`?
    exit 2
    ");
}

#[test]
fn words_without_end_are_cut() {
    let word = "y".repeat(5_000);
    let texts = [
        run(&["--set", &format!("{word}=1")]),
        run(&["--fail-if", &format!("{word} > 1")]),
        run(&["--executor", &word]),
        run(&[&format!("--{word}")]),
        Folder::new("hostile").run(&["run", &word]),
        Folder::new("hostile").run(&[&word]),
        file(format!("study = \"{word}\"\n")),
        file(COUNTER.replace("100s", &word)),
    ];
    for said in texts {
        assert_eq!(said.code, 2);
        assert!(said.stderr.chars().count() < 1_500, "{said}");
        assert!(said.stderr.contains('…'), "{said}");
    }
}

#[test]
fn escape_sequences_and_marks_of_direction_are_shown_as_such() {
    let text = "study = \"queue\"\n\"\\u001b[31mred\" = 1\n\"user\u{202e}toor\" = 2\n[stations.a]\nservice_rate = \"\\u001b]0;owned\\u0007/s\"\n";
    assert_snapshot!(file(text), @r#"
    error: unknown key `�[31mred`
      --> ring.toml:2:1
    hint: the keys here are `study`, `title`, `seed`, `replicates`, `sweep`, `stations`, `classes`, `travel`, `warm_up`, `span`

    error: unknown key `user�toor`
      --> ring.toml:3:1
    hint: the keys here are `study`, `title`, `seed`, `replicates`, `sweep`, `stations`, `classes`, `travel`, `warm_up`, `span`

    error: `stations.a.service_rate`: `�]0;owned�/s` is not a frequency
      --> ring.toml:5:16
    hint: write digits, with a point before any decimals, and a unit, such as "200000/s"; the units are /d, /h, /min, /s, k/s, /ms, M/s, /us
    exit 2
    "#);
    for said in [
        file(text),
        Folder::new("hostile").run(&["run", "a\u{1b}[2J\nerror: forged"]),
        run(&["--set", "\u{1b}[31mspan=1s"]),
        run(&["--fail-if", "\u{9b}31m > 1"]),
        run(&["--\u{1b}[31mred"]),
        run(&["--executor", "\u{202e}lamron"]),
    ] {
        assert_eq!(said.code, 2);
        assert!(!said.stderr.chars().any(is_obeyed), "{:?}", said.stderr);
        assert!(!said.stderr.contains("\nerror: forged"), "{said}");
    }
}

#[test]
fn a_title_does_nothing_to_a_terminal() {
    let folder = Folder::new("hostile");
    folder.write("ring.toml", format!("title = \"M/M/1 \\u001b[2J\u{202e}1/M/M\"\n{COUNTER}"));
    let said = folder.run(&["run", "ring.toml"]);
    assert_eq!(said.code, 0, "{said}");
    assert!(!said.stdout.chars().any(is_obeyed), "{:?}", said.stdout.lines().next());
}

#[test]
fn brackets_without_end_are_one_mistake() {
    let nested = |span: String| file(format!("study = \"queue\"\nspan = {span}\n")).to_string();
    let never_closed = nested("[".repeat(300));
    assert_snapshot!(never_closed, @"
    error: not valid TOML: brackets or dotted keys are nested too deeply
      --> ring.toml:2:88
    hint: no scenario needs so many levels; is an earlier bracket not closed?
    exit 2
    ");
    assert_eq!(nested(format!("{}1{}", "[".repeat(300), "]".repeat(300))), never_closed);
}

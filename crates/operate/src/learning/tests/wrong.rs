//! Files that are wrong, and events that say nothing.

use towtank_past::Event;

use super::*;

fn row(at: f64, count: u64) -> String {
    format!("{at},{count}\n")
}

/// Counts that fall from the 100th second on.
fn falling() -> String {
    let rows = (0..100).map(|step| {
        let at = 2.0 * f64::from(step);
        row(at, if at < 104.0 { 0 } else { 400_u64.saturating_sub(10 * (step as u64 - 52)) })
    });
    format!("time,degraded_objects\n{}", rows.collect::<String>())
}

fn refused(table: &str, change: &str, keys: &[(&str, &str)]) -> String {
    let found = of_table(("counts.csv", table.as_bytes()), exports("m1"), (&[change], 100.0), keys);
    let problems = found.map(|learning| format!("{learning:?}")).unwrap_err();
    problems.iter().next().unwrap().message().to_owned()
}

#[test]
fn what_cannot_be_is_refused() {
    let falling = falling();
    let unknown = refused(&falling, "fail osd.77", &[]);
    assert!(unknown.contains("osd.77"), "{unknown}");
    let not_over: String = falling.lines().take(80).map(|line| format!("{line}\n")).collect();
    assert_eq!(refused(&not_over, "fail osd.5", &[]), "the event was not over in the last sample");
    let begun: String = falling
        .lines()
        .enumerate()
        .filter(|(at, _)| *at == 0 || *at > 60)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let said = refused(&begun, "fail osd.5", &[]);
    assert!(said.starts_with("something was left in the first sample already"), "{said}");
    let few = format!(
        "time,degraded_objects\n{}",
        (0..6).map(|at| row(60.0 * f64::from(at), [0, 400, 300, 100, 0, 0][at as usize])).collect::<String>()
    );
    assert!(refused(&few, "fail osd.5", &[]).contains("3 times"), "{}", refused(&few, "fail osd.5", &[]));
    let nothing = refused(&falling, "reweight osd.5=1", &[]);
    assert_eq!(nothing, "with these exports nothing moves after reweight osd.5=1");
}

#[test]
fn exports_of_another_cluster_are_refused() {
    let table = falling();
    let mut past = past("counts.csv", table.as_bytes());
    past.fsid = Some("00000000-0000-0000-0000-000000000000".to_owned());
    let events: Vec<Event> = happened(&past).unwrap();
    let asked = Asked {
        past: &past,
        event: &events[0],
        files: Vec::new(),
        exports: exports("m1"),
        changes: vec!["fail osd.5".to_owned()],
        at_us: Some(100_000_000),
        keys: Vec::new(),
    };
    let problems = learn(&asked, Arc::new(Kept)).unwrap_err();
    let message = problems.iter().next().unwrap().message();
    assert!(
        message.ends_with("and the files of the event of 00000000-0000-0000-0000-000000000000"),
        "{message}"
    );
}

/// What is written is read, and what is changed in it is refused with its place.
#[test]
fn the_file_is_read_as_it_was_written_or_refused() {
    let keys = [("max_backfills", "1")];
    let table = falling();
    let learned = of_table(("counts.csv", table.as_bytes()), exports("m1"), (&["fail osd.5"], 100.0), &keys)
        .unwrap()
        .learned;
    let text = learned.text();
    let again = |text: &str| crate::learned::read(File { name: "machines.toml", bytes: text.as_bytes() });
    assert_eq!(again(&text).unwrap().value, learned);
    let wrong = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        again(&text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert_eq!(
        wrong("version = 1", "version = 2"),
        "`machines.toml`: `version`: it is 2, and this towtank reads 1"
    );
    assert_eq!(wrong("version = 1\n", ""), "`machines.toml`: `version`: it has none");
    let odd = wrong("version = 1", "version = 1\ncolour = 3");
    assert!(odd.starts_with("`machines.toml`: line 5: unknown field `colour`"), "{odd}");
    let odd = wrong("\nknown =", "\nknow =");
    assert!(odd.contains("unknown field `know`"), "{odd}");
    assert!(wrong("value = ", "value = -").contains("is not above 0"));
    assert!(wrong("start = [", "start = [1.0, ").contains("`draws.start`: it has 34 values"));
    assert!(again("").is_err() && again("version = 1").is_err());
    for cut in (0..text.len()).step_by(97) {
        assert!(again(&text[..cut]).is_err() || cut + 2 >= text.len(), "{cut}");
    }
}

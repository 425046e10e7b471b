//! A split of a real Ceph 16.2.15: a pool of 32 groups became one of 64, and the manager made 32 steps of
//! `pgp_num` with its usual periods.

use towtank_imports::File;
use towtank_imports::ceph::{Report, read_report};

use super::*;
use crate::eta::moments::steps_made;

/// Reports by the seconds at which they were asked for, and the seconds from then until all was clean.
const MOMENTS: [(&str, f64); 4] = [("11.1", 132.5), ("43.9", 99.7), ("77.1", 66.5), ("109.7", 33.9)];

fn named(count: usize) -> Vec<String> {
    MOMENTS[..count].iter().map(|(at, _)| format!("{at}.report.json.gz")).collect()
}

fn folder() -> Folder {
    let names = named(4);
    files("src/eta/golden/split", &names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn asked(names: &[String]) -> (Outcome, String) {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    answered(folder(), &format!("report = [{}]", names.join(", ")))
}

/// With reports from before it the pace of the manager is measured, and what was left lies in the range.
#[test]
fn the_rest_of_a_split_is_in_the_range() {
    for count in 2..=4 {
        let left = MOMENTS[count - 1].1;
        let (seen, words) = asked(&named(count));
        let [clean, low, high] =
            ["time_to_clean_s", "time_to_clean_low_s", "time_to_clean_high_s"].map(|name| value(&seen, name));
        println!("{count} reports: {clean:.1} s ({low:.1} to {high:.1}), and {left} s were left");
        assert!((low..=high).contains(&left), "{count} reports: {low} to {high}, and {left} s were left");
        assert!(words.contains("pace of the manager measured"), "{words}");
    }
    let (seen, words) = asked(&named(2)[1..]);
    assert!(words.contains("speeds are assumed, since there is one report"), "{words}");
    assert!(value(&seen, "time_to_clean_low_s") < value(&seen, "time_to_clean_s"));
}

/// Steps are counted where nothing else changed the map.
#[test]
fn steps_are_counted_between_reports() {
    let read = |name: &str, change: &dyn Fn(&mut Json)| -> Report {
        let mut report: Json = serde_json::from_str(&unpacked(&folder(), name)).unwrap();
        change(&mut report);
        read_report(File { name, bytes: report.to_string().as_bytes() }).unwrap().value
    };
    let (one, next) = (read("11.1.report.json.gz", &|_| ()), read("43.9.report.json.gz", &|_| ()));
    assert_eq!(steps_made(&one, &next), Some(8), "from 34 to 42");
    // The planted error: a device has another weight, and its groups move for that.
    let changed = read("43.9.report.json.gz", &|report| report["osdmap"]["osds"][0]["weight"] = json!(0.5));
    assert_eq!(steps_made(&one, &changed), None);
    let split = read("11.1.report.json.gz", &|report| {
        for pool in report["osdmap"]["pools"].as_array_mut().unwrap() {
            let groups = pool["pg_num"].as_u64().unwrap();
            pool["pg_num"] = (groups * 2).into();
        }
    });
    assert_eq!(steps_made(&split, &next), None);
}

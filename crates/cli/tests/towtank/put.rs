//! `towtank put` and `towtank bench put`: names that gates and scripts rely on, and the reproducibility of
//! the bench's digest.

use serde_json::Value;

use crate::tool::Folder;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

const SMALL: [&str; 8] = ["--gateways", "18", "--servers", "18", "--chunk", "128KiB", "--disk", "400MiB/s"];

#[test]
fn one_protocol_has_plain_names_and_several_have_prefixes() {
    let folder = Folder::new("put_names");
    let summary = |protocol: &str| {
        let mut arguments = vec!["put", "--protocol", protocol, "--duration", "2ms", "--format", "json"];
        arguments.extend(SMALL);
        json(&folder.run(&arguments).data())["summary"].clone()
    };
    let (alone, both) = (summary("replicast-m"), summary("replicast-m,uch-ccp"));
    for name in ["chunks_per_second", "disk_utilisation", "put_latency_mean_us", "put_latency_p99_us"] {
        assert!(alone[name]["value"].is_number(), "{name}");
        assert_eq!(both[format!("replicast_m_{name}")]["value"], alone[name]["value"], "{name}");
        assert!(both[format!("uch_ccp_{name}")]["value"].is_number(), "{name}");
    }
    let busy = alone["disk_utilisation"]["value"].as_f64().expect("a number");
    assert!((0.0..=1.0).contains(&busy), "{busy}");
}

#[test]
fn gets_have_measures_or_a_reason_for_having_none() {
    let folder = Folder::new("put_gets");
    let summary = |share: &str| {
        let mut arguments = vec!["put", "--read-share", share, "--duration", "2ms", "--format", "json"];
        arguments.extend(SMALL);
        json(&folder.run(&arguments).data())["summary"].clone()
    };
    let (some, none) = (summary("50%"), summary("0%"));
    for name in ["gets_per_second", "get_latency_mean_us", "get_latency_p99_us", "get_latency_p999_us"] {
        assert!(some[name]["value"].as_f64().is_some_and(|value| value > 0.0), "{name}");
        assert!(none[name]["value"].is_null(), "{name}");
        assert_eq!(none[name]["reason"], "nothing is read: `read_share` is 0%", "{name}");
    }
}

#[test]
fn the_bench_tells_of_each_protocol() {
    let folder = Folder::new("put_bench");
    let bench = || {
        let mut arguments = vec!["bench", "put", "--duration", "1ms", "--format", "json"];
        arguments.extend(SMALL);
        json(&folder.run(&arguments).data())["protocols"].clone()
    };
    let (first, second) = (bench(), bench());
    for protocol in ["uch-ccp", "replicast-m", "replicast-h"] {
        for name in ["cpu_seconds", "chunks", "events"] {
            assert!(first[protocol][name].is_number(), "{protocol} {name}");
        }
        assert_eq!(first[protocol]["digest"], second[protocol]["digest"], "{protocol}");
    }
}

#[test]
fn what_does_not_exist_is_refused_by_name() {
    let folder = Folder::new("put_refusals");
    let refuse = |flags: &[&str]| {
        let said = folder.run(&[&["put"], flags].concat());
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{flags:?}");
        said.stderr
    };
    insta::assert_snapshot!(refuse(&["--protocol", "replicst-m"]), @"
    error: there is no protocol called `replicst-m`
      --> --protocol replicst-m
                     ^^^^^^^^^^
    hint: did you mean `replicast-m`?
    ");
    insta::assert_snapshot!(refuse(&["--fidelity", "surge", "--in-flight", "2"]), @r#"
    error: `in_flight` is beyond what `surge` fidelity supports
      --> --in-flight 2
                      ^
    hint: set `fidelity` to "model"
    "#);
    insta::assert_snapshot!(refuse(&["--fidelity", "surge", "--read-share", "30%"]), @r#"
    error: `read_share` is beyond what `surge` fidelity supports
      --> --read-share 30%
                       ^^^
    hint: set `fidelity` to "model"
    "#);
    insta::assert_snapshot!(refuse(&["--racks", "4"]), @r#"
    error: `network.racks` is 4, but `network.uplink` is not set
      --> --racks 4
                  ^
    hint: set the bandwidth of each rack's link to the core: uplink = "40Gbit/s"
    "#);
    assert!(refuse(&["--set", "gets=30%"]).contains("unknown key `gets`"));
}

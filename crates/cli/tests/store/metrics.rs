//! The monitor's Prometheus page, read by a strict parser.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::Cluster;

/// Values by name and labels, as on the page.
type Samples = BTreeMap<String, f64>;

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Labels without their braces: `name="value"`, with commas between.
fn check_labels(mut text: &str) -> Result<(), String> {
    loop {
        let (name, rest) = text.split_once("=\"").ok_or(format!("`{text}` is no label"))?;
        if !is_name(name) || name.starts_with("__") {
            return Err(format!("`{name}` is no name of a label"));
        }
        let (value, rest) = rest.split_once('"').ok_or(format!("`{rest}` does not end"))?;
        if value.contains(['\\', '\n']) {
            return Err(format!("`{value}` would have to be escaped"));
        }
        match rest.strip_prefix(',') {
            Some(more) => text = more,
            None if rest.is_empty() => return Ok(()),
            None => return Err(format!("`{rest}` follows a label")),
        }
    }
}

/// Prometheus's rules for names: base units, and `_total` only for counters.
fn check_family(name: &str, kind: &str) -> Result<(), String> {
    let units = ["_ms", "_ns", "_us", "_minutes", "_kib", "_mib", "_kilobytes", "_percent"];
    let is_counter = name.ends_with("_total");
    match kind {
        _ if !is_name(name) || !name.starts_with("towtank_") => Err(format!("`{name}` is no name of ours")),
        _ if units.iter().any(|unit| name.trim_end_matches("_total").ends_with(unit)) => {
            Err(format!("`{name}` has no base unit"))
        }
        "counter" if is_counter => Ok(()),
        "gauge" if !is_counter => Ok(()),
        _ => Err(format!("`{name}` is no {kind}")),
    }
}

/// Each family has its `HELP`, its `TYPE` and then its samples, once.
fn parse(page: &str) -> Result<Samples, String> {
    if !page.ends_with('\n') {
        return Err("the last line does not end".to_owned());
    }
    let (mut samples, mut families) = (Samples::new(), BTreeSet::new());
    let (mut helped, mut open, mut has_samples) = (None, None, true);
    for line in page.lines() {
        let comment = |word: &str| line.strip_prefix(word).and_then(|rest| rest.split_once(' '));
        if let Some((name, help)) = comment("# HELP ") {
            if !has_samples || help.is_empty() || !families.insert(name) {
                return Err(format!("`{line}` does not begin a family"));
            }
            (helped, open, has_samples) = (Some(name), None, false);
        } else if let Some((name, kind)) = comment("# TYPE ") {
            if helped.take() != Some(name) {
                return Err(format!("`{line}` does not follow its HELP"));
            }
            check_family(name, kind)?;
            open = Some(name);
        } else {
            let (sample, value) = line.rsplit_once(' ').ok_or(format!("`{line}` has no value"))?;
            let (name, labels) = match sample.split_once('{') {
                Some((name, labels)) => {
                    let labels = labels.strip_suffix('}').ok_or(format!("`{line}`: labels do not end"))?;
                    check_labels(labels)?;
                    (name, true)
                }
                None => (sample, false),
            };
            if open != Some(name) {
                return Err(format!("`{line}` stands outside its family (labels: {labels})"));
            }
            let value: f64 = value.parse().map_err(|_| format!("`{line}`: no number"))?;
            if !value.is_finite() || samples.insert(sample.to_owned(), value).is_some() {
                return Err(format!("`{line}` stands there twice, or is no number"));
            }
            has_samples = true;
        }
    }
    if has_samples { Ok(samples) } else { Err("the last family has no samples".to_owned()) }
}

#[test]
fn planted_pages_are_refused() {
    let good = "# HELP towtank_a_total Some.\n# TYPE towtank_a_total counter\ntowtank_a_total{osd=\"0\"} 1\n\
                # HELP towtank_b Other.\n# TYPE towtank_b gauge\ntowtank_b 2.5\n";
    assert_eq!(parse(good).map(|samples| samples.len()), Ok(2));
    for (from, to) in [
        ("# HELP towtank_a_total Some.\n", ""),
        ("# TYPE towtank_b gauge\n", ""),
        ("# TYPE towtank_b gauge", "# TYPE towtank_b counter"),
        ("# TYPE towtank_a_total counter", "# TYPE towtank_a_total gauge"),
        ("towtank_b", "towtank_b_ms"),
        ("towtank_b", "other_b"),
        ("towtank_b", "towtank_a_total"),
        ("towtank_b 2.5", "towtank_b two"),
        ("towtank_b 2.5", "towtank_b NaN"),
        ("towtank_b 2.5", "towtank_b{} 2.5"),
        ("towtank_b 2.5\n", ""),
        ("towtank_b 2.5\n", "towtank_b 2.5"),
        ("towtank_b 2.5\n", "towtank_b 2.5\ntowtank_b 2.5\n"),
        ("osd=\"0\"", "osd=0"),
        ("osd=\"0\"", "0sd=\"0\""),
        ("osd=\"0\"", "osd=\"0\",osd"),
    ] {
        assert!(parse(&good.replace(from, to)).is_err(), "{from} as {to}");
    }
}

/// The status line and the body of a response.
fn ask(address: &str, head: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("the monitor listens");
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head ends");
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

fn page(cluster: &Cluster) -> Samples {
    let address = std::fs::read_to_string(cluster.0.join("metrics.address")).expect("the monitor writes it");
    let (status, page) = ask(&address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status, "HTTP/1.1 200 OK");
    parse(&page).unwrap_or_else(|why| panic!("{why}\n{page}"))
}

/// The page agrees with `status`.
#[test]
fn the_monitor_tells_prometheus_how_the_cluster_stands() {
    let cluster = Cluster::up("metrics", &["--osds", "3", "--groups", "4"]);
    let address = std::fs::read_to_string(cluster.0.join("metrics.address")).expect("the monitor writes it");
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    assert!(cluster.run(&["status"]).done().contains(&format!("http://{address}/metrics")));
    for (number, size) in [1_000, 2_000, 3_000].into_iter().enumerate() {
        cluster.put(&format!("object {number}"), &vec![1; size]);
    }
    // The monitor's values are those that daemons reported shortly before.
    let until = |what: &dyn Fn(&Samples) -> bool| {
        for _ in 0..100 {
            let samples = page(&cluster);
            if what(&samples) {
                return samples;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("{:#?}", page(&cluster));
    };
    let requests = |samples: &Samples| -> f64 {
        let of = samples.iter().filter(|(name, _)| name.starts_with("towtank_osd_requests_total{"));
        of.map(|(_, value)| value).sum()
    };
    let samples = until(&|samples| samples["towtank_objects"] == 3.0 && requests(samples) >= 3.0);
    assert_eq!(samples["towtank_health_status"], 0.0);
    assert_eq!(samples["towtank_groups{state=\"active+clean\"}"], 4.0);
    assert_eq!(samples["towtank_osd_up{osd=\"2\"}"], 1.0);
    assert!(samples["towtank_object_bytes"] > 6_000.0, "{samples:#?}");
    cluster.run(&["osd", "stop", "2"]).done();
    let samples = until(&|samples| samples["towtank_osd_up{osd=\"2\"}"] == 0.0);
    assert!(samples["towtank_map_epoch"] > 1.0);
    until(&|samples| samples["towtank_health_status"] == 1.0);
    for (head, want) in [
        ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
        ("nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request"),
    ] {
        assert_eq!(ask(&address, head).0, want, "{head}");
    }
}

//! Clients that wait for their replies: by Little's law, their rate times their latency is their number.

use super::*;

/// Operations under way: the rate without a rebuild, times the mean latency.
fn under_way(text: &str, is_write: bool) -> f64 {
    let text = format!(
        "servers = 7\nobjects = 60\nseeks = \"none\"\nfail = \"disk\"\ndisk_read = \"100GB/s\"\ndisk_write = \"100GB/s\"\n\
         nic = \"1Gbit/s\"\nclient_read = \"{}%\"\n{text}",
        if is_write { 0 } else { 100 }
    );
    let found = outcome(&text, 7);
    let kind = if is_write { "write" } else { "read" };
    let latency = value(&found, &format!("client_{kind}_latency_quiet_mean_us")) / 1e6;
    value(&found, "client_operations_quiet_per_s") * latency
}

/// The bytes of a write take their time to the server before they are there, and a client sends nothing else
/// meanwhile.
#[test]
fn as_many_operations_are_under_way_as_there_are_clients() {
    for is_write in [false, true] {
        for (depth, more) in [
            (1, "client_size = \"1MiB\"\nreplicas = 2\nlatency = \"0s\""),
            (1, "client_size = \"1MiB\"\nreplicas = 3"),
            (1, "client_size = \"64KiB\"\nec = \"3+2\""),
            (4, "client_size = \"256KiB\"\nreplicas = 3\nlatency = \"1ms\""),
        ] {
            let found = under_way(&format!("client_depth = {depth}\n{more}"), is_write);
            let depth = f64::from(depth);
            assert!(
                (found / depth - 1.0).abs() < 0.02,
                "{found} operations of {depth}: {more}, writes: {is_write}"
            );
        }
    }
}

/// One write of 1 MiB to two servers passes two NICs, one after the other.
#[test]
fn a_single_writer_is_not_faster_than_the_cards() {
    let text = "servers = 5\nobjects = 60\nseeks = \"none\"\nreplicas = 2\nlatency = \"0s\"\nnic = \"1Gbit/s\"\n\
                disk_read = \"100GB/s\"\ndisk_write = \"100GB/s\"\nclient_depth = 1\nclient_read = \"0%\"\nclient_size = \"1MiB\"";
    let most = 1.0 / (2.0 * 8.0 * 1_048_576.0 / 1e9);
    let rate = value(&outcome(text, 1), "client_operations_quiet_per_s");
    assert!((0.9 * most..=most * 1.001).contains(&rate), "{rate} writes per second, of at most {most}");
}

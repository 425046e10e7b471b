//! Properties of answers: what makes a loss more or less likely, units, other ways to ask the same, and
//! closed forms of what is not in the table.

use proptest::prelude::*;

use super::asked::{answered, answered_with, ask, reason, resolved, value};

const RAID: &str = "disks_per_server = 50\nec = \"8+2\"\nfailure_rate = \"4%\"\n";

/// An array of so many disks, exactly.
fn exact(k: u64, m: u64, rate: f64, hours: u64) -> f64 {
    let text = format!(
        "disks_per_server = {}\nec = \"{k}+{m}\"\nfailure_rate = \"{rate:.7}%\"\nrepair_law = \"exponential\"\nrepair_time = \
         \"{hours}h\"",
        k + m
    );
    ask(&text, "loss_probability")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    /// More parity, faster repairs and fewer failures never make a loss likelier.
    #[test]
    fn what_helps_helps(k in 1u64..9, m in 1u64..4, rate in 0.5f64..60.0, hours in 2u64..400) {
        let usual = exact(k, m, rate, hours);
        prop_assert!((0.0..=1.0).contains(&usual));
        prop_assert!(exact(k, m + 1, rate, hours) < usual);
        prop_assert!(exact(k, m, rate, hours / 2) < usual);
        prop_assert!(exact(k, m, rate / 2.0, hours) < usual);
        prop_assert!(exact(k + 1, m, rate, hours) > usual);
    }
}

/// Plain words for the same system have the same answer.
#[test]
fn units_and_other_ways_to_ask_are_the_same() {
    let of = |text: &str| ask(&format!("{RAID}{text}"), "loss_probability");
    let usual = of("repair_time = \"209715.2s\"");
    assert_eq!(usual, of("disk_capacity = \"20TiB\"\nrepair_rate = \"100MiB/s\""));
    assert_eq!(usual, of("disk_capacity = \"40TiB\"\nused = \"50%\"\nrepair_rate = \"100MiB/s\""));
    // Drawn otherwise, since the window ends in two steps.
    let delayed = of("repair_time = \"58h\"\ndelay = \"915.2s\"");
    assert!((delayed / usual).log10().abs() < 0.03, "{delayed:e} {usual:e}");
    let decimal = of("disk_capacity = \"20TB\"\nrepair_rate = \"100MB/s\"");
    assert!(((usual / decimal).log10() - 2.0 * 1.048_576_f64.log10()).abs() < 0.01, "{usual:e} {decimal:e}");
    let copies = |keys: &str| {
        ask(
            &format!(
                "servers = 3\nfailure_rate = \"4%\"\nrepair_law = \"exponential\"\nrepair_time = \"1d\"\n{keys}"
            ),
            "loss_probability",
        )
    };
    assert_eq!(copies(""), copies("replicas = 3"));
    assert_eq!(copies(""), copies("ec = \"1+2\""));
    assert!(copies("replicas = 2") > copies(""));
}

/// A probability of a year, a rate, and counts say the same where they are the same.
#[test]
fn forms_of_a_failure_rate_are_the_same() {
    let of = |text: &str| {
        let base =
            "disks_per_server = 10\nec = \"8+2\"\nrepair_law = \"exponential\"\nrepair_time = \"1d\"\n";
        ask(&format!("{base}{text}"), "loss_probability")
    };
    let near = |left: f64, right: f64| (left / right - 1.0).abs() < 1e-6;
    assert!(near(of("failure_probability = \"11%\""), of("failure_rate = \"11.6533816%\"")));
    assert!(near(of("failures = 3\ndisk_years = 300"), of("failure_rate = \"1%\"")));
    assert!(near(of("failure_rate = \"1.5%\""), of("")));
    let common = of("failure_rate = \"36.5%\"\nyear = \"365d\"\nmission = \"365d\"");
    assert!(near(common, of("failure_rate = \"36.525%\"\nmission = \"365d\"")));
    assert_eq!(common, of("failure_rate = \"36.5%\"\nyear = \"365d\""), "a mission is such a year");
}

/// The interval of a counted rate is carried to the answer, and no failure has an upper end alone.
#[test]
fn counts_carry_their_interval() {
    let base = "disks_per_server = 10\nec = \"8+2\"\nrepair_law = \"exponential\"\nrepair_time = \"1d\"\n";
    let (seen, words) = answered(&format!("{base}failures = 3\ndisk_years = 300"));
    let [low, usual, high] =
        ["loss_at_low_rate", "loss_probability", "loss_at_high_rate"].map(|name| value(&seen, name));
    let rate = |name: &str| value(&seen, name);
    for (loss, name) in [(low, "failure_rate_low"), (high, "failure_rate_high")] {
        let cubed = (rate(name) / rate("failure_rate_per_year")).powi(3);
        assert!((loss / usual / cubed - 1.0).abs() < 0.01, "{loss:e} {usual:e} {cubed}");
    }
    assert!(words.contains("P(any loss) at the ends of the counted rate"), "{words}");
    let none = format!("{base}failures = 0\ndisk_years = 300");
    assert!(reason(&none, "loss_probability").contains("no failure was counted"));
    assert!(ask(&none, "loss_at_high_rate") > 0.0);
}

/// Where no failure is survived, P(loss) is that of any failure, whatever the repair.
#[test]
fn no_parity_loses_with_the_first_failure() {
    let text = "disks_per_server = 20\nec = \"20+0\"\nfailure_rate = \"2%\"\nrepair_time = \"1d\"";
    assert!((ask(text, "loss_probability") + (-0.4_f64).exp_m1()).abs() < 1e-12);
}

/// Arrays are independent where nobody but an array shares anything.
#[test]
fn arrays_are_independent_and_left_over_disks_are_said() {
    let base = "ec = \"8+2\"\nfailure_rate = \"4%\"\nrepair_law = \"exponential\"\nrepair_time = \"10d\"\n";
    let (seen, words) = answered(&format!("{base}disks_per_server = 57"));
    let one = ask(&format!("{base}disks_per_server = 10"), "loss_probability");
    assert_eq!(value(&seen, "array_loss"), one);
    let five = 1.0 - (1.0 - one).powi(5);
    assert!((value(&seen, "loss_probability") / five - 1.0).abs() < 1e-9);
    assert!(words.contains("7 disks are in no array"), "{words}");
}

/// The first words say what the number depends on.
#[test]
fn the_answer_says_first_what_it_assumes() {
    let (_, words) = answered(&format!("{RAID}repair_time = \"1d\"\nshared_by = \"server\"\ndelay = \"2h\""));
    let first = words.split(". ").next().expect("there is a sentence");
    for part in [
        "50 disks in arrays of 8+2",
        "rate of 4%",
        "365.25 days",
        "new at the start",
        "a delay of 2 h",
        "of a server share",
    ] {
        assert!(words.contains(part), "{part}: {first}");
    }
    let pool = answered(&format!("{RAID}repair_time = \"1d\"\nlayout = \"pool\"")).1;
    assert!(pool.contains("k shards and each lost one"), "{pool}");
}

/// Unreadable places add to a loss as the chain has it, and the simulation confirms it.
#[test]
fn unreadable_places_lose_data() {
    let base = "disks_per_server = 6\nec = \"4+2\"\nfailure_rate = \"20%\"\nrepair_law = \"exponential\"\nrepair_time = \"2d\"\n";
    let without = ask(base, "loss_probability");
    let with = format!("{base}disk_capacity = \"20TB\"\nerrors_per_bit = 1e-15\n");
    let (seen, words) = answered(&with);
    assert!(value(&seen, "loss_probability") > 3.0 * without && words.contains("they agree"), "{words}");
    let scrubbed = |interval: &str| {
        ask(
            &format!("{base}latent_error_rate = \"100%\"\nscrub_interval = \"{interval}\""),
            "loss_probability",
        )
    };
    assert!(scrubbed("14d") > without && scrubbed("60d") > scrubbed("14d"));
}

/// A server that is ruined loses what lies on it alone, and not what lies on several.
#[test]
fn ruins_and_outages_of_servers_count() {
    let base = "servers = 6\ndisks_per_server = 3\nec = \"4+2\"\nfailure_rate = \"20%\"\nrepair_law = \"exponential\"\nrepair_time = \"2d\"\n";
    let apart = ask(base, "loss_probability");
    let ruined = ask(&format!("{base}server_ruin_rate = \"10%\""), "loss_probability");
    assert!(ruined > 1.5 * apart, "{ruined:e} {apart:e}");
    let outages = "server_outage_rate = \"400%\"\nserver_outage_time = \"1h\"\n";
    let (seen, _) = answered(&format!("{base}{outages}min_size = 6"));
    // Six members, each failed for two days in five years, or away for four hours a year.
    let failed = 48.0 / (5.0 * 8_766.0 + 48.0);
    let away = 1.0 / (8_766.0 / 4.0 + 1.0);
    let up: f64 = (1.0 - failed) * (1.0 - away);
    assert!((value(&seen, "below_share") - (1.0 - up.powi(6))).abs() < 1e-9);
    assert!((value(&seen, "unreachable_share") - away).abs() < 1e-12);
}

/// Drawn groups on every disk lose more the more there are of them, up to all choices of disks.
#[test]
fn more_groups_lose_more() {
    let of = |groups: u32| {
        let text = format!(
            "servers = 12\nlayout = \"groups\"\ngroups = {groups}\nfailure_rate = \"50%\"\nrepair_time = \"4d\""
        );
        ask(&text, "loss_probability")
    };
    let [few, more] = [4, 40].map(of);
    assert!(3.0 * few < more, "{few:e} {more:e}");
}

/// A declustered pool of as many disks as shards has no choice, and its second window is its first.
#[test]
fn pools_repair_what_lacks_most_in_its_share_of_the_time() {
    let pool = "disks_per_server = 50\nec = \"8+2\"\nlayout = \"pool\"\nrepair_time = \"209715.2s\"\n";
    let (seen, _) = answered(&format!("{pool}failure_probability = \"8%\""));
    assert!((value(&seen, "repair_s") / 86_400.0 - 0.446).abs() < 5e-4);
    assert!((value(&seen, "repair_two_s") / 86_400.0 - 0.093).abs() < 5e-4);
}

/// One seed has one result, and the resolved scenario asks the same again.
#[test]
fn the_resolved_scenario_has_the_same_answer() {
    let text = format!("{RAID}repair_time = \"3d\"\nshared_by = \"server\"");
    let again = resolved(&text);
    assert_eq!(answered(&text), answered(&again));
    let counted = "disks_per_server = 10\nec = \"8+2\"\nrepair_law = \"exponential\"\nrepair_time = \"1d\"\nfailures = 3\ndisk_years = 300";
    assert_eq!(answered(counted), answered(&resolved(counted)));
    assert_ne!(answered_with(&text, 3).0, answered_with(&text, 4).0, "another seed draws anew");
}

/// Bursts on sets of servers: a closed form over drawn groups is what drawing says.
#[test]
fn closed_bursts_are_those_of_lists() {
    // One group per disk of three servers: with all of two servers lost, nothing is.
    let none = "servers = 12\nlayout = \"groups\"\ngroups = 50\nburst = \"2 servers\"";
    assert_eq!(ask(none, "burst_loss"), 0.0);
    let closed = ask(&none.replace("2 servers", "5 servers"), "burst_loss");
    // Over the seeds of the placement, the mean of exact shares is the closed form.
    let listed = |seed: u64| {
        let text = "servers = 12\ndisks_per_server = 2\nlayout = \"groups\"\nfailure_domain = \"server\"\ngroups = 50\nburst = \"5 servers in 1 racks\"";
        let text = text.replace(" in 1 racks", "");
        value(&answered_with(&text, seed).0, "burst_loss")
    };
    assert_eq!(listed(1), closed, "a server has one disk of a group, however many it has");
    let arrays = "servers = 12\nreplicas = 3\nburst = \"3 servers\"";
    assert!((ask(arrays, "burst_loss") - 4.0 / 220.0).abs() < 1e-12);
}

/// A latent error waits for the repair of a pool, which all of its disks share, not for that of a disk alone.
#[test]
fn latent_errors_of_a_pool_wait_for_its_repair() {
    let text = "disks_per_server = 50\nec = \"8+2\"\nlayout = \"pool\"\nfailure_rate = \"2%\"\nrepair_time = \"30d\"\n";
    let errors = "latent_error_rate = \"10%\"\nscrub_interval = \"14d\"\n";
    let per_h = 0.02 / 8_766.0;
    let repair_h = 720.0 * 9.0 / 49.0;
    let pairs = 50.0 * 49.0 * per_h * per_h * repair_h * 8_766.0;
    let met = |waited_h: f64| pairs * (8.0 * 9.0 / 49.0) * (0.1 / 8_766.0) * (168.0 + waited_h);
    let alone = ask(text, "loss_probability");
    let found = ask(&format!("{text}{errors}"), "loss_probability");
    let ratio = (found - alone) / met(repair_h);
    assert!((0.9..1.1).contains(&ratio), "{found} with them and {alone} without: {ratio}");
    // Planted: the time of a disk alone.
    assert!(!(0.9..1.1).contains(&((found - alone) / met(720.0))));
}

//! Small clusters, all algorithms, weights, groups and changes.

use towtank_report::Outcome;

const ALGORITHMS: [&str; 13] = [
    "crush-straw2",
    "crush-straw",
    "crush-vring",
    "ring",
    "multiring",
    "rendezvous",
    "jump",
    "maglev",
    "static-modulo",
    "two-choice",
    "xor",
    "two-d",
    "negotiating",
];

/// Some thousand objects or groups on a few servers.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    let algorithm = ALGORITHMS[draws(13) as usize];
    let replicas = 1 + draws(5);
    let servers = replicas + 1 + draws(40);
    let mut text = format!(
        "study = \"place\"\nalgorithm = \"{algorithm}\"\nservers = {servers}\nreplicas = {replicas}\n"
    );
    let vnodes = 1 + draws(100);
    if ["ring", "multiring", "xor", "two-d"].contains(&algorithm) {
        text += &format!("vnodes = {vnodes}\n");
    }
    text += &if draws(3) == 0 || algorithm == "two-choice" {
        format!("groups = {}\n", 1 + draws(3_000))
    } else {
        format!("keys = {}\n", 1 + draws(3_000))
    };
    if draws(3) == 0 {
        let weight = ["0.0", "0.5", "2.0", "3.7", "40.0"][draws(5) as usize];
        text += &format!("heavy_servers = {}\nheavy_weight = {weight}\n", 1 + draws(servers));
    }
    text += &format!("change = \"{}\"\n", ["remove", "add", "halve"][draws(3) as usize]);
    if algorithm == "maglev" {
        text += &format!("slots = {}\n", [53, 101, 1_009, 65_537][draws(4) as usize]);
    }
    text
}

/// The laws of every placement.
///
/// # Errors
/// The measure, and what is wrong with it.
pub fn laws(outcome: &Outcome) -> Result<(), String> {
    let value = |name: &str| outcome.measures.get(name).and_then(|measure| measure.value());
    for (name, measure) in &outcome.measures {
        let Some(value) = measure.value() else {
            measure
                .reason()
                .filter(|reason| !reason.is_empty())
                .ok_or(format!("{name} is missing without a reason"))?;
            continue;
        };
        if !value.is_finite() || value < 0.0 {
            return Err(format!("{name} is {value}"));
        }
        if name.ends_with("_fraction") && value > 1.0 {
            return Err(format!("{name} is {value}, more than all"));
        }
    }
    if let (Some(least), Some(mean)) = (value("peers_min"), value("peers_mean"))
        && least > mean
    {
        return Err(format!("the fewest peers are {least}, more than the mean of {mean}"));
    }
    if let (Some(unplaced), Some(fraction)) = (value("unplaced"), value("unplaced_fraction")) {
        let loads = outcome.series.get("observed").and_then(|observed| observed["loads"].as_array());
        let placed: f64 = loads.into_iter().flatten().filter_map(serde_json::Value::as_f64).sum();
        if (fraction * (placed + unplaced) - unplaced).abs() > 1e-6 {
            return Err(format!(
                "{placed} copies are placed, {unplaced} are not, and that is {fraction} of all"
            ));
        }
    }
    if let (Some(most), Some(lost)) = (value("rebuilt_max"), value("failure_lost"))
        && most > lost
    {
        return Err(format!("{most} copies are rebuilt on one server, of {lost} that are lost"));
    }
    Ok(())
}

/// Outcomes that are changed so that they break a law.
#[test]
fn the_laws_of_placements_notice_what_breaks_them() {
    let text = "study = \"place\"\nservers = 8\nreplicas = 8\nkeys = 500\nchange = \"add\"\n\
         heavy_servers = 4\nheavy_weight = 10.0\n";
    let checked = super::check(text).unwrap();
    let outcome = super::run(&checked, 1, (towtank_kernel::Executor::Sequential, 1)).unwrap();
    let unplaced = outcome.measures["unplaced"].value().unwrap();
    assert!(unplaced > 0.0, "{unplaced}");
    let changed = [
        ("unplaced", unplaced + 1.0),
        ("unplaced_fraction", 0.0),
        ("moved_fraction", 1.01),
        ("rebuilt_max", 1e9),
        ("peers_min", 1e9),
    ];
    super::each_breaks(laws, &outcome, &changed);
}

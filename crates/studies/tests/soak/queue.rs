//! Networks of one to five stations, with every kind of route through them.

use towtank_report::Outcome;

/// Some hundred to some thousand jobs.
pub fn scenario(draws: &mut dyn FnMut(u64) -> u64) -> String {
    let count = 1 + draws(5);
    let travel = ["0s", "1ns", "7ms", "300ms", "5s"][draws(5) as usize];
    let mut text = format!(
        "study = \"queue\"\ntravel = \"{travel}\"\nwarm_up = \"{}s\"\nspan = \"{}s\"\n",
        draws(60),
        1 + draws(300)
    );
    for at in 0..count {
        let servers = 1 + draws(4);
        let service = 1 + draws(20);
        let arrivals = if at > 0 && draws(3) == 0 { 0 } else { 1 + draws(service * servers * 10) };
        text += &format!(
            "[stations.s{at}]\nservers = {servers}\nservice_rate = \"{service}/s\"\narrival_rate = \"{}/s\"\n",
            arrivals as f64 / 20.0
        );
        let mut left = 100;
        let mut routes = Vec::new();
        for to in 0..count {
            if draws(3) == 0 && left > 10 {
                let share = draws(left.min(60));
                left -= share;
                routes.push(format!("s{to} = \"{share}%\""));
            }
        }
        text += &format!("routes = {{ {} }}\n", routes.join(", "));
    }
    text
}

/// The laws of every run of queues.
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
        if (name.contains("utilisation") || name.ends_with("share")) && value > 1.0 {
            return Err(format!("{name} is {value}, more than all"));
        }
    }
    for kind in ["wait", "response", "sojourn"] {
        let quantiles = ["p50", "p90", "p99", "p999"].map(|q| value(&format!("{kind}_{q}")));
        let order: Vec<f64> = quantiles.into_iter().flatten().collect();
        if !order.is_sorted() {
            return Err(format!("quantiles of {kind}: {order:?}"));
        }
    }
    if let (Some(wait), Some(response)) = (value("wait_mean"), value("response_mean"))
        && wait > response * 2.0 + 1e3
    {
        return Err(format!("{wait} is waited of a response of {response}"));
    }
    Ok(())
}

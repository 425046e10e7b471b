//! Networks of one to five stations, with every kind of route through them, of service times and of priority.

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
    let classes = [0, 0, 2, 3][draws(4) as usize];
    text += &classes_of(classes, draws);
    for at in 0..count {
        let servers = 1 + draws(4);
        let service = 1 + draws(20);
        let arrivals = if at > 0 && draws(3) == 0 { 0 } else { 1 + draws(service * servers * 10) };
        text += &format!(
            "[stations.s{at}]\nservers = {servers}\narrival_rate = \"{}/s\"\n",
            arrivals as f64 / 20.0
        );
        text += &service_of(service, draws);
        if classes > 0 {
            let order = ["fifo", "priority", "preemptive"][draws(3) as usize];
            text += &format!("order = \"{order}\"\n");
            if draws(3) == 0 {
                let own = service_of(service, draws).replace('\n', ", ");
                text += &format!("classes.c{} = {{ {} }}\n", draws(classes), own.trim_end_matches(", "));
            }
        }
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

/// So many classes of jobs, or none.
fn classes_of(count: u64, draws: &mut dyn FnMut(u64) -> u64) -> String {
    let mut left = 100;
    let class = |at: u64| {
        let share = if at + 1 == count { left } else { 1 + draws(left - (count - at)) };
        left -= share;
        format!("[[classes]]\nname = \"c{at}\"\nshare = \"{share}%\"\n")
    };
    (0..count).map(class).collect()
}

/// Service times of about this rate.
fn service_of(rate: u64, draws: &mut dyn FnMut(u64) -> u64) -> String {
    let cv = draws(30) as f64 / 10.0;
    let shape = match draws(12) {
        0..5 => String::new(),
        5 => "service = \"constant\"\n".to_owned(),
        6 => format!("service = {{ erlang = {{ phases = {} }} }}\n", 1 + draws(9)),
        7 => format!("service = {{ hyperexponential = {{ scv = {} }} }}\n", 1.0 + cv * cv),
        8 => format!("service = {{ lognormal = {{ cv = {cv} }} }}\n"),
        9 => format!("service = {{ pareto = {{ shape = {} }} }}\n", 1.1 + cv),
        10 => {
            let share = draws(101);
            return format!(
                "service = {{ branches = [{{ share = \"{share}%\", rate = \"{}/s\" }}, {{ share = \"{}%\", rate = \"{rate}/s\" }}] }}\n",
                rate * (1 + draws(9)),
                100 - share
            );
        }
        _ => {
            let ms = 1_000 / rate;
            return format!(
                "service = {{ empirical = {{ spans = [\"0s\", \"{ms}ms\", \"1ns\"], weights = [{}, {}, {}] }} }}\n",
                draws(3),
                1 + draws(5),
                draws(3)
            );
        }
    };
    format!("service_rate = \"{rate}/s\"\n{shape}")
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
    // Work is conserved: the mean wait of all lies between those of the classes.
    let of_classes: Vec<f64> = outcome
        .measures
        .keys()
        .filter(|name| name.starts_with("wait_mean["))
        .filter_map(|name| value(name))
        .collect();
    let least = of_classes.iter().copied().fold(f64::INFINITY, f64::min);
    let most = of_classes.iter().copied().fold(0.0, f64::max);
    if let Some(mean) = value("wait_mean")
        && !of_classes.is_empty()
        && !(least * (1.0 - 1e-9) - 1e-9..=most * (1.0 + 1e-9) + 1e-9).contains(&mean)
    {
        return Err(format!("jobs wait {mean} s on average, and their classes {of_classes:?}"));
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

//! Rows of the table of published numbers, each asked through the text of a scenario. A simulated row is met
//! within three standard deviations of its source or 0.03 nines, whichever is more; a closed one to its
//! digits.
//!
//! By default the rows of stacks whose arrays survive two failures are left above 2.6 nines;
//! `TOWTANK_DURABILITY_LONG=1` has all rows.

use serde_json::Value;

use super::asked::ask;

/// One row of the table.
#[derive(Clone, Debug)]
struct Row {
    case: String,
    params: Value,
    quantity: String,
    text: String,
    spread: Option<f64>,
    recomputed: Option<f64>,
}

impl Row {
    fn number(&self, key: &str) -> f64 {
        self.params[key].as_f64().unwrap_or_else(|| panic!("{} has no `{key}`: {}", self.case, self.params))
    }

    fn count(&self, key: &str) -> u64 {
        self.number(key) as u64
    }

    fn word(&self, key: &str) -> &str {
        self.params[key].as_str().unwrap_or("")
    }

    fn printed(&self) -> f64 {
        self.text.parse().expect("a row has a value")
    }

    /// Half a unit of the last digit that is printed.
    fn half_digit(&self) -> f64 {
        let (mantissa, exponent) = self.text.split_once('e').unwrap_or((&self.text, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len());
        let exponent: i32 = exponent.parse().expect("an exponent is a number");
        0.5 * 10f64.powi(exponent - decimals as i32)
    }

    fn is_printed_as(&self, found: f64) -> bool {
        (found - self.printed()).abs() <= 1.001 * self.half_digit()
    }

    /// Within three standard deviations or 0.03 nines.
    fn is_met_in_nines(&self, nines: f64) -> bool {
        let spread = self.spread.expect("a simulated row has a spread");
        (nines - self.printed()).abs() <= (3.0 * spread).max(0.03)
    }

    fn name(&self) -> String {
        format!("{} | {} | {} = {}", self.case, self.params, self.quantity, self.text)
    }
}

/// The fields of a line; quotes hold commas, and doubled quotes stand for one.
fn fields(line: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut is_quoted = false;
    let mut rest = line.chars().peekable();
    while let Some(sign) = rest.next() {
        match sign {
            '"' if is_quoted && rest.peek() == Some(&'"') => {
                rest.next();
                all.last_mut().expect("there is a field").push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => all.push(String::new()),
            sign => all.last_mut().expect("there is a field").push(sign),
        }
    }
    all
}

fn all() -> Vec<Row> {
    let table = include_str!("../../../../../durability/tests/golden.csv");
    let row = |line: &str| {
        let fields = fields(line);
        let number = |at: usize| fields[at].parse::<f64>().ok();
        Row {
            case: fields[0].clone(),
            params: serde_json::from_str(&fields[1]).expect("parameters are JSON"),
            quantity: fields[2].clone(),
            text: fields[3].clone(),
            spread: number(4),
            recomputed: number(5),
        }
    };
    table.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

fn rows(prefix: &str) -> Vec<Row> {
    let found: Vec<Row> = all().into_iter().filter(|row| row.case.starts_with(prefix)).collect();
    assert!(!found.is_empty(), "no row begins with {prefix}");
    found
}

fn is_long() -> bool {
    std::env::var_os("TOWTANK_DURABILITY_LONG").is_some()
}

/// Rows of which no description asks, and why.
fn not_asked(row: &Row) -> Option<&'static str> {
    match row.case.as_str() {
        "Backblaze fleet AFR" | "Backblaze bathtub peak" => Some("an input with its date, no result"),
        "clyso-nines 10 x 16 x 10 TB" => {
            Some("another tool's factors (sleeps per object, correlation by 100)")
        }
        "SimEDC RS(9,6) flat" if row.quantity.starts_with("P(loss") => {
            Some("no loss in four runs, of another size than printed: it says nothing")
        }
        "copysets RAMCloud random" if row.printed() == 0.0 => Some("it is a lower bound"),
        _ => None,
    }
}

/// The name of the measure of a row.
fn measure(row: &Row) -> &'static str {
    match (row.case.as_str(), row.quantity.as_str()) {
        (case, _) if case.starts_with("burst") || case.starts_with("copysets") => "burst_loss",
        ("Backblaze calculator", quantity) if quantity.starts_with("P(at least") => "period_loss",
        ("Backblaze calculator", _) => "periods_loss",
        ("Backblaze parameters, real windows", _) | ("repair law 8+2", _) => "loss_probability",
        ("Markov k-of-n", "mean time to data loss") => "mttdl_years",
        ("AFR from counts", quantity) if quantity.ends_with("lower") => "failure_rate_low",
        ("AFR from counts", _) => "failure_rate_high",
        ("unrecoverable read", _) => "unreadable_read",
        ("SimEDC RS(9,6) flat", _) => "unreachable_share",
        ("ceph-tools RADOS", quantity) if quantity.starts_with("1 - ") => "old_model_object_loss",
        ("ceph-tools RADOS", _) => "old_model_loss",
        (case, _) if case.starts_with("mlec-sim") => "loss_nines",
        _ => "loss_probability",
    }
}

/// The description of a row, as a user writes it.
fn described(row: &Row) -> String {
    let case = row.case.as_str();
    match case {
        _ if case.starts_with("mlec-sim") => mlec(row),
        _ if case.starts_with("burst") => burst(row),
        _ if case.starts_with("copysets") => copysets(row),
        "Markov k-of-n" => {
            let (n, m) = (row.count("n"), row.count("m"));
            let repair = match row.word("repair") {
                "exponential, none" => "repair_law = \"never\"".to_owned(),
                repair => {
                    let shared = if repair.ends_with("serial") { "array" } else { "nobody" };
                    format!(
                        "repair_law = \"exponential\"\nrepair_time = \"{}h\"\nshared_by = \"{shared}\"",
                        row.number("mttr_h")
                    )
                }
            };
            let rate = percent(row.number("rate_per_year"));
            format!("disks_per_server = {n}\nec = \"{}+{m}\"\nfailure_rate = \"{rate}\"\n{repair}", n - m)
        }
        "Backblaze calculator" => {
            let (k, m) = (row.count("data"), row.count("parity"));
            format!(
                "disks_per_server = {}\nec = \"{k}+{m}\"\nfailure_rate = \"{}\"\nrepair_time = \"{}d\"\nyear = \"365d\"",
                k + m,
                percent(row.number("afr")),
                row.number("replace_days")
            )
        }
        "Backblaze parameters, real windows" | "repair law 8+2" => {
            let (n, m) = (row.count("n"), row.count("m"));
            let shared = if row.word("repair").contains("shared") { "array" } else { "nobody" };
            let year = if row.case.starts_with("Backblaze") { "365d" } else { "365.25d" };
            format!(
                "disks_per_server = {n}\nec = \"{}+{m}\"\nfailure_rate = \"{}\"\nrepair_time = \"{}d\"\nshared_by = \
                 \"{shared}\"\nyear = \"{year}\"",
                n - m,
                percent(row.number("rate_per_year")),
                row.number("repair_days"),
            )
        }
        _ => quantity(row),
    }
}

/// A description of what needs no mission.
fn quantity(row: &Row) -> String {
    match row.case.as_str() {
        "AFR from counts" => format!(
            "disks_per_server = 10\nec = \"8+2\"\nrepair_time = \"1d\"\nfailures = {}\ndisk_years = {}\nconfidence = \
             \"{}%\"",
            row.count("failures"),
            row.number("drive_years"),
            100.0 * row.number("confidence")
        ),
        "unrecoverable read" => format!(
            "disks_per_server = 10\nec = \"8+2\"\nrepair_time = \"1d\"\ndisk_capacity = \"{}B\"\nerrors_per_bit = {}",
            row.count("bytes"),
            row.params["errors_per_bit"]
        ),
        "SimEDC RS(9,6) flat" => {
            let rate = |mttf: &str| format!("{:.7}%", 100.0 * 8_766.0 / row.number(mttf));
            format!(
                "servers = 128\nracks = 16\nec = \"6+3\"\nfailure_domain = \"rack\"\nburst = \"1 server\"\nserver_outage_rate = \
                 \"{}\"\nserver_outage_time = \"{}h\"\nrack_outage_rate = \"{}\"\nrack_outage_time = \"{}h\"",
                rate("node_transient_mttf_h"),
                row.number("node_down_h"),
                rate("rack_mttf_h"),
                row.number("rack_down_h")
            )
        }
        "ceph-tools RADOS" => {
            let copies = row.count("copies");
            let rate = 100.0 * row.number("fits") * 1e-9 * 8_766.0;
            let groups = 6 * row.count("pgs_per_osd") / copies;
            format!(
                "servers = 6\nlayout = \"groups\"\ngroups = {groups}\nreplicas = {copies}\nfailure_rate = \
                 \"{rate:.7}%\"\ndelay = \"{}min\"\nrepair_time = \"{:.6}s\"",
                row.number("markout_min"),
                3_600.0 * row.number("window_h") - 60.0 * row.number("markout_min")
            )
        }
        _ => panic!("no description asks for {}", row.name()),
    }
}

/// A share as a percentage in the steps that a scenario has.
fn percent(share: f64) -> String {
    format!("{:.7}%", 100.0 * share)
}

fn mlec(row: &Row) -> String {
    let (n, m) = (row.count("n"), row.count("m"));
    let disks = row.params["disks"].as_u64().unwrap_or_else(|| row.count("groups") * n);
    let afr = row.number("afr_pct");
    let policy = row.word("policy");
    let mut text = format!(
        "disks_per_server = {disks}\nec = \"{}+{m}\"\nfailure_probability = \"{afr}%\"\ndisk_capacity = \
         \"{}TiB\"\nrepair_rate = \"{}MiB/s\"\n",
        n - m,
        row.number("disk_tb"),
        row.number("repair_mb_s")
    );
    match policy {
        "indep" => {}
        "server" => text += "shared_by = \"server\"\n",
        "group" => text += "shared_by = \"array\"\n",
        "dp" => text += "layout = \"pool\"\n",
        _ if policy.starts_with("dp") => {
            text += "layout = \"pool\"\namplification = \"data-and-one\"\ncritical_first = true\n";
        }
        _ => {
            let (groups, parity) = (row.count("groups"), row.count("top_parity"));
            text += &format!("shared_by = \"array\"\ntop = \"{}+{parity}\"\n", groups - parity);
        }
    }
    if let Some(shape) = row.params["weibull_shape"].as_f64() {
        text += &format!("weibull_shape = {shape:?}\n");
    }
    if row.quantity.contains("P(2 failed") {
        return text.replace("\"7+3\"", "\"9+1\"");
    }
    text
}

fn burst(row: &Row) -> String {
    let (racks, disks) = (row.count("racks"), row.count("disks_per_rack"));
    let layout = match row.case.as_str() {
        "burst local 8+2" => "ec = \"8+2\"\nfailure_domain = \"disk\"",
        "burst declustered 8+2" => "ec = \"8+2\"\nlayout = \"pool\"\npool_disks = 100",
        "burst network 8+2" => "ec = \"8+2\"\nfailure_domain = \"rack\"",
        _ => "ec = \"9+1\"\nfailure_domain = \"disk\"\ntop = \"9+1\"",
    };
    format!(
        "servers = {racks}\nracks = {racks}\ndisks_per_server = {disks}\n{layout}\nburst = \"{} disks in {} racks\"",
        row.count("failed_disks"),
        row.count("racks_hit")
    )
}

fn copysets(row: &Row) -> String {
    let nodes = row.count("nodes");
    let width = row.params["scatter_width"].as_u64().unwrap_or(0);
    let layout = match row.case.as_str() {
        "copysets RAMCloud random" => {
            let chunks = row.number("nodes") * row.number("chunks_per_node") / 3.0;
            format!("layout = \"groups\"\ngroups = {chunks:.0}")
        }
        "copysets partition exact" => "layout = \"arrays\"".to_owned(),
        case if case.contains("random") || row.word("scheme") == "random" => {
            format!("layout = \"scattered\"\nscatter_width = {width}")
        }
        _ => format!("layout = \"copysets\"\nscatter_width = {width}"),
    };
    format!("servers = {nodes}\nreplicas = 3\n{layout}\nburst = \"{} servers\"", row.count("nodes_lost"))
}

/// Every row is asked or named with the reason why not.
#[test]
fn all_rows_are_asked_or_named() {
    let rows = all();
    assert_eq!(rows.len(), 207);
    let mut named: Vec<String> = Vec::new();
    for row in &rows {
        match not_asked(row) {
            Some(why) => named.push(format!("{} | {}: {why}", row.case, row.quantity)),
            None => {
                let text = described(row);
                assert!(text.contains("disks_per_server") || text.contains("servers"), "{text}");
                assert!(!measure(row).is_empty());
            }
        }
    }
    named.dedup();
    println!("{}", named.join("\n"));
    let left = rows.iter().filter(|row| not_asked(row).is_some()).count();
    assert_eq!(left, 14, "{named:?}");
}

fn missed(rows: &[Row], is_met: impl Fn(&Row, f64) -> bool) -> Vec<String> {
    let mut missed = Vec::new();
    for row in rows {
        let found = ask(&described(row), measure(row));
        println!("{}: {found:.6e}, printed {}", row.case, row.text);
        if !is_met(row, found) {
            missed.push(format!("{}: {found:.6e}\n{}", row.name(), described(row)));
        }
    }
    missed
}

fn met(rows: &[Row], is_met: impl Fn(&Row, f64) -> bool) {
    let missed = missed(rows, is_met);
    assert!(missed.is_empty(), "{} of {} rows are missed:\n{}", missed.len(), rows.len(), missed.join("\n"));
}

fn in_nines(prefix: &str) {
    met(&rows(prefix), Row::is_met_in_nines);
}

#[test]
fn chains_meet_their_rows_to_every_digit() {
    met(&rows("Markov"), Row::is_printed_as);
}

/// The forms that the issue names: 8+3 on 11 disks (its "11+3"), and 17+3.
#[test]
fn the_two_chains_that_everybody_asks_for() {
    let base = "repair_law = \"exponential\"\nshared_by = \"nobody\"\n";
    let one =
        format!("disks_per_server = 11\nec = \"8+3\"\nfailure_rate = \"2%\"\nrepair_time = \"12h\"\n{base}");
    assert!((ask(&one, "loss_probability") / 5.40e-13 - 1.0).abs() < 5e-3);
    let two = format!(
        "disks_per_server = 20\nec = \"17+3\"\nfailure_rate = \"0.405%\"\nrepair_time = \"6.5d\"\n{base}"
    );
    assert!((ask(&two, "loss_probability") / 2.84e-11 - 1.0).abs() < 5e-3);
}

#[test]
fn counts_reads_and_old_models_meet_their_rows() {
    met(&rows("AFR from counts"), Row::is_printed_as);
    met(&rows("unrecoverable read"), Row::is_printed_as);
    met(&rows("ceph-tools"), |row, found| (found / row.printed() - 1.0).abs() < 5e-6);
    met(&rows("Backblaze calculator"), Row::is_printed_as);
    let outages: Vec<Row> = rows("SimEDC").into_iter().filter(|row| not_asked(row).is_none()).collect();
    met(&outages, |row, found| (found - row.printed()).abs() <= 3.0 * row.spread.expect("it has a spread"));
}

/// Closed to leading order at the source: within 0.03 nines of it, and of the simulation beside it.
#[test]
fn constant_windows_meet_their_rows() {
    let is_met = |row: &Row, found: f64| {
        [Some(row.printed()), row.recomputed]
            .into_iter()
            .flatten()
            .all(|want| (found / want).log10().abs() <= 0.03)
    };
    let all = [rows("repair law"), rows("Backblaze parameters")].concat();
    met(&all, is_met);
    for row in &all {
        let leading = ask(&described(row), "leading_order_loss");
        assert!((leading / row.printed() - 1.0).abs() < 1e-5, "{}: {leading:e}", row.name());
    }
}

#[test]
fn bursts_meet_their_rows_to_every_digit() {
    met(&rows("burst"), Row::is_printed_as);
}

/// One row does not follow from its parameters: 22.8 %, where ten servers give 19.1 %.
#[test]
fn copysets_meet_their_rows() {
    let is_met = |row: &Row, found: f64| {
        let want = row.recomputed.unwrap_or_else(|| row.printed());
        (found / want - 1.0).abs() < 2e-4
    };
    met(&rows("copysets"), is_met);
    let known: Vec<Row> = rows("copysets HDFS Facebook random");
    assert!(known.iter().all(|row| !row.is_printed_as(ask(&described(row), measure(row)))));
}

#[test]
fn arrays_meet_their_rows() {
    in_nines("mlec-sim 8+2/50 raid");
    in_nines("mlec-sim 8+2/50 net");
    in_nines("mlec-sim 16+2/54 raid");
    in_nines("mlec-sim 16+3/57 raid");
}

#[test]
fn single_arrays_with_long_repairs_meet_their_rows() {
    in_nines("mlec-sim 8+2/10");
}

fn exactly(case: &str) -> Vec<Row> {
    rows(case).into_iter().filter(|row| row.case == case).collect()
}

#[test]
fn pools_meet_their_rows() {
    met(&exactly("mlec-sim 8+2/50 dp"), Row::is_met_in_nines);
    met(&exactly("mlec-sim 16+2/54 dp"), Row::is_met_in_nines);
    met(&exactly("mlec-sim 16+3/57 dp"), Row::is_met_in_nines);
}

/// The second policy of mlec-sim is not known well enough, and nobody has recomputed its rows.
#[test]
fn rows_of_the_second_policy_are_met_where_their_spread_is_wide() {
    let all = exactly("mlec-sim 8+2/50 dp-adapt");
    let missed = missed(&all, Row::is_met_in_nines);
    assert_eq!(missed.len(), 4, "{missed:?}");
    let is_late = |text: &String| {
        ["\"afr_pct\":8", "\"afr_pct\":9", "\"afr_pct\":10", "\"afr_pct\":11"]
            .iter()
            .any(|afr| text.contains(afr))
    };
    assert!(missed.iter().all(is_late), "{missed:?}");
}

#[test]
fn ages_and_four_failures_meet_their_rows() {
    in_nines("mlec-sim Weibull");
    in_nines("mlec-sim README");
}

#[test]
fn stacks_meet_their_rows() {
    let kept = |row: &Row| is_long() || row.count("m") == 1 || row.printed() < 2.6;
    let all: Vec<Row> = rows("mlec-sim MLEC").into_iter().filter(kept).collect();
    assert_eq!(all.len(), if is_long() { 20 } else { 8 });
    met(&all, Row::is_met_in_nines);
}

/// Each wrong way to ask misses rows, so a row that is met says something.
#[test]
fn a_wrong_description_misses_rows() {
    let missed = |rows: &[Row], from: &str, to: &str| {
        let is_missed = |row: &&Row| {
            let text = described(row);
            assert!(text.contains(from), "{text}");
            !row.is_met_in_nines(ask(&text.replace(from, to), measure(row)))
        };
        rows.iter().filter(is_missed).count()
    };
    let late = |case: &str| -> Vec<Row> {
        exactly(case).into_iter().filter(|row| row.number("afr_pct") >= 10.0).collect()
    };
    let raid = late("mlec-sim 8+2/50 raid");
    assert_eq!(raid.len(), 2);
    assert_eq!(missed(&raid, "failure_probability", "failure_rate"), 2);
    assert_eq!(missed(&raid, "TiB", "TB"), 2);
    assert_eq!(missed(&raid, "shared_by = \"server\"", "shared_by = \"nobody\""), 2);
    let pool = late("mlec-sim 8+2/50 dp");
    assert_eq!(missed(&pool, "layout = \"pool\"", "layout = \"arrays\""), 2);
    assert_eq!(missed(&pool, "layout = \"pool\"", "layout = \"pool\"\ndelay = \"2h\""), 2);
    let bursts = &rows("burst local")[..1];
    assert!(bursts.iter().all(|row| {
        let wrong = described(row).replace("disks_per_server = 800", "disks_per_server = 790");
        !row.is_printed_as(ask(&wrong, "burst_loss"))
    }));
}

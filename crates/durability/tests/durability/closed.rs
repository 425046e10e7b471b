//! Rates, chains and formulas against closed forms.

use towtank_durability::DurabilityError;
use towtank_durability::exact::peers::{
    Calculator, ClysoNines, OldCeph, Online, backblaze, clyso_nines, old_ceph, online,
};
use towtank_durability::exact::{Chain, KOfN, RepairLaw, Windows, leading_order};
use towtank_durability::rates::{
    Afr, FLEET_RATES, Life, Piece, Year, afr_of_counts, average_hazard, exposure_h, nines, unreadable,
};

use crate::golden::{Row, all_met, rows};

const YEAR_H: f64 = 8766.0;

fn chain_of(row: &Row, rate: f64) -> Chain {
    let law = match row.text("repair") {
        "exponential, parallel" => RepairLaw::Independent,
        "exponential, serial" => RepairLaw::Shared,
        "exponential, none" => RepairLaw::Never,
        other => panic!("no law is called {other}"),
    };
    let (n, tolerance) = (row.count("n") as u32, row.count("m") as u32);
    let group = KOfN { n, tolerance, failures_per_h: rate / YEAR_H, repair_h: row.number("mttr_h"), law };
    Chain::k_of_n(group).expect("the row is a group")
}

fn chain_value(row: &Row, rate: f64) -> f64 {
    let chain = chain_of(row, rate);
    match row.quantity.as_str() {
        "P(loss in 1 y)" => chain.loss_within(0, YEAR_H).expect("a year is a mission"),
        _ => chain.mean_time_to_loss_h(0).expect("it has a state 0") / YEAR_H,
    }
}

#[test]
fn chains_meet_their_rows() {
    let rows = rows("Markov");
    all_met(&rows, |row| chain_value(row, row.number("rate_per_year")));
    // A rate that is taken as the probability of a year, the fourth trap, misses each row.
    for row in &rows {
        let wrong = -ln_1p(-row.number("rate_per_year"));
        assert!(!row.is_met_by(chain_value(row, wrong)), "{}", row.text);
    }
}

fn ln_1p(x: f64) -> f64 {
    x.ln_1p()
}

#[test]
fn a_chain_keeps_its_precision_to_any_small_value() {
    // Without repairs, P(all of n fail) is the product of the probabilities of each.
    for (n, rate) in [(2, 1e-6), (6, 1e-5), (10, 1e-4), (8, 3.0)] {
        let law = RepairLaw::Never;
        let group = KOfN { n, tolerance: n - 1, failures_per_h: rate / YEAR_H, repair_h: 1.0, law };
        let found = Chain::k_of_n(group).expect("it is a group").loss_within(0, YEAR_H).expect("a mission");
        let want = (-(-rate).exp_m1()).powi(n as i32);
        assert!((found / want - 1.0).abs() < 1e-12, "{n} {rate}: {found:e} {want:e}");
    }
    // Long missions with short repairs need 30 doublings, and the rate of loss is one over the mean time.
    let group = KOfN { n: 9, tolerance: 4, failures_per_h: 1e-7, repair_h: 0.1, law: RepairLaw::Independent };
    let chain = Chain::k_of_n(group).expect("it is a group");
    let (loss, mean) =
        (chain.loss_within(0, 1e6).expect("a mission"), chain.mean_time_to_loss_h(0).expect("a state"));
    assert!(loss < 1e-25 && (loss * mean / 1e6 - 1.0).abs() < 1e-5, "{loss:e} {mean:e}");
}

#[test]
fn a_degraded_start_and_worse_laws_lose_more() {
    let group = |law, repair_h| KOfN { n: 10, tolerance: 2, failures_per_h: 4e-6, repair_h, law };
    let loss = |law, repair_h, start| {
        let chain = Chain::k_of_n(group(law, repair_h)).expect("it is a group");
        chain.loss_within(start, YEAR_H).expect("a mission")
    };
    let (independent, shared, never) = (RepairLaw::Independent, RepairLaw::Shared, RepairLaw::Never);
    let rising = [
        loss(independent, 12.0, 0),
        loss(independent, 24.0, 0),
        loss(shared, 24.0, 0),
        loss(shared, 24.0, 1),
        loss(shared, 24.0, 2),
        loss(never, 24.0, 2),
    ];
    assert!(rising.is_sorted_by(|less, more| less < more), "{rising:?}");
    // Restarted work loses as much as shared work to leading order, and less: all are good when it ends.
    let restarted = loss(RepairLaw::Restarted, 1.0, 0) / loss(shared, 1.0, 0);
    assert!((restarted - 1.0).abs() < 1e-3 && restarted < 1.0, "{restarted}");
    // The mean time of a system that never loses has no end.
    let safe = Chain::new(vec![vec![0.0, 1.0], vec![1.0, 0.0]], vec![0.0, 0.0]).expect("it is a chain");
    assert!(safe.mean_time_to_loss_h(0).expect("a state").is_infinite());
}

#[test]
fn constant_windows_meet_their_rows() {
    let value = |row: &Row, divide: f64| {
        let law = match row.text("repair") {
            "constant, independent" => RepairLaw::Independent,
            _ => RepairLaw::Shared,
        };
        // As in the calculator that it is compared with.
        let year = if row.case.starts_with("Backblaze") { Year::Common } else { Year::Julian };
        let group = Windows {
            n: row.count("n") as u32,
            tolerance: row.count("m") as u32,
            failures_per_h: row.number("rate_per_year") / year.hours(),
            repair_h: 24.0 * row.number("repair_days"),
            law,
        };
        leading_order(group, year.hours()).expect("the row is a group") / divide
    };
    let mut all = rows("repair law");
    all.extend(rows("Backblaze parameters"));
    all_met(&all, |row| value(row, 1.0));
    assert!(all.iter().all(|row| !row.is_met_by(value(row, 2.0))), "the factor m! is seen");
}

#[test]
fn rates_of_counts_meet_their_rows() {
    let value = |row: &Row, confidence: f64| {
        let days = row.number("drive_years") * 365.0;
        let found =
            afr_of_counts(row.count("failures") as u64, days, Year::Common, confidence).expect("counts");
        assert!(found.interval.holds(found.per_year));
        if row.quantity.ends_with("lower") { found.interval.low } else { found.interval.high }
    };
    all_met(&rows("AFR from counts"), |row| value(row, row.number("confidence")));
    let upper =
        rows("AFR from counts").into_iter().find(|row| row.quantity.ends_with("upper")).expect("a row");
    assert!(!upper.is_met_by(value(&upper, 0.951)));
}

#[test]
fn unreadable_places_and_peers_meet_their_rows() {
    all_met(&rows("unrecoverable read"), |row| {
        unreadable(row.number("bytes"), row.number("errors_per_bit")).expect("a read")
    });
    let exactly_one = |row: &Row| {
        let mean = 8.0 * row.number("bytes") * row.number("errors_per_bit");
        mean * (-mean).exp()
    };
    assert!(rows("unrecoverable read").iter().all(|row| !row.is_met_by(exactly_one(row))));
    all_met(&rows("Backblaze calculator"), |row| {
        let parity = row.count("parity") as u32;
        let shards = row.count("data") as u32 + parity;
        let asked =
            Calculator { shards, parity, afr: row.number("afr"), replace_days: row.number("replace_days") };
        let found = backblaze(asked).expect("the row is asked");
        if row.quantity.starts_with("P(at least") { found.in_period } else { found.in_year }
    });
    all_met(&rows("ceph-tools"), |row| {
        let asked = OldCeph {
            copies: row.count("copies") as u32,
            fits: row.number("fits"),
            groups_per_drive: row.number("pgs_per_osd"),
            window_h: row.number("window_h"),
        };
        let found = old_ceph(asked).expect("the row is asked");
        if row.quantity == "PL(copies)" { found } else { found / (2.0 * row.number("pgs_per_osd")) }
    });
}

#[test]
fn the_calculator_of_periods_is_low_by_one_more_than_the_parity() {
    let asked = Calculator { shards: 20, parity: 3, afr: 0.00405, replace_days: 6.5 };
    let theirs = backblaze(asked).expect("it is asked").in_year;
    let group = Windows {
        n: 20,
        tolerance: 3,
        failures_per_h: 0.00405 / Year::Common.hours(),
        repair_h: 156.0,
        law: RepairLaw::Independent,
    };
    let ours = leading_order(group, Year::Common.hours()).expect("a group");
    assert!((ours / theirs - 4.0).abs() < 0.01, "{}", ours / theirs);
}

#[test]
fn the_online_calculator_is_low_where_repairs_take_months() {
    // 10 disks of 100 TB at 10 MB/s, AFR 11 %: mlec-sim has 1.30 nines, the calculator 0.9.
    let failures_per_h = Afr::Probability(0.11).per_hour(Year::Julian).expect("an AFR");
    let repair_h = 100.0 * 1_048_576.0 / 10.0 / 3600.0;
    let asked = Online { n: 10, tolerance: 2, failures_per_h, repair_h, groups: 1 };
    assert_eq!(format!("{:.1}", nines(online(asked).expect("it is asked"))), "0.9");
}

#[test]
fn an_afr_says_what_it_means() {
    let year = Year::Julian;
    let rate = Afr::Probability(0.11).per_hour(year).expect("an AFR") * year.hours();
    assert!((rate - 0.116_534).abs() < 1e-6);
    assert!((Afr::Rate(rate).probability(year).expect("a rate") - 0.11).abs() < 1e-15);
    assert!((Afr::MttfHours(1e6).per_hour(year).expect("a time") - 1e-6).abs() < 1e-20);
    assert!((Afr::Fits(1000.0).per_hour(year).expect("fits") - 1e-6).abs() < 1e-20);
    let common = Afr::Rate(0.02).per_hour(Year::Common).expect("a rate");
    assert!((common * Year::Common.hours() - 0.02).abs() < 1e-17);
    assert!(Afr::Rate(3.0).per_hour(year).is_ok(), "a rate may be above 100 %");
    for wrong in
        [Afr::Probability(1.0), Afr::Probability(0.0), Afr::Rate(0.0), Afr::Rate(f64::NAN), Afr::Fits(-1.0)]
    {
        assert!(wrong.per_hour(year).is_err(), "{wrong:?}");
    }
    let refused = Afr::Probability(1.2).per_hour(year).expect_err("above 100 %");
    assert_eq!(refused, DurabilityError::NoProbability(1.2));
    assert!(refused.to_string().contains("above 0 and below 1, or a rate"));
}

#[test]
fn fleets_have_their_dates() {
    for row in rows("Backblaze fleet AFR") {
        let preset = FLEET_RATES.iter().find(|preset| preset.period == row.text("period")).expect("a preset");
        assert_eq!(preset.rate, Afr::Rate(row.value / 100.0));
        assert!(preset.name.starts_with("backblaze-") && preset.source.contains("Drive Stats for"));
    }
}

#[test]
fn ages_keep_their_hazard() {
    let year = Year::Julian.hours();
    let weibull = Life::weibull_of_five_years(2.0, 0.02, Year::Julian).expect("a law");
    let five_years = -(-weibull.accumulated(5.0 * year)).exp_m1();
    assert!((five_years - (1.0 - 0.98f64.powi(5))).abs() < 1e-12);
    let pieces = [(0.0, 3e-6), (1000.0, 0.0), (2000.0, 1e-6), (40_000.0, 2e-5)];
    let pieces: Vec<Piece> =
        pieces.iter().map(|(from_h, per_h)| Piece { from_h: *from_h, per_h: *per_h }).collect();
    let bathtub = Life::bathtub(pieces.clone()).expect("a law");
    let constant = Life::constant(Afr::Probability(0.02), Year::Julian).expect("a law");
    for life in [&weibull, &bathtub, &constant] {
        for age in [0.0, 500.0, 1500.0, 39_000.0, 80_000.0] {
            for hazard in [1e-9, 1e-4, 0.3, 2.0] {
                let rest = life.rest_h(age, hazard);
                let gained = life.accumulated(age + rest) - life.accumulated(age);
                assert!(
                    (gained - hazard).abs() < 1e-9 * (1.0 + life.accumulated(age)),
                    "{life:?} {age} {hazard} {gained}"
                );
            }
            let step = 1.0;
            let slope = (life.accumulated(age + step) - life.accumulated(age)) / step;
            assert!((slope - life.hazard(age + 0.5 * step)).abs() < 1e-9, "{life:?} {age}");
        }
    }
    // The average hazard of new and old devices is not that of their average age.
    let mixed = average_hazard(&bathtub, &[(0.0, 5), (80_000.0, 5)]).expect("devices");
    assert!((mixed - 1.15e-5).abs() < 1e-12 && (bathtub.hazard(40_000.0) - mixed).abs() > 5e-6);
    assert!(average_hazard(&bathtub, &[]).is_err());
    let disordered: Vec<Piece> = pieces.into_iter().rev().collect();
    assert_eq!(Life::bathtub(disordered), Err(DurabilityError::PiecesOutOfOrder(0)));
    assert_eq!(exposure_h(336.0, 10.0), Ok(178.0));
}

#[test]
fn clyso_nines_meets_its_rows() {
    let value = |row: &Row, copies: u32| {
        let (hosts, per_host) = (row.count("hosts") as u32, row.count("osds_per_host") as u32);
        let devices = f64::from(hosts * per_host);
        let groups = 2f64.powf((devices * row.number("pgs_per_osd") / f64::from(copies)).log2().round());
        let tib = 1_099_511_627_776.0;
        let asked = ClysoNines {
            hosts,
            per_host,
            copies,
            groups: groups as u32,
            groups_per_device: row.number("pgs_per_osd"),
            group_bytes: devices * row.number("tb") * tib / groups / f64::from(copies),
            object_bytes: row.number("object_mib") * 1_048_576.0,
            recovery_bytes_s: row.number("recovery_mb_s") * 1_048_576.0,
            sleep_s: row.number("sleep_s"),
            afr: row.number("afr"),
            correlation: row.number("fudge"),
        };
        let found = clyso_nines(asked).expect("the row is asked");
        if row.quantity == "MTTDL" { found.mean_years } else { found.critical_h }
    };
    let rows = rows("clyso-nines");
    for row in &rows {
        let found = value(row, row.count("size") as u32);
        // The mean time is printed in thousands of years, with a decimal.
        let allowed = if row.quantity == "MTTDL" { 50.0 } else { row.half_digit() };
        assert!((found - row.value).abs() <= allowed, "{}: {found}, not {}", row.quantity, row.text);
        assert!((value(row, 4) - row.value).abs() > allowed, "four copies differ");
    }
}

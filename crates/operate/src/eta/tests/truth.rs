//! Recoveries whose truth is a run of the model with other constants.

use super::*;
use crate::whatif::replay::Replay;
use crate::whatif::time_alone::Loaded;

/// The report that a recovery with other constants has after so many seconds, and what is left of its time.
fn after(replay: &Replay, factors: &Factors, (draw, seconds): (u32, f64)) -> (Vec<u8>, f64) {
    let course = replay.course(factors, draw).unwrap();
    let begun = course.begun.iter().take_while(|(at, _)| *at <= seconds).last().map_or(0, |(_, sum)| *sum);
    let bytes = report(1, |report| {
        all_under_way(report);
        report["pool_sum"]["stat_sum"]["num_objects_degraded"] = (course.parts - begun).into();
        report["pool_sum"]["stat_sum"]["num_objects_misplaced"] = 0.into();
        report["timestamp"] =
            format!("2026-11-28T17:{:02}:{:02}.000000+0000", 30 + seconds as u32 / 60, seconds as u32 % 60)
                .into();
    });
    (bytes, course.last_s - seconds)
}

/// So many groups are under way that what is copied may be of any of them: the maps of these reports are
/// all of the beginning.
fn all_under_way(report: &mut Json) {
    for row in report["num_pg_by_state"].as_array_mut().unwrap() {
        let state = row["state"].as_str().unwrap().replace("backfill_wait", "backfilling");
        row["state"] = state.into();
    }
}

fn replayed(bytes: &[u8], keys: &str) -> Replay {
    let input = towtank_scenario::Input {
        key: "report".parse().unwrap(),
        path: "one".to_owned(),
        hash: String::new(),
        bytes: bytes.into(),
    };
    let text = format!("study = \"whatif\"\nreport = \"one\"\n{keys}");
    Replay::of(text, Arc::new(Loaded(vec![input]))).unwrap()
}

/// Groups that are whole in a later report have their reservations before those that are left in it, whatever
/// the drawn order. The planted errors: chance alone, and those that are left first.
#[test]
fn groups_that_are_whole_later_go_first() {
    let [mut followed, later] = [1, 3].map(|number| replayed(&report(number, |_| ()), ""));
    let [alone, mut wrong] = [1, 1].map(|number| replayed(&report(number, |_| ()), ""));
    let left = later.ready.staged.affected.numbers.clone();
    followed.follow(&later);
    let affected = &mut wrong.ready.staged.affected;
    for record in 0..affected.records() {
        if left.contains(&affected.numbers[record]) {
            affected.goes_first(record);
        }
    }
    let begun = |replay: &Replay| replay.ready.staged.affected.begun() as usize;
    let all = alone.ready.staged.affected.records();
    assert!(
        begun(&followed) >= all - left.len() && begun(&followed) > begun(&alone),
        "{} of {all}",
        left.len()
    );
    let courses = |replay: &Replay| -> Vec<_> {
        (0..17).map(|draw| replay.course(&Factors::ASSUMED, draw).unwrap()).collect()
    };
    let [followed, alone, wrong] = [&followed, &alone, &wrong].map(courses);
    for (one, other) in followed.iter().zip(&alone) {
        assert_eq!(one.jobs, other.jobs);
    }
    let differ = |one: &[crate::whatif::replay::Course], other: &[crate::whatif::replay::Course]| {
        one.iter().zip(other).filter(|(one, other)| one.begun != other.begun).count()
    };
    // Chance hardly leads to the order that was seen, and never the other way round.
    assert!(differ(&followed, &alone) > 8 && differ(&followed, &wrong) == 17);
}

/// Without limits on backfills no group waits for another, so that chance has no part in it: which groups
/// were done first is not in these maps. With two reports the time is that of the true constants; with the
/// later one alone it is not.
#[test]
fn the_speed_of_other_constants_is_found() {
    let replay = |bytes: &[u8]| replayed(bytes, "max_backfills = 100");
    let whole = replay(&report(1, |_| ())).course(&Factors::ASSUMED, 0).unwrap().parts;
    let start = report(1, |report| {
        all_under_way(report);
        report["pool_sum"]["stat_sum"]["num_objects_degraded"] = whole.into();
        report["timestamp"] = "2026-11-28T17:29:59.900000+0000".into();
    });
    let replay = replay(&start);
    let (mut inside, mut alone_inside, mut all) = (0, 0, 0);
    for sleep in [1.5, 2.0, 3.0, 4.0, 8.0] {
        for draw in [1, 9] {
            let factors = Factors { sleep, ..Factors::ASSUMED };
            let whole = replay.course(&factors, draw).unwrap().last_s;
            let (two, left) = after(&replay, &factors, (draw, (0.4 * whole).round()));
            let folder = || with(&[("one", start.clone()), ("two", two.clone())]);
            let range = |text: &str| {
                let (seen, _) = answered(folder(), text);
                ["time_to_clean_low_s", "time_to_clean_high_s"].map(|measure| value(&seen, measure))
            };
            let [low, high] = range("report = [\"one\", \"two\"]\nmax_backfills = 100");
            inside += u32::from((low..=high).contains(&left));
            let [low, high] = range("report = \"two\"\nmax_backfills = 100");
            alone_inside += u32::from((low..=high).contains(&left));
            all += 1;
        }
    }
    assert!(inside * 5 >= all * 4, "{inside} of {all} are in the range");
    assert!(alone_inside * 2 < all, "one report alone holds {alone_inside} of {all}");
}

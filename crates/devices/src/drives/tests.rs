//! Properties of all models, the noise of `rate`, and the fitted table compared with the measured drive.

use proptest::prelude::*;
use towtank_streams::{Draws, Purpose, Seed};
use towtank_units::{Bytes, Percent, Rate, SimSpan};

use super::*;

const SERVICE: Purpose = Purpose(9);

fn rate(noise: Noise) -> RateSpec {
    let of = |count: u64| Rate::from_bytes_per_second(count).unwrap();
    RateSpec {
        read: of(100_000_000),
        write: of(50_000_000),
        read_overhead: SimSpan::from_us(100),
        write_overhead: SimSpan::from_us(300),
        noise,
    }
}

fn seek() -> SeekSpec {
    let ms = SimSpan::from_ms;
    SeekSpec {
        curve: SeekCurve::through(1000, ms(1), ms(6), ms(12)).unwrap(),
        turn: SimSpan::from_us(8_333),
        zones: vec![Zone { cylinders: 1000, track: Bytes::from_kib(512) }],
        surfaces: 2,
        head_switch: SimSpan::from_us(500),
        write_settle: SimSpan::from_us(400),
        overhead: SimSpan::from_us(100),
        stream_gap: SimSpan::from_us(100),
        buffer: TrackBuffer {
            segments: 4,
            segment: Bytes::from_kib(512),
            bus: Rate::from_bytes_per_second(300_000_000).unwrap(),
        },
    }
}

fn ssd() -> SsdSpec {
    SsdSpec {
        capacity: Bytes::from_mib(12),
        page: Bytes::from_kib(4),
        block_pages: 16,
        die_blocks: 64,
        channels: 2,
        channel_dies: 2,
        read: SimSpan::from_us(75),
        program: SimSpan::from_us(750),
        erase: SimSpan::from_us(3_800),
        channel_rate: Rate::from_bytes_per_second(333_000_000).unwrap(),
        host_rate: Rate::from_bytes_per_second(4_000_000_000).unwrap(),
        overhead: SimSpan::from_us(5),
        buffer: Bytes::from_kib(256),
        free_blocks: 2,
    }
}

fn models() -> Vec<DiskModel> {
    vec![
        DiskModel::Rate(rate(Noise::None)),
        DiskModel::Rate(rate(Noise::Uniform(Percent::from_percent(50).unwrap()))),
        DiskModel::Rate(rate(Noise::LogNormal(Percent::from_percent(30).unwrap()))),
        DiskModel::Seek(seek()),
        DiskModel::Table(TableSpec::fitted_7200_rpm()),
        DiskModel::Ssd(ssd()),
    ]
}

fn io(write: bool, offset: u64, bytes: u64) -> Io {
    Io { write, offset, bytes }
}

/// Serves requests, each with the draws of its number; the first has the number `from`.
fn served(model: &DiskModel, drive: &mut Drive, from: u64, requests: &[(bool, u64, u64)]) -> Vec<Service> {
    let mut services = Vec::new();
    for (number, &(write, offset, bytes)) in (from..).zip(requests) {
        let mut draws = Draws::new(Seed(7), 3, number);
        let now = SimTime::from_ns(number * 1_000_000);
        services.push(model.serve(drive, now, io(write, offset, bytes), &mut draws.of(SERVICE)));
    }
    services
}

proptest! {
    /// A run that is cut at any point and continued from a clone, or from its serialised state, is the same
    /// run.
    #[test]
    fn a_drive_is_its_state_and_its_draws(
        requests in prop::collection::vec((any::<bool>(), 0u64..8 << 20, 1u64..1 << 18), 2..20),
        cut in any::<prop::sample::Index>(),
    ) {
        for model in models() {
            let cut = cut.index(requests.len());
            let mut whole = model.drive().unwrap();
            let want = served(&model, &mut whole, 0, &requests);
            let mut half = model.drive().unwrap();
            let mut found = served(&model, &mut half, 0, &requests[..cut]);
            let text = serde_json::to_string(&half).unwrap();
            let mut copy: Drive = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&copy, &half);
            found.extend(served(&model, &mut copy, cut as u64, &requests[cut..]));
            prop_assert_eq!(&found, &want);
            prop_assert_eq!(&copy, &whole);
            prop_assert_eq!(whole.audit(), Ok(()));
            let named: DiskModel = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
            prop_assert_eq!(named, model);
        }
    }
}

#[test]
fn other_draws_are_other_times_only_where_there_is_chance() {
    for model in models() {
        let of = |ordinal: u64| {
            let mut draws = Draws::new(Seed(7), 3, ordinal);
            let mut drive = model.drive().unwrap();
            model.serve(&mut drive, SimTime::ZERO, io(false, 1 << 20, 4096), &mut draws.of(SERVICE)).end
        };
        assert_eq!(of(1), of(1));
        let noise = matches!(&model, DiskModel::Rate(spec) if spec.noise != Noise::None);
        assert_eq!(of(1) != of(2), noise || matches!(model, DiskModel::Seek(_)), "{}", model.name());
    }
}

#[test]
fn a_drive_with_more_to_do_than_time_is_noticed() {
    let lane = Lane { busy: SimSpan::from_ns(2), idle_at: SimTime::from_ns(1) };
    let mut planted = SeekDrive::default();
    planted.lane = lane;
    for drive in [Drive::Rate(lane), Drive::Seek(planted)] {
        assert!(matches!(drive.audit(), Err(Broken::MoreThanTime { .. })));
    }
}

#[test]
#[should_panic(expected = "the drive was made by another model than seek")]
fn a_drive_of_another_model_is_noticed() {
    let mut drive = DiskModel::Ssd(ssd()).drive().unwrap();
    let mut draws = Draws::new(Seed(1), 1, 1);
    DiskModel::Seek(seek()).serve(&mut drive, SimTime::ZERO, io(false, 0, 1), &mut draws.of(SERVICE));
}

#[test]
fn noise_keeps_the_mean_and_its_bounds() {
    let of = |noise: Noise| -> Vec<f64> {
        let spec = rate(noise);
        let span =
            |ordinal| spec.span(io(false, 0, 900_000), &mut Draws::new(Seed(1), 2, ordinal).of(SERVICE));
        (0..40_000).map(|ordinal| span(ordinal).as_ns() as f64 / 1e6).collect()
    };
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let deviation = |times: &[f64]| {
        let mean = mean(times);
        (times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64).sqrt()
    };
    // 0.9 MB at 100 MB/s, and 0.1 ms.
    assert_eq!(of(Noise::None)[0], 9.1);
    let uniform = of(Noise::Uniform(Percent::from_percent(50).unwrap()));
    assert!(uniform.iter().all(|time| (4.55 - 1e-6..=13.65).contains(time)));
    // Standard errors are 0.15 % of the means; tolerances set beforehand: 1 % of means, 2 % of deviations.
    assert!((mean(&uniform) / 9.1 - 1.0).abs() < 0.01, "{}", mean(&uniform));
    assert!((deviation(&uniform) / (9.1 / 12f64.sqrt()) - 1.0).abs() < 0.02, "{}", deviation(&uniform));
    let log_normal = of(Noise::LogNormal(Percent::from_percent(30).unwrap()));
    assert!((mean(&log_normal) / 9.1 - 1.0).abs() < 0.01, "{}", mean(&log_normal));
    assert!((deviation(&log_normal) / (0.3 * 9.1) - 1.0).abs() < 0.02, "{}", deviation(&log_normal));
    let wild = rate(Noise::Uniform(Percent::from_percent(101).unwrap()));
    let error = DiskModel::Rate(wild).drive().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`noise` is 101%, but must be at most 100%: service times cannot be negative"
    );
}

#[test]
fn the_fit_is_as_near_to_the_drive_as_it_says() {
    // Milliseconds of an ST500NM0001, a selection from those that PFSsim publishes (its `disk/ST500NM0001`):
    // size, jump, time.
    let near = |write: bool, bytes: u64, jump: u64, ms: f64, tolerance: f64| {
        let found = TableSpec::fitted_7200_rpm().span(io(write, 0, bytes), jump).as_ns() as f64 / 1e6;
        assert!((found / ms - 1.0).abs() < tolerance, "{bytes} bytes after {jump}: {found} and {ms}");
    };
    for (write, ms) in [(false, 8.633), (true, 8.450)] {
        near(write, 1 << 20, 0, ms, 0.07);
    }
    near(false, 4096, 0, 0.0482, 0.07);
    near(false, 4096, 4096, 0.0882, 0.17);
    near(false, 4096, 512 << 10, 4.357, 0.17);
    near(false, 4096, 1 << 30, 6.054, 0.17);
    near(false, 4096, 8 << 30, 7.53, 0.17);
    near(false, 256 << 10, 1 << 30, 10.16, 0.17);
    near(false, 1 << 20, 64 << 20, 15.51, 0.17);
    near(true, 4096, 1 << 30, 4.04, 0.15);
    near(true, 256 << 10, 8 << 20, 3.47, 0.15);
    near(true, 1 << 20, 1 << 30, 15.34, 0.15);
    // The worst error of each direction, as stated in `fit`.
    near(false, 16 << 10, 8192, 0.25183, 0.36);
    near(true, 512 << 10, 128 << 10, 5.79102, 0.84);
}

#[test]
fn a_table_is_itself_at_its_points_and_between_its_neighbours() {
    let us = SimSpan::from_us;
    let times = Times {
        sequential: vec![us(10), us(40)],
        jumping: vec![vec![us(100), us(300)], vec![us(200), us(800)]],
    };
    let spec = TableSpec {
        sizes: vec![4096, 65_536],
        jumps: vec![1 << 12, 1 << 20],
        read: times.clone(),
        write: times,
    };
    let check = |bytes: u64, jump: u64, want_us: u64| {
        assert_eq!(spec.span(io(false, 0, bytes), jump), us(want_us), "{bytes} after {jump}");
    };
    check(4096, 1 << 12, 100);
    check(65_536, 1 << 20, 800);
    // The midpoint in both logarithms.
    check(16_384, 1 << 16, 350);
    check(16_384, 0, 25);
    // Outside the table, and a size whose remainder is sequential.
    check(512, 1, 100);
    check(4096, 1 << 40, 300);
    check(131_072, 1 << 12, 240);
    let mut drive = TableDrive::default();
    let end = |drive: &mut TableDrive, offset| {
        let service = drive.serve(&spec, SimTime::ZERO, io(true, offset, 4096));
        service.end.since(service.begin)
    };
    // From 0, then sequentially, then back to the beginning.
    assert_eq!([0, 4096, 4096].map(|offset| end(&mut drive, offset)), [us(10), us(10), us(100)]);
    let mut short = spec.clone();
    short.write.jumping.pop();
    assert_eq!(
        DiskModel::Table(short).drive().unwrap_err().to_string(),
        "`write` is 2 sequential times and 1 rows, but must be 2 sequential times, and 2 rows of 2"
    );
    let falling = TableSpec { sizes: vec![5, 5], ..spec };
    assert!(DiskModel::Table(falling).drive().is_err());
}

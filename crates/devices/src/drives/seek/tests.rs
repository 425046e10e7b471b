//! The seek curve compared with published drives and formulas, and the drive compared with closed forms.

use proptest::prelude::*;
use towtank_streams::{Draws, Purpose, Seed};

use super::*;

const TURN_NS: u64 = 6_000_000;
const ROTATION: Purpose = Purpose(1);

/// Two zones of 100 cylinders, with 600 and 300 KB per track; one surface, no buffer.
fn spec() -> SeekSpec {
    let ms = SimSpan::from_ms;
    let zone = |track| Zone { cylinders: 100, track: Bytes::new(track) };
    SeekSpec {
        curve: SeekCurve::through(200, ms(1), ms(5), ms(10)).unwrap(),
        turn: SimSpan::from_ns(TURN_NS),
        zones: vec![zone(600_000), zone(300_000)],
        surfaces: 1,
        head_switch: SimSpan::ZERO,
        write_settle: SimSpan::ZERO,
        overhead: SimSpan::ZERO,
        stream_gap: SimSpan::ZERO,
        buffer: TrackBuffer {
            segments: 0,
            segment: Bytes::ZERO,
            bus: Rate::from_bytes_per_second(1 << 40).unwrap(),
        },
    }
}

fn buffered() -> SeekSpec {
    let buffer = TrackBuffer { segments: 2, segment: Bytes::new(500_000), ..spec().buffer };
    SeekSpec { buffer, ..spec() }
}

fn io(write: bool, offset: u64, bytes: u64) -> Io {
    Io { write, offset, bytes }
}

/// Serves a request when the drive is idle and returns its service time; the draws are those of `number`.
fn take(drive: &mut SeekDrive, spec: &SeekSpec, number: u64, io: Io) -> SimSpan {
    let now = drive.lane.idle_at;
    let mut draws = Draws::new(Seed(3), 1, number);
    drive.serve(spec, now, io, &mut draws.of(ROTATION)).end.since(now)
}

/// Lee's curve through the same three numbers, the second being the mean over random requests, as DiskSim has
/// it ("3-point curve" among its seek types): a √(d − 1) + b (d − 1) + c.
fn lee(cylinders: f64, [one, mean, full]: [f64; 3], distance: f64) -> f64 {
    let root = (-10.0 * one + 15.0 * mean - 5.0 * full) / (3.0 * cylinders.sqrt());
    let line = (7.0 * one - 15.0 * mean + 8.0 * full) / (3.0 * cylinders);
    root * (distance - 1.0).sqrt() + line * (distance - 1.0) + one
}

#[test]
fn seven_drives_of_disksim_have_their_times() {
    // Cylinders, then milliseconds over one, a third of all and all: the parameter files of DiskSim (Western
    // Digital's fork, `valid/`). Tolerances, set beforehand: to the nanosecond at the three points; 10 % of
    // the full stroke from Lee's formula at any distance; the mean over random requests within 10 % of the
    // time over a third.
    let drives = [
        ("Cheetah 9LP", 6962, [0.831, 5.624, 10.627]),
        ("Atlas 10K", 10_042, [1.245, 5.63, 10.828]),
        ("Atlas III", 8057, [1.663, 8.6, 15.36]),
        ("Barracuda", 5172, [1.943, 9.479, 16.679]),
        ("Ultrastar 18ES", 11_474, [1.062, 7.733, 12.853]),
        ("Cheetah 4LP", 6581, [0.636, 8.178, 16.107]),
        ("C3323A", 2982, [1.178, 9.952, 18.116]),
    ];
    for (name, cylinders, times) in drives {
        let [one, third, full] = times.map(|ms: f64| SimSpan::from_us((ms * 1e3).round() as u64));
        let curve = SeekCurve::through(cylinders, one, third, full).unwrap();
        assert_eq!(curve.span(0), SimSpan::ZERO, "{name}");
        assert_eq!([1, cylinders / 3, cylinders - 1].map(|d| curve.span(d)), [one, third, full], "{name}");
        let (mut sum, mut last) = (0.0, SimSpan::ZERO);
        for distance in 1..cylinders {
            let span = curve.span(distance);
            assert!(span >= last, "{name}: it falls at {distance}");
            last = span;
            let ms = span.as_ns() as f64 / 1e6;
            let theirs = lee(cylinders.into(), times, distance.into());
            assert!((ms - theirs).abs() < 0.1 * times[2], "{name} over {distance}: {ms} and {theirs}");
            sum += f64::from(cylinders - distance) * ms;
        }
        let mean = 2.0 * sum / (f64::from(cylinders) * f64::from(cylinders - 1));
        assert!((mean / times[1] - 1.0).abs() < 0.1, "{name}: {mean} at random, {} over a third", times[1]);
    }
}

#[test]
fn the_curve_is_that_of_ruemmler_and_wilkes() {
    // HP 97560, in milliseconds: 3.24 + 0.400 √d below 383 cylinders, 8.00 + 0.008 d from there on, of 1962.
    let ns = |ms: f64| SimSpan::from_ns((ms * 1e6) as u64);
    let curve = SeekCurve {
        one: ns(3.64),
        knee_cylinders: 383,
        knee: ns(3.24 + 0.4 * 383f64.sqrt()),
        full_cylinders: 1961,
        full: ns(8.0 + 0.008 * 1961.0),
    };
    for distance in 1..1962 {
        let d = f64::from(distance);
        let want = if distance < 383 { 3.24 + 0.4 * d.sqrt() } else { 8.0 + 0.008 * d };
        let found = curve.span(distance).as_ns() as f64 / 1e6;
        // The two parts of the published curve differ by 0.004 ms where they meet.
        assert!((found - want).abs() < 0.005, "{distance}: {found} and {want}");
    }
}

#[test]
fn rotation_is_half_a_turn_on_average_and_never_a_whole_one() {
    let (spec, mut drive) = (spec(), SeekDrive::default());
    let (mut sum, count) = (0, 40_000);
    for number in 0..count {
        // One byte on the first cylinder, never where the last request ended.
        let span = take(&mut drive, &spec, number, io(false, number % 7 * 10, 1)).as_ns();
        let rotation = span - TURN_NS.div_ceil(600_000);
        assert!(rotation < TURN_NS);
        sum += rotation;
    }
    // The standard error is 0.29 % of half a revolution; tolerance set beforehand: 1 %.
    let mean = sum as f64 / count as f64;
    assert!((mean / (TURN_NS as f64 / 2.0) - 1.0).abs() < 0.01, "{mean}");
    assert_eq!((drive.seeks, drive.lane.audit()), (0, Ok(())));
}

#[test]
fn a_stream_moves_at_the_rate_of_its_zone() {
    let size = 40_000;
    let check = |spec: &SeekSpec, write: bool, start: u64, want: f64| {
        let (mut drive, mut draws) = (SeekDrive::default(), Draws::new(Seed(1), 1, 1));
        // Each request comes when the previous one is done: queue, buffer or gap keeps the stream together.
        let mut ends = Vec::new();
        for number in 0..500u64 {
            let request = io(write, start + number * size, size);
            ends.push(drive.serve(spec, drive.lane.idle_at, request, &mut draws.of(ROTATION)).end);
        }
        let span = ends[499].since(ends[0]).as_ns() as f64 / 1e9;
        let rate = 499.0 * size as f64 / span;
        assert!((rate / want - 1.0).abs() < 1e-4, "{rate} and {want}");
        assert!(drive.lane.audit().is_ok());
    };
    for write in [false, true] {
        check(&spec(), write, 0, 100_000_000.0);
        check(&spec(), write, 60_000_000, 50_000_000.0);
    }
    check(&buffered(), false, 0, 100_000_000.0);
    let switching = SeekSpec { head_switch: SimSpan::from_ms(1), ..buffered() };
    // 19.96 MB are 33.27 tracks, so one switch more or less is 0.4 % of what a whole number of tracks would
    // give.
    assert_eq!(switching.zone_rate_bytes_per_second(0), 85_714_285);
    assert_eq!(switching.transfer(0, 6_000_000).as_ns(), 10 * 7_000_000);
    assert_eq!(spec().zone_rate_bytes_per_second(60_000_000), 50_000_000);
}

#[test]
fn a_stream_that_stops_loses_its_place() {
    let mut spec = spec();
    let mut drive = SeekDrive::default();
    take(&mut drive, &spec, 0, io(true, 0, 1000));
    let later = drive.lane.idle_at.saturating_add(SimSpan::from_us(10));
    let serve = |drive: &SeekDrive, spec: &SeekSpec| {
        let mut draws = Draws::new(Seed(3), 1, 9);
        drive.clone().serve(spec, later, io(true, 1000, 1000), &mut draws.of(ROTATION)).end.since(later)
    };
    assert!(serve(&drive, &spec).as_ns() > 10_000 + 20);
    spec.stream_gap = SimSpan::from_us(10);
    assert_eq!(serve(&drive, &spec).as_ns(), 10_000);
}

#[test]
fn what_was_read_is_sent_from_the_buffer() {
    let spec = SeekSpec {
        overhead: SimSpan::from_us(50),
        buffer: TrackBuffer { bus: Rate::from_bytes_per_second(1_000_000_000).unwrap(), ..buffered().buffer },
        ..buffered()
    };
    let mut drive = SeekDrive::default();
    let first = take(&mut drive, &spec, 0, io(false, 0, 10_000));
    assert!(first.as_ns() >= 50_000 + 100_000);
    // Again: 50 us overhead and 10 us over the bus.
    assert_eq!(take(&mut drive, &spec, 1, io(false, 0, 10_000)).as_ns(), 60_000);
    // 60 us later the platter has read 6 kB on: the request ends with its last byte, 300 us after the end of
    // the first one.
    assert_eq!(take(&mut drive, &spec, 2, io(false, 10_000, 30_000)).as_ns(), 240_000);
    // Another stream, then back to the first stream's segment.
    let elsewhere = io(false, 80_000_000, 1000);
    assert!(take(&mut drive, &spec, 3, elsewhere).as_ns() > 1_000_000);
    assert_eq!((drive.seeks, drive.hits), (1, 1));
    assert_eq!(take(&mut drive, &spec, 4, io(false, 5_000, 1_000)).as_ns(), 51_000);
    // A write invalidates what it overlaps.
    assert!(take(&mut drive, &spec, 5, io(true, 4_000, 2_000)).as_ns() > 1_000_000);
    assert!(take(&mut drive, &spec, 6, io(false, 5_000, 1_000)).as_ns() > 51_000);
}

#[test]
fn what_the_buffer_serves_moves_no_head() {
    let (spec, mut drive) = (buffered(), SeekDrive::default());
    take(&mut drive, &spec, 0, io(false, 0, 1_000));
    take(&mut drive, &spec, 1, io(false, 80_000_000, 1_000));
    // The end of the first stream's segment comes from the buffer; what follows it does not, and the head is
    // far away.
    let end = drive.held[0].to;
    assert!(take(&mut drive, &spec, 2, io(false, end - 500, 500)).as_ns() < 1_000);
    assert!(take(&mut drive, &spec, 3, io(false, end, 500)) > spec.curve.span(100));
    assert_eq!((drive.hits, drive.seeks), (1, 2));
}

#[test]
fn a_segment_that_is_full_stays_as_it_is() {
    let (spec, mut drive) = (buffered(), SeekDrive::default());
    take(&mut drive, &spec, 0, io(false, 0, 1_000));
    // A second later the buffer holds 500 kB and no more.
    let later = drive.lane.idle_at.saturating_add(SimSpan::from_secs(1));
    let serve = |offset: u64, bytes: u64| {
        let mut draws = Draws::new(Seed(3), 1, 9);
        drive.clone().serve(&spec, later, io(false, offset, bytes), &mut draws.of(ROTATION)).end.since(later)
    };
    assert!(serve(1_000, 500_000).as_ns() < 1_000);
    let beyond = serve(1_000, 501_000).as_ns();
    assert!((10_000..10_000 + TURN_NS).contains(&beyond), "1 kB, and less than a turn: {beyond}");
}

#[test]
fn a_write_settles() {
    let calm = SeekSpec { write_settle: SimSpan::from_us(700), ..spec() };
    let of =
        |spec: &SeekSpec, write| take(&mut SeekDrive::default(), spec, 4, io(write, 30_000_000, 512)).as_ns();
    assert_eq!(of(&calm, true), of(&calm, false) + 700_000);
    assert_eq!(of(&calm, false), of(&spec(), true));
}

#[test]
fn what_cannot_be_is_refused_with_its_limit() {
    let check = |change: fn(&mut SeekSpec), want: &str| {
        let mut spec = spec();
        change(&mut spec);
        assert_eq!(spec.check().unwrap_err().to_string(), want);
    };
    assert_eq!(spec().check(), Ok(()));
    check(|spec| spec.turn = SimSpan::ZERO, "`turn` is 0s, but must be above 0");
    check(|spec| spec.surfaces = 0, "`surfaces` is 0, but must be at least 1");
    check(|spec| spec.zones.truncate(1), "`zones` is 100 cylinders, but must be 200, as in the curve");
    check(
        |spec| spec.zones[1].track = Bytes::ZERO,
        "`zones` is 100 cylinders of 0B a track, but must be at least one cylinder and one byte each",
    );
    check(
        |spec| spec.curve.knee_cylinders = 199,
        "`knee_cylinders` is 199, but must be above 1 and below those of the full stroke, which must be below 1073741824",
    );
    check(
        |spec| spec.curve.knee = SimSpan::from_ms(11),
        "`knee` is 11ms, but must be between the times over one and over all cylinders",
    );
}

proptest! {
    /// `passed` is the inverse of `transfer`: the bytes that pass in the time of a transfer are those of that
    /// transfer.
    #[test]
    fn parts_of_a_transfer_take_as_long_as_all_of_it(
        offset in 0u64..100_000_000, first in 1u64..1_500_000, second in 1u64..1_500_000, switch_us in 0u64..900
    ) {
        let spec = SeekSpec { head_switch: SimSpan::from_us(switch_us), ..spec() };
        let parts = spec.transfer(offset, first).as_ns() + spec.transfer(offset + first, second).as_ns();
        let whole = spec.transfer(offset, first + second);
        // Each part rounds up, in each of two zones.
        prop_assert!(parts >= whole.as_ns() && parts <= whole.as_ns() + 4, "{} and {}", parts, whole);
        let passed = spec.passed(offset, whole, first + second);
        prop_assert_eq!(passed, first + second);
        let almost = spec.passed(offset, SimSpan::from_ns(whole.as_ns() - 1), first + second);
        prop_assert!(almost < first + second);
    }

    /// For any requests, a drive is not busier than the elapsed time, and no request ends before its bytes
    /// have been transferred.
    #[test]
    fn no_request_beats_the_bus_or_the_clock(
        requests in prop::collection::vec((any::<bool>(), 0u64..80_000_000, 1u64..800_000, 0u64..20_000_000, any::<bool>()), 1..40)
    ) {
        let spec = SeekSpec {
            buffer: TrackBuffer { bus: Rate::from_bytes_per_second(200_000_000).unwrap(), ..buffered().buffer },
            ..buffered()
        };
        let (mut drive, mut now, mut draws) = (SeekDrive::default(), SimTime::ZERO, Draws::new(Seed(2), 1, 1));
        let mut last = 0;
        for (write, offset, bytes, gap, follows) in requests {
            now = now.saturating_add(SimSpan::from_ns(gap));
            let request = io(write, if follows { last } else { offset }, bytes);
            let service = drive.serve(&spec, now, request, &mut draws.of(ROTATION));
            let span = service.end.since(service.begin);
            prop_assert!(span >= spec.buffer.bus.span_for(Bytes::new(bytes)).min(spec.transfer(request.offset, bytes)));
            prop_assert!(drive.lane.audit().is_ok());
            prop_assert!(drive.held.len() <= 2 && drive.held.iter().all(|held| held.from <= held.to));
            last = request.end();
        }
    }
}

//! What each fuzz target does with its bytes, and what must hold whatever they are: no panic, and what a
//! parser accepts and prints reads back as the same value.
//!
//! `crates/cli/tests/corpus.rs` compiles this same file on the stable compiler and replays the checked-in
//! corpus through it, so that an input which once failed stays mended.

use std::hint::black_box;
use std::sync::Arc;

use towtank_placement::crush;
use towtank_scenario::gate::{Gate, Known, Reading};
use towtank_scenario::{Document, Problems, Setting, Source};
use towtank_units::{Bytes, Frequency, Percent, Quantity, Rate, SimSpan, SimTime};

/// A target by the name of its corpus folder.
pub type Target = (&'static str, fn(&[u8]));

/// Every target there is.
pub const TARGETS: [Target; 32] = [
    ("crush_binary", crush_binary),
    ("crush_edit", crush_edit),
    ("crush_text", crush_text),
    ("ceph_dump", ceph_dump),
    ("ceph_map", ceph_map),
    ("past", past),
    ("swift_ring", swift_ring),
    ("gate", gate),
    ("outcome", outcome),
    ("plan", plan),
    ("population", population),
    ("quantity", quantity),
    ("report", report),
    ("scenario", scenario),
    ("setting", setting),
    ("iops_cosbench", benchmark),
    ("iops_csv", benchmark),
    ("iops_elbencho", benchmark),
    ("iops_fio", benchmark),
    ("iops_rados", benchmark),
    ("iops_warp", benchmark),
    ("mix", mix),
    ("merkle", merkle),
    ("trace", trace),
    ("frames", frames),
    ("content", content),
    ("wire", wire),
    ("gateway_body", gateway_body),
    ("gateway_connection", gateway_connection),
    ("gateway_document", gateway_document),
    ("gateway_request", gateway_request),
    ("gateway_stored", gateway_stored),
];

/// A CRUSH map in Ceph's binary form. What is read is sound, and written again it reads the same.
pub fn crush_binary(data: &[u8]) {
    let Ok(map) = crush::binary::read(data) else { return };
    assert_eq!(crush::check(&map), Ok(()), "a map that was read is sound");
    let again = crush::binary::read(&crush::binary::write(&map)).expect("what was written reads back");
    assert_eq!(again, map);
    if let Ok(text) = crush::text::print(&map) {
        crush_text(text.as_bytes());
    }
}

/// Changes of whatever binary map, each on a copy: refused with words, or done so that the map is written and
/// listed.
pub fn crush_edit(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let Ok(map) = crush::binary::read(data) else { return };
    let nth = |names: &mut dyn Iterator<Item = &String>| names.nth(usize::from(choice >> 4)).cloned();
    let item = nth(&mut map.item_names.values()).unwrap_or_else(|| "osd.0".to_owned());
    let kind = nth(&mut map.type_names.values()).unwrap_or_else(|| "host".to_owned());
    let rule = nth(&mut map.rule_names.values()).unwrap_or_else(|| "rule".to_owned());
    let bucket = map.each_bucket().nth(usize::from(choice & 15));
    let place = bucket.and_then(|bucket| {
        Some((map.type_names.get(&i32::from(bucket.kind))?.clone(), map.item_names.get(&bucket.id)?.clone()))
    });
    let place: crush::edit::Location = place.into_iter().chain([(kind.clone(), "made".to_owned())]).collect();
    let spec =
        |mode| crush::edit::RuleSpec { name: "fuzz", root: &item, spread_over: &kind, class: "", mode };
    let edited = |edit: &dyn Fn(&mut crush::Map) -> Result<(), crush::edit::EditError>| {
        let mut map = map.clone();
        match edit(&mut map) {
            Ok(()) => map.finalize(),
            Err(error) => return assert!(!error.to_string().is_empty(), "refused without a word"),
        }
        let mut listed = String::new();
        crush::tree(&map, &mut listed).expect("a string takes it all");
        // It lists every device up to the last, and a file may say that there are two thousand million.
        if map.max_devices < 10_000 {
            crush::dump(&map, &mut listed).expect("a string takes it all");
        }
        let _ = crush::binary::read(&crush::binary::write(&map));
    };
    edited(&|map| map.reweight());
    edited(&|map| map.reweight_item(&item, 1.5));
    edited(&|map| map.remove_item(&item));
    edited(&|map| map.add_item(7, 0.5, "added", &place));
    edited(&|map| map.update_item(i32::from(choice), 0.5, "updated", &place));
    edited(&|map| map.move_item(&item, &place));
    edited(&|map| map.create_bucket("made", &kind, &place));
    edited(&|map| map.create_rule(spec(crush::Mode::Indep)));
    edited(&|map| map.remove_rule(&rule));
}

/// A CRUSH map as text. What compiles is sound, and printed and compiled again it prints the same.
pub fn crush_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let map = match crush::text::compile(text) {
        Ok(map) => map,
        Err(error) => return assert!(!error.to_string().is_empty(), "a map is refused without a word"),
    };
    assert_eq!(crush::check(&map), Ok(()), "a map that compiles is sound");
    let read = crush::binary::read(&crush::binary::write(&map)).expect("what was written reads back");
    let Ok(printed) = crush::text::print(&read) else { return };
    if !text_can_hold(&read, &printed) {
        return;
    }
    let again = crush::text::compile(&printed).expect("what was printed compiles");
    assert_eq!(crush::text::print(&again).as_ref(), Ok(&printed));
}

/// Whether Ceph's text has room for all of the map. As crushtool does, we print a setting past 2^31 with a
/// sign, which neither reads; a type's number whole, of which a bucket keeps 16 bits; and a negative index of
/// choose args so that both read -1.
fn text_can_hold(map: &crush::Map, printed: &str) -> bool {
    let is_setting = |line: &str| line.starts_with("tunable ") || line.starts_with("\tstep set_");
    !printed.lines().any(|line| is_setting(line) && line.contains(" -"))
        && map.type_names.keys().all(|kind| (0..=i32::from(u16::MAX)).contains(kind))
        && map.choose_args.keys().all(|index| *index >= -1)
}

/// Sizes, times and rates as people write them.
pub fn quantity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    reads_back::<SimTime>(text);
    reads_back::<SimSpan>(text);
    reads_back::<Bytes>(text);
    reads_back::<Rate>(text);
    reads_back::<Frequency>(text);
    reads_back::<Percent>(text);
}

fn reads_back<T: Quantity + std::fmt::Display>(text: &str) {
    match T::parse(text) {
        Ok(value) => {
            let printed = value.to_string();
            let again =
                T::parse(&printed).unwrap_or_else(|error| panic!("{text:?} prints {printed:?}: {error}"));
            assert_eq!(again.base_units(), value.base_units(), "{text:?} prints {printed:?}");
        }
        Err(error) => assert!(!error.with_hint().is_empty(), "{text:?} is refused without a word"),
    }
}

/// A whole scenario file, as far as its study's own check.
pub fn scenario(data: &[u8]) {
    /// A sweep may have many points; the first few go through all the code there is.
    const POINTS_CHECKED: usize = 4;
    let Ok(text) = std::str::from_utf8(data) else { return };
    let document = match Document::parse(&Source::file("fuzz.toml", text)) {
        Ok(document) => document,
        Err(problems) => return each_says_what_and_where(&problems),
    };
    let study = document.study().map(|(name, _)| name.to_owned());
    let outline = match document.outline() {
        Ok(outline) => outline,
        Err(problems) => return each_says_what_and_where(&problems),
    };
    let Some(study) = study.ok().and_then(|name| towtank_study::named(towtank::studies(), &name)) else {
        return;
    };
    for point in outline.points().iter().take(POINTS_CHECKED) {
        match study.check(point.draft()) {
            Ok(prepared) => assert!(prepared.resolved().is_object(), "a resolved scenario is a table"),
            Err(problems) => each_says_what_and_where(&problems),
        }
    }
}

/// `--set key=value`, alone and laid over a scenario.
pub fn setting(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let setting = match Setting::parse("--set", text) {
        Ok(setting) => setting,
        Err(problem) => return each_says_what_and_where(&one(problem)),
    };
    let file = Source::file("fuzz.toml", "study = \"queue\"\n[sweep]\n\"a.b\" = [1, 2]\n");
    let mut document = Document::parse(&file).expect("this scenario is well-formed");
    match document.set(setting) {
        Ok(()) => {
            if let Err(problems) = document.outline() {
                each_says_what_and_where(&problems);
            }
        }
        Err(problem) => each_says_what_and_where(&one(problem)),
    }
}

/// An expression of `--fail-if`, and its judgement of measures with and without a value.
pub fn gate(data: &[u8]) {
    let known = [
        Known::new("wait_mean", "s"),
        Known::new("utilisation", "fraction"),
        Known::new("rate", "bytes/s"),
        Known::new("jobs", "jobs"),
    ];
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Gate::parse("--fail-if", text, &known) {
        Ok(gate) => {
            assert!(gate.names().iter().all(|name| known.iter().any(|it| it.name == *name)), "{text:?}");
            let value = Some(0.5);
            gate.judge(|_| Some(Reading { value, low: value, high: value, reason: None }));
            gate.judge(|_| None);
        }
        Err(problems) => each_says_what_and_where(&problems),
    }
}

/// `report.json`, as `compare` and `merge` read it.
pub fn report(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(report) = towtank_report::Report::from_json(text) else { return };
    let written = report.to_json();
    let again = towtank_report::Report::from_json(&written).expect("what we wrote is a report");
    assert_eq!(again.to_json(), written, "a report changes when it is read and written");
    black_box(towtank_report::csv::files(&report));
    black_box(towtank_report::text::render(&report, towtank_report::text::Style { colour: true, width: 80 }));
    let embedded = towtank_report::html::embed(&written);
    assert!(!embedded.contains("</") && !embedded.contains("<!--"), "data of a page ends its script");
}

/// The plan of a campaign, as `campaign.json` holds it.
pub fn plan(data: &[u8]) {
    let Ok(plan) = serde_json::from_slice::<towtank_campaign::Plan>(data) else { return };
    let written = serde_json::to_string(&plan).expect("a plan has a JSON form");
    let again: towtank_campaign::Plan = serde_json::from_str(&written).expect("what we wrote is a plan");
    assert_eq!(again.key(), plan.key(), "a plan changes when it is read and written");
    let last = plan.tasks().last().expect("a plan has tasks");
    assert!(!plan.describe(last).is_empty());
}

/// The outcome of one replicate, as a point file holds it.
pub fn outcome(data: &[u8]) {
    let write = |outcome: &towtank_report::Outcome| {
        serde_json::to_string(outcome).expect("an outcome has a JSON form")
    };
    let Ok(outcome) = serde_json::from_slice::<towtank_report::Outcome>(data) else { return };
    let written = write(&outcome);
    let again: towtank_report::Outcome = serde_json::from_str(&written).expect("what we wrote is an outcome");
    assert_eq!(write(&again), written, "an outcome changes when it is read and written");
}

fn one(problem: towtank_scenario::Problem) -> Problems {
    let mut problems = Problems::new();
    problems.push(problem);
    problems
}

/// A problem has words, and a place that lies in its own text, on letter boundaries.
fn each_says_what_and_where(problems: &Problems) {
    assert!(!problems.is_empty(), "refused without a problem");
    for problem in problems.iter() {
        assert!(!problem.message().is_empty(), "a problem without words");
        if let Some(place) = problem.place() {
            let source: &Arc<Source> = place.source();
            assert!(source.text().get(place.span()).is_some(), "{problem}: its place is not in its text");
            let (line, column) = place.line_and_column();
            assert!(line > 0 && column > 0, "{problem}: lines and columns count from 1");
        }
    }
}

/// Whatever is given for one of Ceph's dumps, in each of their readers.
pub fn ceph_dump(data: &[u8]) {
    let file = towtank_imports::File { name: "fuzz.json", bytes: data };
    each_names_the_file(towtank_imports::ceph::read_osd_dump(file).map(|dump| drop(dump.value.overlay())));
    each_names_the_file(towtank_imports::ceph::read_pg_dump(file).map(drop));
    each_names_the_file(towtank_imports::ceph::read_osd_df(file).map(drop));
    each_names_the_file(towtank_imports::ceph::read_report(file).map(drop));
}

/// Whatever is given for a CRUSH map; what is accepted can be laid out for mapping.
pub fn ceph_map(data: &[u8]) {
    let read = towtank_imports::ceph::read_map(towtank_imports::File { name: "fuzz.map", bytes: data });
    each_names_the_file(read.map(|map| {
        let _ = map.value.compile();
    }));
}

/// Whatever is given for a ring of Swift. What is read has devices for each partition, and handoffs that are
/// none of them.
pub fn swift_ring(data: &[u8]) {
    const PARTITIONS_LOOKED_AT: usize = 16;
    let file = towtank_imports::File { name: "fuzz.ring.gz", bytes: data };
    each_names_the_file(towtank_imports::swift::read_ring(file).map(|read| {
        let ring = read.value;
        for partition in (0..ring.partitions()).step_by(ring.partitions().div_ceil(PARTITIONS_LOOKED_AT)) {
            let primaries: Vec<u32> = ring.primaries(partition).collect();
            assert!((1..=ring.rows()).contains(&primaries.len()), "partition {partition}: {primaries:?}");
            let handoffs = ring.handoffs(partition, 4);
            assert!(handoffs.iter().all(|device| !primaries.contains(device)), "{handoffs:?}");
        }
    }));
}

/// Whatever is given for what is kept of a recovery, in the zone of its file and in another. What is read
/// says something, no more groups are clean than there are, and rates are numbers.
pub fn past(data: &[u8]) {
    use towtank_imports::past::read;
    let file = towtank_imports::File { name: "fuzz.log", bytes: data };
    for zone in [None, "+01:00".parse().ok()] {
        each_names_the_file(read(file, zone).map(|read| {
            let record = read.value;
            let says = !record.samples.is_empty() || !record.seen.is_empty() || !record.work.is_empty();
            assert!(says, "a file that says nothing is refused");
            for sample in &record.samples {
                let is_sound = |(clean, all)| clean <= all || sample.states.is_empty();
                assert!(sample.clean.zip(sample.groups).is_none_or(is_sound), "{sample:?}");
                let rates = [sample.bytes_per_s, sample.objects_per_s];
                assert!(rates.iter().flatten().all(|rate| rate.is_finite() && *rate >= 0.0), "{sample:?}");
            }
        }));
    }
}

fn each_names_the_file(read: Result<(), towtank_imports::ImportError>) {
    if let Err(error) = read {
        assert!(error.to_string().starts_with("`fuzz."), "{error} names no file");
    }
}

/// A histogram and a table of file sizes. What is read is written and read as the same, and its files have
/// the objects and the bytes that they should.
pub fn population(data: &[u8]) {
    use towtank_population::{Extent, Layout, Population, SizeHistogram};
    for read in [SizeHistogram::read_histogram(data), SizeHistogram::read_csv(data)] {
        let histogram = match read {
            Ok(histogram) => histogram,
            Err(error) => {
                assert!(error.line > 0 && !error.fault.hint().is_empty(), "{error} has no place or no hint");
                continue;
            }
        };
        let again = SizeHistogram::read_histogram(histogram.to_text().as_bytes());
        assert_eq!(again.as_ref(), Ok(&histogram));
        let stripe = Layout::Stripe { unit: Bytes::from_kib(64), width_max: 5 };
        for layout in [Layout::Whole, Layout::CHUNKS, stripe] {
            match Population::new(&histogram, layout, Extent::Files(100), towtank_streams::Seed(1)) {
                Ok(population) => each_object_is_part_of_its_file(&population),
                Err(error) => assert!(!error.hint().is_empty(), "{error}"),
            }
        }
    }
}

fn each_object_is_part_of_its_file(population: &towtank_population::Population) {
    const OBJECTS_LOOKED_AT: usize = 64;
    let mut objects = 0;
    for number in 0..population.files() {
        let file = population.file(number);
        assert_eq!(file.objects.start, objects);
        objects = file.objects.end;
        for id in file.objects.clone().take(OBJECTS_LOOKED_AT) {
            let object = population.object(id);
            assert!(object.file == number && object.size <= file.size && !object.size.is_zero());
            assert_eq!(population.id_of_key(population.key(id)), Some(id));
        }
    }
    assert_eq!(objects, population.objects());
}

/// Whatever is given for the results of a benchmark; what is read can be fitted, or is refused with a reason,
/// and a model reads back as it was written.
pub fn benchmark(data: &[u8]) {
    let read = towtank_imports::iops::read(towtank_imports::File { name: "fuzz.csv", bytes: data });
    each_names_the_file(read.map(|read| {
        let runs: Vec<towtank_capacity::Run> = read.value.iter().map(run_of).collect();
        match towtank_capacity::fit(&runs) {
            Ok(model) => {
                let again = towtank_capacity::Model::from_json("fuzz.json", &model.to_json())
                    .expect("what was written reads back");
                assert_eq!(again, model);
                let checks = towtank_capacity::check(
                    &model,
                    &model.groups(),
                    true,
                    towtank_capacity::Beyond::Extrapolate,
                    10.0,
                );
                if let Ok(checks) = checks {
                    black_box(towtank_capacity::present::fitted(&model, &checks, read.notes).to_json());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty() && !error.hint.is_empty()),
        }
    }));
}

fn run_of(reading: &towtank_imports::iops::Reading) -> towtank_capacity::Run {
    let part = |part: &towtank_imports::iops::Part| towtank_capacity::Part {
        size_bytes: part.size_bytes,
        share: part.share_percent / 100.0,
        reads: part.read_percent / 100.0,
    };
    let mix = towtank_capacity::Mix::new(reading.parts.iter().map(part).collect());
    towtank_capacity::Run {
        system: reading.system.clone(),
        mix: mix.expect("readers give sizes above zero, and shares that add up"),
        shares: towtank_capacity::Shares::Operations,
        iops: reading.iops,
        file: "fuzz.csv".to_owned(),
        place: reading.place.clone(),
    }
}

/// A mix, a plan and a model as people write them.
pub fn mix(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match towtank_capacity::Mix::parse(text) {
        Ok(mix) => {
            let again = towtank_capacity::Mix::parse(&mix.to_string()).expect("what was printed is a mix");
            assert!(again.is(&mix), "{text:?} prints {mix}");
        }
        Err(error) => {
            assert!(text.get(error.span.clone()).is_some(), "{error}: its place is not in {text:?}")
        }
    }
    let _ = towtank_capacity::Plan::parse(text);
    let _ = towtank_capacity::Model::from_json("fuzz.json", text);
}

/// Whatever is given for a tree, a sketch, a bitmap, a message or records of changed leaves; once as it is,
/// and once with the right checksum at its end, so that what lies before it is read. What is read is written
/// and read as the same, and a message is answered or refused.
pub fn merkle(data: &[u8]) {
    merkle_encoding(data);
    let Some((body, _)) = data.split_last_chunk::<8>() else { return };
    let towtank_merkle::ObjectId(checksum) = towtank_merkle::ObjectId::of_name(body);
    merkle_encoding(&[body, &checksum.to_le_bytes()].concat());
}

fn merkle_encoding(data: &[u8]) {
    use towtank_merkle::exchange::{Message, Side, answer};
    use towtank_merkle::{Bitmap, Shape, Sketch, Subspace, Tree, restore};
    let shape = Shape::new(Subspace::WHOLE, 4).expect("few enough leaves");
    let mut tree = Tree::new(shape);
    if let Ok(read) = Tree::decode(data) {
        assert_eq!(read.encode(), data, "a tree changes when it is read and written");
    }
    if let Ok(sketch) = Sketch::decode(data) {
        assert_eq!(sketch.encode(), data, "a sketch changes when it is read and written");
    }
    if let Ok(bitmap) = Bitmap::decode(data) {
        assert_eq!(bitmap.encode(), data, "a bitmap changes when it is read and written");
    }
    if let Ok(restored) = restore::<Tree>(&tree.encode(), data) {
        assert_eq!(restored.record_bytes + restored.torn_bytes, data.len(), "bytes of records are lost");
    }
    if let Ok(message) = Message::decode(data) {
        assert_eq!(Message::decode(&message.encode()).as_ref(), Ok(&message), "a message changes");
        let sketch = Sketch::new(8);
        let _ = answer(Side { tree: tree.settle(), sketch: Some(&sketch) }, &message);
    }
}

/// A trace, as what it is taken for and as each format, and a layout. Whatever is reported has a place, and
/// nothing follows it.
pub fn trace(data: &[u8]) {
    use towtank_traces::{Format, Options, Reader, read_layouts};
    for format in std::iter::once(None).chain(Format::ALL.map(Some)) {
        let mut trace = match Reader::open("fuzz", data, format, Options::default()) {
            Ok(trace) => trace,
            Err(error) => {
                assert!(!error.to_string().is_empty(), "refused without a word");
                continue;
            }
        };
        while let Some(record) = trace.next() {
            match record {
                Ok(record) => {
                    let end = record.offset.zip(record.size).map(|(offset, size)| offset.checked_add(size));
                    assert!(end.is_none_or(|end| end.is_some()), "{record:?} ends past 64 bits");
                }
                Err(error) => {
                    assert!(!error.reason.is_empty(), "refused without a word");
                    assert!(trace.next().is_none(), "a record follows an error");
                }
            }
        }
    }
    if let Ok(layouts) = read_layouts("fuzz", data) {
        let sound = |stripe: &towtank_traces::Stripe| stripe.bytes > 0;
        assert!(
            layouts.values().all(|layout| layout.stripes.iter().all(sound) && !layout.stripes.is_empty())
        );
    }
}

/// Whatever is given for a frame between processes of the store, of every kind. What is read is written and
/// read as the same.
pub fn frames(data: &[u8]) {
    use towtank_store::frames;
    frame_reads_back::<frames::Hello>(data);
    frame_reads_back::<frames::PeerFrame>(data);
    frame_reads_back::<frames::Taken>(data);
    frame_reads_back::<frames::Ask>(data);
    frame_reads_back::<frames::Answer>(data);
    frame_reads_back::<frames::ToMonitor>(data);
    frame_reads_back::<frames::FromMonitor>(data);
}

fn frame_reads_back<T>(data: &[u8])
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let Ok(frame) = postcard::from_bytes::<T>(data) else { return };
    let written = postcard::to_stdvec(&frame).expect("a frame can be written");
    let again: T = postcard::from_bytes(&written).expect("what was written reads back");
    assert_eq!(again, frame, "a frame changes when it is read and written");
}

/// Whatever is given for an object as replicas hold it; once as it is, and once with the right checksum at
/// its end. What is read is written as the same bytes where its head is in the shortest form.
pub fn content(data: &[u8]) {
    let body = data.split_last_chunk::<8>().map_or(data, |(body, _)| body);
    let towtank_merkle::ObjectId(checksum) = towtank_merkle::ObjectId::of_name(body);
    for bytes in [data, &[body, &checksum.to_le_bytes()].concat()] {
        let Ok((head, found)) = towtank_store::content::decode(bytes) else { continue };
        let written = towtank_store::content::encode(&head.name, &head.attributes, found);
        let again = towtank_store::content::decode(&written).expect("what was written reads back");
        assert_eq!(again, (head, found), "an object changes when it is read and written");
    }
}

/// Whatever a stranger sends to a daemon, and whatever comes in place of packets after a handshake: refused,
/// and nothing is read from it.
pub fn wire(data: &[u8]) {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use towtank_store::wire;
    let key = [7; 32];
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let at = listener.local_addr().expect("it is bound");
    for shakes_hands in [false, true] {
        let mut stream = TcpStream::connect(at).expect("it listens");
        let (there, _) = listener.accept().expect("it comes");
        let taking = std::thread::spawn(move || {
            let (_sender, mut receiver) = wire::accept(there, &key)?;
            receiver.receive_bytes()
        });
        if shakes_hands {
            let raw = stream.try_clone().expect("there are handles");
            let _ends = wire::connect(stream, &key).expect("it has the key");
            stream = raw;
        }
        // The other side may have ended it already.
        let _ = stream.write_all(data);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let taken = taking.join().expect("bytes of a stranger do not end a thread");
        assert!(!matches!(taken, Ok(Some(_))), "a frame was read that nobody has sealed");
    }
}

/// A body in chunks, as it is and signed.
pub fn gateway_body(data: &[u8]) {
    towtank_gateway::hostile::body(data);
}

/// The bytes of an HTTP connection to the gateway that nobody has signed.
pub fn gateway_connection(data: &[u8]) {
    towtank_gateway::hostile::connection(data);
}

/// An XML document of a request to the gateway.
pub fn gateway_document(data: &[u8]) {
    towtank_gateway::hostile::document(data);
}

/// A request to the gateway: unsigned, signed, and changed after it was signed.
pub fn gateway_request(data: &[u8]) {
    towtank_gateway::hostile::request(data);
}

/// What the store holds for the gateway besides the bytes of objects.
pub fn gateway_stored(data: &[u8]) {
    towtank_gateway::hostile::stored(data);
}

//! A depot on a store in memory: compared with a map of keys, with a crash after each write, and with
//! concurrent readers and writers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::*;
use crate::checksums::Algorithm;
use crate::shelf::memory::Memory;
use crate::source::{Runs, Source};

const PIECE: u64 = 7;
const PART: u64 = 5;

fn depot(memory: &Arc<Memory>, run: &str) -> Depot<Arc<Memory>> {
    Depot::with_sizes(Arc::clone(memory), run, PIECE, PART).expect("it answers")
}

fn place(key: &str) -> Place {
    Place::new("bucket", key).expect("it may be")
}

fn with_bucket(memory: &Arc<Memory>) -> Depot<Arc<Memory>> {
    let depot = depot(memory, "run0");
    depot.make_bucket("bucket", Moment(1)).expect("there was none");
    depot
}

fn bytes(length: u64, seed: u8) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31) ^ seed).collect()
}

fn payload(data: &[u8]) -> Payload<'static> {
    Payload::of(Box::new(Runs::of(data, 4)), data.len() as u64)
}

fn put(depot: &Depot<Arc<Memory>>, key: &str, data: &[u8]) -> Result<Attributes, Fault> {
    depot.put(&place(key), Labels::default(), payload(data), &|_| Ok(()), Moment(2))
}

fn read(depot: &Depot<Arc<Memory>>, key: &str) -> Option<Vec<u8>> {
    match depot.open_object(&place(key)) {
        Ok(opened) => {
            let length = opened.attributes.length;
            Some(drain(opened.reader(0..length)))
        }
        Err(fault) if fault.code == Code::NoSuchKey => None,
        Err(fault) => panic!("{fault}"),
    }
}

fn drain(mut reader: impl Source) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(run) = reader.next().expect("it can be read") {
        all.extend_from_slice(&run);
    }
    all
}

fn chosen(parts: &[(u32, Attributes)]) -> Vec<Chosen> {
    let of = |(number, part): &(u32, Attributes)| Chosen {
        number: *number,
        etag: part.etag.clone(),
        checksum: None,
    };
    parts.iter().map(of).collect()
}

/// Uploads parts of these lengths; returns the upload's id, its parts and all bytes.
fn upload(
    depot: &Depot<Arc<Memory>>,
    key: &str,
    lengths: &[u64],
) -> Result<(String, Vec<Chosen>, Vec<u8>), Fault> {
    let id = depot.begin_upload(&place(key), Labels::default(), None, Moment(3))?;
    let (mut parts, mut all) = (Vec::new(), Vec::new());
    for (at, length) in lengths.iter().enumerate() {
        let data = bytes(*length, at as u8 + 9);
        let number = at as u32 * 2 + 1;
        parts.push((number, depot.put_part(&place(key), &id, number, payload(&data), Moment(4))?));
        all.extend(data);
    }
    Ok((id, chosen(&parts), all))
}

fn complete(depot: &Depot<Arc<Memory>>, key: &str, id: &str, parts: &[Chosen]) -> Result<Attributes, Fault> {
    depot.complete(&place(key), id, parts, &Promise::default(), &|_| Ok(()), Moment(5))
}

#[derive(Clone, Debug)]
enum Step {
    Put(String, u64),
    Copy(String, String),
    Remove(String),
    Upload(String, Vec<u64>, bool),
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || "[ab/]{1,2}";
    let step = prop_oneof![
        4 => (key(), 0..40_u64).prop_map(|(key, length)| Step::Put(key, length)),
        2 => (key(), key()).prop_map(|(from, to)| Step::Copy(from, to)),
        2 => key().prop_map(Step::Remove),
        2 => (key(), proptest::collection::vec(PART..20, 1..4), any::<bool>())
            .prop_map(|(key, parts, completes)| Step::Upload(key, parts, completes)),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 0..20)
}

fn take(depot: &Depot<Arc<Memory>>, model: &mut BTreeMap<String, Vec<u8>>, step: &Step, seed: u8) {
    match step {
        Step::Put(key, length) => {
            let data = bytes(*length, seed);
            put(depot, key, &data).expect("it is written");
            model.insert(key.clone(), data);
        }
        Step::Copy(from, to) => {
            let Ok(opened) = depot.open_object(&place(from)) else {
                assert!(!model.contains_key(from));
                return;
            };
            let length = opened.attributes.length;
            let payload = Payload::of(Box::new(opened.reader(0..length)), length);
            depot.put(&place(to), Labels::default(), payload, &|_| Ok(()), Moment(2)).expect("it is copied");
            model.insert(to.clone(), model[from].clone());
        }
        Step::Remove(key) => {
            depot.remove(&place(key), &|_| Ok(())).expect("it is removed");
            model.remove(key);
        }
        Step::Upload(key, lengths, completes) => {
            let (id, parts, all) = upload(depot, key, lengths).expect("parts come");
            if *completes {
                complete(depot, key, &id, &parts).expect("it is completed");
                complete(depot, key, &id, &parts).expect("once more tells the same");
                model.insert(key.clone(), all);
            } else {
                depot.abort(&place(key), &id).expect("it is aborted");
            }
        }
        Step::Restart => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_depot_is_a_map_of_keys(steps in steps()) {
        let memory = Memory::new();
        let mut depot = with_bucket(&memory);
        let mut model = BTreeMap::new();
        for (at, step) in steps.iter().enumerate() {
            if matches!(step, Step::Restart) {
                depot = super::tests::depot(&memory, &format!("run{}", at + 1));
            }
            take(&depot, &mut model, step, at as u8);
            prop_assert_eq!(memory.audit(), Ok(()), "{:?}", step);
        }
        for key in ["a", "b", "aa", "ab", "a/", "/"] {
            prop_assert_eq!(read(&depot, key), model.get(key).cloned(), "{}", key);
        }
        let question = Question { most: 100, ..Question::default() };
        let (rows, _) = depot.list("bucket", &question).expect("it answers");
        let names: Vec<&str> = rows.iter().map(|row| row.name()).collect();
        prop_assert_eq!(names, model.keys().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(depot.clean(), Ok(Default::default()));
    }

    #[test]
    fn ranges_are_those_of_the_bytes(length in 1..60_u64, first in 0..60_u64, more in 1..60_u64) {
        let depot = with_bucket(&Memory::new());
        let data = bytes(length, 1);
        put(&depot, "a", &data).expect("it is written");
        let first = first.min(length - 1);
        let end = (first + more).min(length);
        let opened = depot.open_object(&place("a")).expect("it is there");
        prop_assert_eq!(drain(opened.reader(first..end)), &data[first as usize..end as usize]);
    }
}

/// An operation that a crash interrupts.
type Work = fn(&Depot<Arc<Memory>>) -> Result<(), Fault>;

/// After a crash at any write, readers see the old object or the new one, and cleaning leaves nothing without
/// an owner.
#[test]
fn crashes_leave_the_old_or_the_new() {
    let (old, new) = (bytes(30, 1), bytes(40, 2));
    let works: [Work; 3] = [
        |depot| put(depot, "a", &bytes(40, 2)).map(|_| ()),
        |depot| {
            let (id, parts, _) = upload(depot, "b", &[8, 9, 3])?;
            complete(depot, "b", &id, &parts).map(|_| ())
        },
        |depot| depot.remove(&place("a"), &|_| Ok(())),
    ];
    for (which, work) in works.into_iter().enumerate() {
        for writes in 0.. {
            let memory = Memory::new();
            let depot = with_bucket(&memory);
            put(&depot, "a", &old).expect("it is written");
            memory.writes_left.store(writes, Ordering::SeqCst);
            let worked = work(&depot);
            let crashed = memory.writes_left.swap(i64::MAX, Ordering::SeqCst) < 0;
            let after = super::tests::depot(&memory, "run1");
            let found = read(&after, "a");
            let allowed = match which {
                0 => found.as_ref() == Some(&new) || worked.is_err() && found.as_ref() == Some(&old),
                1 => found.as_ref() == Some(&old) && (worked.is_err() || read(&after, "b").is_some()),
                _ => found.is_none() || worked.is_err() && found.as_ref() == Some(&old),
            };
            assert!(allowed, "work {which} after {writes} writes: {worked:?}");
            after.clean().expect("it answers");
            assert_eq!(memory.audit(), Ok(()), "work {which} after {writes} writes");
            assert_eq!(read(&after, "a"), found, "cleaning changes nothing");
            for upload in after.uploads("bucket", "", None, 10).expect("it answers").uploads {
                after.abort(&place(&upload.key), &upload.id).expect("it is under way");
            }
            assert_eq!(memory.audit(), Ok(()), "work {which} after {writes} writes, aborted");
            if let Some(made) = read(&after, "b") {
                assert_eq!(made.len(), 20, "an upload that became an object stays whole");
            }
            if !crashed {
                break;
            }
            assert!(writes < 100, "it ends");
        }
    }
}

/// The audit detects the faults that it checks for.
#[test]
fn planted_faults_are_noticed() {
    let memory = Memory::new();
    let depot = with_bucket(&memory);
    put(&depot, "a", &bytes(30, 1)).expect("it is written");
    let (id, ..) = upload(&depot, "b", &[8, 9]).expect("parts come");
    assert_eq!(memory.audit(), Ok(()));
    let planted = |plant: &dyn Fn(&mut BTreeMap<String, crate::shelf::Found>)| {
        let before = memory.objects.lock().expect("no test panics with it").clone();
        plant(&mut memory.objects.lock().expect("no test panics with it"));
        let said = memory.audit().expect_err("it is wrong");
        *memory.objects.lock().expect("no test panics with it") = before;
        said
    };
    let stray = piece("another", 0);
    assert!(planted(&|objects| drop(objects.insert(stray.clone(), Default::default()))).contains("nobody"));
    let first = |objects: &BTreeMap<String, crate::shelf::Found>| {
        objects.keys().find(|name| name.starts_with(crate::names::PIECES)).cloned().expect("there are pieces")
    };
    assert!(planted(&|objects| drop(objects.remove(&first(objects)))).contains("is missing"));
    let under = place("b").upload(&id);
    assert!(planted(&|objects| drop(objects.remove(&under))).contains("has no upload"));
    // Cleaning repairs the first fault, and removes nothing else.
    memory.objects.lock().expect("no test panics with it").insert(stray, Default::default());
    assert_eq!(super::tests::depot(&memory, "run1").clean().expect("it answers").pieces, 1);
    assert_eq!(memory.audit(), Ok(()));
}

#[test]
fn a_reader_ends_what_it_began() {
    let memory = Memory::new();
    let depot = with_bucket(&memory);
    let old = bytes(30, 1);
    put(&depot, "a", &old).expect("it is written");
    let mut reader = depot.open_object(&place("a")).expect("it is there").reader(0..30);
    let first = reader.next().expect("it can be read").expect("there are bytes");
    put(&depot, "a", &bytes(40, 2)).expect("it is written");
    assert!(memory.audit().is_err(), "the old pieces are still there");
    assert_eq!([&first[..], &drain(reader)].concat(), old);
    assert_eq!(memory.audit(), Ok(()), "and then they are not");
}

#[test]
fn two_writers_leave_one_of_the_two() {
    let memory = Memory::new();
    let depot = with_bucket(&memory);
    let both: Vec<Vec<u8>> = (0..2).map(|seed| bytes(50, seed)).collect();
    std::thread::scope(|scope| {
        for data in &both {
            let depot = &depot;
            scope.spawn(move || (0..50).for_each(|_| drop(put(depot, "a", data).expect("it is written"))));
        }
        scope.spawn(|| {
            (0..50).for_each(|_| assert!(read(&depot, "a").is_none_or(|found| both.contains(&found))))
        });
    });
    assert!(both.contains(&read(&depot, "a").expect("it is there")));
    assert_eq!(memory.audit(), Ok(()));
}

#[test]
fn buckets_are_kept_and_removed_when_they_are_empty() {
    let memory = Memory::new();
    let depot = with_bucket(&memory);
    let code = |result: Result<(), Fault>| result.map_err(|fault| fault.code);
    assert_eq!(code(depot.make_bucket("bucket", Moment(2))), Err(Code::BucketAlreadyOwnedByYou));
    assert_eq!(code(depot.check_bucket("other")), Err(Code::NoSuchBucket));
    put(&depot, "a", b"x").expect("it is written");
    assert_eq!(code(depot.remove_bucket("bucket")), Err(Code::BucketNotEmpty));
    depot.remove(&place("a"), &|_| Ok(())).expect("it is removed");
    let (id, ..) = upload(&depot, "a", &[5]).expect("parts come");
    assert_eq!(code(depot.remove_bucket("bucket")), Err(Code::BucketNotEmpty));
    depot.abort(&place("a"), &id).expect("it is under way");
    let again = super::tests::depot(&memory, "run1");
    assert_eq!(again.buckets(), [("bucket".to_owned(), Moment(1))]);
    assert_eq!(code(again.remove_bucket("bucket")), Ok(()));
    assert_eq!(super::tests::depot(&memory, "run2").buckets(), []);
}

#[test]
fn uploads_that_cannot_be_are_refused() {
    let memory = Memory::new();
    let depot = with_bucket(&memory);
    let (id, parts, _) = upload(&depot, "a", &[8, 3, 4]).expect("parts come");
    let refused =
        |parts: &[Chosen]| complete(&depot, "a", &id, parts).map(|_| ()).map_err(|fault| fault.code);
    assert_eq!(refused(&[]), Err(Code::MalformedXml));
    assert_eq!(refused(&parts), Err(Code::EntityTooSmall));
    assert_eq!(refused(&[parts[1].clone(), parts[0].clone()]), Err(Code::InvalidPartOrder));
    let other = Chosen { etag: "0".to_owned(), ..parts[0].clone() };
    assert_eq!(refused(&[other]), Err(Code::InvalidPart));
    let absent = Chosen { number: 99, ..parts[0].clone() };
    assert_eq!(refused(&[absent]), Err(Code::InvalidPart));
    // A part that is not chosen is removed with the upload.
    assert_eq!(refused(&[parts[0].clone(), parts[2].clone()]), Ok(()));
    assert_eq!(read(&depot, "a").map(|data| data.len()), Some(12));
    assert_eq!(memory.audit(), Ok(()));
    assert_eq!(depot.abort(&place("a"), &id).map_err(|fault| fault.code), Err(Code::NoSuchUpload));
}

/// The checksum of the object is computed from those of its parts, and compared with the caller's.
#[test]
fn checksums_of_uploads_are_those_of_the_whole() {
    let memory = Memory::new();
    let depot = with_bucket(&memory);
    for (algorithm, is_composite) in
        [(Algorithm::Crc64Nvme, false), (Algorithm::Crc32, false), (Algorithm::Sha256, true)]
    {
        let kind = ReportedChecksum { algorithm, value: String::new(), is_composite };
        let id =
            depot.begin_upload(&place("a"), Labels::default(), Some(kind), Moment(3)).expect("it begins");
        let (mut parts, mut whole, mut joined) = (Vec::new(), algorithm.begin(), algorithm.begin());
        for number in 1..4 {
            let data = bytes(6 + u64::from(number), number as u8);
            whole.update(&data);
            let mut one = algorithm.begin();
            one.update(&data);
            joined.update(&one.end());
            let part = depot.put_part(&place("a"), &id, number, payload(&data), Moment(4)).expect("it comes");
            parts.push((number, part));
        }
        let want = match is_composite {
            true => format!("{}-3", crate::checksums::base64(&joined.end())),
            false => crate::checksums::base64(&whole.end()),
        };
        let promised = |promise: &Promise<'_>| {
            depot.complete(&place("a"), &id, &chosen(&parts), promise, &|_| Ok(()), Moment(5))
        };
        let complete = |want: &str| {
            let promise = Promise { checksum: Some((algorithm, want)), ..Promise::default() };
            promised(&promise)
        };
        assert_eq!(complete("AAAA").map_err(|fault| fault.code), Err(Code::BadDigest));
        let kind = if is_composite { "FULL_OBJECT" } else { "COMPOSITE" };
        for promise in [
            Promise { checksum: Some((Algorithm::Sha1, "AAAA")), ..Promise::default() },
            Promise { kind: Some(kind), ..Promise::default() },
            Promise { length: Some(1), ..Promise::default() },
        ] {
            assert_eq!(
                promised(&promise).map_err(|fault| fault.code),
                Err(Code::InvalidRequest),
                "{promise:?}"
            );
        }
        let made = complete(&want).expect("it is as declared").checksum.expect("it has one");
        assert_eq!((made.value, made.is_composite), (want, is_composite));
    }
}

/// A reader held a record of every piece that it had yet to read.
#[test]
fn readers_of_very_many_pieces_take_little_memory() {
    let memory = Memory::new();
    let depot = with_bucket(&memory);
    let length = 1 << 50;
    let manifest = Manifest { segments: vec![Segment { id: "absent".to_owned(), length, piece: 1 }] };
    let attributes = Attributes { length, form: Form::Pieces, ..Attributes::default() };
    memory.put(&place("key").object(), &attributes.encode(), &manifest.encode()).expect("it is there");
    let mut reader = depot.open_object(&place("key")).expect("it is sound").reader(0..length);
    assert_eq!(reader.next().map_err(|fault| fault.code), Err(Code::InternalError), "the piece is missing");
}

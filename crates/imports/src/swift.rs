//! Reader of the rings that `swift-ring-builder FILE write_ring` of OpenStack Swift writes, versions 1 and 2.
//!
//! A ring is compressed by gzip. It begins with `R1NG` and the version in two bytes, big-endian. Version 1
//! goes on with the length of a header in four bytes, the header in JSON, and the rows: the id of a device in
//! two bytes for each partition, in the byte order that the header names. Version 2 (Swift 2.36) has named
//! sections, each with its length in eight bytes; an index of them is at the end, and after it the place of
//! the index. Its numbers are big-endian, and ids have two or four bytes. The last row is shorter where the
//! number of copies is a fraction. Both formats as written by `swift.common.ring` of Swift 2.38.3.
//!
//! Left out: builder files, which are pickled Python; rings of before 2012, which are too; weights, ports and
//! metadata of devices; the checksums of sections, as gzip has its own.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use towtank_placement::swift::{Device, ROWS_MAX, Ring};

use crate::envelope::{of_json, unpack};
use crate::{File, ImportError, Imported};

/// The maximum size of a ring in bytes, uncompressed: part power 25 with three copies takes 192 MiB.
const RING_MAX_BYTES: u64 = 256 << 20;
/// The maximum memory that the reader uses per byte of an uncompressed ring, including the file: a list of
/// devices of which none exists. `tests/memory.rs` measures it.
pub const RING_MEMORY_PER_BYTE: u64 = 8;
/// The maximum number of entries in the list of devices: as many as ids of Ceph's devices.
const DEVICES_MAX: usize = 1_000_000;

const MAGIC: &[u8] = b"R1NG";
/// How files begin that Python has pickled, with protocols 2 to 5.
const PICKLED: [&[u8]; 4] = [&[0x80, 2], &[0x80, 3], &[0x80, 4], &[0x80, 5]];

const EXPORT: &str = "name the file that `swift-ring-builder FILE write_ring` writes, such as object.ring.gz";
const AGAIN: &str = "write it again with `swift-ring-builder FILE write_ring`, and copy it in full";

/// Reads a ring.
///
/// # Errors
/// If it is no ring of version 1 or 2, with the byte or the key of the error.
pub fn read_ring(file: File<'_>) -> Result<Imported<Ring>, ImportError> {
    let bytes = unpack(file, RING_MAX_BYTES)
        .map_err(|error| ImportError { hint: error.hint.map(|_| AGAIN.to_owned()), ..error })?;
    let mut content = Content { file: file.name, bytes: &bytes, at: 0 };
    if PICKLED.iter().any(|start| bytes.starts_with(start)) {
        let reason = "it is pickled Python: a builder file, or a ring of before 2012";
        return Err(ImportError::new(file.name, reason).hint(EXPORT));
    }
    if !bytes.starts_with(MAGIC) {
        let reason = "it is no ring of Swift: byte 0 does not begin with `R1NG`";
        return Err(ImportError::new(file.name, reason).hint(EXPORT));
    }
    content.at = MAGIC.len();
    let table = match content.number(2, "the version")? {
        1 => version_1(&mut content)?,
        2 => version_2(&content)?,
        other => {
            let reason = format!("it has version {other} of the format; versions 1 and 2 are supported");
            let hint = "write it with `swift-ring-builder FILE write_ring --format-version 1`";
            return Err(ImportError::new(file.name, reason).hint(hint));
        }
    };
    table.ring(file.name)
}

/// The bytes of a ring, and how far they are read.
struct Content<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Content<'a> {
    /// The next bytes.
    fn take(&mut self, length: u64, what: &str) -> Result<&'a [u8], ImportError> {
        let left = &self.bytes[self.at..];
        let wanted = usize::try_from(length).ok().filter(|length| *length <= left.len());
        let Some(length) = wanted else {
            let reason = format!(
                "it ends too early: {what} has {length} bytes from byte {}, and {} are left",
                self.at,
                left.len()
            );
            return Err(ImportError::new(self.file, reason).hint(AGAIN));
        };
        self.at += length;
        Ok(&left[..length])
    }

    /// The next big-endian number of so many bytes, at most eight.
    fn number(&mut self, length: u64, what: &str) -> Result<u64, ImportError> {
        let bytes = self.take(length, what)?;
        Ok(bytes.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte)))
    }

    /// The next blob, which begins with its length in so many bytes.
    fn blob(&mut self, length: u64, what: &str) -> Result<&'a [u8], ImportError> {
        let size = self.number(length, &format!("the length of {what}"))?;
        self.take(size, what)
    }

    fn json<T: DeserializeOwned>(&self, json: &[u8], what: &str) -> Result<T, ImportError> {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let mut track = serde_path_to_error::Track::new();
        let read = T::deserialize(serde_path_to_error::Deserializer::new(&mut deserializer, &mut track));
        let file = File { name: self.file, bytes: self.bytes };
        read.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| {
            let error = of_json(file, &error, &track.path().to_string());
            ImportError { reason: format!("{what}: {}", error.reason), ..error }.hint(AGAIN)
        })
    }
}

/// The header of version 1.
#[derive(Deserialize)]
struct Header {
    part_shift: u32,
    replica_count: u64,
    byteorder: Option<String>,
    devs: Vec<Option<Box<Entry>>>,
    next_part_power: Option<u32>,
}

/// The metadata of version 2.
#[derive(Deserialize)]
struct Metadata {
    part_shift: u32,
    dev_id_bytes: u32,
    next_part_power: Option<u32>,
}

/// A device as a ring has it.
#[derive(Deserialize)]
struct Entry {
    id: Option<u64>,
    /// Missing in rings of before regions (Swift 1.9), where all devices are in region 1.
    #[serde(default = "first")]
    region: u32,
    zone: u32,
    ip: String,
    device: String,
}

fn first() -> u32 {
    1
}

/// What both versions consist of.
struct Table<'a> {
    devices: Vec<Option<Box<Entry>>>,
    part_shift: u32,
    next_part_power: Option<u32>,
    /// The rows, one after the other, and where they begin.
    rows: &'a [u8],
    begin: usize,
    id_bytes: usize,
    little_endian: bool,
    /// The number of rows, where the file says it.
    count: Option<u64>,
    notes: Vec<String>,
}

fn version_1<'a>(content: &mut Content<'a>) -> Result<Table<'a>, ImportError> {
    let json = content.blob(4, "the header")?;
    let header: Header = content.json(json, "the header")?;
    let mut notes = Vec::new();
    let little_endian = match header.byteorder.as_deref() {
        Some("little") => true,
        Some("big") => false,
        None => {
            notes.push(format!("`{}` does not name its byte order; little-endian is assumed", content.file));
            true
        }
        Some(other) => {
            let reason = format!("`{other}` is no byte order; `little` and `big` are");
            return Err(ImportError::new(content.file, reason).key("byteorder").hint(AGAIN));
        }
    };
    let begin = content.at;
    Ok(Table {
        devices: header.devs,
        part_shift: header.part_shift,
        next_part_power: header.next_part_power,
        rows: &content.bytes[begin..],
        begin,
        id_bytes: 2,
        little_endian,
        count: Some(header.replica_count),
        notes,
    })
}

/// An entry of the index: (compressed start, start, compressed end, end, kind of checksum, checksum).
type Section = (u64, u64, u64, u64, String, String);

fn version_2<'a>(content: &Content<'a>) -> Result<Table<'a>, ImportError> {
    let Content { file, bytes, .. } = *content;
    // The last two numbers are the place of the index in the content, and in the compressed file.
    let tail = bytes.len().saturating_sub(16).max(content.at);
    let start = Content { file, bytes, at: tail }.number(8, "the place of the index")?;
    let mut index = content_at(content, start, "the index")?;
    let index: BTreeMap<String, Section> = {
        let json = index.blob(8, "the index")?;
        content.json(json, "the index")?
    };
    let section = |name: &str| -> Result<(usize, &'a [u8]), ImportError> {
        let Some(&(_, start, ..)) = index.get(name) else {
            let reason = format!("the index at byte {start} has no section `{name}`");
            return Err(ImportError::new(file, reason).hint(AGAIN));
        };
        let mut at = content_at(content, start, name)?;
        let blob = at.blob(8, name)?;
        Ok((at.at - blob.len(), blob))
    };
    let metadata: Metadata = content.json(section("swift/ring/metadata")?.1, "swift/ring/metadata")?;
    if !matches!(metadata.dev_id_bytes, 2 | 4) {
        let reason =
            format!("ids of devices have {} bytes, but 2 and 4 are supported", metadata.dev_id_bytes);
        return Err(ImportError::new(file, reason).key("dev_id_bytes").hint(AGAIN));
    }
    let devices = content.json(section("swift/ring/devices")?.1, "swift/ring/devices")?;
    let (begin, rows) = section("swift/ring/assignments")?;
    Ok(Table {
        devices,
        part_shift: metadata.part_shift,
        next_part_power: metadata.next_part_power,
        rows,
        begin,
        id_bytes: metadata.dev_id_bytes as usize,
        little_endian: false,
        count: None,
        notes: Vec::new(),
    })
}

/// The same content from another place on.
fn content_at<'a>(content: &Content<'a>, at: u64, what: &str) -> Result<Content<'a>, ImportError> {
    let Content { file, bytes, .. } = *content;
    let inside = usize::try_from(at).ok().filter(|at| *at <= bytes.len());
    let at = inside.ok_or_else(|| {
        let reason = format!("{what} is to begin at byte {at}, but the ring has {} bytes", bytes.len());
        ImportError::new(file, reason).hint(AGAIN)
    })?;
    Ok(Content { file, bytes, at })
}

impl Table<'_> {
    fn ring(self, file: &str) -> Result<Imported<Ring>, ImportError> {
        if self.part_shift > 32 {
            let reason = format!("it is {}, but at most 32 is possible", self.part_shift);
            return Err(ImportError::new(file, reason).key("part_shift").hint(AGAIN));
        }
        let lengths = self.lengths(file)?;
        let rows = lengths.into_iter().map(|row| self.row(row)).collect();
        let mut notes = self.notes;
        if let Some(next) = self.next_part_power {
            notes.push(format!(
                "`{file}` is being changed to part power {next}; what is read is its current part power"
            ));
        }
        let devices = devices(self.devices, file)?;
        let value = Ring::new(devices, rows).map_err(|fault| {
            let reason = format!("{fault} (the rows begin at byte {})", self.begin);
            ImportError::new(file, reason).hint(AGAIN)
        })?;
        Ok(Imported { value, notes })
    }

    /// The bytes of each row: all of them full, but the last one may be shorter.
    fn lengths(&self, file: &str) -> Result<Vec<Range<usize>>, ImportError> {
        let fault = |reason: String| Err(ImportError::new(file, reason).hint(AGAIN));
        let (all, begin) = (self.rows.len() as u64, self.begin);
        let full = (1u64 << (32 - self.part_shift)) * self.id_bytes as u64;
        let found = all.div_ceil(full);
        if all % self.id_bytes as u64 != 0 {
            return fault(format!("the rows from byte {begin} have {all} bytes, which are no whole ids"));
        }
        let count = self.count.unwrap_or(found);
        if count == 0 || found == 0 || count > ROWS_MAX as u64 {
            return fault(format!("it has {} rows, but a ring has 1 to {ROWS_MAX}", count.min(found)));
        }
        if found != count {
            let (row, power) = (full, 32 - self.part_shift);
            return fault(format!(
                "{count} rows of {row} bytes (part power {power}) are announced from byte {begin}, but {all} bytes \
                 follow"
            ));
        }
        let row = |row: u64| (row * full) as usize..((row + 1) * full).min(all) as usize;
        Ok((0..count).map(row).collect())
    }

    fn row(&self, range: Range<usize>) -> Vec<u32> {
        let number = |number: u32, &byte: &u8| (number << 8) | u32::from(byte);
        let id = |bytes: &[u8]| match self.little_endian {
            true => bytes.iter().rev().fold(0, number),
            false => bytes.iter().fold(0, number),
        };
        self.rows[range].chunks_exact(self.id_bytes).map(id).collect()
    }
}

/// The devices, each at the place that its id names.
fn devices(entries: Vec<Option<Box<Entry>>>, file: &str) -> Result<Vec<Option<Device>>, ImportError> {
    if entries.len() > DEVICES_MAX {
        let reason = format!("it has {} entries, more than the limit of {DEVICES_MAX}", entries.len());
        return Err(ImportError::new(file, reason).key("devs").hint(AGAIN));
    }
    let one = |(at, entry): (usize, Option<Box<Entry>>)| {
        let Some(entry) = entry else { return Ok(None) };
        let Entry { id, region, zone, ip, device } = *entry;
        if let Some(id) = id.filter(|&id| id != at as u64) {
            let reason = format!("it is {id}, but the device is at place {at} of the list");
            return Err(ImportError::new(file, reason).key(format!("devs[{at}].id")).hint(AGAIN));
        }
        Ok(Some(Device { region, zone, ip, name: device }))
    };
    entries.into_iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"byteorder": "little", "devs": [{"id": 0, "region": 1, "zone": 1, "ip": "::1", "device": "a"}, null, {"zone": 2, "ip": "::2", "device": "b"}], "part_shift": 31, "replica_count": 2}"#;

    fn version_1(header: &str, rows: &[u8]) -> Vec<u8> {
        let length = (header.len() as u32).to_be_bytes();
        [b"R1NG\0\x01", &length[..], header.as_bytes(), rows].concat()
    }

    fn version_2(parts: [&str; 2], rows: &[u8], rename: &str) -> Vec<u8> {
        let mut bytes = b"R1NG\0\x02".to_vec();
        let mut index = Vec::new();
        let names = ["swift/ring/metadata", "swift/ring/devices", "swift/ring/assignments"];
        for (name, blob) in names.into_iter().zip([parts[0].as_bytes(), parts[1].as_bytes(), rows]) {
            let start = bytes.len();
            bytes.extend((blob.len() as u64).to_be_bytes());
            bytes.extend(blob);
            let name = if name == rename { "else" } else { name };
            index.push(format!("\"{name}\": [0, {start}, 0, {}, \"sha256\", \"\"]", bytes.len()));
        }
        let index = format!("{{{}}}", index.join(", "));
        let start = (bytes.len() as u64).to_be_bytes();
        bytes.extend((index.len() as u64).to_be_bytes());
        bytes.extend(index.as_bytes());
        bytes.extend(start);
        bytes.extend([0; 8]);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Imported<Ring>, ImportError> {
        read_ring(File { name: "ring.gz", bytes })
    }

    fn refusal(bytes: &[u8]) -> String {
        let error = read(bytes).expect_err("it is no ring");
        assert!(error.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{error} has no next step");
        error.to_string()
    }

    fn primaries(ring: &Ring) -> Vec<Vec<u32>> {
        (0..ring.partitions()).map(|partition| ring.primaries(partition).collect()).collect()
    }

    #[test]
    fn rows_are_read_in_the_byte_order_that_the_header_names() {
        let little = read(&version_1(HEADER, &[0, 0, 2, 0, 2, 0])).expect("a ring").value;
        let big = HEADER.replace("little", "big");
        let big = read(&version_1(&big, &[0, 0, 0, 2, 0, 2])).expect("a ring").value;
        assert_eq!(little, big);
        assert_eq!(primaries(&little), [vec![0, 2], vec![2]]);
        assert!((little.replicas() - 1.5).abs() < 1e-12);
        let silent = HEADER.replace("\"byteorder\": \"little\", ", "");
        let silent = read(&version_1(&silent, &[0, 0, 2, 0, 2, 0])).expect("a ring");
        assert_eq!(silent.value, little);
        assert_eq!(silent.notes, ["`ring.gz` does not name its byte order; little-endian is assumed"]);
        let regions: Vec<u32> = little.devices().iter().flatten().map(|device| device.region).collect();
        assert_eq!(regions, [1, 1], "a device without a region is in region 1");
    }

    #[test]
    fn ids_of_version_2_have_two_or_four_bytes() {
        let devices = r#"[{"id": 0, "zone": 1, "ip": "::1", "device": "a"}, {"id": 1, "zone": 2, "ip": "::2", "device": "b"}]"#;
        let metadata =
            |bytes: u32| format!("{{\"part_shift\": 31, \"dev_id_bytes\": {bytes}, \"next_part_power\": 2}}");
        let two = read(&version_2([&metadata(2), devices], &[0, 0, 0, 1, 0, 1], "")).expect("a ring");
        let four = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
        let four = read(&version_2([&metadata(4), devices], &four, "")).expect("a ring");
        assert_eq!(two, four);
        assert_eq!(primaries(&two.value), [vec![0, 1], vec![1]]);
        assert_eq!(
            two.notes,
            ["`ring.gz` is being changed to part power 2; what is read is its current part power"]
        );
        assert_eq!(
            refusal(&version_2([&metadata(3), devices], &[], "")),
            "`ring.gz`: `dev_id_bytes`: ids of devices have 3 bytes, but 2 and 4 are supported"
        );
        assert_eq!(
            refusal(&version_2([&metadata(2), devices], &[0; 4], "swift/ring/devices")),
            "`ring.gz`: the index at byte 193 has no section `swift/ring/devices`"
        );
        let mut far = version_2([&metadata(2), devices], &[0; 4], "");
        let place = far.len() - 16;
        far[place] = 1;
        assert!(refusal(&far).contains("the index is to begin at byte 72057594037928"), "{}", refusal(&far));
    }

    #[test]
    fn what_is_no_ring_is_refused_with_its_place() {
        let rows = [0, 0, 2, 0, 2, 0];
        let with = |from: &str, to: &str| version_1(&HEADER.replace(from, to), &rows);
        let cases = [
            (b"R1".to_vec(), "it is no ring of Swift: byte 0 does not begin with `R1NG`"),
            (vec![0x80, 2, 1], "it is pickled Python: a builder file, or a ring of before 2012"),
            (b"R1NG\0\x03".to_vec(), "it has version 3 of the format; versions 1 and 2 are supported"),
            (b"R1NG\0".to_vec(), "it ends too early: the version has 2 bytes from byte 4, and 1 are left"),
            (
                b"R1NG\0\x01\0\0\0\x09{}".to_vec(),
                "it ends too early: the header has 9 bytes from byte 10, and 2 are left",
            ),
            (
                b"R1NG\0\x02".to_vec(),
                "it ends too early: the place of the index has 8 bytes from byte 6, and 0 are left",
            ),
            (
                with("\"zone\": 2", "\"zone\": -2"),
                "`devs[2].zone`: the header: invalid value: integer `-2`, expected u32 (line 1, column 113)",
            ),
            (
                with("\"id\": 0", "\"id\": 1"),
                "`devs[0].id`: it is 1, but the device is at place 0 of the list",
            ),
            (with("31", "33"), "`part_shift`: it is 33, but at most 32 is possible"),
            (with("little", "middle"), "`byteorder`: `middle` is no byte order; `little` and `big` are"),
            (
                with("\"replica_count\": 2", "\"replica_count\": 3"),
                "3 rows of 4 bytes (part power 1) are announced from byte 191, but 6 bytes follow",
            ),
            (with("\"replica_count\": 2", "\"replica_count\": 0"), "it has 0 rows, but a ring has 1 to 255"),
            (version_1(HEADER, &rows[..5]), "the rows from byte 191 have 5 bytes, which are no whole ids"),
            (
                version_1(HEADER, &[0, 0, 1, 0, 2, 0]),
                "row 0 puts partition 1 on device 1, which is not in the list of devices (the rows begin at byte 191)",
            ),
        ];
        for (bytes, want) in cases {
            assert_eq!(refusal(&bytes), format!("`ring.gz`: {want}"));
        }
    }

    /// A small file that announces much neither takes memory nor time.
    #[test]
    fn what_is_announced_is_not_believed() {
        let shift = HEADER.replace("31", "0");
        assert!(refusal(&version_1(&shift, &[0; 4])).contains("8589934592 bytes (part power 32)"));
        let rows = HEADER.replace("\"replica_count\": 2", "\"replica_count\": 18446744073709551615");
        assert_eq!(refusal(&version_1(&rows, &[0; 4])), "`ring.gz`: it has 1 rows, but a ring has 1 to 255");
        let many = format!(
            "{{\"part_shift\": 31, \"replica_count\": 1, \"devs\": [{}null]}}",
            "null,".repeat(1_000_001)
        );
        assert!(
            refusal(&version_1(&many, &[0; 4])).contains("1000002 entries, more than the limit of 1000000")
        );
    }
}

//! The wrapping of JSON in real exports: gzip, lines of text before and after it, and numbers that JSON does
//! not have.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

use crate::{File, ImportError, Imported};

/// The maximum size of a dump of groups in bytes, uncompressed: at 3 KB per group that is 350,000 groups, and
/// the largest known clusters have some 300,000.
pub(crate) const GROUPS_MAX_BYTES: u64 = 1 << 30;
/// The maximum size of any other file in bytes, uncompressed: the osd dump of 10,000 devices has about 15 MB.
pub(crate) const FILE_MAX_BYTES: u64 = 64 << 20;
/// The maximum size that any reader accepts: callers need not read beyond it.
pub const INPUT_MAX_BYTES: u64 = GROUPS_MAX_BYTES;
/// The maximum memory that a reader of [`FILE_MAX_BYTES`] uses per byte of an uncompressed file, including
/// the file: a list of digits where the dump has a word takes 32 bytes per digit, twice while the list grows.
/// `tests/memory.rs` measures 37, so a file at the limit takes up to 2.5 GiB.
pub const FILE_MEMORY_PER_BYTE: u64 = 40;
/// The same for a dump of groups: 3.1 for the shortest possible groups.
pub const GROUPS_MEMORY_PER_BYTE: u64 = 4;
/// The maximum ratio of uncompressed to compressed size. Real dumps have 16 to 40; the limit stops a small
/// file from filling memory.
pub(crate) const UNPACKED_RATIO_MAX: u64 = 256;
/// The uncompressed size up to which the ratio is not checked.
const UNPACKED_FREE: u64 = 1 << 20;
/// The maximum number of lines before the JSON; `ceph` writes one, a shell script may write some more.
const HEADING_LINES_MAX: usize = 32;

/// The content, decompressed if necessary; files of more than `most` bytes are rejected before they are
/// parsed.
pub(crate) fn unpack<'a>(file: File<'a>, most: u64) -> Result<Cow<'a, [u8]>, ImportError> {
    let size = file.bytes.len() as u64;
    if size > most {
        let reason = format!("it has {size} bytes, more than the limit of {most}");
        return Err(ImportError::new(file.name, reason).hint(TOO_LARGE));
    }
    if !file.bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(file.bytes));
    }
    let ratio = (file.bytes.len() as u64).saturating_mul(UNPACKED_RATIO_MAX);
    let limit = ratio.saturating_add(UNPACKED_FREE).min(most);
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(file.bytes).take(limit + 1).read_to_end(&mut unpacked).map_err(|error| {
        ImportError::new(file.name, format!("it is compressed with gzip and damaged: {error}"))
            .hint("copy or compress it again")
    })?;
    if unpacked.len() as u64 > limit {
        if limit == most {
            let reason = format!("decompressed, it has more than the limit of {most} bytes");
            return Err(ImportError::new(file.name, reason).hint(TOO_LARGE));
        }
        let reason = format!(
            "decompressed, it has more than {limit} bytes, which is more than any dump of its compressed size"
        );
        return Err(
            ImportError::new(file.name, reason).hint("if the file is correct, decompress it yourself")
        );
    }
    Ok(Cow::Owned(unpacked))
}

/// The hint for a file larger than the limit of its reader.
const TOO_LARGE: &str = "is it the export that this key asks for? `-f json` is shorter than `-f json-pretty`, and groups \
                         belong into `pg_dump`";

/// Whether JSON begins somewhere after the heading.
pub(crate) fn looks_like_json(bytes: &[u8]) -> bool {
    json_start(bytes).is_some()
}

/// Whether it is the binary osd map of `ceph osd getmap`: an envelope of version 8 for readers from version 7
/// on (since Ceph 0.80), followed by as many bytes as it announces.
pub(crate) fn is_osd_map(bytes: &[u8]) -> bool {
    let announced =
        bytes.get(2..6).map(|length| u32::from_le_bytes([length[0], length[1], length[2], length[3]]));
    bytes.starts_with(&[8, 7]) && announced.is_some_and(|length| length as usize + 6 <= bytes.len())
}

/// The error for a binary osd map, with a hint on what to export from it.
pub(crate) fn osd_map(file: &str) -> ImportError {
    ImportError::new(file, "it is the binary osd map of `ceph osd getmap`, which is not supported").hint(format!(
        "take both parts out of it: `osdmaptool {file} --export-crush crush.bin` for `crush_map`, and `osdmaptool {file} --dump \
         json > osd_dump.json` for `osd_dump`"
    ))
}

/// Parses one JSON value; errors name the key.
pub(crate) fn read_json<T: DeserializeOwned>(
    file: File<'_>,
    bytes: &[u8],
) -> Result<Imported<T>, ImportError> {
    if is_osd_map(bytes) {
        return Err(osd_map(file.name));
    }
    let Some(start) = json_start(bytes) else {
        return Err(ImportError::new(file.name, "the file contains no JSON"));
    };
    let (json, replaced) = without_special_numbers(trim_tail(&bytes[start..]));
    let mut notes = Vec::new();
    if replaced > 0 {
        let (numbers, are) = if replaced == 1 { ("number", "is") } else { ("numbers", "are") };
        notes.push(format!(
            "`{}` has {replaced} {numbers} that {are} nan or infinite; counted as missing",
            file.name
        ));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(&json);
    let mut track = serde_path_to_error::Track::new();
    let read = T::deserialize(serde_path_to_error::Deserializer::new(&mut deserializer, &mut track));
    let value = read.map_err(|error| of_json(file, &error, &track.path().to_string()))?;
    deserializer.end().map_err(|error| of_json(file, &error, "."))?;
    Ok(Imported { value, notes })
}

pub(crate) fn of_json(file: File<'_>, error: &serde_json::Error, path: &str) -> ImportError {
    let text = error.to_string();
    let plain = text.rsplit_once(" at line ").map_or(text.as_str(), |(plain, _)| plain);
    let plain =
        if plain.starts_with("invalid type: null") { "a number is missing, nan or infinite" } else { plain };
    // A list or a word where an object belongs: serde names the type of it.
    let plain = match plain.split_once("expected struct ") {
        Some(_) if plain.starts_with("invalid length") => "a list where an object belongs".to_owned(),
        Some((front, _)) => format!("{front}expected an object"),
        None => plain.to_owned(),
    };
    let place = format!("{plain} (line {}, column {})", error.line(), error.column());
    let error = match error.classify() {
        serde_json::error::Category::Eof => {
            ImportError::new(file.name, format!("it ends too early: {place}"))
                .hint("export it again, in full")
        }
        serde_json::error::Category::Syntax => {
            ImportError::new(file.name, format!("it is not valid JSON: {place}"))
        }
        _ => ImportError::new(file.name, place),
    };
    if path == "." || path.is_empty() { error } else { error.key(path) }
}

/// The start of the first line that begins with a brace or bracket.
fn json_start(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n').take(HEADING_LINES_MAX) {
        let blank = line
            .iter()
            .take_while(|byte| {
                byte.is_ascii_whitespace() || **byte == 0xef || **byte == 0xbb || **byte == 0xbf
            })
            .count();
        if matches!(line.get(blank), Some(b'{' | b'[')) {
            return Some(start + blank);
        }
        start += line.len();
    }
    None
}

/// Removes a line such as `dumped all` or `report 3484926453` after the JSON, which a shell puts there with
/// `2>&1`.
fn trim_tail(bytes: &[u8]) -> &[u8] {
    let trimmed = bytes.trim_ascii_end();
    let last = trimmed.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let line = &trimmed[last..];
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let is_checksum = line.strip_prefix(b"report ").is_some_and(is_number);
    if line.starts_with(b"dumped ") || is_checksum { trimmed[..last].trim_ascii_end() } else { trimmed }
}

/// Replaces `nan`, `inf` and the like, which Ceph prints and JSON does not have, by `null`; returns how many
/// there were.
fn without_special_numbers(bytes: &[u8]) -> (Cow<'_, [u8]>, usize) {
    let (mut changed, mut kept, mut replaced) = (Vec::new(), 0, 0);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'-' | b'n' | b'N' | b'i' | b'I' => {
                let length = bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-')
                    .count();
                if is_special(&bytes[at..at + length]) {
                    changed.extend_from_slice(&bytes[kept..at]);
                    changed.extend_from_slice(b"null");
                    replaced += 1;
                    kept = at + length;
                }
                at += length.max(1);
            }
            _ => at += 1,
        }
    }
    if replaced == 0 {
        return (Cow::Borrowed(bytes), 0);
    }
    changed.extend_from_slice(&bytes[kept..]);
    (Cow::Owned(changed), replaced)
}

fn is_special(word: &[u8]) -> bool {
    let word = word.strip_prefix(b"-").unwrap_or(word);
    [&b"nan"[..], b"inf", b"infinity"].iter().any(|special| word.eq_ignore_ascii_case(special))
}

/// The position after the closing quote of the string that opens at `open`.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(bytes: &[u8]) -> Result<Imported<Value>, ImportError> {
        let file = File { name: "dump.json", bytes };
        read_json(file, &unpack(file, FILE_MAX_BYTES)?)
    }

    #[test]
    fn words_around_the_json_are_passed_over() {
        for text in [
            "{\"a\":1}",
            "dumped all\n{\"a\":1}\n",
            "\n\n {\"a\":1}\ndumped pgs\n",
            "\u{feff}{\"a\":1}",
            "{\"a\":1}\nreport 3484926453\n",
        ] {
            assert_eq!(read(text.as_bytes()).unwrap().value, json!({"a": 1}), "{text}");
        }
        for text in ["{\"a\":1}\nreport \n", "{\"a\":1}\nreport 12x\n", "{\"a\":1}\nreports 1\n"] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_become_missing() {
        let read = read(b"{\"a\":nan,\"b\":[-inf,Infinity,1],\"nan\":\"inf \\\" nan\"}").unwrap();
        assert_eq!(read.value, json!({"a": null, "b": [null, null, 1], "nan": "inf \" nan"}));
        assert_eq!(read.notes, ["`dump.json` has 3 numbers that are nan or infinite; counted as missing"]);
    }

    #[test]
    fn damage_is_reported_with_its_place() {
        let check = |bytes: &[u8], want: &str| assert_eq!(read(bytes).unwrap_err().to_string(), want);
        check(b"", "`dump.json`: the file contains no JSON");
        check(b"dumped all\n", "`dump.json`: the file contains no JSON");
        check(
            b"{\"a\":",
            "`dump.json`: `a`: it ends too early: EOF while parsing a value (line 1, column 5)",
        );
        check(b"{\"a\":1} {", "`dump.json`: it is not valid JSON: trailing characters (line 1, column 9)");
        check(
            &[0x1f, 0x8b, 8, 0],
            "`dump.json`: it is compressed with gzip and damaged: unexpected end of file",
        );
        let deep = "[".repeat(100_000);
        assert!(read(deep.as_bytes()).unwrap_err().reason.contains("recursion limit"));
    }

    #[test]
    fn a_file_that_grows_without_end_is_refused() {
        use std::io::Write as _;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&vec![b' '; 8 << 20]).unwrap();
        let packed = packer.finish().unwrap();
        let error = unpack(File { name: "bomb.gz", bytes: &packed }, FILE_MAX_BYTES).unwrap_err();
        assert!(error.reason.starts_with("decompressed, it has more than"), "{error}");
    }

    #[test]
    fn a_file_above_the_limit_is_refused_before_it_is_read() {
        use std::io::Write as _;
        let most = 1 << 10;
        let of = |bytes: &[u8]| unpack(File { name: "dump.json", bytes }, most).map(|bytes| bytes.len());
        assert_eq!(of(&[b' '; 1 << 10]), Ok(1 << 10));
        let error = of(&[b' '; (1 << 10) + 1]).unwrap_err();
        assert_eq!(error.to_string(), "`dump.json`: it has 1025 bytes, more than the limit of 1024");
        assert!(error.hint.is_some());
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&[b' '; (1 << 10) + 1]).unwrap();
        let error = of(&packer.finish().unwrap()).unwrap_err();
        let want = "`dump.json`: decompressed, it has more than the limit of 1024 bytes";
        assert_eq!(error.to_string(), want);
    }
}

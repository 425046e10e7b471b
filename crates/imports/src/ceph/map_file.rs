//! A CRUSH map in any of its forms: text, binary, or the JSON of `ceph osd crush dump`; each may be
//! compressed.

use towtank_placement::crush::{Map, binary, text};

use super::crush_dump::CrushDump;
use crate::envelope::{FILE_MAX_BYTES, is_osd_map, looks_like_json, osd_map, read_json, unpack};
use crate::{File, ImportError, Imported};

/// Reads a map in any of these forms.
///
/// # Errors
/// If it has none of these forms, with the place of the error.
pub fn read_map(file: File<'_>) -> Result<Imported<Map>, ImportError> {
    let bytes = unpack(file, FILE_MAX_BYTES)?;
    if bytes.starts_with(&0x0001_0000_u32.to_le_bytes()) {
        let map = binary::read(&bytes).map_err(|error| {
            ImportError::new(file.name, error.to_string()).hint("export it again with `ceph osd getcrushmap`")
        })?;
        return Ok(Imported { value: map, notes: Vec::new() });
    }
    if is_osd_map(&bytes) {
        return Err(osd_map(file.name));
    }
    let Ok(words) = std::str::from_utf8(&bytes) else {
        return Err(ImportError::new(file.name, "it is neither text nor a binary CRUSH map")
            .hint("export it with `ceph osd getcrushmap -o FILE`"));
    };
    if words.trim().is_empty() {
        return Err(
            ImportError::new(file.name, "it is empty").hint("export it again with `ceph osd getcrushmap`")
        );
    }
    if looks_like_json(&bytes) && !words.contains("\nrule ") {
        let Imported { value: dump, notes } =
            read_json::<CrushDump>(file, &bytes).map_err(|error| match error.hint {
                Some(_) => error,
                None => error.hint("it should be the output of `ceph osd crush dump -f json`"),
            })?;
        return Ok(Imported { value: dump.map(file.name, "")?, notes });
    }
    let map = text::compile(words).map_err(|error| {
        let problem = ImportError::new(file.name, error.to_string());
        match error.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    })?;
    Ok(Imported { value: map, notes: Vec::new() })
}

//! The compression of a trace: none, gzip or zstd, detected from its first bytes.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, DEFAULT_MAX_WINDOW_SIZE};

/// The maximum window of a zstd frame: 128 MiB, which `zstd --ultra -22` needs, and `zstd --long=31` exceeds.
pub const WINDOW_MAX_BYTES: u64 = DEFAULT_MAX_WINDOW_SIZE;
/// Including the method byte, which has only one value.
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
/// Flags of gzip that are always 0.
const GZIP_RESERVED: u8 = 0xe0;
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Compressed bytes read at a time.
const PACKED_BLOCK_BYTES: usize = 64 << 10;

/// The bytes of a trace, decompressed as they are read.
pub(crate) enum Unpacked<R: Read> {
    Plain(Packed<R>),
    Gzip(MultiGzDecoder<Packed<R>>),
    Zstd(Box<Frames<Packed<R>>>),
}

/// The bytes read for the detection, followed by the rest.
type Packed<R> = BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>;

impl<R: Read> Unpacked<R> {
    /// Detects the compression from the first bytes.
    pub(crate) fn open(mut input: R) -> io::Result<Unpacked<R>> {
        let mut magic = Vec::new();
        input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut magic)?;
        // A binary trace may begin with the first bytes of gzip. The fourth byte distinguishes them, unless
        // the trace is from before 1987.
        let gzip = magic.starts_with(GZIP) && magic.get(3).is_some_and(|flags| flags & GZIP_RESERVED == 0);
        let zstd = magic == ZSTD || is_skippable(&magic);
        let packed = BufReader::with_capacity(PACKED_BLOCK_BYTES, io::Cursor::new(magic).chain(input));
        Ok(match (gzip, zstd) {
            (true, _) => Unpacked::Gzip(MultiGzDecoder::new(packed)),
            (_, true) => Unpacked::Zstd(Box::new(Frames::new(packed))),
            _ => Unpacked::Plain(packed),
        })
    }

    /// The name of the compression, for messages.
    pub(crate) fn by(&self) -> Option<&'static str> {
        match self {
            Unpacked::Plain(_) => None,
            Unpacked::Gzip(_) => Some("gzip"),
            Unpacked::Zstd(_) => Some("zstd"),
        }
    }
}

/// A hint for an unsupported archive or compression, by the first bytes of a trace that fits no format.
pub(crate) fn unread(head: &[u8]) -> Option<&'static str> {
    const TAR: (usize, &[u8]) = (257, b"ustar");
    if head.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) {
        return Some("it is a tar archive: extract one file, with `tar -xf`");
    }
    let packings: [(&[u8], &str); 4] = [
        (b"\xfd7zXZ", "it is compressed with xz: decompress it, with `xz -d`"),
        (b"BZh", "it is compressed with bzip2: decompress it, with `bzip2 -d`"),
        (b"PK\x03\x04", "it is a zip archive: extract one file, with `unzip`"),
        (b"\x04\x22\x4d\x18", "it is compressed with lz4: decompress it, with `lz4 -d`"),
    ];
    packings.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, hint)| *hint)
}

/// Whether it is a zstd frame without content, which parallel compressors write first.
fn is_skippable(magic: &[u8]) -> bool {
    magic.len() == 4 && magic[0] & 0xf0 == 0x50 && magic[1..] == [0x2a, 0x4d, 0x18]
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacked::Plain(plain) => plain.read(into),
            Unpacked::Gzip(gzip) => gzip.read(into),
            Unpacked::Zstd(frames) => frames.read(into),
        }
    }
}

/// The frames of a zstd file, one after the other.
pub(crate) struct Frames<B: BufRead> {
    source: B,
    decoder: FrameDecoder,
    /// Whether the position is within a frame.
    inside: bool,
}

impl<B: BufRead> Frames<B> {
    fn new(source: B) -> Frames<B> {
        Frames { source, decoder: FrameDecoder::new(), inside: false }
    }

    /// Enters the next frame; false at the end of the file.
    fn enter(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped =
                        io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Checks the checksum at the end of the frame, if it has one.
    fn leave(&mut self) -> io::Result<()> {
        self.inside = false;
        let (said, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        match (said, found) {
            (Some(said), Some(found)) if said != found => {
                Err(io::Error::other(format!("its checksum is {found:08x}, but must be {said:08x}")))
            }
            _ => Ok(()),
        }
    }
}

impl<B: BufRead> Read for Frames<B> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside {
                if !self.enter()? {
                    return Ok(0);
                }
                self.inside = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            let count = self.decoder.read(into)?;
            if count > 0 {
                return Ok(count);
            }
            self.leave()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        Unpacked::open(bytes)?.read_to_end(&mut plain)?;
        Ok(plain)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    #[test]
    fn each_packing_gives_the_same_bytes_and_parts_follow_each_other() {
        let text: Vec<u8> = (0..100_000u32).flat_map(|number| format!("{number}\n").into_bytes()).collect();
        let (first, second) = text.split_at(12_345);
        let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        for packed in [
            text.clone(),
            gzip(&text),
            zstd(&text),
            [gzip(first), gzip(second)].concat(),
            [zstd(first), zstd(second)].concat(),
            [skippable.clone(), zstd(first), skippable, zstd(second)].concat(),
        ] {
            assert_eq!(unpacked(&packed).unwrap(), text);
        }
        assert_eq!(unpacked(b"").unwrap(), b"");
        assert_eq!(unpacked(b"ab").unwrap(), b"ab");
    }

    #[test]
    fn damage_is_an_error_in_each_packing() {
        let text = b"1,2,3\n".repeat(1_000);
        for packed in [gzip(&text), zstd(&text)] {
            for cut in [5, packed.len() / 2, packed.len() - 1] {
                assert!(unpacked(&packed[..cut]).is_err(), "{cut}");
            }
            // The checksums are at the end; in gzip, before the length.
            for from_end in [1, 5] {
                let mut bad = packed.clone();
                let at = bad.len() - from_end;
                bad[at] ^= 1;
                assert!(unpacked(&bad).is_err(), "{from_end}");
            }
        }
    }

    #[test]
    fn a_frame_with_a_giant_window_is_refused() {
        // A window of 2^31 bytes (exponent 21), given in the header, and one raw block.
        let giant = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x09, 0, 0, b'a'];
        let message = unpacked(&giant).unwrap_err().to_string();
        assert!(message.to_lowercase().contains("window"), "{message}");
    }
}

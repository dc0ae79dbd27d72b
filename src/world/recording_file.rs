//! The bytes of a recording from any offset on: of a plain file, of one that is compressed in frames, or of a copy.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

/// First bytes of a zstd frame.
const ZSTD_MAGIC: u32 = 0xfd2f_b528;
/// Largest frame, decompressed, that is worth reading from its start.
const FRAME_BYTES: u64 = 4 << 20;
/// Bytes read in one go.
const ROOM: usize = 64 * 1024;
/// Bytes at either end by which a file is known again.
const EDGE: u64 = 64 * 1024;

/// Where bytes come from.
#[derive(Debug, Clone)]
pub struct Bytes {
    file: Arc<File>,
    /// Of each zstd frame where it begins, and how many decompressed bytes stand before it; nothing in a plain file.
    frames: Arc<[(u64, u64)]>,
    length: u64,
}

impl Bytes {
    /// Opens a file that is plain or compressed in frames. None when reading it from the middle would mean to decompress
    /// it from the start, or when it is no file at all.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let found = file.metadata()?;
        if found.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !found.is_file() {
            return Ok(None);
        }
        let mut first = [0; 4];
        let is_whole = file.read_exact_at(&mut first, 0).is_ok();
        let is_zstd = is_whole && u32::from_le_bytes(first) == ZSTD_MAGIC;
        if is_whole && first.starts_with(&[0x1f, 0x8b]) {
            return Ok(None);
        }
        let frames = match is_zstd {
            true => frames(&file, found.len())?,
            false => Some(Vec::new()),
        };
        Ok(frames.map(|frames| Self {
            file: Arc::new(file),
            frames: frames.into(),
            length: found.len(),
        }))
    }

    /// The bytes of a copy, which is gone with it.
    ///
    /// # Errors
    ///
    /// When the copy cannot be read.
    pub fn copied(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self {
            file: Arc::new(file),
            frames: Arc::new([]),
            length,
        })
    }

    /// Bytes of the file as it is stored.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The decompressed bytes from an offset on.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn from(&self, offset: u64) -> io::Result<Box<dyn BufRead + Send>> {
        let after = self.frames.partition_point(|(_, plain)| *plain <= offset);
        let Some((packed, plain)) = after.checked_sub(1).map(|at| self.frames[at]) else {
            return Ok(Box::new(BufReader::with_capacity(ROOM, self.at(offset))));
        };
        let decoder = zstd::Decoder::new(self.at(packed))?;
        let mut bytes = BufReader::with_capacity(ROOM, decoder);
        let skipped = offset - plain;
        // Beyond the end there is nothing, and nothing is read.
        io::copy(&mut bytes.by_ref().take(skipped), &mut io::sink())?;
        Ok(Box::new(bytes))
    }

    /// The stored bytes from the start on.
    pub fn stored(&self) -> impl Read + Send + use<> {
        self.at(0)
    }

    /// The first and the last bytes of the file as it is stored.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn edges(&self) -> io::Result<Vec<u8>> {
        let mut edges = Vec::new();
        self.at(0).take(EDGE).read_to_end(&mut edges)?;
        let last = self.length.saturating_sub(EDGE);
        self.at(last).take(EDGE).read_to_end(&mut edges)?;
        Ok(edges)
    }

    fn at(&self, offset: u64) -> At {
        At {
            file: Arc::clone(&self.file),
            offset,
        }
    }
}

/// A copy that has no name, to be written and then read.
///
/// # Errors
///
/// When there is no room for one.
pub fn copy(mut from: impl Read, most: u64) -> io::Result<Bytes> {
    let mut file = tempfile::tempfile()?;
    match io::copy(&mut from.by_ref().take(most), &mut file) {
        // What was cut is read as far as it goes.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        copied => {
            if copied? == most && from.read(&mut [0])? > 0 {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Bytes::copied(file)
}

/// A file from an offset on, whoever else reads it.
struct At {
    file: Arc<File>,
    offset: u64,
}

impl Read for At {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buf, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// The frames of a zstd file. None when one of them does not say how long it is, or is too long to be read from its start.
fn frames(file: &File, length: u64) -> io::Result<Option<Vec<(u64, u64)>>> {
    let (mut packed, mut plain) = (0, 0);
    let mut frames = Vec::new();
    while packed < length {
        let mut head = [0; 18];
        let read = file.read_at(&mut head, packed)?;
        let Some((size, header)) = frame_header(&head[..read]) else {
            // What stands behind the last whole frame is the half one of a program that was killed.
            return Ok((!frames.is_empty()).then_some(frames));
        };
        if size > FRAME_BYTES {
            return Ok(None);
        }
        frames.push((packed, plain));
        let mut at = packed + header;
        loop {
            let mut block = [0; 3];
            if file.read_at(&mut block, at)? < block.len() {
                return Ok(Some(frames));
            }
            let bits = u32::from_le_bytes([block[0], block[1], block[2], 0]);
            let size = match bits >> 1 & 3 {
                // One byte, repeated.
                1 => 1,
                _ => u64::from(bits >> 3),
            };
            at += 3 + size;
            if bits & 1 == 1 {
                break;
            }
        }
        at += u64::from(head[4] >> 2 & 1) * 4;
        packed = at;
        plain += size;
    }
    Ok(Some(frames))
}

/// The decompressed length a frame's header tells, and its own length.
fn frame_header(head: &[u8]) -> Option<(u64, u64)> {
    let (magic, rest) = head.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*magic) != ZSTD_MAGIC {
        return None;
    }
    let (descriptor, rest) = rest.split_first()?;
    let is_single = descriptor >> 5 & 1 == 1;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let bytes: usize = match (descriptor >> 6, is_single) {
        (0, true) => 1,
        (0, false) => return None,
        (1, _) => 2,
        (2, _) => 4,
        _ => 8,
    };
    let skipped = usize::from(!is_single) + dictionary;
    let told = rest.get(skipped..skipped + bytes)?;
    let mut size = [0; 8];
    size[..bytes].copy_from_slice(told);
    let size = u64::from_le_bytes(size) + if bytes == 2 { 256 } else { 0 };
    Some((size, (5 + skipped + bytes) as u64))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    type Test = Result<(), Box<dyn std::error::Error>>;

    fn plain() -> Vec<u8> {
        (0..200_000_u32)
            .flat_map(|n| format!("{} ", n.wrapping_mul(2_654_435_761)).into_bytes())
            .collect()
    }

    fn rest(bytes: &Bytes, offset: usize) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        bytes.from(offset as u64)?.read_to_end(&mut rest)?;
        Ok(rest)
    }

    #[test]
    fn bytes_are_read_from_anywhere_also_in_frames() -> Test {
        let root = tempfile::tempdir()?;
        let plain = plain();
        let path = root.path().join("plain");
        std::fs::write(&path, &plain)?;
        let packed = root.path().join("packed");
        let mut file = File::create(&packed)?;
        for chunk in plain.chunks(300_000).chain([&b"x"[..], b""]) {
            file.write_all(&zstd::bulk::compress(chunk, 3)?)?;
        }
        let mut longer = plain.clone();
        longer.push(b'x');
        for (path, wanted) in [(path, &plain), (packed.clone(), &longer)] {
            let bytes = Bytes::open(&path)?.ok_or("it can be read from the middle")?;
            for offset in [
                0,
                1,
                299_999,
                300_000,
                300_001,
                wanted.len() - 1,
                wanted.len(),
                wanted.len() + 5,
            ] {
                assert!(
                    rest(&bytes, offset)? == wanted[offset.min(wanted.len())..],
                    "{offset} of {}",
                    path.display()
                );
            }
        }
        // Cut in the middle of a frame.
        let whole = std::fs::read(&packed)?;
        std::fs::write(&packed, &whole[..whole.len() / 2])?;
        let cut = Bytes::open(&packed)?.ok_or("the first frames are whole")?;
        assert!(rest(&cut, 300_000).is_err());
        let mut first = vec![0; 1000];
        cut.from(300_000)?.read_exact(&mut first)?;
        assert!(first == plain[300_000..301_000]);
        Ok(())
    }

    #[test]
    fn what_would_be_decompressed_from_its_start_is_copied() -> Test {
        let root = tempfile::tempdir()?;
        let path = root.path().join("packed");
        let plain = vec![b'x'; 9 << 20];
        for packed in [
            zstd::bulk::compress(&plain, 1)?,
            zstd::encode_all(&plain[..], 1)?,
        ] {
            std::fs::write(&path, packed)?;
            assert!(Bytes::open(&path)?.is_none());
        }
        let bytes = copy(&plain[..], 100 << 20)?;
        assert_eq!(rest(&bytes, plain.len() - 3)?, b"xxx");
        assert!(copy(&plain[..], 9 << 20).is_ok());
        assert!(copy(&plain[..], 1 << 20).is_err());
        Ok(())
    }
}

//! The bytes of a recording, decompressed when they begin like a zstd frame or a gzip member.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// First bytes of every zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// First bytes of every gzip member: the only method there is.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];
/// Bytes decompressed in one go.
const ROOM: usize = 128 * 1024;

type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// Where a recording's bytes come from.
pub(super) enum Source<R: BufRead> {
    /// As they are.
    Plain(Whole<R>),
    /// Through the decompressor.
    Zstd(Box<BufReader<zstd::Decoder<'static, Whole<R>>>>),
    /// Through the other one.
    Gzip(Box<BufReader<MultiGzDecoder<Whole<R>>>>),
    /// From memory.
    Held(Cursor<Vec<u8>>),
}

impl<R: BufRead> Source<R> {
    /// Takes the bytes as they are.
    pub(super) fn plain(input: R) -> Self {
        Self::Plain(Cursor::new(Vec::new()).chain(input))
    }

    /// Looks at the first bytes; they are not lost.
    pub(super) fn open(mut input: R) -> io::Result<Self> {
        let mut first = Vec::with_capacity(ZSTD_MAGIC.len());
        input
            .by_ref()
            .take(ZSTD_MAGIC.len() as u64)
            .read_to_end(&mut first)?;
        let (is_zstd, is_gzip) = (first == ZSTD_MAGIC, first.starts_with(&GZIP_MAGIC));
        let whole = Cursor::new(first).chain(input);
        if is_zstd {
            let decoder = zstd::Decoder::with_buffer(whole)?;
            return Ok(Self::Zstd(Box::new(BufReader::with_capacity(
                ROOM, decoder,
            ))));
        }
        if is_gzip {
            let decoder = MultiGzDecoder::new(whole);
            return Ok(Self::Gzip(Box::new(BufReader::with_capacity(
                ROOM, decoder,
            ))));
        }
        Ok(Self::Plain(whole))
    }
}

impl<R: BufRead> Read for Source<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buf),
            Self::Zstd(input) => input.read(buf),
            Self::Gzip(input) => input.read(buf),
            Self::Held(input) => input.read(buf),
        }
    }
}

impl<R: BufRead> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Self::Plain(input) => input.fill_buf(),
            Self::Zstd(input) => input.fill_buf(),
            Self::Gzip(input) => input.fill_buf(),
            Self::Held(input) => input.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match self {
            Self::Plain(input) => input.consume(amount),
            Self::Zstd(input) => input.consume(amount),
            Self::Gzip(input) => input.consume(amount),
            Self::Held(input) => input.consume(amount),
        }
    }
}

/// What turned out to be no recording: all of its bytes, decompressed.
pub struct Text<R: BufRead>(pub(super) Chain<Cursor<Vec<u8>>, Source<R>>);

impl<R: BufRead> Read for Text<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

/// The bytes of a recording as they are, or as they were before they were compressed with zstd or gzip.
///
/// # Errors
///
/// When the first of them cannot be read.
pub fn decompressed<R: BufRead>(input: R) -> io::Result<impl BufRead> {
    Source::open(input)
}

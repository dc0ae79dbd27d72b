//! The bytes of a recording, decompressed when they begin like a zstd frame.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

/// First bytes of every zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// Where a recording's bytes come from.
pub(super) enum Source<R: BufRead> {
    /// As they are.
    Plain(Whole<R>),
    /// Through the decompressor.
    Zstd(Box<BufReader<zstd::Decoder<'static, Whole<R>>>>),
    /// From memory.
    Held(Cursor<Vec<u8>>),
}

impl<R: BufRead> Source<R> {
    /// Looks at the first bytes; they are not lost.
    pub(super) fn open(mut input: R) -> io::Result<Self> {
        let mut first = Vec::with_capacity(ZSTD_MAGIC.len());
        input
            .by_ref()
            .take(ZSTD_MAGIC.len() as u64)
            .read_to_end(&mut first)?;
        let packed = first == ZSTD_MAGIC;
        let whole = Cursor::new(first).chain(input);
        if !packed {
            return Ok(Self::Plain(whole));
        }
        let decoder = zstd::Decoder::with_buffer(whole)?;
        Ok(Self::Zstd(Box::new(BufReader::with_capacity(
            128 * 1024,
            decoder,
        ))))
    }
}

impl<R: BufRead> Read for Source<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buf),
            Self::Zstd(input) => input.read(buf),
            Self::Held(input) => input.read(buf),
        }
    }
}

impl<R: BufRead> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Self::Plain(input) => input.fill_buf(),
            Self::Zstd(input) => input.fill_buf(),
            Self::Held(input) => input.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match self {
            Self::Plain(input) => input.consume(amount),
            Self::Zstd(input) => input.consume(amount),
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

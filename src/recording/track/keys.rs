//! Keyframes: in memory, and in the file beside their recording.
//!
//! The state of each is compressed, most of them against another one that is much like it. The rows that left the top of
//! the screen are kept once, in a block for each stretch between two keyframes. Where more rows pass than are worth their
//! room in a file, blocks are not written down; then a moment is reached from an earlier keyframe, from which on the replay
//! itself brings the rows back.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::recording::cast::Place;
use crate::screen::{KeptRow, Screen, Snapshot};

/// First bytes of a file of keyframes; another form has others.
const MAGIC: &[u8] = b"codriver.keys/1\n";
/// What a screen is written down as changes with the emulator: one more with each change that can be seen.
const EMULATOR: u32 = 1;
/// How hard states and rows are compressed.
const LEVEL: i32 = 9;
/// States that are compressed against one of them.
const GROUP: usize = 16;
/// Most that a state or a block may need, decompressed.
const BLOB_BYTES: usize = 256 << 20;
/// About what the head of one takes in the file.
const HEAD_BYTES: u64 = 40;
/// Of a recording's bytes, the part its keyframes may have: one in a hundred.
const SHARE: u64 = 100;

/// Why a file of keyframes is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// It was written by another version.
    #[error("the saved keyframes are of another version of codriver")]
    Version,
    /// It does not belong to the recording as that is now.
    #[error("the recording is not the one the saved keyframes were made of")]
    Stale,
    /// It is damaged.
    #[error("the saved keyframes are damaged")]
    Damaged,
}

/// What keyframes are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Bytes of the recording's file.
    pub length: u64,
    /// SHA-256 of its first and its last bytes.
    pub edges: [u8; 32],
    /// Rows kept above the screen.
    pub scrollback: u64,
}

/// The keyframes of a recording, as far as it was read.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    frames: Vec<Arc<Frame>>,
    /// Where the recording ends, once all of it was read.
    end: Option<Place>,
    /// Its markers: moment and label.
    markers: Vec<(Duration, String)>,
    /// SHA-256 of the recording's file, once all of it was read.
    digest: Option<[u8; 32]>,
}

#[derive(Debug, Clone)]
struct Frame {
    head: Head,
    state: Vec<u8>,
    block: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Head {
    place: Place,
    /// Numbers of the rows above the screen.
    rows: Range<u64>,
    /// How often the child was started anew before.
    restarts: u32,
    /// Numbers of the rows in its block: those that left since the keyframe before and are still kept.
    block: Range<u64>,
    /// Bytes of the state and of the block, decompressed.
    bytes: (u32, u32),
}

/// The head of the file.
#[derive(Serialize, Deserialize)]
struct File {
    emulator: u32,
    version: String,
    bound: Bound,
    end: Option<Place>,
    digest: Option<[u8; 32]>,
    markers: Vec<(u64, String)>,
    /// Of each keyframe its head, and the compressed bytes of its state and of its block.
    frames: Vec<(Head, u32, Option<u32>)>,
}

impl Keys {
    /// Adds a keyframe; `rows` are those of the numbers `block`, `restarts` says how often the child was started anew.
    pub(super) fn push(
        &mut self,
        place: Place,
        snapshot: &Snapshot,
        (block, rows): (Range<u64>, &[KeptRow]),
        restarts: u32,
    ) {
        let state = encode(snapshot);
        let rows = encode(&rows);
        let head = Head {
            place,
            rows: snapshot.rows(),
            restarts,
            block,
            bytes: (length(&state), length(&rows)),
        };
        let packed = match self.frames.len() % GROUP {
            0 => pack(&state, &[]),
            _ => pack(&state, &self.lead(self.frames.len()).unwrap_or_default()),
        };
        self.frames.push(Arc::new(Frame {
            block: (!head.block.is_empty()).then(|| pack(&rows, &[])),
            head,
            state: packed,
        }));
    }

    /// Takes over the keyframes that `newer` has more; both have them then.
    pub fn publish(&mut self, newer: &Self) {
        let known = self.frames.len().min(newer.frames.len());
        self.frames.extend_from_slice(&newer.frames[known..]);
    }

    /// The recording was read to its end.
    pub(super) fn finish(&mut self, end: Place, markers: Vec<(Duration, String)>) {
        self.end = Some(end);
        self.markers = markers;
    }

    /// Which blocks are not written down, so that the file is as small as it has to be.
    fn left_out(&self) -> Vec<bool> {
        let mut left = vec![false; self.frames.len()];
        let heads = self.frames.len() as u64 * HEAD_BYTES;
        let budget = |end: Place| (end.offset / SHARE).saturating_sub(heads);
        let budget = self.end.map_or(u64::MAX, budget);
        let mut size = self.size();
        let mut blocks: Vec<usize> = (0..self.frames.len())
            .filter(|at| self.frames[*at].block.is_some())
            .collect();
        // Those with the most rows first: there a replay brings them back soonest.
        blocks.sort_by_key(|at| {
            let block = &self.frames[*at].head.block;
            std::cmp::Reverse(block.end - block.start)
        });
        for at in blocks {
            if size <= budget {
                break;
            }
            left[at] = true;
            size -= self.frames[at]
                .block
                .as_ref()
                .map_or(0, |block| block.len() as u64);
        }
        left
    }

    /// Whether rows are left out that only a replay brings back.
    pub fn is_whole(&self) -> bool {
        self.end.is_some()
            && self
                .frames
                .iter()
                .all(|frame| frame.block.is_some() || frame.head.block.is_empty())
    }

    /// Takes in the digest of the whole file.
    pub fn set_digest(&mut self, digest: [u8; 32]) {
        self.digest = Some(digest);
    }

    /// SHA-256 of the recording's file, once all of it was read.
    pub fn digest(&self) -> Option<[u8; 32]> {
        self.digest
    }

    /// How many keyframes there are.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// Bytes they take.
    pub fn size(&self) -> u64 {
        let bytes =
            |frame: &Arc<Frame>| frame.state.len() + frame.block.as_ref().map_or(0, Vec::len);
        self.frames.iter().map(bytes).sum::<usize>() as u64
    }

    /// Where the recording ends, once all of it was read.
    pub fn end(&self) -> Option<Place> {
        self.end
    }

    /// The last place there is a keyframe for.
    pub fn reach(&self) -> Option<Place> {
        self.end
            .or(self.frames.last().map(|frame| frame.head.place))
    }

    /// The recording's markers, once all of it was read.
    pub fn markers(&self) -> &[(Duration, String)] {
        &self.markers
    }

    /// The screen from which a replay reaches what lies behind the last keyframe that `is_before` takes, and its place;
    /// none where that is the start.
    pub(super) fn start(
        &self,
        is_before: impl Fn(&Place) -> bool,
        scrollback: usize,
    ) -> Option<(Screen, Place)> {
        let wanted = self
            .frames
            .partition_point(|frame| is_before(&frame.head.place))
            .checked_sub(1)?;
        let (at, first) = self.base(wanted)?;
        let needed = self.needed(first, at);
        let frame = &self.frames[at];
        let snapshot: Snapshot = decode(&self.state(at)?)?;
        let mut rows = Vec::new();
        for frame in self.frames[..=at].get(needed..).unwrap_or_default() {
            if let Some(block) = &frame.block {
                rows.extend(self.rows(frame, block)?);
            }
        }
        let kept = usize::try_from(frame.head.rows.end.saturating_sub(first)).ok()?;
        rows.drain(..rows.len().saturating_sub(kept));
        let place = frame.head.place;
        Some((Screen::restore(snapshot, scrollback, rows)?, place))
    }

    /// The keyframe from which everything at this one can be had, and the first row that has to be there.
    fn base(&self, wanted: usize) -> Option<(usize, u64)> {
        let head = |at: usize| &self.frames[at].head;
        // What is older than this there is older than what will be kept.
        let first = head(wanted).rows.start;
        let needed = self.needed(first, wanted);
        let lacks = |frame: &Arc<Frame>| frame.block.is_none() && !frame.head.block.is_empty();
        let lacking = self.frames[needed..=wanted].iter().position(lacks);
        let Some(lacking) = lacking else {
            return Some((wanted, first));
        };
        // Rows that were left out come back in a replay of the stretch in which they left.
        let at = (needed + lacking).checked_sub(1)?;
        match head(at).restarts == head(wanted).restarts {
            true => Some((at, first)),
            // A child that is started anew takes all that is there over.
            false => self.base(at),
        }
    }

    /// The first keyframe up to `last` whose block may hold a row from `first` on.
    fn needed(&self, first: u64, last: usize) -> usize {
        self.frames[..=last].partition_point(|frame| frame.head.rows.end <= first)
    }

    /// The state others of a group are compressed against.
    fn lead(&self, at: usize) -> Option<Vec<u8>> {
        let lead = self.frames.get(at - at % GROUP)?;
        unpack(&lead.state, lead.head.bytes.0, &[])
    }

    fn state(&self, at: usize) -> Option<Vec<u8>> {
        let frame = &self.frames[at];
        match at % GROUP {
            0 => self.lead(at),
            _ => unpack(&frame.state, frame.head.bytes.0, &self.lead(at)?),
        }
    }

    fn rows(&self, frame: &Frame, block: &[u8]) -> Option<Vec<KeptRow>> {
        decode(&unpack(block, frame.head.bytes.1, &[])?)
    }

    /// The whole file.
    pub fn write(&self, bound: Bound) -> Vec<u8> {
        let left = self.left_out();
        let block_of = |at: usize| self.frames[at].block.as_deref().filter(|_| !left[at]);
        let file = File {
            emulator: EMULATOR,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            bound,
            end: self.end,
            digest: self.digest,
            markers: self
                .markers
                .iter()
                .map(|(at, label)| {
                    (
                        u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
                        label.clone(),
                    )
                })
                .collect(),
            frames: self
                .frames
                .iter()
                .enumerate()
                .map(|(at, frame)| {
                    let block = block_of(at).map(length);
                    (frame.head.clone(), length(&frame.state), block)
                })
                .collect(),
        };
        let head = encode(&file);
        let packed = pack(&head, &[]);
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&length(&head).to_le_bytes());
        out.extend_from_slice(&length(&packed).to_le_bytes());
        out.extend_from_slice(&packed);
        for (at, frame) in self.frames.iter().enumerate() {
            out.extend_from_slice(&frame.state);
            out.extend_from_slice(block_of(at).unwrap_or_default());
        }
        let digest = Sha256::digest(&out);
        out.extend_from_slice(&digest);
        out
    }

    /// Reads a file that [`Keys::write`] made of a recording that is bound so.
    ///
    /// # Errors
    ///
    /// When it is of another version, of another recording, or damaged.
    pub fn read(bytes: &[u8], bound: &Bound) -> Result<Self, KeysError> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(match bytes.starts_with(b"codriver.keys/") {
                true => KeysError::Version,
                false => KeysError::Damaged,
            });
        };
        let (whole, digest) = bytes.split_last_chunk::<32>().ok_or(KeysError::Damaged)?;
        if Sha256::digest(whole)[..] != digest[..] {
            return Err(KeysError::Damaged);
        }
        Self::parse(&rest[..rest.len() - digest.len()], bound)
    }

    fn parse(bytes: &[u8], bound: &Bound) -> Result<Self, KeysError> {
        let mut rest = bytes;
        let damaged = || KeysError::Damaged;
        let head_bytes = u32::from_le_bytes(*rest.split_off_chunk().ok_or_else(damaged)?);
        let packed = u32::from_le_bytes(*rest.split_off_chunk().ok_or_else(damaged)?);
        let head = unpack(
            take(&mut rest, packed).ok_or_else(damaged)?,
            head_bytes,
            &[],
        )
        .ok_or_else(damaged)?;
        let file: File = decode(&head).ok_or(KeysError::Version)?;
        if file.emulator != EMULATOR || file.version != env!("CARGO_PKG_VERSION") {
            return Err(KeysError::Version);
        }
        if file.bound != *bound {
            return Err(KeysError::Stale);
        }
        let mut keys = Self {
            end: file.end,
            digest: file.digest,
            markers: file
                .markers
                .into_iter()
                .map(|(at, label)| (Duration::from_nanos(at), label))
                .collect(),
            frames: Vec::with_capacity(file.frames.len()),
        };
        for (head, state, block) in file.frames {
            let state = take(&mut rest, state).ok_or_else(damaged)?.to_vec();
            let block = match block {
                Some(length) => Some(take(&mut rest, length).ok_or_else(damaged)?.to_vec()),
                None => None,
            };
            keys.frames.push(Arc::new(Frame { head, state, block }));
        }
        Ok(keys)
    }
}

/// Takes the first array off a slice.
trait SplitOffChunk<'a> {
    fn split_off_chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]>;
}

impl<'a> SplitOffChunk<'a> for &'a [u8] {
    fn split_off_chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (chunk, rest) = self.split_first_chunk()?;
        *self = rest;
        Some(chunk)
    }
}

fn take<'a>(rest: &mut &'a [u8], length: u32) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = left;
    Some(taken)
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("memory takes what is written, and lengths are known")
}

fn decode<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

fn pack(bytes: &[u8], like: &[u8]) -> Vec<u8> {
    let compressor = match like {
        [] => zstd::bulk::Compressor::new(LEVEL),
        like => zstd::bulk::Compressor::with_dictionary(LEVEL, like),
    };
    let packed = compressor.and_then(|mut compressor| compressor.compress(bytes));
    // Where it does not compress there is no keyframe that could be read, and a moment is reached from an earlier one.
    packed.unwrap_or_default()
}

fn unpack(packed: &[u8], length: u32, like: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= BLOB_BYTES)?;
    let decompressor = match like {
        [] => zstd::bulk::Decompressor::new(),
        like => zstd::bulk::Decompressor::with_dictionary(like),
    };
    let bytes = decompressor
        .and_then(|mut decompressor| decompressor.decompress(packed, length))
        .ok()?;
    (bytes.len() == length).then_some(bytes)
}

//! Frames on the socket: four bytes of length, most significant first, then that many bytes of JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits;

/// Why bytes are no frame.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than any frame may be.
    #[error("a frame of {0} bytes is over the bound of {max}", max = limits::FRAME_BYTES)]
    TooLong(usize),
    /// Not the JSON that belongs there.
    #[error("a frame does not hold what it should")]
    Content,
}

/// A frame that holds `value`.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, value).map_err(|_| FrameError::Content)?;
    let length = bytes.len() - 4;
    if length > limits::FRAME_BYTES {
        return Err(FrameError::TooLong(length));
    }
    let length = u32::try_from(length).map_err(|_| FrameError::TooLong(length))?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// Cuts what comes into frames. It never holds more than one frame and what was read behind it.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    /// Takes in what was read.
    pub fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, if there is one. After a fault nothing that follows can be told apart.
    pub fn take_one<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(head) = self.bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head) as usize;
        if length > limits::FRAME_BYTES {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = self.bytes.get(4..4 + length) else {
            return Ok(None);
        };
        let value = serde_json::from_slice(body).map_err(|_| FrameError::Content)?;
        self.bytes.drain(..4 + length);
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_come_back_however_they_are_cut(
            words in prop::collection::vec(".{0,40}", 0..8),
            cuts in prop::collection::vec(1usize..50, 0..40),
        ) {
            let mut bytes = Vec::new();
            for word in &words {
                bytes.extend(encode(word).expect("a short frame"));
            }
            let mut frames = Frames::default();
            let mut found: Vec<String> = Vec::new();
            let mut cuts = cuts.into_iter().cycle();
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let at = cuts.next().unwrap_or(7).min(rest.len());
                frames.take(&rest[..at]);
                rest = &rest[at..];
                while let Some(word) = frames.take_one().expect("whole frames") {
                    found.push(word);
                }
            }
            prop_assert_eq!(found, words);
        }

        #[test]
        fn random_bytes_are_a_fault_or_wait_for_more(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = Frames::default();
            frames.take(&bytes);
            while let Ok(Some(_)) = frames.take_one::<serde_json::Value>() {}
        }
    }

    #[test]
    fn a_length_over_the_bound_is_told_before_its_bytes_come() {
        let mut frames = Frames::default();
        frames.take(&u32::MAX.to_be_bytes());
        let fault = frames.take_one::<String>();
        assert_eq!(fault, Err(FrameError::TooLong(u32::MAX as usize)));
        assert!(encode(&"x".repeat(limits::FRAME_BYTES)).is_err());
    }
}

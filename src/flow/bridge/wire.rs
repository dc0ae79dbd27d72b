//! Frames off a stream, for both ends of it.

use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::bridge::Frames;

/// The next frame; none when the other end has gone or says what cannot be understood. Given up half-way it has lost
/// nothing: what was read is in `frames`.
pub(super) async fn next<R, T>(reading: &mut R, frames: &mut Frames) -> Option<T>
where
    R: AsyncRead + Unpin,
    T: DeserializeOwned,
{
    let mut batch = [0; 8 * 1024];
    loop {
        match frames.take_one() {
            Ok(Some(frame)) => return Some(frame),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the other end of a socket is not understood");
                return None;
            }
        }
        match reading.read(&mut batch).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => frames.take(&batch[..count]),
        }
    }
}

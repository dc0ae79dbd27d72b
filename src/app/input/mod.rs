//! Keys, pastes and the mouse: read off the bytes of the outer terminal, and written as a child wants them.

mod decode;
mod encode;
mod functional;
mod key;
mod kitty;
mod legacy;
mod mouse;
mod paste;
mod reply;
mod sequence;

pub use decode::Decoder;
pub use encode::{encode_focus, encode_key, encode_paste};
pub use key::{Code, Key, Mods, Stroke};
pub use mouse::{Button, Mouse, MouseKind, encode_mouse, encode_wheel_as_keys};
pub use reply::Reply;

/// One thing the outer terminal sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key.
    Key(Key),
    /// Pasted text, as it came; invalid UTF-8 replaced.
    Paste(String),
    /// Part of a paste was longer than `limits::PASTE_BYTES` and is left out: this many bytes.
    PasteCut(usize),
    /// The mouse.
    Mouse(Mouse),
    /// The window got the focus, or lost it.
    Focus(bool),
    /// An answer of the terminal, or news of it.
    Reply(Reply),
}

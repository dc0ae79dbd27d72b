//! Drawing: the console's state → cells → the bytes of the outer terminal (console.md).
//!
//! `console` draws what changed: `pane` the agents' screens, `frame` what stands around them, `panel` what lies over
//! them, all into the cells of a ratatui buffer; `paint` writes the cells that differ.

mod cluster;
mod console;
mod depth;
mod frame;
mod paint;
mod pane;
mod panel;
mod pen;
mod text;
mod theme;

pub use console::{Console, Look};
pub use paint::{Caret, Frame, Painter};
pub use theme::{Glyphs, Theme};

//! What the child asks of the terminal, answered at once, so in the order of asking, and as xterm would.

use super::super::csi::Csi;
use super::super::palette::write_rgb;
use super::super::scan::Piece;
use super::super::sgr;
use super::Terminal;
use crate::limits;

/// Bytes of answers kept for a child that asks and does not read.
const REPLY_BYTES: usize = 64 * 1024;
/// Pixels of a cell, which no agent draws with.
const CELL: (u32, u32) = (8, 16);

/// Whether a piece asks for an answer.
pub(in super::super) fn is_query(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Csi(bytes) => match bytes.last() {
            Some(b'c' | b'n' | b't') => true,
            Some(b'q') => bytes.get(2) == Some(&b'>'),
            Some(b'p') => bytes.ends_with(b"$p"),
            Some(b'u' | b'm') => bytes.get(2) == Some(&b'?'),
            _ => false,
        },
        Piece::Escape(bytes) => *bytes == b"\x1bZ",
        Piece::String {
            kind: b']', body, ..
        } => {
            body.contains(&b'?')
                && [&b"4;"[..], b"10;", b"11;", b"12;"]
                    .iter()
                    .any(|name| body.starts_with(name))
        }
        Piece::String {
            kind: b'P', body, ..
        } => body.starts_with(b"+q") || body.starts_with(b"$q"),
        _ => false,
    }
}

impl Terminal {
    fn reply(&mut self, text: &str) {
        if !self.ended && self.replies.len() + text.len() <= REPLY_BYTES {
            self.replies.extend_from_slice(text.as_bytes());
        }
    }

    /// DA1: a VT220 with colour.
    pub(super) fn primary_attributes(&mut self) {
        self.reply("\x1b[?62;22c");
    }

    /// Answers a sequence that is a question; every other one is ignored.
    pub(super) fn query(&mut self, csi: &Csi<'_>) {
        let first = csi.number(0, 0);
        match (csi.private, csi.intermediates, csi.last) {
            (0, b"", b'c') if first == 0 => self.primary_attributes(),
            (b'>', b"", b'c') if first == 0 => self.reply("\x1b[>1;10;0c"),
            (b'=', b"", b'c') if first == 0 => self.reply("\x1bP!|00000000\x1b\\"),
            (b'>', b"", b'q') if first == 0 => {
                self.reply(concat!(
                    "\x1bP>|codriver ",
                    env!("CARGO_PKG_VERSION"),
                    "\x1b\\"
                ));
            }
            (0, b"", b'n') => match first {
                5 => self.reply("\x1b[0n"),
                6 => {
                    let (row, col) = self.place();
                    self.reply(&format!("\x1b[{row};{col}R"));
                }
                _ => {}
            },
            (b'?', b"", b'n') => match first {
                6 => {
                    let (row, col) = self.place();
                    self.reply(&format!("\x1b[?{row};{col};1R"));
                }
                // No printer.
                15 => self.reply("\x1b[?13n"),
                996 => {
                    let scheme = if self.palette.is_dark() { 1 } else { 2 };
                    self.reply(&format!("\x1b[?997;{scheme}n"));
                }
                _ => {}
            },
            (b'?', b"", b'u') => {
                let flags = self.modes.kitty_keys;
                self.reply(&format!("\x1b[?{flags}u"));
            }
            (b'?', b"", b'm') if first == 4 => {
                let level = self.modes.modify_other_keys;
                self.reply(&format!("\x1b[>4;{level}m"));
            }
            (b'?', b"$", b'p') => {
                let value = match (first, self.mode(first)) {
                    (2026, _) => {
                        if self.in_frame {
                            1
                        } else {
                            2
                        }
                    }
                    (_, Some(true)) => 1,
                    (_, Some(false)) => 2,
                    (_, None) => 0,
                };
                self.reply(&format!("\x1b[?{first};{value}$y"));
            }
            (0, b"$", b'p') => {
                let value = match first {
                    4 if self.insert => 1,
                    4 => 2,
                    _ => 0,
                };
                self.reply(&format!("\x1b[{first};{value}$y"));
            }
            (0, b"", b't') => self.window_query(first),
            _ => {}
        }
    }

    /// The cursor's row and column as a report gives them.
    fn place(&self) -> (u16, u16) {
        let (row, col) = self.emulator.cursor();
        let row = if self.origin {
            row.saturating_sub(self.region.0)
        } else {
            row
        };
        (row + 1, col.min(self.size.cols - 1) + 1)
    }

    fn window_query(&mut self, what: u32) {
        let (cols, rows) = (u32::from(self.size.cols), u32::from(self.size.rows));
        let (width, height) = CELL;
        match what {
            11 => self.reply("\x1b[1t"),
            13 => self.reply("\x1b[3;0;0t"),
            14 => self.reply(&format!("\x1b[4;{};{}t", rows * height, cols * width)),
            15 => self.reply(&format!("\x1b[5;{};{}t", rows * height, cols * width)),
            16 => self.reply(&format!("\x1b[6;{height};{width}t")),
            18 => self.reply(&format!("\x1b[8;{rows};{cols}t")),
            19 => self.reply(&format!("\x1b[9;{rows};{cols}t")),
            // The label and the title are not given away: a child could type with them.
            20 => self.reply("\x1b]L\x1b\\"),
            21 => self.reply("\x1b]l\x1b\\"),
            _ => {}
        }
    }

    /// OSC 4: pairs of an index and `?`.
    pub(super) fn palette_query(&mut self, body: &[u8], bell: bool) {
        let mut parts = body.split(|b| *b == b';');
        while let (Some(index), Some(what)) = (parts.next(), parts.next()) {
            let index = std::str::from_utf8(index)
                .ok()
                .and_then(|text| text.parse::<u8>().ok());
            if let (Some(index), b"?") = (index, what) {
                let mut text = format!("\x1b]4;{index};");
                write_rgb(&mut text, self.palette.entry(index));
                self.reply_string(text, bell);
            }
        }
    }

    /// OSC 10, 11, 12: each further `?` asks for the next one.
    pub(super) fn color_query(&mut self, name: &[u8], body: &[u8], bell: bool) {
        let colors = [
            (&b"10"[..], self.palette.foreground),
            (b"11", self.palette.background),
            (b"12", self.palette.cursor),
        ];
        let from = colors.iter().skip_while(|(of, _)| *of != name);
        for ((of, color), what) in from.zip(body.split(|b| *b == b';')) {
            if what == b"?" {
                let mut text = format!("\x1b]{};", String::from_utf8_lossy(of));
                write_rgb(&mut text, *color);
                self.reply_string(text, bell);
            }
        }
    }

    /// Closes an answer the way the question was closed.
    fn reply_string(&mut self, mut text: String, bell: bool) {
        text.push_str(if bell { "\x07" } else { "\x1b\\" });
        self.reply(&text);
    }

    /// XTGETTCAP and DECRQSS.
    pub(super) fn dcs(&mut self, body: &[u8]) {
        if let Some(names) = body.strip_prefix(b"+q") {
            // No capability is told apart from those the terminal's name promises.
            let hex = names.iter().all(|b| b.is_ascii_hexdigit() || *b == b';');
            let names = if hex && names.len() <= limits::QUOTE_BYTES {
                String::from_utf8_lossy(names).into_owned()
            } else {
                String::new()
            };
            self.reply(&format!("\x1bP0+r{names}\x1b\\"));
        } else if let Some(what) = body.strip_prefix(b"$q") {
            let (top, bottom) = self.region;
            let answer = match what {
                b"m" => {
                    let mut bytes = Vec::new();
                    sgr::write(&self.pen(), &mut bytes);
                    String::from_utf8_lossy(&bytes[2..]).into_owned()
                }
                b"r" => format!("{};{}r", top + 1, bottom + 1),
                _ => {
                    self.reply("\x1bP0$r\x1b\\");
                    return;
                }
            };
            self.reply(&format!("\x1bP1$r{answer}\x1b\\"));
        }
    }
}

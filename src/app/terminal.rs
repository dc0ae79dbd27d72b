//! What is known of the outer terminal: what it can do, and the colours it has.

use super::input::Reply;
use super::theme::{Paint, Part};
use crate::screen::Palette;

/// How many colours there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Depth {
    /// None: attributes alone.
    None,
    /// The sixteen of the terminal's own palette.
    Ansi,
    /// The 256 of xterm.
    Indexed,
    /// All of them.
    #[default]
    Rgb,
}

/// What the outer terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Its colours.
    pub depth: Depth,
    /// It holds a synchronized frame back (mode 2026).
    pub sync: bool,
    /// It shows Unicode: the frame's signs need not be ASCII.
    pub unicode: bool,
    /// It reads UTF-8: what agents write can be passed on.
    pub utf8: bool,
    /// It knows links, lines above text, kinds and colours of underlines, or drops them.
    pub extras: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            depth: Depth::Rgb,
            sync: false,
            unicode: true,
            utf8: true,
            extras: true,
        }
    }
}

/// How a desktop notification is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Notify {
    /// Nothing is known of it: the bell alone.
    #[default]
    Bell,
    /// OSC 9.
    Osc9,
    /// OSC 777.
    Osc777,
}

/// The outer terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terminal {
    /// What it can do.
    pub abilities: Abilities,
    /// Its colours, as far as it told them.
    pub palette: Palette,
    /// It knows the kitty keyboard protocol.
    pub kitty: bool,
    /// How it notifies.
    pub notify: Notify,
    /// Whether its colours are fixed by the settings: dark, or light.
    pub fixed: Option<bool>,
    /// The frame is drawn in its own sixteen colours, however many it has.
    pub plain: bool,
    /// Its rows are heard, not seen: the frame is in words.
    pub reader: bool,
    /// What a theme file changes.
    pub theme: Vec<(Part, Paint)>,
}

/// The terminals that are known to notify, by what their name holds.
const NOTIFIERS: [(&str, Notify); 7] = [
    ("kitty", Notify::Osc9),
    ("wezterm", Notify::Osc9),
    ("ghostty", Notify::Osc9),
    ("iterm2", Notify::Osc9),
    ("foot", Notify::Osc777),
    ("rxvt", Notify::Osc777),
    ("konsole", Notify::Osc777),
];

impl Terminal {
    /// What its environment says of it: `TERM`, `COLORTERM`, whether colours are unwanted, whether it shows Unicode.
    pub fn of(term: &str, colorterm: &str, no_color: bool, unicode: bool) -> Self {
        let has = |word: &str| term.contains(word);
        // Terminals of before UTF-8, and the console of Linux, which shows some of what it does not know.
        let is_old = has("vt1") || has("vt2");
        let depth = match () {
            () if no_color => Depth::None,
            () if matches!(colorterm, "truecolor" | "24bit") || has("direct") || has("kitty") => {
                Depth::Rgb
            }
            () if has("256color") => Depth::Indexed,
            () if is_old => Depth::None,
            () => Depth::Ansi,
        };
        Self {
            abilities: Abilities {
                depth,
                unicode,
                utf8: !is_old,
                extras: !is_old && term != "linux",
                ..Abilities::default()
            },
            ..Self::default()
        }
    }

    /// Takes in the locale's name: one of another charset says that the terminal reads that one. One of none, as `C`,
    /// says nothing, and terminals read UTF-8 unless they are told otherwise.
    pub fn take_locale(&mut self, locale: &str) {
        let charset = locale.split_once('.').map(|(_, charset)| charset);
        let charset = charset.map(|charset| charset.split('@').next().unwrap_or(charset));
        self.abilities.utf8 &=
            charset.is_none_or(|charset| charset.replace('-', "").eq_ignore_ascii_case("utf8"));
    }

    /// Takes in an answer of it.
    pub fn learn(&mut self, reply: &Reply) {
        match reply {
            Reply::Foreground(color) => self.palette.foreground = *color,
            Reply::Background(color) => self.palette.background = *color,
            Reply::Ansi(index, color) => {
                if let Some(kept) = self.palette.ansi.get_mut(usize::from(*index)) {
                    *kept = *color;
                }
            }
            Reply::KittyFlags(_) => self.kitty = true,
            Reply::Mode(2026, state) => self.abilities.sync = matches!(state, 1..=3),
            Reply::Version(name) => {
                let name = name.to_lowercase();
                let known = NOTIFIERS.iter().find(|(word, _)| name.contains(word));
                if let Some((_, notify)) = known {
                    self.notify = *notify;
                    // All of these have them, whatever TERM says.
                    if self.abilities.depth != Depth::None {
                        self.abilities.depth = Depth::Rgb;
                    }
                }
            }
            Reply::IsDark(_)
            | Reply::Attributes(_)
            | Reply::Mode(..)
            | Reply::CellPixels(..)
            | Reply::Other => {}
        }
    }

    /// Whether its background is dark.
    pub fn is_dark(&self) -> bool {
        self.fixed.unwrap_or_else(|| self.palette.is_dark())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_told_by_the_environment_and_by_the_terminal() {
        let depth = |term, colorterm, no_color| {
            Terminal::of(term, colorterm, no_color, true)
                .abilities
                .depth
        };
        assert_eq!(depth("xterm-256color", "truecolor", false), Depth::Rgb);
        assert_eq!(depth("xterm-256color", "", false), Depth::Indexed);
        assert_eq!(depth("linux", "", false), Depth::Ansi);
        assert_eq!(depth("vt100", "", false), Depth::None);
        assert_eq!(depth("xterm-256color", "truecolor", true), Depth::None);
        let of = |term| Terminal::of(term, "", false, true).abilities;
        assert!(of("xterm-256color").extras && of("linux").utf8);
        assert!(!of("linux").extras && !of("vt220").extras && !of("vt220").utf8);
        let mut terminal = Terminal::of("xterm-256color", "", false, true);
        terminal.learn(&Reply::Version("ghostty 1.2".to_owned()));
        assert_eq!(
            (terminal.abilities.depth, terminal.notify),
            (Depth::Rgb, Notify::Osc9)
        );
        terminal.learn(&Reply::Mode(2026, 2));
        assert!(terminal.abilities.sync);
        terminal.learn(&Reply::Background((250, 250, 250)));
        terminal.learn(&Reply::Foreground((0, 0, 0)));
        terminal.learn(&Reply::Ansi(15, (1, 2, 3)));
        assert_eq!(terminal.palette.entry(15), (1, 2, 3));
        assert!(!terminal.is_dark());
    }

    #[test]
    fn only_a_locale_of_another_charset_tells_that_no_utf_8_is_read() {
        for (locale, wanted) in [
            ("", true),
            ("C", true),
            ("POSIX", true),
            ("en_US.UTF-8", true),
            ("c.utf8", true),
            ("de_DE", true),
            ("de_DE.ISO-8859-1", false),
            ("de_DE.iso885915@euro", false),
            ("zh_CN.GB18030", false),
        ] {
            let mut terminal = Terminal::default();
            terminal.take_locale(locale);
            assert_eq!(terminal.abilities.utf8, wanted, "{locale}");
        }
    }
}

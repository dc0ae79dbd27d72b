//! Keys as a child with its modes wants them: as xterm, or by the kitty protocol where it switched that on.

use super::key::Key;
use super::kitty::kitty;
use super::legacy::legacy;
use crate::plain::without_brackets;
use crate::screen::Modes;

/// The bytes a child with these modes gets for a key; none for what it cannot be told.
pub fn encode_key(key: &Key, modes: &Modes) -> Option<Vec<u8>> {
    if modes.kitty_keys != 0 {
        return kitty(key, modes);
    }
    if !key.is_press() {
        return None;
    }
    legacy(key, modes)
}

/// What a pasted text is to a child with these modes. The brackets of a paste inside it are taken out.
pub fn encode_paste(text: &str, modes: &Modes) -> Vec<u8> {
    let text = without_brackets(text);
    if modes.bracketed_paste {
        return [b"\x1b[200~", text.as_bytes(), b"\x1b[201~"].concat();
    }
    // Unbracketed it is typing: a line ends with Enter, and nothing in it may be a command.
    let typed = text.replace("\r\n", "\r").replace('\n', "\r");
    typed
        .chars()
        .filter(|char| !char.is_control() || matches!(char, '\r' | '\t'))
        .collect::<String>()
        .into_bytes()
}

/// What a child with these modes hears of the focus.
pub fn encode_focus(has: bool, modes: &Modes) -> Option<&'static [u8]> {
    modes
        .focus
        .then_some(if has { b"\x1b[I" } else { b"\x1b[O" })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::{Code, Decoder, Input, Mods, Stroke};
    use super::*;

    fn modes(kitty_keys: u8, modify_other_keys: u8) -> Modes {
        Modes {
            kitty_keys,
            modify_other_keys,
            ..Modes::default()
        }
    }

    fn shown(key: &Key, modes: &Modes) -> String {
        match encode_key(key, modes) {
            None => "-".to_owned(),
            Some(bytes) => bytes.escape_ascii().to_string(),
        }
    }

    /// Every key with every usual modifier, for each mode a child can be in.
    fn matrix() -> String {
        let columns: Vec<(&str, Modes)> = vec![
            ("plain", modes(0, 0)),
            (
                "app cursor",
                Modes {
                    app_cursor: true,
                    ..modes(0, 0)
                },
            ),
            ("other keys 1", modes(0, 1)),
            ("other keys 2", modes(0, 2)),
            ("kitty 1", modes(1, 0)),
            ("kitty 3", modes(3, 0)),
            ("kitty 5", modes(5, 0)),
            ("kitty 15", modes(15, 0)),
            ("kitty 31", modes(31, 0)),
        ];
        let codes = "aiA1-/`[~ é"
            .chars()
            .map(Code::Char)
            .chain([Code::Enter, Code::Tab, Code::Backspace, Code::Esc])
            .chain([Code::Up, Code::Begin, Code::Home, Code::Delete])
            .chain([Code::PageUp])
            .chain([1, 3, 5, 12, 13, 20, 21, 24].map(Code::F))
            // Of the keypad 1, Enter and Left; Print Screen; the left Shift.
            .chain([57400, 57414, 57417, 57361, 57441].map(Code::Other));
        let (shift, alt, ctrl) = (Mods::SHIFT, Mods::ALT, Mods::CTRL);
        let held = [
            ("", Mods::NONE),
            ("shift ", shift),
            ("alt ", alt),
            ("ctrl ", ctrl),
            ("shift alt ", shift | alt),
            ("ctrl shift ", ctrl | shift),
            ("ctrl alt ", ctrl | alt),
            ("super ", Mods::SUPER),
        ];
        let mut out = String::new();
        for code in codes {
            for (name, mods) in held {
                let key = Key::new(code, mods);
                out.push_str(&format!("{name}{code:?}:"));
                for (column, modes) in &columns {
                    out.push_str(&format!(" [{column}] {}", shown(&key, modes)));
                }
                out.push('\n');
            }
        }
        out
    }

    #[test]
    fn every_key_reaches_a_child_as_its_modes_have_it() {
        insta::assert_snapshot!(matrix());
    }

    #[test]
    fn shift_enter_and_its_like_are_told_where_the_child_can_hear_it() {
        let key = |code, mods| Key::new(code, mods);
        let ctrl = Mods::CTRL;
        let cases = [
            (key(Code::Enter, Mods::SHIFT), modes(0, 0), "\\r"),
            (key(Code::Enter, Mods::SHIFT), modes(1, 0), "\\x1b[13;2u"),
            (key(Code::Enter, Mods::SHIFT), modes(0, 2), "\\x1b[27;2;13~"),
            (key(Code::Enter, Mods::ALT), modes(0, 0), "\\x1b\\r"),
            (key(Code::Right, ctrl), modes(0, 0), "\\x1b[1;5C"),
            (key(Code::Esc, Mods::NONE), modes(0, 0), "\\x1b"),
            (key(Code::Esc, Mods::NONE), modes(1, 0), "\\x1b[27u"),
            (key(Code::Char('i'), ctrl), modes(1, 0), "\\x1b[105;5u"),
            (key(Code::Char('i'), ctrl), modes(0, 0), "\\t"),
            (key(Code::Char('A'), ctrl), modes(0, 0), "\\x01"),
            (key(Code::Char('a'), Mods::NONE), modes(8, 0), "\\x1b[97u"),
            (
                key(Code::Char('a'), Mods::NONE),
                modes(24, 0),
                "\\x1b[97;;97u",
            ),
            (key(Code::Char('a'), Mods::SUPER), modes(0, 0), "-"),
            (key(Code::Other(57441), Mods::SHIFT), modes(1, 0), "-"),
            (key(Code::Other(57400), Mods::NONE), modes(0, 0), "1"),
            (
                key(Code::Up, Mods::from_bits(128)),
                modes(1, 0),
                "\\x1b[1;129A",
            ),
            (key(Code::Up, Mods::from_bits(128)), modes(0, 0), "\\x1b[A"),
        ];
        for (key, modes, wanted) in cases {
            assert_eq!(shown(&key, &modes), wanted, "{key:?}");
        }
    }

    #[test]
    fn a_key_going_up_is_told_only_to_who_asked() {
        let mut key = Key::char('a');
        key.stroke = Stroke::Release;
        assert_eq!(shown(&key, &modes(0, 0)), "-");
        assert_eq!(shown(&key, &modes(1, 0)), "-");
        assert_eq!(shown(&key, &modes(3, 0)), "\\x1b[97;1:3u");
        key.code = Code::Enter;
        assert_eq!(shown(&key, &modes(3, 0)), "-");
        assert_eq!(shown(&key, &modes(11, 0)), "\\x1b[13;1:3u");
    }

    #[test]
    fn a_paste_cannot_end_itself_and_is_typing_where_it_is_not_bracketed() {
        let bracketed = Modes {
            bracketed_paste: true,
            ..Modes::default()
        };
        assert_eq!(
            encode_paste("a\x1b[201~\nb", &bracketed),
            b"\x1b[200~a\nb\x1b[201~"
        );
        // Parts that come together when a mark between them goes.
        for nested in [
            "a\x1b[20\x1b[201~1~b",
            "a\x1b[2\x1b[200~01~b",
            "a\x1b[\x1b[20\x1b[201~1~201~b",
            "a\u{9b}201~b",
        ] {
            assert_eq!(
                encode_paste(nested, &bracketed),
                b"\x1b[200~ab\x1b[201~",
                "{nested:?}"
            );
        }
        assert_eq!(
            encode_paste("a\r\nb\n\x1b[A\tc", &Modes::default()),
            b"a\rb\r[A\tc"
        );
    }

    proptest! {
        #[test]
        fn no_paste_ends_before_its_end(
            parts in proptest::collection::vec(
                prop_oneof![Just("\x1b["), Just("20"), Just("1~"), Just("0~"), Just("\u{9b}"), Just("x\n")],
                0..40,
            ),
        ) {
            let modes = Modes { bracketed_paste: true, ..Modes::default() };
            let bytes = encode_paste(&parts.concat(), &modes);
            let read = Decoder::default().feed(&bytes, Duration::ZERO);
            prop_assert!(matches!(read.as_slice(), [Input::Paste(_)]), "{:?}", read);
        }

        #[test]
        fn what_the_kitty_protocol_tells_is_read_back(
            code in prop_oneof![
                (b'a'..=b'z').prop_map(|c| Code::Char(char::from(c))),
                Just(Code::Enter), Just(Code::Esc), Just(Code::Left), Just(Code::End),
                Just(Code::Delete), (1u8..=12).prop_map(Code::F),
            ],
            bits in 0u8..16,
            stroke in prop_oneof![Just(Stroke::Press), Just(Stroke::Repeat), Just(Stroke::Release)],
        ) {
            let key = Key { stroke, ..Key::new(code, Mods::from_bits(bits)) };
            let bytes = encode_key(&key, &modes(11, 0)).unwrap_or_default();
            let read = Decoder::default().feed(&bytes, Duration::ZERO);
            prop_assert_eq!(read, vec![Input::Key(key)]);
        }

        #[test]
        fn what_xterm_can_tell_is_read_back(
            code in prop_oneof![
                Just(Code::Up), Just(Code::Begin), Just(Code::End), Just(Code::Insert), Just(Code::PageDown),
                (1u8..=35).prop_map(Code::F),
            ],
            bits in 0u8..16,
            app_cursor in any::<bool>(),
        ) {
            let key = Key::new(code, Mods::from_bits(bits));
            let bytes = encode_key(&key, &Modes { app_cursor, ..Modes::default() }).unwrap_or_default();
            prop_assert_eq!(Decoder::default().feed(&bytes, Duration::ZERO), vec![Input::Key(key)]);
        }

        #[test]
        fn what_is_typed_is_read_back(
            char in prop_oneof![proptest::char::range(' ', '~'), any::<char>()],
            level in 0u8..3,
            is_alted in any::<bool>(),
        ) {
            prop_assume!(!char.is_control());
            // In a number these are keys of the kitty protocol.
            prop_assume!(!('\u{e000}'..='\u{f8ff}').contains(&char));
            let mods = if is_alted { Mods::ALT } else { Mods::NONE };
            // What Alt is told apart with names the Shift that a capital takes.
            let shift = if is_alted && level == 2 && char.is_uppercase() { Mods::SHIFT } else { Mods::NONE };
            let bytes = encode_key(&Key::new(Code::Char(char), mods), &modes(0, level)).unwrap_or_default();
            let mut decoder = Decoder::default();
            let mut read = decoder.feed(&bytes, Duration::ZERO);
            read.extend(decoder.wake(Duration::from_secs(1)));
            prop_assert_eq!(read, vec![Input::Key(Key::new(Code::Char(char), mods | shift))]);
        }

        #[test]
        fn control_letters_are_read_back(
            // Not those that are Backspace, Tab and Enter to a terminal that tells no more.
            letter in proptest::char::range('a', 'z').prop_filter("told apart", |c| !"im".contains(*c)),
            level in 0u8..3,
            alt in prop_oneof![Just(Mods::NONE), Just(Mods::ALT)],
        ) {
            let key = Key::new(Code::Char(letter), Mods::CTRL | alt);
            let bytes = encode_key(&key, &modes(0, level)).unwrap_or_default();
            prop_assert_eq!(Decoder::default().feed(&bytes, Duration::ZERO), vec![Input::Key(key)]);
        }
    }
}

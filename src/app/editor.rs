//! A text that is being written: lines, the cursor, and the keys that change them.

use unicode_segmentation::UnicodeSegmentation;

use super::input::{Code, Key, Mods};

/// A text with a cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Editor {
    text: String,
    /// Byte of the cursor, between two characters as a person sees them.
    at: usize,
}

impl Editor {
    /// A text with the cursor behind it.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            at: text.len(),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte of the cursor.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether the cursor is in the first line, and in the last.
    pub fn ends(&self) -> (bool, bool) {
        let first = !self.text[..self.at].contains('\n');
        let last = !self.text[self.at..].contains('\n');
        (first, last)
    }

    /// Puts text at the cursor; a line ends with a line feed, and no other control stays.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let clean: String = text
            .chars()
            .filter(|char| !char.is_control() || matches!(char, '\n' | '\t'))
            .collect();
        self.text.insert_str(self.at, &clean);
        self.at += clean.len();
    }

    /// Takes a key; tells whether it meant something.
    pub fn key(&mut self, key: &Key) -> bool {
        if let Some(text) = key.typed() {
            self.insert(&text);
            return true;
        }
        let (code, mods) = key.command();
        let ctrl = mods == Mods::CTRL;
        match (code, mods) {
            (Code::Enter, held) if held != Mods::NONE => self.insert("\n"),
            (Code::Char('j'), _) if ctrl => self.insert("\n"),
            (Code::Backspace, Mods::NONE | Mods::SHIFT) => self.cut(self.left()),
            (Code::Char('h'), _) if ctrl => self.cut(self.left()),
            (Code::Char('w'), _) if ctrl => self.cut(self.word_left()),
            (Code::Backspace, _) => self.cut(self.word_left()),
            (Code::Delete, _) => self.cut(self.right()),
            (Code::Char('u'), _) if ctrl => self.cut(self.line_start()),
            (Code::Char('k'), _) if ctrl => self.cut(self.line_end()),
            (Code::Left, Mods::NONE) => self.at = self.left(),
            (Code::Right, Mods::NONE) => self.at = self.right(),
            (Code::Left, _) => self.at = self.word_left(),
            (Code::Right, _) => self.at = self.word_right(),
            (Code::Home, Mods::CTRL) => self.at = 0,
            (Code::End, Mods::CTRL) => self.at = self.text.len(),
            (Code::Home, _) => self.at = self.line_start(),
            (Code::End, _) => self.at = self.line_end(),
            (Code::Char('a'), _) if ctrl => self.at = self.line_start(),
            (Code::Char('e'), _) if ctrl => self.at = self.line_end(),
            (Code::Up, _) => self.at = self.above(),
            (Code::Down, _) => self.at = self.below(),
            _ => return false,
        }
        true
    }

    /// Takes out what lies between the cursor and another place.
    fn cut(&mut self, to: usize) {
        let (from, to) = (self.at.min(to), self.at.max(to));
        self.text.replace_range(from..to, "");
        self.at = from;
    }

    fn left(&self) -> usize {
        let before = self.text[..self.at].grapheme_indices(true).next_back();
        before.map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        let after = self.text[self.at..].graphemes(true).next();
        self.at + after.map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let mut words = self.text[..self.at].unicode_word_indices();
        words.next_back().map_or(0, |(at, _)| at)
    }

    fn word_right(&self) -> usize {
        let after = self.text[self.at..].unicode_word_indices().next();
        after.map_or(self.text.len(), |(at, word)| self.at + at + word.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.at].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.at..]
            .find('\n')
            .map_or(self.text.len(), |at| self.at + at)
    }

    /// As many characters into the line that begins there as the cursor is into its own.
    fn in_line(&self, start: usize) -> usize {
        let column = self.text[self.line_start()..self.at]
            .graphemes(true)
            .count();
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        let within: usize = line.graphemes(true).take(column).map(str::len).sum();
        start + within
    }

    fn above(&self) -> usize {
        match self.line_start() {
            0 => 0,
            start => self.in_line(self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1)),
        }
    }

    fn below(&self) -> usize {
        match self.line_end() {
            end if end == self.text.len() => end,
            end => self.in_line(end + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn press(editor: &mut Editor, keys: &[(Code, Mods)]) {
        for (code, mods) in keys {
            editor.key(&Key::new(*code, *mods));
        }
    }

    #[test]
    fn text_is_written_and_changed_where_the_cursor_is() {
        let mut editor = Editor::new("one two\nthree");
        press(
            &mut editor,
            &[(Code::Up, Mods::NONE), (Code::Char('!'), Mods::NONE)],
        );
        assert_eq!(editor.text(), "one t!wo\nthree");
        press(&mut editor, &[(Code::Char('w'), Mods::CTRL)]);
        assert_eq!(editor.text(), "one wo\nthree");
        press(
            &mut editor,
            &[(Code::Char('u'), Mods::CTRL), (Code::Enter, Mods::ALT)],
        );
        assert_eq!(editor.text(), "\nwo\nthree");
        assert_eq!(editor.ends(), (false, false));
    }

    #[test]
    fn a_paste_keeps_its_lines_and_loses_its_controls() {
        let mut editor = Editor::default();
        editor.insert("a\r\nb\x1b[31m\tc\u{7}");
        assert_eq!(editor.text(), "a\nb[31m\tc");
    }

    #[test]
    fn what_a_person_sees_as_one_character_goes_at_once() {
        let mut editor = Editor::new("e\u{301}👨‍👩‍👧");
        press(&mut editor, &[(Code::Backspace, Mods::NONE)]);
        assert_eq!(editor.text(), "e\u{301}");
        press(
            &mut editor,
            &[(Code::Left, Mods::NONE), (Code::Delete, Mods::NONE)],
        );
        assert_eq!(editor.text(), "");
    }

    proptest! {
        #[test]
        fn the_cursor_always_stands_between_characters(
            text in "[aé世 \n\u{301}]{0,30}",
            keys in proptest::collection::vec((0usize..16, 0u8..8), 0..40),
        ) {
            let codes = [
                Code::Left, Code::Right, Code::Up, Code::Down, Code::Home, Code::End, Code::Backspace,
                Code::Delete, Code::Enter, Code::Char('w'), Code::Char('u'), Code::Char('k'), Code::Char('x'),
                Code::Char('é'), Code::Tab, Code::PageUp,
            ];
            let mut editor = Editor::new(&text);
            for (code, mods) in keys {
                editor.key(&Key::new(codes[code], Mods::from_bits(mods)));
                prop_assert!(editor.text().is_char_boundary(editor.at()));
            }
        }
    }
}

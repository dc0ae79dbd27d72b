//! Select Graphic Rendition, rewritten into what the emulator understands.
//!
//! The crate drops `38:2::r:g:b`, stops at a number it does not know how to hold, and takes the parameters of 58 for
//! attributes of their own (terminal.md 2). What its cells cannot hold goes into an `Extra`.

use std::io::Write as _;

use super::extra::{Extra, Underline};
use super::line::{Color, Style};

/// Whether the crate does the right thing with these parameters (digits and semicolons, or anything else) as they are,
/// and they set nothing that it does not hold.
pub(super) fn is_plain(params: &[u8]) -> bool {
    /// What the next number has to be.
    #[derive(Clone, Copy)]
    enum Next {
        Attribute,
        Kind,
        Components(u8),
    }
    let mut next = Next::Attribute;
    let mut count = 0;
    let mut number = 0u32;
    let mut empty = params.is_empty();
    if empty {
        return true;
    }
    let mut at = 0;
    loop {
        let byte = params.get(at).copied();
        match byte {
            Some(digit @ b'0'..=b'9') => {
                number = number
                    .saturating_mul(10)
                    .saturating_add(u32::from(digit - b'0'));
                empty = false;
            }
            Some(b';') | None => {
                next = match (next, number) {
                    (Next::Attribute, 38 | 48) => Next::Kind,
                    (Next::Attribute, 5 | 6 | 8 | 9 | 21 | 53 | 58) => return false,
                    // What it does not know the crate passes over, as it should.
                    (Next::Attribute, _) => Next::Attribute,
                    (Next::Kind, 5) => Next::Components(1),
                    (Next::Kind, 2) => Next::Components(3),
                    (Next::Components(1), 0..=255) => Next::Attribute,
                    (Next::Components(left), 0..=255) => Next::Components(left - 1),
                    _ => return false,
                };
                count += 1;
                number = 0;
                if byte.is_none() {
                    // An empty last parameter is a zero to us and to the crate, but rare enough to be written out.
                    // The parser below keeps 32 parameters.
                    return matches!(next, Next::Attribute) && !empty && count <= 30;
                }
                empty = true;
            }
            Some(_) => return false,
        }
        at += 1;
    }
}

/// Writes the sequence that sets a style, whatever was set before.
pub(super) fn write(style: &Style, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b[0");
    for (on, code) in [
        (style.bold, ";1"),
        (style.dim, ";2"),
        (style.italic, ";3"),
        (style.underline, ";4"),
        (style.inverse, ";7"),
    ] {
        if on {
            out.extend_from_slice(code.as_bytes());
        }
    }
    for (color, which) in [(style.fg, 38), (style.bg, 48)] {
        match color {
            Color::Default => Ok(()),
            Color::Idx(i) => write!(out, ";{which};5;{i}"),
            Color::Rgb(r, g, b) => write!(out, ";{which};2;{r};{g};{b}"),
        }
        .expect("a vector takes every byte");
    }
    out.push(b'm');
}

/// Writes the sequences that do what these parameters ask for, as far as the crate's cells can show it, and changes
/// `extra` by the rest.
pub(super) fn rewrite(params: &[u8], extra: &mut Extra, out: &mut Vec<u8>) {
    let mut params = params.split(|b| *b == b';').peekable();
    while let Some(param) = params.next() {
        let mut parts = param.split(|b| *b == b':').map(number);
        let first = parts.next().flatten().unwrap_or(0);
        let rest: Vec<Option<u32>> = parts.collect();
        match first {
            4 if !rest.is_empty() => underline(rest[0].unwrap_or(1), extra, out),
            38 | 48 | 58 if !rest.is_empty() => color(first, &rest, extra, out),
            38 | 48 | 58 => {
                let mut values = vec![params.next().and_then(number)];
                let wanted = match values[0] {
                    Some(5) => 1,
                    Some(2) => 3,
                    _ => 0,
                };
                values.extend(
                    (0..wanted).map_while(|_| params.next().map(|p| number(p).or(Some(0)))),
                );
                color(first, &values, extra, out);
            }
            _ if !rest.is_empty() => {}
            _ => attribute(first, extra, out),
        }
    }
}

/// One attribute without parts.
fn attribute(number: u32, extra: &mut Extra, out: &mut Vec<u8>) {
    match number {
        0 => extra.reset(),
        4 => return underline(1, extra, out),
        21 => return underline(2, extra, out),
        24 => return underline(0, extra, out),
        5 | 6 => extra.blink = true,
        25 => extra.blink = false,
        8 => extra.conceal = true,
        28 => extra.conceal = false,
        9 => extra.strike = true,
        29 => extra.strike = false,
        53 => extra.overline = true,
        55 => extra.overline = false,
        59 => extra.underline_color = Color::Default,
        _ => {}
    }
    if matches!(number, 0..=3 | 7 | 22 | 23 | 27 | 30..=37 | 39..=47 | 49 | 90..=97 | 100..=107) {
        put(out, number);
    }
}

/// The kind of underline that `4:kind` asks for; one that is not known is a line.
fn underline(kind: u32, extra: &mut Extra, out: &mut Vec<u8>) {
    extra.underline = match kind {
        2 => Underline::Double,
        3 => Underline::Curly,
        4 => Underline::Dotted,
        5 => Underline::Dashed,
        _ => Underline::Single,
    };
    put(out, if kind == 0 { 24 } else { 4 });
}

/// One colour of `5:n`, `2:r:g:b`, `2::r:g:b` or `2:space:r:g:b:…`; an impossible one changes nothing.
fn color(which: u32, values: &[Option<u32>], extra: &mut Extra, out: &mut Vec<u8>) {
    let byte = |value: Option<u32>| u8::try_from(value.unwrap_or(0)).ok();
    let color = match values {
        [Some(5), n, ..] => byte(*n).map(Color::Idx),
        [Some(2), r, g, b] | [Some(2), _, r, g, b, ..] => match (byte(*r), byte(*g), byte(*b)) {
            (Some(r), Some(g), Some(b)) => Some(Color::Rgb(r, g, b)),
            _ => None,
        },
        _ => None,
    };
    match color {
        Some(color) if which == 58 => extra.underline_color = color,
        Some(Color::Idx(n)) => sequence(out, format_args!("{which};5;{n}")),
        Some(Color::Rgb(r, g, b)) => sequence(out, format_args!("{which};2;{r};{g};{b}")),
        _ => {}
    }
}

fn put(out: &mut Vec<u8>, number: u32) {
    sequence(out, format_args!("{number}"));
}

fn sequence(out: &mut Vec<u8>, body: std::fmt::Arguments<'_>) {
    write!(out, "\x1b[{body}m").expect("a vector takes every byte");
}

/// A number as a parameter spells it; `None` when it is left out or not a number.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0u32, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(u32::from(digit - b'0'))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(params: &str) -> String {
        let mut out = Vec::new();
        rewrite(params.as_bytes(), &mut Extra::default(), &mut out);
        String::from_utf8_lossy(&out).replace('\x1b', "")
    }

    #[test]
    fn what_the_crate_does_right_is_plain() {
        for params in [
            "",
            "0",
            "1;31",
            "38;5;200;48;2;1;2;3",
            "97;107;22",
            "25",
            "59",
            "0;1;7;27",
        ] {
            assert!(is_plain(params.as_bytes()), "{params}");
        }
        for params in [
            "4:3",
            "58;5;1",
            "38;2;300;1;1",
            "21",
            "1;9",
            "5",
            "8",
            "53",
            "38:2::1:2:3",
            "38;2;1",
            "1;",
        ] {
            assert!(!is_plain(params.as_bytes()), "{params}");
        }
    }

    #[test]
    fn colours_with_colons_become_colours_with_semicolons() {
        assert_eq!(rewritten("38:2::10:20:30"), "[38;2;10;20;30m");
        assert_eq!(rewritten("48:2:10:20:30"), "[48;2;10;20;30m");
        assert_eq!(rewritten("38:2:1:10:20:30:0:1"), "[38;2;10;20;30m");
        assert_eq!(rewritten("38:5:7"), "[38;5;7m");
    }

    #[test]
    fn the_underline_colour_is_no_attribute() {
        assert_eq!(rewritten("58;5;1"), "");
        assert_eq!(rewritten("58;2;1;2;3;1"), "[1m");
        assert_eq!(rewritten("58:2::1:3:4;3"), "[3m");
    }

    #[test]
    fn an_impossible_number_loses_only_itself() {
        assert_eq!(rewritten("1;38;2;300;0;0;4"), "[1m[4m");
        assert_eq!(rewritten("38;5;256;7"), "[7m");
        assert_eq!(rewritten("99999999999;3"), "[3m");
    }

    #[test]
    fn kinds_of_underline_are_underlines() {
        assert_eq!(rewritten("4:3"), "[4m");
        assert_eq!(rewritten("4:0"), "[24m");
        assert_eq!(rewritten("21"), "[4m");
        assert_eq!(rewritten("8;9;5;53"), "");
    }

    #[test]
    fn an_empty_parameter_resets() {
        assert_eq!(rewritten("1;"), "[1m[0m");
        assert_eq!(rewritten(";31"), "[0m[31m");
    }

    #[test]
    fn what_no_cell_holds_is_kept_beside() {
        let extra = |params: &str| {
            let mut extra = Extra::default();
            rewrite(params.as_bytes(), &mut extra, &mut Vec::new());
            extra
        };
        let red = Color::Idx(1);
        let wanted = Extra {
            underline: Underline::Curly,
            underline_color: red,
            blink: true,
            conceal: true,
            strike: true,
            overline: true,
            link: None,
        };
        assert_eq!(extra("4:3;58;5;1;5;8;9;53"), wanted);
        assert_eq!(extra("21;58:2::1:2:3").underline_color, Color::Rgb(1, 2, 3));
        assert_eq!(extra("21").underline, Underline::Double);
        for back in ["0", "", "24;59;25;28;29;55"] {
            assert_eq!(
                extra(&format!("4:3;58;5;1;6;8;9;53;{back}")),
                Extra::default(),
                "{back}"
            );
        }
    }
}

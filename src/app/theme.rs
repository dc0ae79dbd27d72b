//! A theme file: the colours of the frame, as far as a person changes them.

/// A colour of a theme file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// One of the 256.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What has the focus.
    Accent,
    /// Text of less weight.
    Dim,
    /// Rules between the parts.
    Rule,
    /// Something is wrong.
    Fault,
    /// AGREE.
    Agree,
    /// ADJUST.
    Adjust,
    /// OBJECT.
    Object,
    /// ESCALATE.
    Escalate,
    /// UNPARSED.
    Unparsed,
    /// Behind what lies over the panes.
    Panel,
    /// Behind what a search found.
    Hit,
}

const PARTS: [(&str, Part); 11] = [
    ("accent", Part::Accent),
    ("dim", Part::Dim),
    ("rule", Part::Rule),
    ("fault", Part::Fault),
    ("agree", Part::Agree),
    ("adjust", Part::Adjust),
    ("object", Part::Object),
    ("escalate", Part::Escalate),
    ("unparsed", Part::Unparsed),
    ("panel", Part::Panel),
    ("hit", Part::Hit),
];

/// The sixteen of the terminal's own palette.
const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

/// Why a theme file gives no colours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeFault {
    /// It is no TOML.
    #[error("it is not TOML: {0}")]
    Toml(String),
    /// A name that means nothing.
    #[error("`{0}` is no part of the frame; known are {known}", known = PARTS.map(|(name, _)| name).join(", "))]
    Part(String),
    /// A value that is no colour.
    #[error(
        "`{0}` is no colour; write a number from 0 to 255, \"#rrggbb\", or a name as \"red\" or \"bright-red\""
    )]
    Color(String),
}

/// Reads a theme file.
pub fn parse(text: &str) -> Result<Vec<(Part, Paint)>, ThemeFault> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| ThemeFault::Toml(error.message().to_owned()))?;
    table
        .iter()
        .map(|(name, value)| {
            let known = PARTS.iter().find(|(known, _)| known == name);
            let (_, part) =
                known.ok_or_else(|| ThemeFault::Part(name.chars().take(40).collect()))?;
            let paint = paint(value).ok_or_else(|| ThemeFault::Color(name.clone()))?;
            Ok((*part, paint))
        })
        .collect()
}

fn paint(value: &toml::Value) -> Option<Paint> {
    if let Some(number) = value.as_integer() {
        return u8::try_from(number).ok().map(Paint::Indexed);
    }
    let text = value.as_str()?;
    let Some(digits) = text.strip_prefix('#') else {
        let at = NAMES.iter().position(|name| *name == text)?;
        return u8::try_from(at).ok().map(Paint::Indexed);
    };
    // A sign would be read as part of the number.
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = number.to_be_bytes();
    Some(Paint::Rgb(r, g, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_and_faults_are_named() {
        let read =
            parse("accent = 75\nagree = \"#00ff80\"\nhit = \"blue\"\nrule = \"bright-black\"\n");
        let wanted = vec![
            (Part::Accent, Paint::Indexed(75)),
            (Part::Agree, Paint::Rgb(0, 255, 128)),
            (Part::Hit, Paint::Indexed(4)),
            (Part::Rule, Paint::Indexed(8)),
        ];
        assert_eq!(read, Ok(wanted));
        let fault = |text| {
            parse(text)
                .err()
                .map(|fault| fault.to_string())
                .unwrap_or_default()
        };
        assert!(
            fault("border = 1").starts_with("`border` is no part of the frame; known are accent")
        );
        assert!(fault("dim = 256").starts_with("`dim` is no colour"));
        assert!(fault("dim = \"rosy\"").starts_with("`dim` is no colour"));
        assert!(fault("dim = \"#+12345\"").starts_with("`dim` is no colour"));
        assert!(fault("dim = -1").starts_with("`dim` is no colour"));
        assert!(fault("dim =").starts_with("it is not TOML"));
    }
}

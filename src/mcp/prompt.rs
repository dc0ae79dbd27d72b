//! The prompt `pair`: the whole way of working, for a driver (issue TOOLS 7).

use crate::bridge::{Code, Fault};
use crate::plain;

const PAIR: &str = include_str!("../../assets/mcp/pair.md");

/// The name of the prompt.
pub const PROMPT: &str = "pair";

/// Its arguments, each with what it is for.
pub const PROMPT_ARGUMENTS: [(&str, &str); 2] = [
    ("pane", "The peer's pane; the one peer when left out."),
    (
        "kind",
        "What the next round is about: plan, implementation or question.",
    ),
];

/// The words of the prompt.
pub fn pair(pane: Option<&str>, kind: Option<&str>) -> Result<String, Fault> {
    let pane = pane
        .map(|pane| format!("; its pane is `{}`", plain::display(pane, 60)))
        .unwrap_or_default();
    let kind = match kind {
        None | Some("") => String::new(),
        Some(kind @ ("plan" | "implementation" | "question")) => {
            format!("\nAsk now: one round of kind `{kind}` about what is at hand.\n")
        }
        Some(other) => {
            return Err(Fault::new(
                Code::BadArgument,
                format!(
                    "`{}` is no kind; there are plan, implementation and question",
                    plain::display(other, 40)
                ),
            ));
        }
    };
    Ok(PAIR
        .replacen("{pane}", &pane, 1)
        .replacen("{kind}", &kind, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_names_every_verdict_and_no_placeholder() -> Result<(), Fault> {
        let text = pair(Some("peer"), Some("plan"))?;
        for word in ["AGREE", "ADJUST", "OBJECT", "ESCALATE", "UNPARSED"] {
            assert!(text.contains(&format!("`{word}`")), "{word}");
        }
        assert!(!text.contains('{'), "{text}");
        assert!(text.contains("its pane is `peer`") && text.contains("kind `plan` about"));
        assert!(pair(None, Some("poem")).is_err());
        Ok(())
    }

    #[test]
    fn no_line_of_it_reads_as_a_verdict() -> Result<(), Fault> {
        for line in pair(None, None)?.lines() {
            assert!(crate::pairing::Marker::parse(line).is_none(), "{line}");
        }
        Ok(())
    }
}

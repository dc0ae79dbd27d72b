//! `explain`: which rule read a screen as idle, busy or blocked, and which lines made a verdict (interface.md 1).

use serde_json::{Value, json};

use super::config::Printed;
use super::extract::{ExtractError, Played, Source, play};
use crate::cli::{ExplainArgs, Options};
use crate::config::{Profile, Settings};
use crate::limits;
use crate::pairing::{Asked, Evidence, Judgement, Reading, Signs, judge, read};
use crate::plain;
use crate::recording::result::seconds;
use crate::screen::Line;

/// Explains the screen and the rounds of a file.
pub fn run(
    args: &ExplainArgs,
    settings: &Settings,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<Printed, ExtractError> {
    let source = Source {
        file: &args.file,
        harness: args.harness.as_deref(),
        tags: &args.tag,
        began: &[],
        sent: args.sent.as_deref(),
        until: args.at,
    };
    let told = match play(&source, settings)? {
        Played::Recording { player, end, notes } => {
            for note in &notes {
                say(note);
            }
            let profile = player.profile().clone();
            let screen = player.screen();
            let judgement = judge(
                &Signs {
                    visible: &screen.visible(),
                    title: screen.title(),
                    state: screen.agent_state(),
                },
                &profile,
            );
            let rounds = player.finish(end);
            let rounds = rounds.iter().map(|found| Told {
                span: Some((seconds(found.from), seconds(found.to))),
                reading: &found.reading,
                evidence: &found.evidence,
            });
            tell(&profile, &judgement, &rounds.collect::<Vec<_>>(), options)
        }
        Played::Text(lines, profile, sent) => {
            let asked = Asked {
                sent: sent.as_deref(),
                tag: args.tag.first().map(String::as_str),
                ..Asked::default()
            };
            let reading = read(&lines, &profile.screen, &asked);
            let judgement = judge(
                &Signs {
                    visible: tail(&lines),
                    title: "",
                    state: None,
                },
                &profile,
            );
            let evidence = Evidence::of(&reading, &lines);
            let told = Told {
                span: None,
                reading: &reading,
                evidence: &evidence,
            };
            tell(&profile, &judgement, &[told], options)
        }
    };
    Ok(told)
}

/// The last rows of a plain text, as many as a screen has.
fn tail(lines: &[Line]) -> &[Line] {
    const ROWS: usize = 50;
    &lines[lines.len().saturating_sub(ROWS)..]
}

/// One round to be told of.
struct Told<'a> {
    span: Option<(f64, f64)>,
    reading: &'a Reading,
    evidence: &'a [Evidence],
}

fn tell(
    profile: &Profile,
    judgement: &Judgement,
    rounds: &[Told<'_>],
    options: &Options,
) -> Printed {
    if options.json {
        return Printed::json(&as_json(profile, judgement, rounds));
    }
    let shown = |text: &str| plain::display(text, limits::QUOTE_BYTES);
    let mut out = format!(
        "harness  {}\nstate    {}, by the rule {}{}\n",
        profile.name,
        judgement.activity.word(),
        judgement.rule,
        if judgement.evidence.is_empty() {
            String::new()
        } else {
            format!(": {}", shown(judgement.evidence.trim()))
        },
    );
    for (at, round) in rounds.iter().enumerate() {
        let reading = round.reading;
        out.push_str(&format!("\nround {}", at + 1));
        if let Some((from, to)) = round.span {
            out.push_str(&format!("  from {from:.3} s, read at {to:.3} s"));
        }
        out.push_str(&format!("\n  verdict   {}", reading.verdict));
        if let Some(reason) = reading.reason {
            out.push_str(&format!(", because {}", reason.sentence()));
        }
        let yes = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
        out.push_str(&format!(
            "\n  echo      {}\n  tag       {}\n  text      {}{}\n",
            yes(
                reading.echo,
                "found: the reply is what follows it",
                "not found"
            ),
            yes(
                reading.tagged,
                "came back",
                "did not come back, or none was asked for"
            ),
            yes(reading.complete, "whole", "may be incomplete"),
            yes(
                reading.ambiguous,
                "; verdict lines with different words stand in it",
                ""
            ),
        ));
        for line in round.evidence {
            out.push_str(&format!(
                "  line {:>5} {} {}\n",
                line.line + 1,
                line.what,
                shown(line.text.trim())
            ));
        }
    }
    if rounds.is_empty() {
        out.push_str("\nno round found\n");
    }
    Printed::done(out)
}

fn as_json(profile: &Profile, judgement: &Judgement, rounds: &[Told<'_>]) -> Value {
    let rounds: Vec<Value> = rounds
        .iter()
        .map(|round| {
            let reading = round.reading;
            let lines: Vec<Value> = round
                .evidence
                .iter()
                .map(|line| json!({"line": line.line + 1, "what": line.what, "text": line.text}))
                .collect();
            json!({
                "from": round.span.map(|span| span.0),
                "to": round.span.map(|span| span.1),
                "verdict": reading.verdict,
                "reason": reading.reason,
                "echo": reading.echo,
                "tagged": reading.tagged,
                "complete": reading.complete,
                "ambiguous": reading.ambiguous,
                "lines": lines,
            })
        })
        .collect();
    json!({
        "schema": "codriver.explain/1",
        "harness": profile.name,
        "state": {
            "activity": judgement.activity.word(),
            "rule": judgement.rule,
            "evidence": judgement.evidence,
        },
        "rounds": rounds,
    })
}

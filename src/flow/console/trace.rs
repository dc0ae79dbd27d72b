//! What the console was told and what it did, for the session's events: kinds, panes and sizes. What a person typed is left
//! out of it unless they asked for it, and texts of the agents lie in their recordings.

use std::time::Duration;

use super::state::Inner;
use crate::app::input::Input;
use crate::app::{Effect, Event, Role};
use crate::recording::event::Trace;

impl Inner<'_> {
    /// Records that the console was told something.
    pub(super) fn trace_event(&mut self, event: &Event<'_>, now: Duration) {
        let types = self.settings.record_input.value;
        if let Some(trace) = of_event(event, types) {
            self.recorder.saw(now, trace);
        }
    }

    /// Records that the console does something.
    pub(super) fn trace_effect(&mut self, effect: &Effect, now: Duration) {
        self.recorder.did(now, of_effect(effect));
    }
}

fn plain(what: &str) -> Trace {
    Trace {
        what: what.to_owned(),
        ..Trace::default()
    }
}

fn of_pane(what: &str, role: Role) -> Trace {
    Trace {
        pane: Some(role.word().to_owned()),
        ..plain(what)
    }
}

fn sized(trace: Trace, bytes: usize) -> Trace {
    Trace {
        bytes: Some(bytes as u64),
        ..trace
    }
}

/// What is told of an event; nothing of time that passed, which shows in what came of it.
fn of_event(event: &Event<'_>, types: bool) -> Option<Trace> {
    let text = |text: String| Some(text).filter(|_| types);
    Some(match event {
        Event::Input(Input::Key(key)) => Trace {
            text: text(format!("{:?}", key.command())),
            ..plain("key")
        },
        Event::Input(Input::Paste(pasted)) => Trace {
            text: text(pasted.clone()),
            ..sized(plain("paste"), pasted.len())
        },
        Event::Input(Input::PasteCut(bytes)) => sized(plain("paste-cut"), *bytes),
        Event::Input(Input::Mouse(_)) => plain("mouse"),
        Event::Input(Input::Focus(has)) => plain(if *has { "focus" } else { "focus-lost" }),
        Event::Input(Input::Reply(_)) => plain("terminal-reply"),
        Event::Resized(cols, rows) => Trace {
            size: Some((*cols, *rows)),
            ..plain("window")
        },
        Event::Output(role, bytes) => sized(of_pane("output", *role), bytes.len()),
        Event::Started(role) => of_pane("started", *role),
        Event::NotStarted(role, _) => of_pane("not-started", *role),
        Event::Exited(role, _) => of_pane("exited", *role),
        Event::Version(role, _) => of_pane("version", *role),
        Event::Turn(turn) => plain(turn.stage),
        Event::Heard(_) => plain("channel"),
        Event::Answered(_) => plain("answered"),
        Event::Unanswered(_) => plain("unanswered"),
        Event::Elsewhere(..) => plain("elsewhere"),
        Event::Left => plain("left"),
        Event::Said => plain("said"),
        Event::Receipt(_) => plain("receipt"),
        Event::Fallback(_) => plain("fallback"),
        Event::Asks(..) => plain("asks"),
        Event::Edited(_) => plain("edited"),
        Event::Notice(_) => plain("notice"),
        Event::Branch(_) => plain("branch"),
        Event::Asked => plain("asked-to-end"),
        Event::Replay(_) | Event::Woke => return None,
    })
}

fn of_effect(effect: &Effect) -> Trace {
    match effect {
        Effect::Write(role, bytes) => sized(of_pane("write", *role), bytes.len()),
        Effect::Type(bytes) => sized(of_pane("type", Role::Peer), bytes.len()),
        Effect::Resize(role, size) => Trace {
            size: Some((size.cols, size.rows)),
            ..of_pane("resize", *role)
        },
        Effect::AskChannel => plain("ask-channel"),
        Effect::AskColors => plain("ask-colors"),
        Effect::Conclude => plain("conclude"),
        Effect::Ask(_) => plain("ask"),
        Effect::Decide(_) => plain("decide"),
        Effect::StopWaiting => plain("stop-waiting"),
        Effect::Restart(role) => of_pane("restart", *role),
        Effect::Copy(text) => sized(plain("copy"), text.len()),
        Effect::Edit(text) => sized(plain("edit"), text.len()),
        Effect::Title(_) => plain("title"),
        Effect::Alert(_) => plain("alert"),
        Effect::Bell => plain("bell"),
        Effect::Replay(_) => plain("replay"),
        Effect::Redraw => plain("redraw"),
        Effect::Suspend => plain("suspend"),
        Effect::Quit => plain("quit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::input::{Code, Key, Mods};

    #[test]
    fn what_is_typed_is_told_only_where_it_was_asked_for() {
        let paste = || Event::Input(Input::Paste("secret".to_owned()));
        let key = || Event::Input(Input::Key(Key::new(Code::Char('s'), Mods::NONE)));
        for event in [paste(), key()] {
            let told = of_event(&event, false).map(|trace| trace.text);
            assert_eq!(told, Some(None), "{event:?}");
        }
        let told = of_event(&paste(), true).and_then(|trace| trace.text);
        assert_eq!(told.as_deref(), Some("secret"));
        let written = of_effect(&Effect::Write(Role::Driver, b"secret".to_vec()));
        assert_eq!((written.text, written.bytes), (None, Some(6)));
        let copied = of_effect(&Effect::Copy("secret".to_owned()));
        assert_eq!((copied.text, copied.bytes), (None, Some(6)));
    }
}

//! What the console wants done.

use std::time::Duration;

use super::editor;
use super::state::{Inner, Told};
use crate::app::{Effect, Event, Notify, Role};
use crate::flow::talk::PEER;
use crate::plain;
use crate::recording::track::RESTARTED;
use crate::screen::Mouse;
use crate::world::clipboard;
use crate::world::outer::KEY_FLAGS;
use crate::world::process;

impl Inner<'_> {
    /// Tells the state what happened, and does what it wants done.
    pub(super) fn update(&mut self, event: Event<'_>) {
        let now = self.clock.elapsed();
        self.trace_event(&event, now);
        let effects = self.app.update(event, now);
        self.carry_out(effects, now);
    }

    fn carry_out(&mut self, effects: Vec<Effect>, now: Duration) {
        for effect in effects {
            self.perform(effect, now);
        }
        let seen = self
            .app
            .asking
            .as_ref()
            .and_then(|asking| asking.exchange());
        if let Some(seen) = seen.map(crate::pairing::Exchange::delivered) {
            // What is seen in a round is recorded behind the output that shows it.
            self.record();
            self.see_delivery(seen);
        }
    }

    /// Tells the state what a child wrote. What that comes to stands behind it in the recording.
    pub(super) fn take_output(&mut self, role: Role) {
        self.record();
        let now = self.clock.elapsed();
        let empty = std::mem::take(&mut self.spare);
        let bytes = self.inflow[role.at()].take(empty);
        let event = Event::Output(role, &bytes);
        self.trace_event(&event, now);
        let effects = self.app.update(event, now);
        self.unrecorded = Some((role, now, bytes));
        self.carry_out(effects, now);
        if role == self.app.focus {
            self.adapt_outer();
        }
    }

    /// Records what a child wrote, at the time its screen had it.
    pub(super) fn record(&mut self) {
        let Some((role, at, mut bytes)) = self.unrecorded.take() else {
            return;
        };
        if let Some(recording) = self.child(role).map(|child| child.recording()) {
            self.recorder.output(recording, at, &bytes);
        }
        bytes.clear();
        self.spare = bytes;
        if self.recorder.has_warnings() {
            self.pass_on_warnings();
        }
    }

    fn perform(&mut self, effect: Effect, now: Duration) {
        if !matches!(effect, Effect::Write(..)) {
            self.record();
        }
        self.trace_effect(&effect, now);
        match effect {
            Effect::Write(role, bytes) => {
                if self.settings.record_input.value
                    && let Some(recording) = self.child(role).map(|child| child.recording())
                {
                    // Behind the output it answers.
                    self.record();
                    self.recorder.input(recording, now, &bytes);
                }
                let is_taken = self.child(role).is_none_or(|child| child.write(&bytes));
                if !is_taken {
                    self.app.say(
                        format!("the {} does not read what is typed", role.word()),
                        true,
                    );
                }
            }
            Effect::Type(bytes) => self.type_to_peer(&bytes, now),
            Effect::Resize(role, size) => {
                let Some(child) = self.child(role) else {
                    return;
                };
                let recording = child.recording();
                if child.resize(size) {
                    self.recorder.resize(recording, now, size);
                }
            }
            Effect::AskChannel => self.ask_channel(),
            Effect::Conclude => self.conclude(),
            Effect::Ask(wish) => self.ask(wish),
            Effect::Decide(answer) => self.decide(answer),
            Effect::StopWaiting => self.stop_waiting(),
            Effect::Restart(role) => self.restart(role),
            Effect::Copy(text) => self.copy(text),
            Effect::Edit(text) => self.edit(&text),
            Effect::Title(title) => {
                let title = plain::display(&title, 200);
                self.outer.queue(format!("\x1b]2;{title}\x1b\\").as_bytes());
            }
            Effect::Alert(text) => self.alert(&text),
            Effect::AskColors => self.outer.ask(),
            Effect::Bell => self.outer.queue(b"\x07"),
            Effect::Redraw => {
                self.forget = true;
                self.redraw = true;
            }
            // Only a replay goes to other moments.
            Effect::Replay(_) => {}
            Effect::Suspend => self.suspend(),
            Effect::Quit => self.is_over = true,
        }
    }

    fn type_to_peer(&mut self, bytes: &[u8], now: Duration) {
        let Some(child) = &mut self.peer else {
            return;
        };
        let recording = child.recording();
        if let Some(delivery) = &mut self.delivery {
            delivery.begin(PEER, &mut self.recorder, now);
        }
        // A child that reads nothing fills the queue; the exchange then finds its text unsent and says so.
        if child.write(bytes) {
            self.recorder.input(recording, now, bytes);
        }
        if let Some(delivery) = &mut self.delivery {
            delivery.typed(bytes, recording, &mut self.recorder, now);
        }
    }

    fn restart(&mut self, role: Role) {
        // What the old one wrote is not the new one's.
        self.take_inflow(None);
        self.record();
        let now = self.clock.elapsed();
        if let Some(recording) = self.child(role).map(|child| child.recording()) {
            self.recorder.marker(recording, now, RESTARTED);
        }
        let Some(child) = self.drop_child(role) else {
            self.app.relaunch(role);
            return self.start(role);
        };
        if child.exit.is_none() {
            // All it started ends behind it; the new one need not wait for that.
            tokio::spawn(child.stop());
        }
        self.app.relaunch(role);
        self.start(role);
    }

    fn copy(&mut self, text: String) {
        self.outer.queue(&clipboard::osc52(&text));
        tokio::task::spawn_blocking(move || {
            // A clipboard that takes nothing is one there is not: the terminal has its own.
            let _ = clipboard::put(&text);
        });
    }

    fn alert(&mut self, text: &str) {
        let text = plain::display(text, 120);
        let bytes = match self.app.terminal.notify {
            Notify::Bell => "\x07".to_owned(),
            Notify::Osc9 => format!("\x1b]9;codriver: {text}\x1b\\\x07"),
            Notify::Osc777 => format!("\x1b]777;notify;codriver;{text}\x1b\\\x07"),
        };
        self.outer.queue(bytes.as_bytes());
    }

    fn edit(&mut self, text: &str) {
        self.is_away = true;
        self.outer.leave();
        let tell = self.tell.clone();
        match editor::open(text) {
            Ok(editing) => {
                self.editor = editing.id();
                tokio::task::spawn_blocking(move || {
                    // Nobody listens any more when the console was left.
                    let _ = tell.send(Told::Edited(editor::finish(editing)));
                });
            }
            Err(why) => {
                let _ = tell.send(Told::Edited(Err(why)));
            }
        }
    }

    fn suspend(&mut self) {
        self.outer.leave();
        process::suspend();
        self.take_terminal();
    }

    /// Takes the terminal back, whatever it shows.
    pub(super) fn take_terminal(&mut self) {
        self.is_away = false;
        self.outer_modes = (KEY_FLAGS, 1, false);
        if self.outer.enter().is_err() {
            self.is_over = true;
        }
        self.forget = true;
        self.redraw = true;
        let (cols, rows) = self.outer.size();
        self.update(Event::Resized(cols, rows));
        self.adapt_outer();
    }

    /// Takes in what a spawned flow ended in.
    pub(super) fn told(&mut self, told: Told) {
        match told {
            Told::Composed(number, tree, ask, before) => {
                self.tree = tree;
                if number == self.asked {
                    self.composed(ask, before);
                }
            }
            Told::Concluded(number, tree, ended, after) => {
                self.tree = tree;
                let (seen, ending, at) = *ended;
                if number == self.asked {
                    self.concluded(&seen, &ending, at, after);
                }
            }
            Told::Ran(number, tree, back, after) => {
                // Another one may have been asked meanwhile, and has its own.
                self.tree = tree.or_else(|| self.tree.take());
                if number == self.asked {
                    self.ran(*back, after);
                }
            }
            Told::Heard(number, ear, found) => {
                // After a restart there is another one.
                self.ear.get_or_insert(ear);
                if number == self.asked {
                    self.update(Event::Heard(found));
                }
            }
            Told::Version(role, Some(version)) => {
                if role == Role::Peer
                    && let Some(talk) = &mut self.talk
                {
                    talk.learn_version(Some(version.clone()));
                }
                self.update(Event::Version(role, version));
            }
            Told::Version(_, None) => {}
            Told::Orphans => self.let_orphans_go(),
            Told::Branch(branch) => self.update(Event::Branch(branch)),
            Told::Edited(text) => {
                self.editor = None;
                self.take_terminal();
                self.update(Event::Edited(text));
            }
        }
    }

    /// Switches on in the outer terminal what the focused child needs told.
    pub(super) fn adapt_outer(&mut self) {
        let modes = self.app.focused().screen.modes();
        let wanted = (
            modes.kitty_keys | KEY_FLAGS,
            modes.modify_other_keys.max(1),
            modes.mouse == Mouse::Motion && self.app.opening.mouse,
        );
        let before = std::mem::replace(&mut self.outer_modes, wanted);
        if before == wanted || self.is_away {
            return;
        }
        let mut bytes = String::new();
        if before.0 != wanted.0 {
            bytes.push_str(&format!("\x1b[={};1u", wanted.0));
        }
        if before.1 != wanted.1 {
            bytes.push_str(&format!("\x1b[>4;{}m", wanted.1));
        }
        if before.2 != wanted.2 {
            bytes.push_str(if wanted.2 {
                "\x1b[?1003h"
            } else {
                "\x1b[?1003l\x1b[?1002h"
            });
        }
        self.outer.queue(bytes.as_bytes());
    }
}

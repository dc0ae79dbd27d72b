//! The person's editor: a text in a file of its own, until the editor is left.

use crate::limits;
use crate::world::editor::{self, Editor};
use crate::world::files;
use crate::world::process::ProcessId;

/// A text the person is changing.
pub(super) struct Editing {
    editor: Editor,
    folder: tempfile::TempDir,
}

const NAME: &str = "message.md";

fn fault(what: &str, error: &dyn std::fmt::Display) -> String {
    format!("{what}: {error}")
}

/// Opens the editor on a text; says in a sentence why it cannot be.
pub(super) fn open(text: &str) -> Result<Editing, String> {
    let folder = tempfile::Builder::new()
        .prefix("codriver-")
        .tempdir()
        .map_err(|error| fault("no file could be made for the editor", &error))?;
    let file = folder.path().join(NAME);
    files::write_new(&file, text.as_bytes())
        .map_err(|error| fault("no file could be made for the editor", &error))?;
    let editor = editor::start(&file).map_err(|error| fault("the editor", &error))?;
    Ok(Editing { editor, folder })
}

impl Editing {
    /// The editor's process.
    pub(super) fn id(&self) -> Option<ProcessId> {
        self.editor.id()
    }
}

/// Waits until the editor is left, and takes the text; says in a sentence why there is none.
pub(super) fn finish(editing: Editing) -> Result<String, String> {
    let Editing { editor, folder } = editing;
    editor.wait().map_err(|error| fault("the editor", &error))?;
    match files::read_text(&folder.path().join(NAME)) {
        Ok(Some(text)) if text.len() <= limits::MESSAGE_BYTES * 4 => Ok(text),
        Ok(Some(_)) => {
            Err("the editor's text is too long for a message; name the file in one".to_owned())
        }
        Ok(None) => Err("the editor left no file; the message is as it was".to_owned()),
        Err(error) => Err(fault("the editor's text cannot be read", &error)),
    }
}

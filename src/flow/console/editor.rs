//! The person's editor: a text in a file of its own, until the editor is left.

use std::path::Path;

use crate::limits;
use crate::world::{editor, files};

/// Has the person change a text; says in a sentence why there is none.
pub(super) fn edit(text: &str) -> Result<String, String> {
    let fault = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let folder = tempfile::Builder::new()
        .prefix("codriver-")
        .tempdir()
        .map_err(|error| fault("no file could be made for the editor", &error))?;
    let file: &Path = &folder.path().join("message.md");
    files::write_new(file, text.as_bytes())
        .map_err(|error| fault("no file could be made for the editor", &error))?;
    editor::run(file).map_err(|error| fault("the editor", &error))?;
    match files::read_text(file) {
        Ok(Some(text)) if text.len() <= limits::MESSAGE_BYTES * 4 => Ok(text),
        Ok(Some(_)) => {
            Err("the editor's text is too long for a message; name the file in one".to_owned())
        }
        Ok(None) => Err("the editor left no file; the message is as it was".to_owned()),
        Err(error) => Err(fault("the editor's text cannot be read", &error)),
    }
}

//! What can be done with a folder, seen without making or changing anything.

use std::path::Path;

use rustix::fs::{Access, access};

/// What can be done with a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// It is there and can be written.
    Writable,
    /// It is not there and can be made.
    Creatable,
    /// It cannot be written or made.
    Closed,
    /// Something else stands in its place.
    NotAFolder,
}

/// Looks at a folder.
pub fn look(path: &Path) -> Folder {
    let is_writable = |path: &Path| access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    match path.metadata() {
        Ok(found) if !found.is_dir() => Folder::NotAFolder,
        Ok(_) if is_writable(path) => Folder::Writable,
        Ok(_) => Folder::Closed,
        Err(_) => {
            let above = path.ancestors().skip(1).find(|above| above.exists());
            match above {
                Some(above) if above.is_dir() && is_writable(above) => Folder::Creatable,
                _ => Folder::Closed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_looked_at_without_being_made() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let (new, file) = (dir.path().join("a/b"), dir.path().join("file"));
        std::fs::write(&file, "")?;
        assert_eq!(look(dir.path()), Folder::Writable);
        assert_eq!(look(&new), Folder::Creatable);
        assert!(!dir.path().join("a").exists());
        assert_eq!(look(&file), Folder::NotAFolder);
        assert_eq!(look(&file.join("x")), Folder::Closed);
        Ok(())
    }
}

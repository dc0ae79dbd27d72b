//! Where codriver's own files lie, from the variables of the environment (interface.md 5).

use std::ffi::OsString;
use std::path::PathBuf;

/// Name of codriver's folder in each of the places below.
const OWN: &str = "codriver";

/// The folders of this person; none where the environment names no place for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// The machine file is here.
    pub config: Option<PathBuf>,
    /// Sessions, runs and logs.
    pub state: Option<PathBuf>,
    /// Sockets.
    pub runtime: Option<PathBuf>,
}

impl Folders {
    /// Works them out from `variable`, which gives a variable's value. A relative path counts as not set, as the XDG
    /// rules ask.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let absolute = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let below = |name: &str, fallback: &str| {
            absolute(name)
                .or_else(|| home.as_ref().map(|home| home.join(fallback)))
                .map(|base| base.join(OWN))
        };
        let state = below("XDG_STATE_HOME", ".local/state");
        Self {
            config: below("XDG_CONFIG_HOME", ".config"),
            runtime: absolute("XDG_RUNTIME_DIR")
                .map(|base| base.join(OWN))
                .or_else(|| state.as_ref().map(|state| state.join("run"))),
            state,
        }
    }

    /// The machine file.
    pub fn machine_file(&self) -> Option<PathBuf> {
        self.config
            .as_ref()
            .map(|folder| folder.join("config.toml"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(variables: &[(&str, &str)]) -> Folders {
        Folders::of(|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn the_home_folder_is_enough() {
        let found = folders(&[("HOME", "/h")]);
        assert_eq!(
            found.machine_file(),
            Some("/h/.config/codriver/config.toml".into())
        );
        assert_eq!(found.state, Some("/h/.local/state/codriver".into()));
        assert_eq!(found.runtime, Some("/h/.local/state/codriver/run".into()));
    }

    #[test]
    fn the_variables_win_when_they_are_absolute() {
        let found = folders(&[
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "relative"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
        ]);
        assert_eq!(found.config, Some("/c/codriver".into()));
        assert_eq!(found.state, Some("/h/.local/state/codriver".into()));
        assert_eq!(found.runtime, Some("/run/user/1/codriver".into()));
    }

    #[test]
    fn with_no_home_there_is_no_folder() {
        assert_eq!(folders(&[("HOME", "")]), Folders::default());
    }
}

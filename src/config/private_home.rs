//! A settings folder of its own for an agent: what the person's holds that a reviewer may need, without what would let it
//! run or write something.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Table;

/// How an agent's settings folder is made for one launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrivateHome {
    /// The variable that names the person's folder.
    pub variable: String,
    /// The person's folder when the variable is not set, below the home folder.
    pub default: String,
    /// The settings file in it, TOML, of which a copy is made.
    pub settings: String,
    /// Tables and keys that the copy does not have.
    pub drop: Vec<String>,
    /// Files of the person's folder that are linked: log-ins, which the agent must be able to renew.
    pub links: Vec<String>,
    /// Variables that hold a key: where one is set, a log-in is not missed.
    pub key_variables: Vec<String>,
    /// Keys of the settings that name a provider with a log-in of its own.
    pub provider_settings: Vec<String>,
}

/// Why a settings file cannot be copied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not valid TOML")]
pub struct NotToml;

impl PrivateHome {
    /// The copy of a settings file.
    pub fn copy(&self, text: &str) -> Result<String, NotToml> {
        let mut table: Table = text.parse().map_err(|_| NotToml)?;
        for key in &self.drop {
            table.remove(key);
        }
        Ok(table.to_string())
    }

    /// Whether the copy of a settings file names a provider of its own.
    pub fn names_provider(&self, copy: &str) -> bool {
        copy.parse().is_ok_and(|table: Table| {
            let named = |key: &String| table.contains_key(key);
            self.provider_settings.iter().any(named)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_the_model_and_drops_what_runs_or_writes() {
        let home = crate::config::bundled_profile("codex")
            .private_home
            .unwrap();
        let text = "model = \"m\"\nsandbox_mode = \"danger-full-access\"\nnotify = [\"x\"]\n\n[model_providers.lab]\nname = \"lab\"\n\n[mcp_servers.evil]\ncommand = \"sh\"\n\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n\n[hooks]\na = 1\n";
        let copy: Table = home.copy(text).unwrap().parse().unwrap();
        assert_eq!(
            copy.keys().collect::<Vec<_>>(),
            ["model", "model_providers"]
        );
        assert_eq!(home.copy("a = "), Err(NotToml));
    }

    #[test]
    fn where_a_log_in_is_kept_is_not_copied_since_only_the_file_can_be_linked() {
        let home = crate::config::bundled_profile("codex")
            .private_home
            .unwrap();
        let copy = home.copy("cli_auth_credentials_store = \"keyring\"\nmodel = \"m\"\n");
        assert_eq!(copy, Ok("model = \"m\"\n".to_owned()));
    }

    #[test]
    fn a_provider_of_its_own_is_named_by_its_key_alone() {
        let home = crate::config::bundled_profile("codex")
            .private_home
            .unwrap();
        assert!(home.names_provider("model_provider = \"lab\"\n"));
        assert!(!home.names_provider("model = \"model_provider\"\n"));
        assert!(!home.names_provider(""));
    }
}

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
}

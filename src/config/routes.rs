//! Where each role's work goes, as the settings decide it, and what the ways there need (systems.md 0.2, B.1, C.3).

use std::collections::BTreeMap;

use toml::Value;

use super::key::Key;
use super::origin::Origin;
use super::settings::Entry;
use crate::route::{Role, Route};
use crate::rp::Address;
use crate::runner::{Allowlist, Model, Runner};

/// The tool that is called unless another one is named (B.5).
const TOOL: &str = "oracle_send";

/// The route of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    /// The role.
    pub role: Role,
    /// Where its work goes.
    pub route: Route,
    /// The key that decided it, and who set that; none where nobody did.
    pub by: Option<(Key, Origin)>,
}

/// What is set for one runner that is enabled on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerSettings {
    /// The model it is asked to use; none for its own choice.
    pub model: Option<Model>,
    /// Whether claude runs without the person's own settings.
    pub bare: bool,
    /// A server of opencode that the person runs.
    pub server: Option<Address>,
}

/// Every route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    roles: Vec<Routed>,
    runners: BTreeMap<Runner, RunnerSettings>,
    /// The runner that takes the place of a missing host.
    pub fallback_host: Option<Runner>,
    /// Which models may be used.
    pub allowed: Allowlist,
    /// Where RepoPrompt listens; none when no address is set, or none is looked at.
    pub repo_prompt: Option<Address>,
    /// The tool that is called there.
    pub tool: String,
}

impl Routes {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let find = |key: &str| entries.iter().find(|entry| entry.key == Key::of(key));
        let text = |key: &str| find(key)?.value.as_str().map(str::to_owned);
        let asks_repo_prompt =
            find("oracle.review").filter(|entry| entry.value.as_str() == Some("rp"));
        let roles = Role::ALL.map(|role| {
            let own = find(&format!("roles.{role}.runner"));
            let named = own.and_then(|entry| Route::of(entry.value.as_str()?).ok());
            let by = |entry: &Entry| (entry.key.clone(), entry.origin.clone());
            match (named, asks_repo_prompt) {
                (Some(Route::Host) | None, Some(entry)) if role.takes_repo_prompt() => Routed {
                    role,
                    route: Route::RepoPrompt,
                    by: Some(by(entry)),
                },
                _ => Routed {
                    role,
                    route: named.unwrap_or(Route::Host),
                    by: own.map(by),
                },
            }
        });
        let runners = Runner::ALL.into_iter().filter_map(|runner| {
            let head = Key::new(["runner", runner.name()]);
            let of_it = |entry: &&Entry| entry.key.parts().starts_with(&head.parts());
            entries.iter().find(of_it)?;
            let key = |name: &str| format!("{head}.{name}");
            let settings = RunnerSettings {
                model: text(&key("model")).as_deref().and_then(Model::of),
                bare: find(&key("bare")).and_then(|entry| entry.value.as_bool()) != Some(false),
                server: text(&key("server")).as_deref().and_then(Address::of),
            };
            Some((runner, settings))
        });
        Self {
            roles: roles.into(),
            runners: runners.collect(),
            fallback_host: text("runner.fallback_host").as_deref().and_then(Runner::of),
            allowed: allowlist(entries.iter().map(|entry| (&entry.key, &entry.value))),
            repo_prompt: asks_repo_prompt.and_then(|_| Address::of(&text("oracle.rp.url")?)),
            tool: asks_repo_prompt
                .and_then(|_| text("oracle.rp.tool"))
                .unwrap_or_else(|| TOOL.to_owned()),
        }
    }

    /// The route of a role.
    pub fn of_role(&self, role: Role) -> Route {
        self.roles
            .iter()
            .find(|routed| routed.role == role)
            .map_or(Route::Host, |routed| routed.route)
    }

    /// The routes of all roles.
    pub fn roles(&self) -> &[Routed] {
        &self.roles
    }

    /// What is set for a runner; none when it is not enabled on this machine.
    pub fn runner(&self, runner: Runner) -> Option<&RunnerSettings> {
        self.runners.get(&runner)
    }
}

/// The allowlist in these values (C.4).
pub(super) fn allowlist<'v>(values: impl Iterator<Item = (&'v Key, &'v Value)>) -> Allowlist {
    let mut allowed = Allowlist::default();
    let words = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    for (key, value) in values {
        match key.parts()[..] {
            ["oracle", "api", provider, "models"] => {
                allowed.models.insert(provider.to_owned(), words(value));
            }
            ["oracle", "denylist"] => allowed.deny = words(value),
            _ => {}
        }
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Faults, FlagValue, Layer, LayerFile, Layers, load};

    fn routes(
        repository: &str,
        machine: &str,
        flags: &[(&'static str, &str)],
    ) -> Result<Routes, Faults> {
        let file = |path: &str, text: &str| {
            Some(LayerFile {
                path: path.into(),
                text: Ok(Some(text.to_owned())),
            })
        };
        let flags = flags.iter().map(|(key, value)| FlagValue {
            flag: "--via",
            key,
            value: (*value).to_owned(),
        });
        let layers = Layers {
            flags: flags.collect(),
            repository: file("/repo/.codriver/config.toml", repository),
            machine: file("/home/me/config.toml", machine),
        };
        Ok(load(&layers)?.routes)
    }

    fn told(faults: Result<Routes, Faults>) -> String {
        faults.map_or_else(|faults| faults.to_string(), |_| String::new())
    }

    #[test]
    fn with_nothing_set_everything_goes_to_the_host() -> Result<(), Faults> {
        let routes = routes("", "", &[])?;
        for routed in routes.roles() {
            assert_eq!((routed.route, &routed.by), (Route::Host, &None));
        }
        assert_eq!(routes.runner(Runner::Codex), None);
        assert_eq!(routes.fallback_host, None);
        assert_eq!(routes.repo_prompt, None);
        Ok(())
    }

    #[test]
    fn repo_prompt_takes_the_reviewers_that_would_go_to_the_host() -> Result<(), Faults> {
        let machine = "[oracle.rp]\nurl = 'http://localhost:1/mcp'\n[runner.opencode]\n\
                       [roles.ruthless-reviewer]\nrunner = 'opencode'\n[roles.security-reviewer]\nrunner = 'host'";
        let routes = routes("[oracle]\nreview = 'rp'", machine, &[])?;
        let way = |role| routes.of_role(role);
        assert_eq!(way(Role::Ruthless), Route::Runner(Runner::Opencode));
        assert_eq!(way(Role::Security), Route::RepoPrompt);
        for role in [Role::Auditor, Role::Implementer, Role::Peer] {
            assert_eq!(way(role), Route::Host, "{role}");
        }
        let security = &routes.roles()[2];
        let (key, origin) = security.by.as_ref().expect("a key");
        assert_eq!(
            (key.to_string().as_str(), origin.layer),
            ("oracle.review", Layer::Repository)
        );
        assert!(routes.repo_prompt.is_some());
        assert_eq!(routes.tool, "oracle_send");
        Ok(())
    }

    #[test]
    fn the_repository_wins_with_host_and_the_flag_over_both() -> Result<(), Faults> {
        let machine = "[oracle]\nreview = 'rp'\n[runner.codex]\n[roles.auditor]\nrunner = 'codex'";
        let repository = "[oracle]\nreview = 'host'\n[roles.auditor]\nrunner = 'host'";
        let both = routes(repository, machine, &[])?;
        assert_eq!(both.of_role(Role::Ruthless), Route::Host);
        assert_eq!(both.of_role(Role::Auditor), Route::Host);
        let flagged = routes(repository, machine, &[("roles.auditor.runner", "codex")])?;
        assert_eq!(flagged.of_role(Role::Auditor), Route::Runner(Runner::Codex));
        Ok(())
    }

    #[test]
    fn a_runner_is_enabled_by_its_table_alone() -> Result<(), Faults> {
        let machine = "[runner.claude]\n[runner.opencode]\nserver = 'http://127.0.0.1:4096'\nmodel = 'a/b'\n\
                       [oracle.api.a]\nmodels = ['b']";
        let routes = routes("", machine, &[])?;
        let claude = routes.runner(Runner::Claude).expect("enabled");
        assert!(claude.bare && claude.model.is_none());
        let opencode = routes.runner(Runner::Opencode).expect("enabled");
        assert!(opencode.server.is_some());
        assert_eq!(opencode.model, Model::of("a/b"));
        assert_eq!(routes.runner(Runner::Codex), None);
        let bare = self::routes("", "[runner.claude]\nbare = false", &[])?;
        assert!(!bare.runner(Runner::Claude).expect("enabled").bare);
        Ok(())
    }

    #[test]
    fn a_model_nobody_admitted_is_a_fault_that_names_its_key() {
        for (machine, wanted) in [
            (
                "[runner.codex]\nmodel = 'openai/SECRET'",
                "`runner.codex.model` names a model that no list",
            ),
            (
                "[runner.codex]\nmodel = 'openai/SECRET'\n[oracle.api.other]\nmodels = ['SECRET']",
                "`runner.codex.model` names a model that no list",
            ),
            (
                "[runner.codex]\nmodel = 'SECRET'",
                "`runner.codex.model` is no model",
            ),
        ] {
            let told = told(routes("", machine, &[]));
            assert!(told.contains(wanted), "{told}");
            assert!(
                told.contains("/home/me/config.toml:2:1") && !told.contains("SECRET"),
                "{told}"
            );
        }
        let machine = "[runner.codex]\nmodel = 'openai/x'\n[oracle.api.openai]\nmodels = ['x']";
        assert_eq!(told(routes("", machine, &[])), "");
        let narrowed = told(routes("[oracle]\ndenylist = ['openai/*']", machine, &[]));
        assert!(narrowed.contains("`oracle.denylist` matches"), "{narrowed}");
    }

    #[test]
    fn an_address_that_may_mean_another_machine_is_refused_without_its_value() {
        let rp = |url: &str| format!("[oracle]\nreview = 'rp'\n[oracle.rp]\nurl = '{url}'");
        for url in [
            "http://SECRET@localhost:1/",
            "http://SECRET.example/",
            "http://localhost/?SECRET",
            "http://localhost/#SECRET",
            "ftp://localhost/SECRET",
            "http://192.168.1.2/SECRET",
        ] {
            let told = told(routes("", &rp(url), &[]));
            assert!(
                told.contains("`oracle.rp.url` is no address on this machine"),
                "{told}"
            );
            assert!(!told.contains("SECRET"), "{told}");
        }
        // Who did not opt in is not stopped by it.
        let off = "[oracle.rp]\nurl = 'http://SECRET.example/'\ntool = 7";
        assert_eq!(told(routes("", off, &[])), "");
        let server = told(routes(
            "",
            "[runner.opencode]\nserver = 'http://SECRET.example/'",
            &[],
        ));
        assert!(
            server.contains("`runner.opencode.server` is no address") && !server.contains("SECRET")
        );
    }

    #[test]
    fn a_repository_chooses_no_address_no_program_and_no_key() {
        for (text, key) in [
            ("[oracle.rp]\nurl = 'http://SECRET/'", "oracle.rp.url"),
            ("[oracle.rp]\ntool = 'SECRET'", "oracle.rp.tool"),
            ("[runner.claude]\n", "runner.claude"),
            (
                "[runner.opencode]\nserver = 'http://localhost:1/SECRET'",
                "runner.opencode.server",
            ),
            ("[runner]\nfallback_host = 'claude'", "runner.fallback_host"),
            (
                "[oracle.api.openai]\nmodels = ['SECRET']",
                "oracle.api.openai.models",
            ),
        ] {
            let told = told(routes(text, "", &[]));
            assert!(
                told.contains(&format!(
                    "may not set `{key}`; set it in `/home/me/config.toml`"
                )),
                "{told}"
            );
            assert!(!told.contains("SECRET"), "{told}");
        }
    }
}

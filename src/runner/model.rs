//! Models, and which of them may be used (systems.md C.4).

use std::collections::BTreeMap;
use std::fmt;

use crate::refusal::Refusal;

/// Longest name of a model, in bytes.
const BYTES: usize = 200;

/// A model as it is configured: `<provider>/<model>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    provider: String,
    name: String,
}

impl Model {
    /// Reads a model; none when it is not of that form.
    pub fn of(text: &str) -> Option<Self> {
        let plain = |part: &str| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._:-/@".contains(c))
        };
        let (provider, name) = text.split_once('/')?;
        (text.len() <= BYTES && plain(provider) && plain(name)).then(|| Self {
            provider: provider.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The provider.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model without its provider.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

/// Which models may be used: a provider's list names them, and no pattern of the denylist matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowlist {
    /// By provider, the models its list names.
    pub models: BTreeMap<String, Vec<String>>,
    /// Patterns of what is never used; `*` stands for anything, `?` for one sign.
    pub deny: Vec<String>,
}

impl Allowlist {
    /// Admits a model that `key` names, or refuses it by that key.
    ///
    /// # Errors
    ///
    /// A refusal that names the key and what would have to be set; the model itself is not repeated.
    pub fn admit(&self, model: &Model, key: &str) -> Result<(), Refusal> {
        let provider = &model.provider;
        let is_listed = self.models.get(provider).is_some_and(|list| {
            let whole = model.to_string();
            list.iter()
                .any(|name| *name == model.name || *name == whole)
        });
        if !is_listed {
            return Err(Refusal::new(
                "model-not-listed",
                format!("`{key}` names a model that no list of its provider has"),
                "add it to `oracle.api.<provider>.models` in the machine file, or take the key out",
            ));
        }
        let whole = model.to_string();
        let is_denied = self
            .deny
            .iter()
            .any(|pattern| matches(pattern, &whole) || matches(pattern, &model.name));
        if is_denied {
            return Err(Refusal::new(
                "model-denied",
                format!("`{key}` names a model that a pattern of `oracle.denylist` matches"),
                "name another model, or take the pattern out",
            ));
        }
        Ok(())
    }

    /// The models that may be used, each as `<provider>/<model>`.
    pub fn admitted(&self) -> Vec<String> {
        let all = self.models.iter().flat_map(|(provider, names)| {
            names.iter().filter_map(move |name| {
                let head = format!("{provider}/");
                Model::of(&match name.starts_with(&head) {
                    true => name.clone(),
                    false => format!("{head}{name}"),
                })
            })
        });
        let admitted = all.filter(|model| self.admit(model, "").is_ok());
        admitted.map(|model| model.to_string()).collect()
    }
}

/// Whether the whole text is what the pattern says; case does not matter, since a denial that misses is the worse fault.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let text: Vec<char> = text.to_lowercase().chars().collect();
    // For each length of the text, whether the pattern so far matches it.
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for sign in pattern {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match sign {
                '*' => fits[at] || (at > 0 && next[at - 1]),
                '?' => at > 0 && fits[at - 1],
                sign => at > 0 && fits[at - 1] && text[at - 1] == sign,
            };
        }
        fits = next;
    }
    fits[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(models: &[(&str, &[&str])], deny: &[&str]) -> Allowlist {
        Allowlist {
            models: models
                .iter()
                .map(|(provider, names)| {
                    let names = names.iter().map(|name| (*name).to_owned()).collect();
                    ((*provider).to_owned(), names)
                })
                .collect(),
            deny: deny.iter().map(|pattern| (*pattern).to_owned()).collect(),
        }
    }

    fn code(list: &Allowlist, model: &str) -> Option<&'static str> {
        let model = Model::of(model).expect("a model");
        list.admit(&model, "runner.codex.model")
            .err()
            .map(|refusal| refusal.code)
    }

    #[test]
    fn a_model_has_a_provider_and_plain_signs() {
        for bad in ["", "x", "/x", "x/", "a b/c", "a/b\n", "a/b;c", "a/é"] {
            assert_eq!(Model::of(bad), None, "{bad:?}");
        }
        assert_eq!(Model::of(&format!("a/{}", "x".repeat(199))), None);
        let model = Model::of("local/qwen3-coder/v2@1").expect("a model");
        assert_eq!(
            (model.provider(), model.name()),
            ("local", "qwen3-coder/v2@1")
        );
        assert_eq!(model.to_string(), "local/qwen3-coder/v2@1");
    }

    #[test]
    fn only_what_its_provider_lists_is_admitted() {
        let list = list(&[("openai", &["gpt-6", "openai/gpt-7"])], &[]);
        assert_eq!(code(&list, "openai/gpt-6"), None);
        assert_eq!(code(&list, "openai/gpt-7"), None);
        assert_eq!(code(&list, "openai/gpt-66"), Some("model-not-listed"));
        assert_eq!(code(&list, "other/gpt-6"), Some("model-not-listed"));
        assert_eq!(list.admitted(), ["openai/gpt-6", "openai/gpt-7"]);
    }

    #[test]
    fn a_denial_wins_over_a_list() {
        for pattern in ["*", "openai/*", "GPT-6", "openai/gpt-?", "*-6", "gpt-6"] {
            let list = list(&[("openai", &["gpt-6"])], &[pattern]);
            assert_eq!(
                code(&list, "openai/gpt-6"),
                Some("model-denied"),
                "{pattern}"
            );
            assert_eq!(list.admitted(), Vec::<String>::new());
        }
        for pattern in ["gpt", "openai", "gpt-66", "?", "openai/gpt-??", ""] {
            let list = list(&[("openai", &["gpt-6"])], &[pattern]);
            assert_eq!(code(&list, "openai/gpt-6"), None, "{pattern}");
        }
    }

    #[test]
    fn a_refusal_names_the_key_and_not_the_model() {
        let model = Model::of("a/SECRET").expect("a model");
        let refusal = Allowlist::default()
            .admit(&model, "runner.codex.model")
            .expect_err("a refusal");
        let text = refusal.to_string();
        assert!(
            text.contains("`runner.codex.model`") && !text.contains("SECRET"),
            "{text}"
        );
    }
}

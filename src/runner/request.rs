//! What a runner is asked, checked before anything starts (systems.md C.2).

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use crate::limits;
use crate::refusal::Refusal;

/// The words every route gets alike.
const PROMPT: &str = include_str!("../../assets/messages/routed.md");

/// A request as it is put together, before it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The role.
    pub role: String,
    /// The file with the brief.
    pub brief: PathBuf,
    /// The file the answer is to become.
    pub return_path: PathBuf,
    /// The folder to work in.
    pub dir: PathBuf,
    /// A folder with another checkout, when the work is done there.
    pub checkout: Option<PathBuf>,
    /// The tools that may be used.
    pub tools: Vec<String>,
    /// What a transcript is named by when the harness tells no session of its own.
    pub session_id: String,
    /// How long it may take; zero for the default.
    pub timeout: Duration,
    /// The words to send in place of the usual ones: those of a pairing round.
    pub words: Option<String>,
}

/// A request whose every part was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    draft: Draft,
}

impl Request {
    /// Checks a draft.
    ///
    /// # Errors
    ///
    /// A refusal that names the part; its value is not repeated.
    pub fn check(draft: Draft) -> Result<Self, Refusal> {
        let refused = |part: &str, wanted: &str| {
            Err(Refusal::new(
                "request-refused",
                format!("the {part} of a request to a runner {wanted}"),
                "nothing was started",
            ))
        };
        if !ROLE.is_match(&draft.role) {
            return refused("role", "is no plain lower-case name");
        }
        for (part, path) in [
            ("brief", Some(&draft.brief)),
            ("return", Some(&draft.return_path)),
            ("folder", Some(&draft.dir)),
            ("checkout", draft.checkout.as_ref()),
        ] {
            if path.is_some_and(|path| !is_clean(path)) {
                return refused(part, "is no absolute and clean path");
            }
        }
        if draft.tools.iter().any(|tool| !TOOL.is_match(tool)) {
            return refused("tools", "hold a name that is none");
        }
        if !SESSION.is_match(&draft.session_id) {
            return refused("session", "is no plain name of at most 128 signs");
        }
        Ok(Self { draft })
    }

    /// The role.
    pub fn role(&self) -> &str {
        &self.draft.role
    }

    /// The file with the brief.
    pub fn brief(&self) -> &Path {
        &self.draft.brief
    }

    /// The file the answer is to become.
    pub fn return_path(&self) -> &Path {
        &self.draft.return_path
    }

    /// The folder to work in.
    pub fn dir(&self) -> &Path {
        &self.draft.dir
    }

    /// The folder with another checkout.
    pub fn checkout(&self) -> Option<&Path> {
        self.draft.checkout.as_deref()
    }

    /// The tools that may be used.
    pub fn tools(&self) -> &[String] {
        &self.draft.tools
    }

    /// What a transcript is named by when the harness tells no session of its own.
    pub fn session_id(&self) -> &str {
        &self.draft.session_id
    }

    /// How long it may take.
    pub fn timeout(&self) -> Duration {
        match self.draft.timeout {
            Duration::ZERO => limits::RUNNER_TIME,
            time => time,
        }
    }

    /// The prompt, the same byte for byte whatever the route.
    pub fn prompt(&self) -> String {
        if let Some(words) = &self.draft.words {
            return words.clone();
        }
        let path = |path: &Path| path.to_string_lossy().into_owned();
        // No part of it can hold a `{`-name of another: each is put in once, in one pass over the template.
        let mut out = String::new();
        let mut rest = PROMPT.trim_end();
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            let (name, after) = rest[at + 1..].split_once('}').unwrap_or(("", ""));
            match name {
                "role" => out.push_str(self.role()),
                "brief" => out.push_str(&path(self.brief())),
                "return" => out.push_str(&path(self.return_path())),
                _ => {}
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed")
}

static ROLE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\A[a-z0-9][a-z0-9-]{0,63}\z"));
static TOOL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\A[A-Za-z][A-Za-z0-9_]*(?:\([^(),\r\n]*\))?\z"));
static SESSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\A[A-Za-z0-9._-]{1,128}\z"));

/// Whether a path is absolute, canonical as written, and holds nothing that could not be shown or sent (0.7).
pub(crate) fn is_clean(path: &Path) -> bool {
    let Some(text) = path.to_str() else {
        return false;
    };
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    // `components` passes over `.` and empty parts, so the text is looked at too.
    let rest = text.strip_prefix('/');
    is_plain
        && !text.contains('\\')
        && !text.chars().any(char::is_control)
        && rest.is_some_and(|rest| {
            rest.is_empty() || rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
        })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn draft() -> Draft {
        Draft {
            role: "ruthless-reviewer".to_owned(),
            brief: "/state/validate/round-1/ruthless-reviewer/brief.md".into(),
            return_path: "/state/validate/round-1/ruthless-reviewer/return.md".into(),
            dir: "/work/shop".into(),
            checkout: None,
            tools: vec!["Read".to_owned(), "Grep".to_owned()],
            session_id: "run-1.r1".to_owned(),
            timeout: Duration::ZERO,
            words: None,
        }
    }

    #[test]
    fn a_sound_request_is_taken_and_has_a_time() -> Result<(), Refusal> {
        let request = Request::check(draft())?;
        assert_eq!(request.timeout(), Duration::from_secs(3600));
        let second = Duration::from_secs(1);
        let request = Request::check(Draft {
            timeout: second,
            tools: vec!["Bash(git log:*)".to_owned()],
            ..draft()
        })?;
        assert_eq!(request.timeout(), second);
        Ok(())
    }

    #[test]
    fn each_unsound_part_is_refused_by_name_without_its_value() {
        type Change = fn(&mut Draft);
        let cases: [(&str, Change); 22] = [
            ("role", |d| d.role = "../SECRET".to_owned()),
            ("role", |d| d.role = String::new()),
            ("role", |d| d.role = "Ruthless".to_owned()),
            ("role", |d| d.role = "x".repeat(65)),
            ("role", |d| d.role = "a\n".to_owned()),
            ("brief", |d| d.brief = "SECRET/brief.md".into()),
            ("brief", |d| d.brief = "/a/../SECRET".into()),
            ("brief", |d| d.brief = "/a/./SECRET".into()),
            ("brief", |d| d.brief = "/a//SECRET".into()),
            ("brief", |d| d.brief = "/a/SECRET/".into()),
            ("return", |d| d.return_path = "/a\\SECRET".into()),
            ("return", |d| d.return_path = "/a\nSECRET".into()),
            ("folder", |d| d.dir = "~/SECRET".into()),
            ("folder", |d| d.dir = "".into()),
            ("checkout", |d| d.checkout = Some("SECRET".into())),
            ("tools", |d| d.tools = vec!["Read,Bash".to_owned()]),
            ("tools", |d| d.tools = vec!["Bash(a,SECRET)".to_owned()]),
            ("tools", |d| d.tools = vec!["Bash((x))".to_owned()]),
            ("tools", |d| d.tools = vec!["Bash(x)y".to_owned()]),
            ("tools", |d| d.tools = vec![String::new()]),
            ("session", |d| d.session_id = String::new()),
            ("session", |d| d.session_id = "a/SECRET".to_owned()),
        ];
        for (part, change) in cases {
            let mut draft = draft();
            change(&mut draft);
            let refusal = Request::check(draft).expect_err(part);
            let text = refusal.to_string();
            assert!(text.contains(&format!("the {part} of")), "{part}: {text}");
            assert!(!text.contains("SECRET"), "{text}");
        }
    }

    #[test]
    fn the_prompt_names_role_brief_and_return_and_takes_no_name_from_a_path() -> Result<(), Refusal>
    {
        let mut draft = draft();
        draft.brief = "/a/{return}/{role}.md".into();
        let prompt = Request::check(draft.clone())?.prompt();
        for part in ["ruthless-reviewer", "/a/{return}/{role}.md", "/return.md"] {
            assert!(prompt.contains(part), "{part} in {prompt}");
        }
        assert_eq!(prompt.matches("/return.md").count(), 1, "{prompt}");
        draft.tools.clear();
        draft.dir = "/elsewhere".into();
        assert_eq!(Request::check(draft)?.prompt(), prompt);
        Ok(())
    }
}

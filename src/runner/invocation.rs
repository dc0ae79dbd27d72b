//! How each runner is started (systems.md C.5). Arguments alone: what is done with its answer is nobody's business here.

use std::path::Path;

use super::Runner;
use super::model::Model;
use super::request::Request;

/// What a runner that may not write is given to work with.
const READING: [&str; 3] = ["Read", "Grep", "Glob"];
/// Codex's option for the file of its last message.
const LAST_MESSAGE: &str = "--output-last-message=";
/// The agent the opencode profile defines: it has no tool that writes or runs anything.
const OPENCODE_READER: &str = "--agent=codriver-peer";

/// The arguments and variables of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The runner, whose name is its program's.
    pub runner: Runner,
    /// The arguments, the program left out.
    pub args: Vec<String>,
    /// Variables set in the child alone, whatever the parent has.
    pub env: Vec<(&'static str, &'static str)>,
}

/// Makes the invocation of a runner. `bare` is claude's: off for a person who logs in by subscription.
pub fn invocation(
    runner: Runner,
    request: &Request,
    model: Option<&Model>,
    bare: bool,
    writes: bool,
) -> Invocation {
    let mut args = Args(Vec::new());
    let prompt = request.prompt();
    match runner {
        Runner::Claude => claude(&mut args, request, model, bare, writes),
        Runner::Opencode => opencode(&mut args, request, model, writes),
        Runner::Codex => codex(&mut args, request, model, writes),
        Runner::Gemini => {
            // Its own prompt option takes the text; nothing of this was tried with the program.
            args.words(&["--output-format", "json", "--approval-mode", "default"]);
            if let Some(model) = model {
                args.set("--model", model.name());
            }
            args.set("--prompt", &prompt);
        }
    }
    if runner != Runner::Gemini {
        args.words(&["--", &prompt]);
    }
    let env = match runner {
        Runner::Opencode => vec![
            ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
            ("OPENCODE_DISABLE_CLAUDE_CODE", "1"),
            ("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1"),
        ],
        Runner::Claude | Runner::Codex | Runner::Gemini => Vec::new(),
    };
    Invocation {
        runner,
        args: args.0,
        env,
    }
}

impl Invocation {
    /// Fits it to a launch that may write in `own` alone: codex opens the file of its last message before all else, and
    /// ends where it cannot. `is_alone`: its own sandbox cannot start under the lock, which stands in its place.
    pub fn shut_in(&mut self, own: &Path, is_alone: bool) {
        if self.runner != Runner::Codex {
            return;
        }
        let mut follows_sandbox = false;
        for arg in &mut self.args {
            if arg.starts_with(LAST_MESSAGE) {
                let file = own.join("last-message.md");
                *arg = format!("{LAST_MESSAGE}{}", file.to_string_lossy());
            }
            if follows_sandbox && is_alone {
                "danger-full-access".clone_into(arg);
            }
            follows_sandbox = arg == "--sandbox";
        }
    }
}

fn claude(args: &mut Args, request: &Request, model: Option<&Model>, bare: bool, writes: bool) {
    args.words(&["--print"]);
    match bare {
        true => args.words(&["--bare"]),
        false => args.words(&["--setting-sources", "user", "--strict-mcp-config"]),
    }
    args.words(&["--output-format", "stream-json", "--verbose"]);
    args.words(&["--no-session-persistence", "--permission-mode", "dontAsk"]);
    args.set("--allowedTools", &request.tools().join(","));
    if !writes {
        // What is not allowed is refused; what is not there cannot even be asked for.
        args.set("--tools", &READING.join(","));
    }
    let mut folders = Vec::new();
    for file in [request.brief(), request.return_path()] {
        let folder = file.parent().unwrap_or(file).to_string_lossy().into_owned();
        if !folders.contains(&folder) {
            args.set("--add-dir", &folder);
            folders.push(folder);
        }
    }
    if let Some(model) = model {
        args.set("--model", model.name());
    }
}

fn opencode(args: &mut Args, request: &Request, model: Option<&Model>, writes: bool) {
    args.words(&["run", "--format=json", "--pure"]);
    args.set("--dir", &request.dir().to_string_lossy());
    args.set("--file", &request.brief().to_string_lossy());
    if !writes {
        args.words(&[OPENCODE_READER]);
    }
    if let Some(model) = model {
        args.set("--model", &model.to_string());
    }
}

fn codex(args: &mut Args, request: &Request, model: Option<&Model>, writes: bool) {
    let sandbox = match writes {
        true => "workspace-write",
        false => "read-only",
    };
    args.words(&["exec", "--json", "--sandbox", sandbox]);
    args.set(
        "--output-last-message",
        &request.return_path().to_string_lossy(),
    );
    args.words(&["-C", &request.dir().to_string_lossy()]);
    if let Some(model) = model {
        args.set("--model", model.name());
    }
}

struct Args(Vec<String>);

impl Args {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn set(&mut self, name: &str, value: &str) {
        self.0.push(format!("{name}={value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;
    use crate::runner::request::tests::draft;

    fn args(runner: Runner, model: Option<&str>, writes: bool) -> Result<Vec<String>, Refusal> {
        let request = Request::check(draft())?;
        let model = model.and_then(Model::of);
        Ok(invocation(runner, &request, model.as_ref(), true, writes).args)
    }

    fn joined(args: &[String]) -> String {
        let at = args.iter().position(|arg| arg == "--");
        args[..at.unwrap_or(args.len())].join(" ")
    }

    const FOLDER: &str = "/state/validate/round-1/ruthless-reviewer";

    #[test]
    fn claude_is_asked_to_print_with_reading_tools_alone() -> Result<(), Refusal> {
        let args = args(Runner::Claude, Some("local/qwen3-coder"), false)?;
        assert_eq!(
            joined(&args),
            format!(
                "--print --bare --output-format stream-json --verbose --no-session-persistence --permission-mode dontAsk \
                 --allowedTools=Read,Grep --tools=Read,Grep,Glob --add-dir={FOLDER} --model=qwen3-coder"
            )
        );
        Ok(())
    }

    #[test]
    fn claude_without_bare_takes_the_persons_settings_and_no_server() -> Result<(), Refusal> {
        let request = Request::check(draft())?;
        let args = invocation(Runner::Claude, &request, None, false, false).args;
        let text = joined(&args);
        assert!(
            text.starts_with("--print --setting-sources user --strict-mcp-config --output-format"),
            "{text}"
        );
        assert!(!text.contains("--bare"), "{text}");
        Ok(())
    }

    #[test]
    fn opencode_is_sealed_and_gets_the_whole_model() -> Result<(), Refusal> {
        let request = Request::check(draft())?;
        let model = Model::of("local/qwen3-coder");
        let made = invocation(Runner::Opencode, &request, model.as_ref(), true, false);
        assert_eq!(
            joined(&made.args),
            format!(
                "run --format=json --pure --dir=/work/shop --file={FOLDER}/brief.md --agent=codriver-peer \
                 --model=local/qwen3-coder"
            )
        );
        assert_eq!(
            made.env,
            [
                ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
                ("OPENCODE_DISABLE_CLAUDE_CODE", "1"),
                ("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1"),
            ]
        );
        Ok(())
    }

    #[test]
    fn a_codex_that_is_shut_in_writes_its_last_message_where_it_may() -> Result<(), Refusal> {
        for (is_alone, sandbox) in [(false, "read-only"), (true, "danger-full-access")] {
            let mut made = invocation(Runner::Codex, &Request::check(draft())?, None, true, false);
            made.shut_in(Path::new("/private/work"), is_alone);
            made.args.pop();
            made.args.pop();
            assert_eq!(
                joined(&made.args),
                format!(
                    "exec --json --sandbox {sandbox} --output-last-message=/private/work/last-message.md -C /work/shop"
                )
            );
        }
        let mut claude = invocation(Runner::Claude, &Request::check(draft())?, None, true, false);
        let before = claude.clone();
        claude.shut_in(Path::new("/private/work"), true);
        assert_eq!(claude, before);
        Ok(())
    }

    #[test]
    fn codex_is_asked_in_its_own_sandbox() -> Result<(), Refusal> {
        let wanted = |sandbox: &str| {
            format!(
                "exec --json --sandbox {sandbox} --output-last-message={FOLDER}/return.md -C /work/shop"
            )
        };
        assert_eq!(
            joined(&args(Runner::Codex, None, false)?),
            wanted("read-only")
        );
        assert_eq!(
            joined(&args(Runner::Codex, None, true)?),
            wanted("workspace-write")
        );
        Ok(())
    }

    #[test]
    fn every_runner_gets_the_same_prompt_as_one_argument_behind_the_dashes() -> Result<(), Refusal>
    {
        let prompt = Request::check(draft())?.prompt();
        for runner in [Runner::Claude, Runner::Opencode, Runner::Codex] {
            let args = args(runner, None, false)?;
            let [.., dashes, last] = args.as_slice() else {
                panic!("two arguments");
            };
            assert_eq!((dashes.as_str(), last), ("--", &prompt), "{runner}");
            assert_eq!(args.iter().filter(|arg| **arg == prompt).count(), 1);
        }
        let args = args(Runner::Gemini, None, false)?;
        assert_eq!(args.last(), Some(&format!("--prompt={prompt}")));
        Ok(())
    }

    #[test]
    fn nothing_that_approves_every_request_is_ever_passed() -> Result<(), Refusal> {
        for runner in Runner::ALL {
            for writes in [false, true] {
                let text = joined(&args(runner, None, writes)?);
                for flag in [
                    "dangerously",
                    "yolo",
                    "--auto",
                    "bypass",
                    "skip-permissions",
                ] {
                    assert!(!text.contains(flag), "{runner}: {text}");
                }
            }
        }
        Ok(())
    }
}

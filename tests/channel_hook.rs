//! The hooks claude is started with (`--settings`), run as claude runs them: by a shell, the event on standard input.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use codriver::config::bundled_profile;
use codriver::pairing::channel::{Format, Found, Log, Wanted};
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error>>;

/// What the bundled profile hands to `--settings`.
fn settings() -> Result<Value, Box<dyn Error>> {
    let args = bundled_profile("claude").peer_args;
    let at = args.iter().position(|arg| arg == "--settings");
    let settings = at.and_then(|at| args.get(at + 1)).ok_or("no --settings")?;
    Ok(serde_json::from_str(settings)?)
}

fn command(event: &str) -> Result<String, Box<dyn Error>> {
    let settings = settings()?;
    let command = settings["hooks"][event][0]["hooks"][0]["command"].as_str();
    Ok(command.ok_or("no command")?.to_owned())
}

fn run(command: &str, channel: Option<&Path>, event: &Value) -> std::io::Result<Output> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .env_remove("CODRIVER_CHANNEL")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(channel) = channel {
        shell.env("CODRIVER_CHANNEL", channel);
    }
    let mut child = shell.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that failed may not read all of it.
        let _ = stdin.write_all(format!("{event}\n").as_bytes());
    }
    child.wait_with_output()
}

const SENT: &str = "Begin with the label REVIEW and a colon, then k7q2, the tag of this round.";

fn prompt() -> Value {
    json!({"session_id": "s", "prompt_id": "1", "hook_event_name": "UserPromptSubmit", "prompt": SENT})
}

fn stop(text: &str) -> Value {
    json!({"session_id": "s", "prompt_id": "1", "hook_event_name": "Stop", "last_assistant_message": text})
}

fn found(channel: &Path) -> std::io::Result<Found> {
    let mut log = Log::open(Format::Claude);
    log.take(&fs::read(channel)?);
    Ok(log.find(&Wanted::new("k7q2", SENT, Duration::ZERO)))
}

#[test]
fn each_event_that_is_read_has_its_hook_and_a_time_limit() -> Outcome {
    let settings = settings()?;
    for event in ["UserPromptSubmit", "Stop", "StopFailure"] {
        let hook = &settings["hooks"][event][0]["hooks"][0];
        assert_eq!(hook["type"], "command", "{event}");
        assert!(
            hook["timeout"].as_u64().is_some_and(|limit| limit <= 30),
            "{event}"
        );
    }
    Ok(())
}

#[test]
fn a_long_reply_with_any_signs_is_appended_whole_and_nothing_is_printed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let channel = folder.path().join("it's a \"$HOME\" `x` folder");
    let line = "quotes ' \" $HOME `x` \\ %s \\n and \u{6f22}\u{5b57}\n";
    let text = line.repeat(256 * 1024 / line.len());
    for (event, input) in [("UserPromptSubmit", prompt()), ("Stop", stop(&text))] {
        let output = run(&command(event)?, Some(&channel), &input)?;
        // What a prompt's hook prints would be shown to the model.
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{output:?}"
        );
    }
    assert_eq!(found(&channel)?, Found::Text(text));
    Ok(())
}

#[test]
fn an_event_cut_off_does_not_spoil_the_next() -> Outcome {
    let folder = tempfile::tempdir()?;
    let channel = folder.path().join("channel");
    run(&command("UserPromptSubmit")?, Some(&channel), &prompt())?;
    let mut file = fs::OpenOptions::new().append(true).open(&channel)?;
    file.write_all(b"{\"session_id\":\"s\",\"hook_event_na")?;
    run(&command("Stop")?, Some(&channel), &stop("the text"))?;
    assert_eq!(found(&channel)?, Found::Text("the text".to_owned()));
    Ok(())
}

/// Status 2 of a hook would make claude drop the prompt, or go on after its end.
#[test]
fn a_file_that_cannot_be_written_is_no_failure_of_the_hook() -> Outcome {
    for channel in [
        None,
        Some(Path::new("/nowhere/at/all")),
        Some(Path::new("/")),
    ] {
        for event in ["UserPromptSubmit", "Stop", "StopFailure"] {
            let output = run(&command(event)?, channel, &prompt())?;
            assert!(
                output.status.success() && output.stdout.is_empty(),
                "{output:?}"
            );
        }
    }
    Ok(())
}

//! The ear on real files and a real port: what it hears, when, and from whom it does not listen.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use codriver::config::Channel;
use codriver::confine::Lock;
use codriver::flow::channel::Ear;
use codriver::flow::pane::{Launch, Listen as _};
use codriver::pairing::ChannelText;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SENT: &str = "Begin with the label REVIEW and a colon, then k7q2, the tag of this round.";
const TAG: &str = "k7q2";
const PASSWORD: &str = "0123456789abcdef";

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

fn launch(folder: &Path, env: &[(&str, &Path)]) -> Launch {
    Launch {
        wrap: Vec::new(),
        lock: Lock::None,
        argv: vec![OsString::from("agent")],
        env: env
            .iter()
            .map(|(name, value)| (OsString::from(name), value.as_os_str().to_owned()))
            .collect(),
        scrubbed: Vec::new(),
        folder: folder.to_owned(),
    }
}

/// Listens as a round does, until something is heard or the time is up.
fn hear(ear: &mut Ear, limit: Duration) -> Outcome<Option<ChannelText>> {
    hear_for(ear, TAG, SENT, limit)
}

fn hear_for(ear: &mut Ear, tag: &str, sent: &str, limit: Duration) -> Outcome<Option<ChannelText>> {
    runtime()?.block_on(async {
        let end = Instant::now() + limit;
        loop {
            let heard = ear.listen(tag, sent).await.channel;
            if heard.is_some() || Instant::now() > end {
                return Ok(heard);
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(60);

fn text(channel: &'static str, text: &str) -> Option<ChannelText> {
    Some(ChannelText {
        channel,
        text: Some(text.to_owned()),
    })
}

fn append(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?
        .write_all(bytes)
}

#[test]
fn claudes_hooks_are_heard_once_their_line_is_whole() -> Outcome {
    let private = tempfile::tempdir()?;
    let file = private.path().join("claude.jsonl");
    let launch = launch(private.path(), &[]);
    let mut ear = Ear::open(Channel::ClaudeHook, private.path(), 0, "", &launch);
    assert_eq!(hear(&mut ear, SHORT)?, None);
    append(
        &file,
        format!("\n{{\"session_id\":\"s\",\"prompt_id\":\"1\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"{SENT}\"}}\n").as_bytes(),
    )?;
    let stop = r#"{"session_id":"s","prompt_id":"1","hook_event_name":"Stop","last_assistant_message":"the text"}"#;
    append(&file, stop.as_bytes())?;
    assert_eq!(hear(&mut ear, SHORT)?, None);
    append(&file, b"\n")?;
    assert_eq!(hear(&mut ear, LONG)?, text("stop-hook", "the text"));
    assert_eq!(
        hear_for(&mut ear, "a2b3", &SENT.replace(TAG, "a2b3"), SHORT)?,
        None
    );
    Ok(())
}

#[test]
fn the_demo_agents_log_is_heard() -> Outcome {
    let private = tempfile::tempdir()?;
    let launch = launch(private.path(), &[]);
    let mut ear = Ear::open(Channel::DemoLog, private.path(), 0, "", &launch);
    let line = |reply, failed| {
        format!(
            "{{\"session\":\"s\",\"prompt\":\"{SENT}\",\"reply\":\"{reply}\",\"failed\":{failed}}}\n"
        )
    };
    let file = private.path().join("demo.jsonl");
    append(&file, line("the text", false).as_bytes())?;
    assert_eq!(hear(&mut ear, LONG)?, text("demo-log", "the text"));
    append(&file, line("", true).as_bytes())?;
    let failed = ChannelText {
        channel: "demo-log",
        text: None,
    };
    assert_eq!(hear(&mut ear, LONG)?, Some(failed));
    Ok(())
}

/// A rollout of a session in `cwd` whose one turn was answered with `reply`.
fn rollout(cwd: &Path, reply: &str) -> String {
    let now = "2999-01-01T00:00:00Z";
    let cwd = cwd.display();
    [
        format!(r#"{{"timestamp":"{now}","type":"session_meta","payload":{{"cwd":"{cwd}","timestamp":"{now}","source":"cli","thread_source":"user"}}}}"#),
        format!(r#"{{"timestamp":"{now}","type":"event_msg","payload":{{"type":"item_completed","turn_id":"1","item":{{"type":"UserMessage","content":[{{"type":"text","text":"{SENT}"}}]}}}}}}"#),
        format!(r#"{{"timestamp":"{now}","type":"event_msg","payload":{{"type":"task_complete","turn_id":"1","last_agent_message":"{reply}"}}}}"#),
    ]
    .join("\n")
        + "\n"
}

/// The folder of today's rollouts.
fn day(home: &Path) -> std::io::Result<PathBuf> {
    let now = jiff::Timestamp::now();
    let date = jiff::tz::Offset::UTC.to_datetime(now).date();
    let day = home.join("sessions").join(format!(
        "{:04}/{:02}/{:02}",
        date.year(),
        date.month(),
        date.day()
    ));
    fs::create_dir_all(&day)?;
    Ok(day)
}

#[test]
fn codexs_own_rollout_is_heard_among_foreign_ones() -> Outcome {
    let (private, home) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let launch = launch(
        private.path(),
        &[("CODEX_HOME", home.path()), ("HOME", Path::new("/nowhere"))],
    );
    let mut ear = Ear::open(Channel::CodexRollout, private.path(), 0, "", &launch);
    assert_eq!(hear(&mut ear, SHORT)?, None);
    let day = day(home.path())?;
    fs::write(
        day.join("rollout-2999-01-01T00-00-02-c.jsonl"),
        rollout(Path::new("/elsewhere"), "foreign"),
    )?;
    assert_eq!(hear(&mut ear, SHORT)?, None);
    // The file is there before its first line is.
    let own = day.join("rollout-2999-01-01T00-00-00-a.jsonl");
    fs::write(&own, "")?;
    assert_eq!(hear(&mut ear, SHORT)?, None);
    let whole = rollout(private.path(), "the text");
    let (head, rest) = whole.split_at(40);
    append(&own, head.as_bytes())?;
    assert_eq!(hear(&mut ear, SHORT)?, None);
    append(&own, rest.as_bytes())?;
    assert_eq!(hear(&mut ear, LONG)?, text("session-log", "the text"));
    // After a reset a new file comes.
    let later = rollout(private.path(), "later").replace(TAG, "a2b3");
    fs::write(day.join("rollout-2999-01-01T00-00-03-d.jsonl"), later)?;
    let sent = SENT.replace(TAG, "a2b3");
    assert_eq!(
        hear_for(&mut ear, "a2b3", &sent, LONG)?,
        text("session-log", "later")
    );
    assert_eq!(hear(&mut ear, LONG)?, text("session-log", "the text"));
    Ok(())
}

#[test]
fn without_a_channel_nothing_is_heard() -> Outcome {
    let private = tempfile::tempdir()?;
    let launch = launch(private.path(), &[]);
    for channel in [Channel::None, Channel::CodexRollout, Channel::OpencodeApi] {
        let mut ear = Ear::open(channel, private.path(), 1, PASSWORD, &launch);
        assert_eq!(hear(&mut ear, SHORT)?, None, "{channel:?}");
    }
    Ok(())
}

/// What a fake API does with a path: status, body and whether it is slow.
type Answers = fn(&str, &str) -> (u16, String);

/// Serves on a fresh port; gives the port and the requests' heads.
fn serve(cwd: &Path, answers: Answers) -> std::io::Result<(u16, mpsc::Receiver<String>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let (tell, heads) = mpsc::channel();
    let cwd = cwd.display().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let (status, body) = answers(&path, &cwd);
            let extra = if status == 302 {
                "Location: /session\r\n"
            } else {
                ""
            };
            // One that asks too much is gone before the end.
            let _ = tell.send(head);
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{extra}Connection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    Ok((port, heads))
}

fn sessions(cwd: &str) -> String {
    let time = 32_472_144_000_000_u64;
    format!(
        r#"[{{"id":"ses_a","directory":"{cwd}","time":{{"created":{time},"updated":{time}}}}}]"#
    )
}

fn messages() -> String {
    let time = 32_472_144_000_000_u64;
    format!(
        r#"[{{"info":{{"id":"m","role":"user","time":{{"created":{time}}}}},"parts":[{{"type":"text","text":"{SENT}"}}]}},
        {{"info":{{"role":"assistant","parentID":"m","time":{{"created":{time},"completed":{time}}},"finish":"stop"}},"parts":[{{"type":"step-start"}},{{"type":"text","text":"the text"}}]}}]"#
    )
}

fn answers(path: &str, cwd: &str) -> (u16, String) {
    match path {
        "/session" => (200, sessions(cwd)),
        "/session/ses_a/message?limit=8" => (200, messages()),
        _ => (404, "[]".to_owned()),
    }
}

fn api_ear(folder: &Path, port: u16, pid: i32) -> Ear {
    let mut ear = Ear::open(
        Channel::OpencodeApi,
        folder,
        port,
        PASSWORD,
        &launch(folder, &[]),
    );
    ear.started(pid);
    ear
}

fn own_pid() -> Outcome<i32> {
    Ok(i32::try_from(std::process::id())?)
}

#[cfg(target_os = "linux")]
#[test]
fn opencodes_api_is_heard_and_given_the_password() -> Outcome {
    let private = tempfile::tempdir()?;
    let (port, heads) = serve(private.path(), answers)?;
    let mut ear = api_ear(private.path(), port, own_pid()?);
    assert_eq!(hear(&mut ear, LONG)?, text("local-api", "the text"));
    // opencode:0123456789abcdef
    let word = "authorization: Basic b3BlbmNvZGU6MDEyMzQ1Njc4OWFiY2RlZg==";
    for head in heads.try_iter() {
        assert!(head.to_lowercase().contains(&word.to_lowercase()), "{head}");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_redirection_a_refusal_and_a_flood_are_no_answer() -> Outcome {
    let private = tempfile::tempdir()?;
    let cases: [Answers; 3] = [
        |path, cwd| match path {
            "/session" => (200, sessions(cwd)),
            "/session/ses_a/message?limit=8" => (302, String::new()),
            _ => (200, messages()),
        },
        |path, cwd| (if path == "/session" { 401 } else { 200 }, sessions(cwd)),
        |path, cwd| match path {
            "/session" => (200, sessions(cwd)),
            _ => (200, messages() + &" ".repeat(9 << 20)),
        },
    ];
    for (case, answers) in cases.into_iter().enumerate() {
        let (port, heads) = serve(private.path(), answers)?;
        let mut ear = api_ear(private.path(), port, own_pid()?);
        // It asks again and again, and is never satisfied.
        let (mut asked, end) = (0, Instant::now() + LONG);
        while asked < 5 && Instant::now() < end {
            assert_eq!(hear(&mut ear, SHORT)?, None, "{case}");
            asked += heads.try_iter().count();
        }
        assert!(asked >= 5, "{case}: asked {asked} times");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_port_that_another_process_holds_is_not_asked() -> Outcome {
    let private = tempfile::tempdir()?;
    let (port, heads) = serve(private.path(), answers)?;
    let mut stranger = Command::new("sleep").arg("60").spawn()?;
    let mut ear = api_ear(private.path(), port, i32::try_from(stranger.id())?);
    let heard = hear(&mut ear, SHORT);
    stranger.kill()?;
    stranger.wait()?;
    assert_eq!(heard?, None);
    assert_eq!(heads.try_iter().count(), 0);
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_port_held_by_a_child_of_the_peer_is_asked() -> Outcome {
    let private = tempfile::tempdir()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    // The socket is open in the child of the shell alone.
    let mut shell = Command::new("sh")
        .args(["-c", "exec 3<&0; sleep 60 & exec 3<&- </dev/null; wait"])
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(
            listener.try_clone()?,
        )))
        .stdout(Stdio::null())
        .process_group_of_its_own()
        .spawn()?;
    let pid = i32::try_from(shell.id())?;
    let mut ear = api_ear(private.path(), port, pid);
    let end = Instant::now() + LONG;
    listener.set_nonblocking(true)?;
    // Asked means connected; nobody answers here.
    let mut asked = false;
    while !asked && Instant::now() < end {
        hear(&mut ear, SHORT)?;
        asked = listener.accept().is_ok();
    }
    rustix::process::kill_process_group(
        rustix::process::Pid::from_raw(pid).ok_or("no process")?,
        rustix::process::Signal::KILL,
    )?;
    shell.wait()?;
    assert!(asked);
    Ok(())
}

/// A child that can be ended with all it started.
trait OwnGroup {
    fn process_group_of_its_own(&mut self) -> &mut Self;
}

impl OwnGroup for Command {
    fn process_group_of_its_own(&mut self) -> &mut Self {
        use std::os::unix::process::CommandExt as _;
        self.process_group(0)
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_slow_look_does_not_hold_up_a_call() -> Outcome {
    let private = tempfile::tempdir()?;
    let slow: Answers = |path, cwd| {
        std::thread::sleep(Duration::from_millis(150));
        answers(path, cwd)
    };
    let (port, _heads) = serve(private.path(), slow)?;
    let mut ear = api_ear(private.path(), port, own_pid()?);
    let mut longest = Duration::ZERO;
    let heard = runtime()?.block_on(async {
        let end = Instant::now() + LONG;
        loop {
            let begun = Instant::now();
            let heard = ear.listen(TAG, SENT).await.channel;
            longest = longest.max(begun.elapsed());
            if heard.is_some() || Instant::now() > end {
                return heard;
            }
        }
    });
    assert_eq!(heard, text("local-api", "the text"));
    assert!(longest < Duration::from_millis(140), "{longest:?}");
    Ok(())
}

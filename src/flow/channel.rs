//! The ear: listens for a round's answer in what the agent keeps beside its screen (interface.md 2).
//!
//! Looking takes files and requests, so it is done beside the loop: one look at a time, for which a call waits only
//! briefly. What a slow look found is had from a later call.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::pane::{Launch, Listen};
use crate::config::Channel;
use crate::limits;
use crate::pairing::channel::{Format, Found, Log, Wanted, opencode};
use crate::pairing::{Beside, ChannelText, Submission, submitted};
use crate::world::channel::{Api, ApiError, Rollouts, Tail};
use crate::world::clock::WallTime;
use crate::world::files;
use crate::world::process::ProcessId;

/// File in the private folder to which claude's hooks append.
const CLAUDE: &str = "claude.jsonl";
/// File in the private folder to which the peer's tool appends.
pub(super) const SUBMISSIONS: &str = "submissions.jsonl";
/// File in the private folder to which the demo agent appends.
const DEMO: &str = "demo.jsonl";
/// How long one call waits for a look that is on its way.
const PATIENCE: Duration = Duration::from_millis(10);
/// How many of a session's messages are asked for: first the last few, then as many as the bound of an answer allows.
const MESSAGES: [u16; 2] = [8, 400];

/// Listens to the channel of one launch.
#[derive(Debug)]
pub struct Ear {
    /// The channel's name, as it stands in a result.
    name: &'static str,
    state: State,
    /// When the launch was, since 1970.
    since: Duration,
    /// What was last listened for.
    wanted: Option<(String, Wanted)>,
    /// Whether a look that failed was told.
    told: bool,
    /// Where the peer hands reviews in.
    handed_in: PathBuf,
}

#[derive(Debug)]
enum State {
    /// There is no channel, or none any more.
    Deaf,
    /// The API can be asked once the agent's process is known.
    Port(Asked),
    Idle(Box<Source>),
    /// A look is on its way, for this tag.
    Busy(String, JoinHandle<(Box<Source>, Result<Found, EarError>)>),
}

/// What an API is asked with.
#[derive(Debug)]
struct Asked {
    port: u16,
    password: String,
    folders: Folders,
}

/// Where an answer is looked for.
#[derive(Debug)]
enum Source {
    Lines(Followed),
    Rollouts {
        rollouts: Rollouts,
        /// The launch's own files, newest last.
        followed: Vec<Followed>,
        /// Files that do not tell yet whose they are.
        unknown: Vec<Followed>,
        folders: Folders,
        since: Duration,
    },
    Api {
        api: Api,
        folders: Folders,
        since: Duration,
    },
}

/// A log and the file it is read from.
#[derive(Debug)]
struct Followed {
    tail: Tail,
    log: Log,
}

/// The folder an agent runs in, as it was named and as it is found without links.
#[derive(Debug, Clone)]
struct Folders(Vec<String>);

/// Why a look failed.
#[derive(Debug, thiserror::Error)]
enum EarError {
    #[error("the agent's record cannot be read")]
    File(#[from] io::Error),
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl Ear {
    /// Opens the ear of a launch that is about to be made. `port` and `password` are those the agent's API was told to
    /// use.
    pub fn open(
        channel: Channel,
        private: &Path,
        port: u16,
        password: &str,
        launch: &Launch,
    ) -> Self {
        let since = WallTime::now().since_epoch();
        let folders = Folders::of(&launch.folder);
        let lines = |file, format| {
            State::Idle(Box::new(Source::Lines(Followed {
                tail: Tail::of(private.join(file)),
                log: Log::open(format),
            })))
        };
        let (name, state) = match channel {
            Channel::None => ("none", State::Deaf),
            Channel::ClaudeHook => ("stop-hook", lines(CLAUDE, Format::Claude)),
            Channel::DemoLog => ("demo-log", lines(DEMO, Format::Demo)),
            Channel::CodexRollout => {
                let state = codex_home(launch).map_or(State::Deaf, |home| {
                    State::Idle(Box::new(Source::Rollouts {
                        rollouts: Rollouts::of(&home),
                        followed: Vec::new(),
                        unknown: Vec::new(),
                        folders,
                        since,
                    }))
                });
                ("session-log", state)
            }
            Channel::OpencodeApi => {
                let password = password.to_owned();
                let asked = Asked {
                    port,
                    password,
                    folders,
                };
                ("local-api", State::Port(asked))
            }
        };
        Self {
            name,
            state,
            since,
            wanted: None,
            told: false,
            handed_in: private.join(SUBMISSIONS),
        }
    }

    /// Takes in the agent's process: a port counts only when that process, or one descending from it, holds it.
    pub fn started(&mut self, pid: i32) {
        self.state = match (
            std::mem::replace(&mut self.state, State::Deaf),
            ProcessId::of(pid),
        ) {
            (State::Port(asked), Some(peer)) => State::Idle(Box::new(Source::Api {
                api: Api::of(asked.port, &asked.password, peer),
                folders: asked.folders,
                since: self.since,
            })),
            (State::Port(_), None) => State::Deaf,
            (state, _) => state,
        };
    }

    fn wanted(&mut self, tag: &str, sent: &str) -> Wanted {
        match &self.wanted {
            Some((known, wanted)) if known == tag => wanted.clone(),
            _ => {
                let wanted = Wanted::new(tag, sent, self.since);
                self.wanted = Some((tag.to_owned(), wanted.clone()));
                wanted
            }
        }
    }

    /// Begins a look, unless one is on its way.
    fn look(&mut self, tag: &str, sent: &str) {
        let wanted = self.wanted(tag, sent);
        self.state = match std::mem::replace(&mut self.state, State::Deaf) {
            State::Idle(mut source) => State::Busy(
                tag.to_owned(),
                tokio::task::spawn_blocking(move || {
                    let found = source.find(&wanted);
                    (source, found)
                }),
            ),
            state => state,
        };
    }
}

impl Listen for Ear {
    async fn listen(&mut self, tag: &str, sent: &str) -> Beside {
        if tag.is_empty() {
            return Beside::default();
        }
        Beside {
            channel: self.hear(tag, sent).await,
            // Whatever is handed in comes before the end of the turn, so before the text the agent keeps of it.
            submitted: self.handed_in(tag),
        }
    }
}

impl Ear {
    /// What was handed in for this round; a file that cannot be read holds nothing.
    fn handed_in(&self, tag: &str) -> Vec<Submission> {
        let lines = files::read_end(&self.handed_in, limits::SUBMISSIONS_BYTES);
        lines.map_or_else(|_| Vec::new(), |lines| submitted(&lines, tag))
    }

    async fn hear(&mut self, tag: &str, sent: &str) -> Option<ChannelText> {
        self.look(tag, sent);
        let State::Busy(sought, look) = &mut self.state else {
            return None;
        };
        // Nothing is lost when this is given up: the look stays where it is.
        let done = tokio::time::timeout(PATIENCE, look).await.ok()?;
        let is_asked = sought == tag;
        let found = match done {
            Ok((source, found)) => {
                self.state = State::Idle(source);
                found
            }
            Err(error) => {
                tracing::error!(%error, channel = self.name, "the look at the agent's record broke off");
                self.state = State::Deaf;
                return None;
            }
        };
        let text = match found {
            Ok(Found::Text(text)) => Some(text),
            Ok(Found::Failed) => None,
            Ok(Found::NotYet) => return None,
            Err(error) => {
                if !self.told {
                    tracing::warn!(%error, channel = self.name, "the screen stands alone");
                    self.told = true;
                }
                return None;
            }
        };
        is_asked.then_some(ChannelText {
            channel: self.name,
            text,
        })
    }
}

impl Source {
    fn find(&mut self, wanted: &Wanted) -> Result<Found, EarError> {
        match self {
            Self::Lines(followed) => {
                followed.read()?;
                Ok(followed.log.find(wanted))
            }
            Self::Rollouts {
                rollouts,
                followed,
                unknown,
                folders,
                since,
            } => {
                let format = Format::Codex;
                // In the listing the newest comes first.
                unknown.extend(
                    rollouts
                        .look(*since)?
                        .into_iter()
                        .rev()
                        .map(|tail| Followed {
                            tail,
                            log: Log::open(format),
                        }),
                );
                for mut new in std::mem::take(unknown) {
                    new.step()?;
                    match folders
                        .0
                        .iter()
                        .filter_map(|folder| new.log.is_of(folder, *since))
                        .max()
                    {
                        None => unknown.push(new),
                        Some(true) => followed.push(new),
                        Some(false) => {}
                    }
                }
                // The file of the present conversation is the newest one.
                for own in followed.iter_mut().rev() {
                    own.read()?;
                    match own.log.find(wanted) {
                        Found::NotYet => {}
                        found => return Ok(found),
                    }
                }
                Ok(Found::NotYet)
            }
            Self::Api {
                api,
                folders,
                since,
            } => ask(api, folders, *since, wanted),
        }
    }
}

/// Asks the API for the launch's sessions, and for the messages of the newest until one holds the prompt.
fn ask(
    api: &mut Api,
    folders: &Folders,
    since: Duration,
    wanted: &Wanted,
) -> Result<Found, EarError> {
    let list = api.get("/session")?;
    for count in MESSAGES {
        for folder in &folders.0 {
            for session in opencode::sessions(&list, folder, since) {
                let messages = api.get(&format!("/session/{session}/message?limit={count}"))?;
                if let Some(found) = opencode::find(&messages, wanted) {
                    return Ok(found);
                }
            }
        }
    }
    Ok(Found::NotYet)
}

impl Followed {
    /// Reads one piece of what is new; tells whether there was any.
    fn step(&mut self) -> io::Result<bool> {
        let news = self.tail.fetch()?;
        if news.gap {
            self.log.skip();
        }
        self.log.take(&news.bytes);
        Ok(!news.bytes.is_empty())
    }

    /// Reads all that is new.
    fn read(&mut self) -> io::Result<()> {
        while self.step()? {}
        Ok(())
    }
}

impl Folders {
    fn of(folder: &Path) -> Self {
        let mut all = vec![folder.to_string_lossy().into_owned()];
        if let Ok(found) = folder.canonicalize() {
            let found = found.to_string_lossy().into_owned();
            if found != all[0] {
                all.push(found);
            }
        }
        Self(all)
    }
}

/// Where a launched codex keeps its records.
fn codex_home(launch: &Launch) -> Option<PathBuf> {
    let variable = |wanted: &str| {
        launch
            .env
            .iter()
            .find(|(name, value)| name.as_os_str() == OsStr::new(wanted) && !value.is_empty())
            .map(|(_, value)| PathBuf::from(value))
    };
    variable("CODEX_HOME").or_else(|| Some(variable("HOME")?.join(".codex")))
}

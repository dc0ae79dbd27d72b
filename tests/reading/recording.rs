//! Recordings of real agents: found by walking a folder, each with its truth beside it, and played.

use std::error::Error;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use codriver::config::{Profile, bundled_profile, bundled_profiles};
use codriver::limits;
use codriver::pairing::{Found, Given, Player};
use codriver::recording::cast::{Event, Header, Kind, Opened, Reader};
use codriver::recording::word::Verdict;
use serde_json::Value;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What one turn of a recording really was.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) review: String,
    pub(crate) verdict: Verdict,
    /// The tag that was asked for.
    pub(crate) tag: Option<String>,
    /// Whether a terminal that keeps its history held the whole reply.
    pub(crate) on_screen: bool,
}

/// A recording and its truth.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// Name below the folder, without the ending.
    pub(crate) name: String,
    /// The agent that was recorded.
    pub(crate) harness: String,
    pub(crate) header: Header,
    pub(crate) events: Vec<Event>,
    pub(crate) turns: Vec<Turn>,
}

/// The recordings that the project keeps.
pub(crate) fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

/// The shared corpus, where there is one: `CODRIVER_CORPUS`, or a folder beside the project.
pub(crate) fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let folder = std::env::var_os("CODRIVER_CORPUS").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// Paths of all files below `folder` whose names end so, in order.
pub(crate) fn walk(folder: &Path, endings: &[&str]) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                open.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A bundled profile; to read one takes longer than to read most screens by it.
pub(crate) fn profile(name: &str) -> Profile {
    static PROFILES: LazyLock<Vec<Profile>> =
        LazyLock::new(|| bundled_profiles().map(bundled_profile).collect());
    let known = PROFILES.iter().find(|profile| profile.name == name);
    known.cloned().unwrap_or_else(|| profile("unknown"))
}

impl Recording {
    /// Reads a recording and the truth beside it.
    pub(crate) fn load(path: &Path, folder: &Path) -> Outcome<Self> {
        let stem = path.to_string_lossy();
        let stem = stem.trim_end_matches(".zst").trim_end_matches(".cast");
        let truth: Value = serde_json::from_slice(&fs::read(format!("{stem}.json"))?)?;
        let Opened::Recording(reader) = Reader::open(BufReader::new(fs::File::open(path)?))? else {
            return Err(format!("{stem} is no recording").into());
        };
        let header = reader.header().clone();
        let name = Path::new(stem).strip_prefix(folder)?;
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            harness: text(&truth["harness"]).ok_or("a truth without a harness")?,
            header,
            events: reader.collect::<Result<_, _>>()?,
            turns: truth["turns"]
                .as_array()
                .ok_or("a truth without turns")?
                .iter()
                .map(turn)
                .collect::<Outcome<_>>()?,
        })
    }

    /// All recordings below `folder`.
    pub(crate) fn all(folder: &Path) -> Outcome<Vec<Self>> {
        walk(folder, &[".cast", ".cast.zst"])?
            .iter()
            .map(|path| Self::load(path, folder))
            .collect()
    }

    /// The profile its title names.
    pub(crate) fn profile(&self) -> Profile {
        let title = self.header.title.as_deref().unwrap_or_default();
        profile(title.split(' ').next().unwrap_or_default())
    }

    /// One tag per turn; none when no turn asked for one.
    pub(crate) fn tags(&self) -> Vec<String> {
        self.turns
            .iter()
            .filter_map(|turn| turn.tag.clone())
            .collect()
    }

    /// All that the agent wrote.
    pub(crate) fn output(&self) -> String {
        self.events
            .iter()
            .filter_map(|event| match &event.kind {
                Kind::Output(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Plays the recording as it was made.
    pub(crate) fn play(&self) -> Vec<Found> {
        self.play_events(&self.events)
    }

    /// Plays other events in the same terminal.
    pub(crate) fn play_events(&self, events: &[Event]) -> Vec<Found> {
        self.play_in(self.player(self.profile()), events)
    }

    /// Plays the recording as if its title were hidden: the screen has to tell which agent drew it.
    pub(crate) fn play_untitled(&self) -> Vec<Found> {
        let profiles = bundled_profiles().map(bundled_profile).collect();
        let player = self.player(profile("unknown")).choosing(profiles);
        self.play_in(player, &self.events)
    }

    fn player(&self, profile: Profile) -> Player {
        let given = Given {
            tags: self.tags(),
            ..Given::default()
        };
        Player::new(self.header.size, limits::SCROLLBACK, profile, given)
    }

    fn play_in(&self, mut player: Player, events: &[Event]) -> Vec<Found> {
        let mut end = Duration::ZERO;
        for event in events {
            end = event.at;
            if !player.play(event) {
                break;
            }
        }
        player.finish(end)
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn turn(value: &Value) -> Outcome<Turn> {
    let verdict = text(&value["verdict"]).ok_or("a turn without a verdict")?;
    Ok(Turn {
        review: text(&value["review"]).unwrap_or_default(),
        verdict: Verdict::from_word(&verdict).unwrap_or(Verdict::Unparsed),
        tag: text(&value["asked_tag"]).or_else(|| text(&value["tag"])),
        on_screen: value["on_screen"].as_bool().unwrap_or(true),
    })
}

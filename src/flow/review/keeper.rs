//! Keeps a request and what comes of it in its run: opened, answered, verified, fallen back, each as one write under the
//! lock (systems.md 0.6, B.9 to B.12, C.9, C.11).

use std::path::{Path, PathBuf};

use serde_json::json;

use super::Wish;
use super::compose::Change;
use crate::cli::Exit;
use crate::flow::failure::{Failure, shown};
use crate::flow::round::Session;
use crate::limits;
use crate::recording::digest::Digest;
use crate::recording::event::Event;
use crate::recording::fallback::{Fallback, FallbackReceipt};
use crate::recording::receipt::Body;
use crate::recording::review::{ReviewRoute, Word};
use crate::recording::session::session_id;
use crate::route::{Plan, Role, Route};
use crate::run::{self, Await, Opener, Run, Verified};
use crate::runner::Broken;
use crate::world::clock::WallTime;
use crate::world::process::ProcessId;
use crate::world::run_store::{self, Locked, RunError, RunFolder};
use crate::world::{environment, files, random};

/// How often a write that must not be lost waits anew for the lock.
const PATIENCE: u32 = 4;

/// One open request.
pub(super) struct Keeper {
    run: RunFolder,
    id: String,
    role: Role,
    round: u32,
    folder: PathBuf,
    return_path: PathBuf,
}

/// What became of an answer.
pub(super) enum Placed {
    /// It stands at the return.
    There,
    /// Something else stands there, or the request was closed: it is kept in this file.
    Aside(PathBuf),
}

/// A return that was verified and recorded.
pub(super) struct Closed {
    /// Its word.
    pub word: Word,
    /// The bytes that were verified.
    pub bytes: Vec<u8>,
    /// Which way it went.
    pub route: ReviewRoute,
}

impl Keeper {
    /// Opens the request in the run of this change, or takes one up again whose opener is gone. The second of a panel
    /// is of the first one's `round`.
    pub(super) async fn open(
        wish: &Wish,
        change: &Change,
        plan: &Plan,
        (seat, round): (Option<Route>, Option<u32>),
        session: &Session<'_>,
    ) -> Result<Self, Failure> {
        let state = files::Places::from_env(environment::variable)
            .state()
            .map_err(|error| Failure::of(Exit::Error, &error))?;
        let key = session.place.repository_key();
        let worktree = change.dir.to_string_lossy().into_owned();
        let broken = |error: &dyn std::error::Error| {
            let cause = Failure::of(Exit::Error, error);
            Failure::new(Exit::Error, format!("the run cannot be kept: {cause}"))
        };
        let known = RunFolder::all(&state, &key).map_err(|error| broken(&error))?;
        let of_change = |folder: &RunFolder| {
            let run = Run::read(&folder.read().ok().flatten()?)?;
            (run.worktree == worktree && run.base == change.base).then_some(run.id)
        };
        let found = known
            .into_iter()
            .find_map(|folder| of_change(&folder).map(|id| (folder, id)));
        let (folder, id) = match found {
            Some(found) => found,
            None => {
                let bytes = random::bytes().map_err(|error| broken(&error))?;
                let id = session_id(WallTime::now().since_epoch(), bytes);
                let folder =
                    RunFolder::create(&state, &key, &id).map_err(|error| broken(&error))?;
                (folder, id)
            }
        };
        let locked = folder.lock().await.map_err(|error| refuse(&error, None))?;
        let now = WallTime::now().utc();
        let mut run = match folder.read().map_err(|error| broken(&error))? {
            None => Run::open(&id, &worktree, &change.base, &now),
            Some(bytes) => Run::read(&bytes).ok_or_else(|| {
                Failure::new(
                    Exit::Error,
                    format!(
                        "{} holds no state this version can read; move it away",
                        shown(folder.path())
                    ),
                )
            })?,
        };
        let name = wish.role.name();
        let place = |round: u32| {
            let folder = match seat {
                None => name.to_owned(),
                Some(route) => format!("{name}-{route}"),
            };
            folder_of(&folder, round)
        };
        let in_place = |open: &&Await| {
            open.role == name
                && Path::new(&open.return_path).parent()
                    == Some(&folder.path().join(place(open.round)))
        };
        let round = match run.awaits.iter().find(in_place) {
            Some(open) if is_running(open.opener) => {
                return Err(Failure::new(
                    Exit::Refused,
                    format!(
                        "busy: this review is being asked for already, by process {}; wait for it, or stop it",
                        open.opener.pid
                    ),
                ));
            }
            Some(open) => open.round,
            None => round.unwrap_or_else(|| run.next_round(name)),
        };
        let place = folder.make(&place(round)).map_err(|error| broken(&error))?;
        let keeper = Self {
            id: run.id.clone(),
            role: wish.role,
            round,
            return_path: place.join("return.md"),
            folder: place,
            run: folder.clone(),
        };
        let return_path = keeper.return_text();
        // Taken up again, it is nobody's any more (B.10).
        if let Some(answered) = run
            .awaits
            .iter()
            .find(|open| open.return_path == return_path)
            .and_then(|open| open.answered.clone())
        {
            keeper.take_back(&[answered.sha256])?;
        }
        run.awaits.retain(|open| open.return_path != return_path);
        run.awaits.push(Await {
            role: name.to_owned(),
            round,
            brief: keeper
                .folder
                .join("brief.md")
                .to_string_lossy()
                .into_owned(),
            return_path,
            asked: plan.asked.name().to_owned(),
            opener: opener(),
            answered: None,
        });
        keeper.write(&locked, &run, &json!({
            "at": now, "event": "opened", "role": name, "round": round, "asked": plan.asked.name(),
        }))?;
        Ok(keeper)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// The folder of the round.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn return_path(&self) -> &Path {
        &self.return_path
    }

    fn return_text(&self) -> String {
        self.return_path.to_string_lossy().into_owned()
    }

    /// What the texts of this request are named by.
    pub(super) fn name(&self) -> String {
        let last = self
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        format!("review-{}-{last}", self.round)
    }

    /// What a runner's transcript is named by when it tells no session of its own.
    pub(super) fn session_id(&self) -> String {
        format!("{}.{}", self.id, self.name())
    }

    /// Keeps the report of who made the change, and gives all there are of this role's rounds.
    pub(super) fn reports(&self, report: Option<&str>) -> Result<Vec<(u32, String)>, Failure> {
        let unread = |error: &dyn std::fmt::Display| {
            Failure::new(
                Exit::Error,
                format!("the reports of the run cannot be kept: {error}"),
            )
        };
        if let Some(report) = report {
            files::replace(&self.folder.join("report.md"), report.as_bytes())
                .map_err(|error| unread(&error))?;
        }
        let last = self
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let mut all = Vec::new();
        for round in 1..=self.round {
            let path = self
                .run
                .path()
                .join(folder_of(&last, round))
                .join("report.md");
            if let Some(text) = files::read_text(&path).map_err(|error| unread(&error))? {
                all.push((round, text));
            }
        }
        Ok(all)
    }

    /// Whether a return stands there before anybody was asked.
    pub(super) fn has_return(&self) -> bool {
        run_store::read(&self.return_path, 0).is_ok_and(|found| found.is_some())
    }

    /// Puts an answer in its place, and keeps it aside where that is taken or the request is closed (B.9, B.12).
    pub(super) async fn place(&self, route: Route, bytes: &[u8]) -> Result<Placed, Failure> {
        let aside = || {
            run_store::keep_aside(&self.folder, &format!("{route}-return"), bytes).map_err(
                |error| {
                    Failure::new(
                        Exit::Error,
                        format!("the answer of {route} could not be kept: {error}"),
                    )
                },
            )
        };
        let locked = match self.run.lock().await {
            Ok(locked) => locked,
            Err(error) => return Err(refuse(&error, Some(&aside()?))),
        };
        let mut run = self.state()?;
        let path = self.return_text();
        if !run.is_open(&path) {
            return aside().map(Placed::Aside);
        }
        let is_placed = locked.place(&self.return_path, bytes).map_err(|error| {
            Failure::new(
                Exit::Error,
                format!("the return could not be written: {error}"),
            )
        })?;
        // Codex puts its last message there by itself.
        let is_ours =
            is_placed || route != Route::Host && self.read()?.is_some_and(|found| found == bytes);
        if !is_ours {
            return aside().map(Placed::Aside);
        }
        let sha256 = Digest::of(bytes);
        // Only a route's answer bears its mark: what has none is the host's (B.10).
        if route != Route::Host {
            run.answered(&path, route.name(), sha256.clone());
        }
        self.write(&locked, &run, &json!({
            "at": WallTime::now().utc(), "event": "answered", "role": self.role.name(), "round": self.round,
            "route": route.name(), "sha256": sha256.as_str(),
        }))?;
        Ok(Placed::There)
    }

    /// Verifies what stands at the return, in one read, and closes the request with it; what is no return of the route's
    /// goes, and the request is nobody's again (B.8, B.10, B.11, C.11).
    pub(super) async fn verify(
        &self,
        asked: &str,
        model: Option<String>,
    ) -> Result<Result<Closed, Broken>, Failure> {
        let locked = self.lock().await?;
        let mut run = self.state()?;
        let path = self.return_text();
        let bytes = self.read()?.unwrap_or_default();
        let sha256 = Digest::of(&bytes);
        let ran = run
            .whose(&path, &sha256)
            .unwrap_or(Route::Host.name())
            .to_owned();
        let now = WallTime::now().utc();
        let word = match run::verify(self.role, &bytes) {
            Ok(word) => word,
            Err(broken) => {
                // A host's return that is none goes too, or nothing could ever stand there.
                self.take_back(&[sha256])?;
                run.no_longer(&path);
                self.write(&locked, &run, &json!({
                    "at": now, "event": "invalid", "role": self.role.name(), "round": self.round, "route": ran,
                }))?;
                return Ok(Err(broken));
            }
        };
        let route = ReviewRoute {
            asked: asked.to_owned(),
            model: model.filter(|_| ran != Route::Host.name()),
            ran,
        };
        let line = json!({
            "at": now, "event": "verified", "role": self.role.name(), "round": self.round, "word": word.word(),
            "ran": route.ran, "sha256": sha256.as_str(),
        });
        run.close(Verified {
            role: self.role.name().to_owned(),
            round: self.round,
            word,
            return_path: path,
            sha256,
            route: route.clone(),
            at: now,
        });
        self.write(&locked, &run, &line)?;
        Ok(Ok(Closed { word, bytes, route }))
    }

    /// Takes a return away that has one of these digests, or none that is not a route's (B.11).
    pub(super) fn take_back(&self, ours: &[Digest]) -> Result<(), Failure> {
        let most = limits::RETURN_BYTES as u64 * 64;
        let taken = run_store::take_back(&self.return_path, most, |bytes| {
            ours.contains(&Digest::of(bytes))
        });
        match taken {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::new(
                Exit::Error,
                format!("the return could not be taken back: {error}"),
            )),
        }
    }

    /// Writes the one receipt of a route that did not answer: into the run's state, and into the session's chain (C.9).
    pub(super) async fn fell_back(
        &self,
        asked: &str,
        ran: &str,
        why: &Fallback,
        session: &mut Session<'_>,
    ) -> Result<(), Failure> {
        let receipt = FallbackReceipt {
            at: WallTime::now().utc(),
            role: self.role.name().to_owned(),
            asked: asked.to_owned(),
            why: why.clone(),
            ran: ran.to_owned(),
        };
        let locked = self.lock().await?;
        let mut run = self.state()?;
        run.no_longer(&self.return_text());
        run.fell_back(receipt.clone());
        self.write(&locked, &run, &json!({
            "at": receipt.at, "event": "fallback", "role": receipt.role, "round": self.round, "asked": asked,
            "reason": why.reason().code(), "detail": why.detail().as_str(), "ran": ran,
        }))?;
        drop(locked);
        let role = receipt.role.clone();
        let id = session.recorder.receipt(Body::Fallback(Box::new(receipt)));
        let told = Event::Fallback {
            role,
            asked: asked.to_owned(),
            ran: ran.to_owned(),
            reason: why.reason(),
            receipt: id.clone(),
        };
        session.recorder.event(session.clock.elapsed(), told);
        match id {
            Some(_) => Ok(()),
            None => Err(Failure::new(
                Exit::Error,
                format!(
                    "{asked} did not answer, and the receipt of that could not be written, so nothing took its place; see that the state folder can be written"
                ),
            )),
        }
    }

    /// Takes the lock for a write that must not be lost.
    async fn lock(&self) -> Result<Locked<'_>, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.run.lock().await {
                Err(RunError::Busy) if tries < PATIENCE => {}
                locked => return locked.map_err(|error| refuse(&error, None)),
            }
        }
    }

    fn state(&self) -> Result<Run, Failure> {
        let bytes = self.run.read().ok().flatten();
        bytes.as_deref().and_then(Run::read).ok_or_else(|| {
            Failure::new(
                Exit::Error,
                "the state of the run is gone, or is none; nothing was changed",
            )
        })
    }

    fn read(&self) -> Result<Option<Vec<u8>>, Failure> {
        let most = limits::RETURN_BYTES as u64 * 64;
        run_store::read(&self.return_path, most).map_err(|error| {
            Failure::new(Exit::Error, format!("the return cannot be read: {error}"))
        })
    }

    fn write(
        &self,
        locked: &Locked<'_>,
        run: &Run,
        line: &serde_json::Value,
    ) -> Result<(), Failure> {
        let written = locked
            .write(&run.file())
            .and_then(|()| locked.record(format!("{line}\n").as_bytes()));
        written.map_err(|error| {
            Failure::new(
                Exit::Error,
                format!("the state of the run could not be written: {error}"),
            )
        })
    }
}

fn folder_of(name: &str, round: u32) -> PathBuf {
    PathBuf::from(format!("validate/round-{round}/{name}"))
}

fn opener() -> Opener {
    let pid = std::process::id().cast_signed();
    let start = ProcessId::of(pid).map_or(0, |process| process.start);
    Opener { pid, start }
}

fn is_running(opener: Opener) -> bool {
    let Opener { pid, start } = opener;
    ProcessId { pid, start }.is_running()
}

/// Says that the run's lock could not be had, and where what could not be placed is kept.
fn refuse(error: &RunError, kept: Option<&Path>) -> Failure {
    match error {
        RunError::Busy => {
            let kept = kept.map_or(String::new(), |file| {
                format!("; the answer is kept in {}", shown(file))
            });
            Failure::new(
                Exit::Refused,
                format!(
                    "busy: the run's lock is held by another process{kept}; try again when it is done"
                ),
            )
        }
        RunError::Io(_) => Failure::of(Exit::Error, error),
    }
}

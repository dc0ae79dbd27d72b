//! `review`: one role's review of the present change, along its route (systems.md B, C; C.11).
//!
//! The request is opened under the run's lock; nobody holds that while a route works. What a route answers becomes the
//! return where nothing stands, is verified by the one verifier of every route, and only then is it a review.

mod compose;
mod keeper;
mod print;
mod repo_prompt;
mod ways;

use std::time::Duration;

use self::compose::Composed;
use self::keeper::{Closed, Keeper, Placed};
use self::ways::Said;
use super::config::{self, Workplace};
use super::confine;
use super::failure::{Failure, shown};
use super::peer;
use super::round::Session;
use super::runners;
use crate::cli::{Exit, Message, Options};
use crate::config::Settings;
use crate::limits;
use crate::recording::digest::Digest;
use crate::recording::fallback::{FailureKind, Fallback};
use crate::recording::receipt::Body;
use crate::recording::review::{
    PANEL_SCHEMA, Panel, REVIEW_SCHEMA, Review, ReviewReceipt, Seat, Word,
};
use crate::route::{self, After, Plan, Role, Route};
use crate::run;
use crate::runner::Broken;
use crate::world::clock::WallTime;
use crate::world::signals::Signals;

pub use print::{Outcome, print};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The role.
    pub role: Role,
    /// The revision the working tree is held against; none for the last commit.
    pub base: Option<String>,
    /// What who made the change has to say of it.
    pub report: Option<Message>,
    /// Two routes that are asked the same, each on its own.
    pub panel: Option<[Route; 2]>,
    /// Only tell what would be sent where.
    pub dry_run: bool,
}

impl Wish {
    /// The review of a role, as a tool asks for it.
    pub fn of(role: Role, base: Option<String>) -> Self {
        Self {
            role,
            base,
            report: None,
            panel: None,
            dry_run: false,
        }
    }
}

/// Runs a review to its end.
///
/// # Errors
///
/// Why there is none, with the exit status for it. A fallback is no error: it stands in the result.
pub async fn run(wish: &Wish, place: &Workplace, options: &Options) -> Result<Outcome, Failure> {
    let settings =
        config::settings(place, options).map_err(|faults| Failure::of(Exit::Usage, &faults))?;
    let ways = plan(wish, &settings, place)?;
    let change = compose::change(wish, place).await?;
    if wish.dry_run {
        return compose::dry(wish, &change, &ways, place).map(Outcome::Dry);
    }
    let profile = peer::profile(&settings, &settings.peer.value)?;
    let mut signals = Signals::listen().map_err(|error| Failure::of(Exit::Error, &error))?;
    let confinement = confine::find(&profile, &settings, place, options)?;
    let mut session = Session::open(&settings, profile, place, options, confinement);
    session.pass_on_warnings();
    let mut call = Call {
        wish,
        change: &change,
        session: &mut session,
        signals: &mut signals,
    };
    let ended = call.all(&ways).await;
    session.stop(&mut signals).await;
    session.close(ended.as_ref().err());
    ended
}

/// The ways the request goes: one, or the two of a panel.
fn plan(wish: &Wish, settings: &Settings, place: &Workplace) -> Result<Vec<Plan>, Failure> {
    let profile = peer::profile(settings, &settings.peer.value)?;
    let host = match peer::is_there(&profile, place) {
        true => route::Host::There,
        false => route::Host::Missing,
    };
    let routes = &settings.routes;
    let Some(panel) = wish.panel else {
        let asked = routes.of_role(wish.role);
        return Ok(vec![route::plan(asked, host, routes.fallback_host)?]);
    };
    if panel[0] == panel[1] {
        return Err(Failure::new(
            Exit::Usage,
            "--panel takes two different routes",
        ));
    }
    let opted_in = Role::ALL
        .iter()
        .any(|role| routes.of_role(*role) == Route::RepoPrompt);
    if panel.contains(&Route::RepoPrompt) && !(opted_in && wish.role.takes_repo_prompt()) {
        return Err(Failure::new(
            Exit::Refused,
            "rp takes the two reviewer roles alone, and only where `oracle.review` is \"rp\"; set it in your configuration",
        ));
    }
    // A second verdict from whoever takes over would be the first one's again, so nobody does.
    Ok(panel
        .map(|asked| Plan {
            asked,
            first: asked,
            then: None,
        })
        .to_vec())
}

/// One call of the program.
struct Call<'c, 's> {
    wish: &'c Wish,
    change: &'c compose::Change,
    session: &'c mut Session<'s>,
    signals: &'c mut Signals,
}

/// A review that was verified, and how it came about.
struct Came {
    closed: Closed,
    fallback: Option<Fallback>,
    remarks: Vec<String>,
}

impl Call<'_, '_> {
    async fn all(&mut self, ways: &[Plan]) -> Result<Outcome, Failure> {
        runners::must_record(&self.session.recorder)?;
        if let [plan] = ways {
            let (review, text) = self.one(plan, (None, None)).await?;
            return Ok(Outcome::Review(review, text));
        }
        let (mut seats, mut texts, mut round) = (Vec::new(), Vec::new(), None);
        for plan in ways {
            let route = plan.asked.name().to_owned();
            let seat = match self.one(plan, (Some(plan.asked), round)).await {
                Ok((review, text)) => {
                    round = Some(review.round);
                    texts.push(text);
                    Seat {
                        route,
                        review: Some(review),
                        failure: None,
                    }
                }
                Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
                Err(failure) => Seat {
                    route,
                    review: None,
                    failure: Some(failure.to_string()),
                },
            };
            seats.push(seat);
        }
        let words: Vec<Option<Word>> = seats
            .iter()
            .map(|seat| Some(seat.review.as_ref()?.word))
            .collect();
        let panel = Panel {
            schema: PANEL_SCHEMA.to_owned(),
            role: self.wish.role.name().to_owned(),
            seats,
            same_word: words.iter().all(|word| word.is_some() && *word == words[0]),
        };
        Ok(Outcome::Panel(panel, texts))
    }

    /// One request: opened, sent along its way, verified, recorded. Gives the text of the return with it.
    async fn one(
        &mut self,
        plan: &Plan,
        place: (Option<Route>, Option<u32>),
    ) -> Result<(Review, String), Failure> {
        let (started, began) = (WallTime::now(), self.session.clock.elapsed());
        let keeper = Keeper::open(self.wish, self.change, plan, place, self.session).await?;
        let composed = compose::write(
            self.wish,
            self.change,
            plan,
            &keeper,
            runners::time(self.session.options.timeout),
        )?;
        let came = match self.standing(plan, &keeper).await? {
            Some(came) => came,
            None => self.along(plan, &keeper, &composed).await?,
        };
        let Came {
            closed,
            fallback,
            remarks,
        } = came;
        let Closed { word, bytes, route } = closed;
        let sha256 = Digest::of(&bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let name = |what: &str| format!("{}-{what}.md", keeper.session_id());
        let recorder = &mut self.session.recorder;
        let receipt = ReviewReceipt {
            role: self.wish.role.name().to_owned(),
            brief: recorder.text(&name("brief"), &composed.brief),
            contract: Digest::of(run::contract(self.wish.role)),
            route: route.clone(),
            fallback: fallback.clone(),
            word,
            answer: recorder.text(&name("return"), &text),
            run: keeper.id().to_owned(),
            round: keeper.round(),
            started_at: started.utc(),
            elapsed_ms: millis(self.session.clock.elapsed().saturating_sub(began)),
        };
        let receipt = recorder.receipt(Body::Review(Box::new(receipt)));
        tracing::info!(role = %self.wish.role, ran = route.ran, "review verified");
        let review = Review {
            schema: REVIEW_SCHEMA.to_owned(),
            role: self.wish.role.name().to_owned(),
            word,
            return_path: keeper.return_path().to_string_lossy().into_owned(),
            sha256,
            route,
            fallback,
            receipt,
            run: keeper.id().to_owned(),
            round: keeper.round(),
            remarks,
        };
        Ok((review, text))
    }

    /// A return that stands there before anybody was asked is the host's, if it is one.
    async fn standing(&mut self, plan: &Plan, keeper: &Keeper) -> Result<Option<Came>, Failure> {
        if !keeper.has_return() {
            return Ok(None);
        }
        let remark = "a return stood there already, so nobody was asked; it counts as the host's";
        let verified = keeper.verify(plan.asked.name(), None).await?;
        Ok(verified.ok().map(|closed| Came {
            closed,
            fallback: None,
            remarks: vec![remark.to_owned()],
        }))
    }

    /// Asks the routes of a way one after the other, until one gave a return that stands (C.8, B.13).
    async fn along(
        &mut self,
        plan: &Plan,
        keeper: &Keeper,
        composed: &Composed,
    ) -> Result<Came, Failure> {
        let asked = plan.asked.name();
        let first = match self.ask(plan.first, asked, keeper, composed).await? {
            Ok(came) => return Ok(came),
            Err(why) => why,
        };
        let after = plan.after(first.kind);
        let told = runners::did_not_answer(plan.first, &first);
        let Some(why) = Fallback::new(first.kind, first.detail.clone()) else {
            return Err(Failure::new(
                Exit::Error,
                format!("{told}; the request stays open, so ask again later"),
            ));
        };
        if plan.first == Route::Host {
            // The host's work has nothing to fall back to: that is an error, and no fallback.
            return Err(Failure::new(runners::exit_of(first.kind), told));
        }
        keeper
            .fell_back(asked, after.ran(), &why, self.session)
            .await?;
        if first.kind == FailureKind::Interrupted {
            return Err(Failure::new(
                Exit::Interrupted,
                format!("{told}; the request stays open for the host, and the receipt says so"),
            ));
        }
        let After::TakesOver(second) = after else {
            return Err(Failure::new(
                runners::exit_of(first.kind),
                format!("{told}; nothing else is set to take its place"),
            ));
        };
        self.session.warn(&format!("{told}; {second} takes over"));
        match self.ask(second, asked, keeper, composed).await {
            Ok(Ok(mut came)) => {
                came.fallback = Some(why);
                Ok(came)
            }
            Ok(Err(other)) => {
                let failure = runners::did_not_answer(second, &other);
                let exit = runners::exit_of(other.kind);
                Err(Failure::new(exit, format!("{told}; and {failure}")))
            }
            Err(failure) => Err(Failure::new(
                failure.exit,
                format!("{told}; and {second}: {failure}"),
            )),
        }
    }

    /// Asks one route, puts its answer in its place, and verifies what stands there.
    async fn ask(
        &mut self,
        route: Route,
        asked: &str,
        keeper: &Keeper,
        composed: &Composed,
    ) -> Result<Result<Came, Broken>, Failure> {
        let role = self.wish.role;
        let said = ways::ask(route, role, composed, self.session, self.signals).await?;
        let Said { answer, left } = said;
        let (text, model) = match answer {
            Ok(answer) => answer,
            Err(broken) => {
                // Nothing of the route's stands at the return when the next one is asked (B.13).
                keeper.take_back(&left)?;
                return Ok(Err(broken));
            }
        };
        if text.len() > limits::RETURN_BYTES {
            keeper.take_back(&left)?;
            let broken = run::verify(role, text.as_bytes());
            return Ok(broken.map(|_| unreachable!("it is over its bound")));
        }
        let mut remarks = Vec::new();
        if let Placed::Aside(file) = keeper.place(route, text.as_bytes()).await? {
            remarks.push(format!(
                "a return stood there already and counts; what {route} answered is kept in {} and recorded nowhere",
                shown(&file)
            ));
        }
        Ok(keeper.verify(asked, model).await?.map(|closed| Came {
            closed,
            fallback: None,
            remarks,
        }))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

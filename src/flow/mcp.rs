//! The MCP server of a driver, and the one of a peer (interface.md 3). It holds no state of its own: a console does, or
//! the keeper.
//!
//! Standard output carries the protocol alone. Nothing is looked up before the client has its greeting.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock,
    ElicitRequest, ElicitationAction, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities,
    ServerRequest, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::net::UnixStream;
use tokio::sync::{Mutex, mpsc};

use super::bridge::{Incoming, Link, Told, is_reviewers, serve, socket_path};
use super::config::Workplace;
use super::failure::{Failure, shown};
use super::keeper;
use crate::bridge::{Call, Code, Fault, PROTOCOL, Pace, Scope, Standing, Welcome};
use crate::cli::{Exit, Options, Progress, Serving};
use crate::limits;
use crate::mcp::{self, Offer, Wanted, wanted};
use crate::pairing;
use crate::plain;
use crate::world::files::Places;
use crate::world::socket::{self, SocketError, Who};
use crate::world::{environment, files, mcp as protocol, own};

/// Serves one client on standard input and output until it goes.
pub async fn run(place: &Workplace, options: &Options, serving: &Serving) -> Result<(), Failure> {
    let (calls, taken) = mpsc::channel(64);
    let (offer, backend) = match serving {
        Serving::Worktree => (Offer::Driver, Backend::Worktree),
        Serving::Console(socket) => (Offer::Driver, Backend::Console(socket.clone())),
        Serving::Submissions(file) => (Offer::Peer, Backend::File(file.clone())),
    };
    let over = calls.clone();
    let server = Server {
        offer,
        inner: Arc::new(Inner {
            backend,
            place: place.clone(),
            settings: settings_of(options),
            calls,
            links: Mutex::new(Links::default()),
        }),
    };
    // Nobody looks at a progress line here; clients are told by the protocol.
    let options = &Options {
        progress: Progress::None,
        ..options.clone()
    };
    let broken = |error: protocol::ServeError| Failure::of(Exit::Error, &error);
    let keeper = keeper::run(place, options, taken);
    tokio::pin!(keeper);
    let served = tokio::select! {
        served = protocol::serve(server) => served.map_err(broken),
        kept = &mut keeper => return kept,
    };
    // The client has gone: its peer ends, and what was recorded of it is brought to its end.
    let end = async { tokio::join!(over.send(Incoming::Over), &mut keeper).1 };
    match tokio::time::timeout(limits::KEEPER_END, end).await {
        Ok(kept) => served.and(kept),
        // What is dropped here is killed with all it started.
        Err(_) => served,
    }
}

/// Where calls go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Backend {
    /// To the console of the worktree, or to a peer of the server's own.
    Worktree,
    /// To this console and no other.
    Console(PathBuf),
    /// Reviews alone, into this file.
    File(PathBuf),
}

struct Inner {
    backend: Backend,
    place: Workplace,
    /// The words that give this program once more the settings this one has.
    settings: Vec<OsString>,
    /// The way to the keeper.
    calls: mpsc::Sender<Incoming>,
    links: Mutex<Links>,
}

/// The connections calls go over.
#[derive(Default)]
struct Links {
    console: Option<Arc<Link>>,
    /// To the peer of the server's own; it stays when a console is opened later, for its rounds are asked for there.
    own: Option<Arc<Link>>,
    /// When a console was last asked in vain, and why that was.
    refused: Option<(Instant, Fault)>,
}

/// The server as the protocol sees it.
#[derive(Clone)]
struct Server {
    offer: Offer,
    inner: Arc<Inner>,
}

impl Server {
    /// The way to whoever keeps the peer, made anew when the last one was cut.
    async fn link(&self, client: &str) -> Result<Arc<Link>, Fault> {
        let asked = Instant::now();
        let mut links = self.inner.links.lock().await;
        if let Some(known) = links.console.as_ref().filter(|link| link.is_open()) {
            return Ok(Arc::clone(known));
        }
        // Another call has just waited for the same console: this one need not do so again.
        if let Some((when, fault)) = &links.refused
            && *when >= asked
        {
            return Err(fault.clone());
        }
        let console = match &self.inner.backend {
            Backend::Console(socket) => connect(socket, client).await.map(Some),
            Backend::Worktree => console(&self.inner.place, client).await,
            Backend::File(_) => Err(Fault::new(
                Code::NotAllowed,
                "nothing but a review is taken here",
            )),
        };
        match console {
            Ok(Some(made)) => {
                let made = Arc::new(made);
                links.console = Some(Arc::clone(&made));
                Ok(made)
            }
            Ok(None) => {
                if let Some(known) = links.own.as_ref().filter(|link| link.is_open()) {
                    return Ok(Arc::clone(known));
                }
                let made = Arc::new(self.own(client).await?);
                links.own = Some(Arc::clone(&made));
                Ok(made)
            }
            Err(fault) => {
                links.refused = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }

    /// The way to the server's own peer, where there was one and a console has come since.
    async fn own_before(&self, link: &Arc<Link>) -> Option<Arc<Link>> {
        let links = self.inner.links.lock().await;
        let own = links.own.as_ref().filter(|own| !Arc::ptr_eq(own, link));
        own.map(Arc::clone)
    }

    /// The way to a peer of the server's own.
    async fn own(&self, client: &str) -> Result<Link, Fault> {
        if is_reviewers(std::process::id().cast_signed()) {
            return Err(Fault::new(
                Code::NotAllowed,
                "what a reviewer runs gets no peer of its own; hand the review in",
            ));
        }
        let (near, far) = tokio::io::duplex(64 * 1024);
        let place = &self.inner.place;
        let welcome = Welcome {
            codriver: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            session: String::new(),
            worktree: place.worktree().to_string_lossy().into_owned(),
            repo: place.repository_key(),
            mode: "headless".to_owned(),
            // Whoever started this server may ask it: it is its own.
            standing: Standing::Person,
            pid: std::process::id(),
        };
        tokio::spawn(serve(far, welcome, self.inner.calls.clone()));
        Link::open(near, client).await
    }

    async fn answer(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, Fault> {
        let call = match wanted(self.offer, name, arguments)? {
            Wanted::Call(call) => call,
            Wanted::Peers(scope) => return self.peers(scope, &named(context)).await,
            Wanted::Review { role, base } => {
                let link = self.link(&named(context)).await?;
                if link.welcome.standing == Standing::Reviewer {
                    return Err(Fault::new(
                        Code::NotAllowed,
                        "a peer asks for no review of its own",
                    ));
                }
                return review(role, base, &self.inner, context).await;
            }
        };
        if let (
            Backend::File(file),
            Call::Submit {
                tag,
                review,
                verdict,
            },
        ) = (&self.inner.backend, &call)
        {
            let line = pairing::submission(tag, review, *verdict)?;
            files::append_line(file, &line, limits::SUBMISSIONS_BYTES).map_err(|error| {
                Fault::new(
                    Code::Failed,
                    format!("the review cannot be recorded: {error}; write it as text"),
                )
            })?;
            return Ok(json!({"recorded": true}));
        }
        let client = named(context);
        if let Some((console, call)) = elsewhere(&call) {
            let link = other(&console, &client).await?;
            let mut value = ask(&link, call, context).await?;
            // What is asked for later is asked for there.
            if let Some(name) = value["round_id"].as_str() {
                value["round_id"] = format!("{console}/{name}").into();
            }
            return Ok(value);
        }
        let link = self.link(&client).await?;
        let is_poll = matches!(call, Call::Poll { .. });
        let waits = matches!(
            call,
            Call::Do {
                pace: Pace::Wait,
                ..
            }
        );
        match ask(&link, call.clone(), context).await {
            Err(fault) if is_poll && fault.code == Code::NoRound => {
                match self.own_before(&link).await {
                    Some(own) => ask(&own, call, context).await,
                    None => Err(fault),
                }
            }
            Ok(value) if waits && link.welcome.mode == "headless" => {
                Ok(with_decision(value, context).await)
            }
            answer => answer,
        }
    }

    /// The peers of a scope: those of the own console, and of others where the scope takes them in.
    async fn peers(&self, scope: Scope, client: &str) -> Result<Value, Fault> {
        let own = self.link(client).await?;
        let welcome = own.welcome.clone();
        let mut peers = asked_of(&own, None).await?;
        if scope != Scope::Window {
            let folder = Places::from_env(environment::variable).runtime();
            for path in folder
                .map(|folder| socket::list(&folder))
                .unwrap_or_default()
            {
                // One that does not answer, or not to this client, has no peers to offer.
                let Ok(link) = connect(&path, client).await else {
                    continue;
                };
                let other = &link.welcome;
                let is_wanted = scope == Scope::All || other.repo == welcome.repo;
                if other.pid == welcome.pid || !is_wanted {
                    continue;
                }
                let name = path
                    .file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned());
                if let Ok(more) = asked_of(&link, name).await {
                    peers.extend(more);
                }
            }
        }
        Ok(json!({"peers": peers}))
    }
}

/// Has a role review the change: this program once more, which keeps its records and ends what it starts by itself.
async fn review(
    role: crate::route::Role,
    base: Option<String>,
    inner: &Inner,
    context: &RequestContext<RoleServer>,
) -> Result<Value, Fault> {
    let mut args = inner.settings.clone();
    args.extend(["--json", "--quiet", "review", "--role", role.name()].map(OsString::from));
    args.extend(base.map(|base| format!("--base={base}").into()));
    let calling = own::call(&args, inner.place.worktree(), REVIEW_BYTES);
    tokio::pin!(calling);
    let began = Instant::now();
    let mut count = 0;
    let called = loop {
        tokio::select! {
            called = &mut calling => break called,
            () = tokio::time::sleep(limits::PROGRESS_EVERY) => {
                count += 1;
                let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                progress(context, count, "reviewing", "", elapsed).await;
            }
        }
    };
    let called = called.map_err(|error| Fault::new(Code::Failed, error.to_string()))?;
    let result = serde_json::from_slice(&called.output).ok();
    if let (Some(0 | 11 | 12), Some(review)) = (called.status, result) {
        return Ok(review);
    }
    // What it says of a failure is its own words; the last line is the failure itself.
    let said = String::from_utf8_lossy(&called.error);
    let last = said
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("codriver: "));
    let code = match called.status {
        Some(14) => Code::Refused,
        Some(15) => Code::Timeout,
        Some(130) => Code::Interrupted,
        _ => Code::Failed,
    };
    let what = last.unwrap_or("the review gave no result");
    Err(Fault::new(code, plain::display(what, 4096)))
}

/// The settings this call was given on its command line.
fn settings_of(options: &Options) -> Vec<OsString> {
    let file = options.config.iter().flat_map(|file| {
        // It is meant from where this program was started.
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        [OsString::from("--config"), file.into_os_string()]
    });
    let flags = options
        .flags
        .iter()
        .flat_map(|flag| [flag.flag.into(), OsString::from(&flag.value)]);
    file.chain(flags).collect()
}

/// Most of a review's result that is read.
const REVIEW_BYTES: usize = 1 << 20;

/// The peers one console has; those of another one bear its name.
async fn asked_of(link: &Link, name: Option<String>) -> Result<Vec<Value>, Fault> {
    let panes = link.call(Call::Panes, |_| {}).await?;
    let Value::Array(panes) = panes else {
        return Ok(Vec::new());
    };
    let peers = panes.into_iter().filter(|pane| pane["role"] == "peer");
    Ok(peers
        .map(|mut pane| {
            if let (Some(name), Some(known)) = (&name, pane["pane"].as_str()) {
                pane["pane"] = format!("{name}/{known}").into();
            }
            pane
        })
        .collect())
}

/// The console a pane of another one is named by, and the call as that one is asked; none for a pane of our own.
fn elsewhere(call: &Call) -> Option<(String, Call)> {
    let mut call = call.clone();
    let name = match &mut call {
        Call::Read { pane, .. } | Call::WaitReply { pane, .. } | Call::Do { pane, .. } => {
            pane.as_mut()?
        }
        Call::Poll { round_id, .. } => round_id,
        _ => return None,
    };
    let (console, own) = name.rsplit_once('/')?;
    let (console, own) = (console.to_owned(), own.to_owned());
    *name = own;
    Some((console, call))
}

/// Asks, and passes progress on.
async fn ask(
    link: &Link,
    call: Call,
    context: &RequestContext<RoleServer>,
) -> Result<Value, Fault> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let calling = link.call(call, |now| {
        let round_id = now.round_id.to_owned();
        // Nobody asked for progress.
        let _ = tell.send((now.state.to_owned(), round_id, now.elapsed_ms));
    });
    tokio::pin!(calling);
    let mut count = 0;
    loop {
        tokio::select! {
            answer = &mut calling => return answer,
            Some((state, round_id, elapsed_ms)) = told.recv() => {
                count += 1;
                progress(context, count, &state, &round_id, elapsed_ms).await;
            }
        }
    }
}

/// A result with the human's decision, where the peer asked for one and the client can ask its human (A.8). One that
/// cannot, or whose human does not answer, has the question alone.
async fn with_decision(mut value: Value, context: &RequestContext<RoleServer>) -> Value {
    let can_ask = context.peer.peer_info().is_some_and(|client| {
        let declared = client.capabilities.elicitation.as_ref();
        declared.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    });
    if value["verdict"] != "ESCALATE" || !can_ask {
        return value;
    }
    let question = value["rationale"].as_str().unwrap_or_default();
    let ends = question.char_indices().map(|(at, _)| at);
    let end = ends.take_while(|at| *at <= limits::QUESTION_BYTES).last();
    let question = match question.len() > limits::QUESTION_BYTES {
        true => &question[..end.unwrap_or_default()],
        false => question,
    };
    let params = serde_json::from_value(json!({
        "mode": "form",
        "message": format!("The reviewer asks you to decide:\n\n{}", plain::block(question)),
        "requestedSchema": {
            "type": "object",
            "properties": {"answer": {"type": "string", "title": "Your decision"}},
            "required": ["answer"],
        },
    }));
    let Ok(params) = params else {
        return value;
    };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
    let answer = match context.peer.send_request(request).await {
        Ok(ClientResult::ElicitResult(given)) if given.action == ElicitationAction::Accept => {
            given.content
        }
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "the client did not ask its human");
            None
        }
    };
    let answer = answer.as_ref().and_then(|given| given["answer"].as_str());
    if let Some(answer) = answer.filter(|answer| !answer.trim().is_empty()) {
        value["human"] = json!({"answer": answer});
    }
    value
}

/// Connects to another console of this user, by the name its panes are listed under.
async fn other(console: &str, client: &str) -> Result<Link, Fault> {
    let folder = Places::from_env(environment::variable).runtime();
    let listed = folder
        .map(|folder| socket::list(&folder))
        .unwrap_or_default();
    let named = |path: &&PathBuf| path.file_stem().is_some_and(|stem| stem == console);
    match listed.iter().find(named) {
        Some(path) => connect(path, client).await,
        None => Err(Fault::new(
            Code::NoPane,
            format!(
                "no console is called `{}`; list_peers with scope all names those there are",
                plain::display(console, 60)
            ),
        )),
    }
}

/// Connects to the console at `socket`.
async fn connect(socket: &Path, client: &str) -> Result<Link, Fault> {
    let (stream, who) = socket::connect(socket).await.map_err(|error| match error {
        SocketError::Nobody(_) => Fault::new(
            Code::NoConsole,
            format!("the console at {} has ended", shown(socket)),
        ),
        error => Fault::new(
            Code::NoConsole,
            Failure::of(Exit::Error, &error).to_string(),
        ),
    })?;
    open(stream, who, client).await
}

/// Greets whoever listens, unless a peer started it: what that answers is no answer of a console.
async fn open(stream: UnixStream, who: Who, client: &str) -> Result<Link, Fault> {
    if who.pid.is_some_and(is_reviewers) {
        return Err(Fault::new(
            Code::NotAllowed,
            "what listens at the console's socket was started by a reviewer, so nothing is asked of it; end that \
             program, and start the console anew",
        ));
    }
    Link::open(stream, client).await
}

/// Connects to the console of the worktree, if one runs.
async fn console(place: &Workplace, client: &str) -> Result<Option<Link>, Fault> {
    let Ok(path) = socket_path(place) else {
        return Ok(None);
    };
    match socket::connect(&path).await {
        Ok((stream, who)) => open(stream, who, client).await.map(Some),
        Err(SocketError::Nobody(_)) => Ok(None),
        Err(error) => Err(Fault::new(
            Code::NoConsole,
            Failure::of(Exit::Error, &error).to_string(),
        )),
    }
}

/// Asks the console of the worktree from the command line; none where there is no console.
pub(super) async fn ask_console(
    place: &Workplace,
    name: &str,
    call: Call,
    progress: impl FnMut(Told<'_>),
) -> Result<Option<Value>, Fault> {
    match console(place, name).await? {
        Some(link) => link.call(call, progress).await.map(Some),
        None => Ok(None),
    }
}

/// What a client calls itself.
fn named(context: &RequestContext<RoleServer>) -> String {
    context
        .client_info()
        .map_or_else(|| "an MCP client".to_owned(), |info| info.name)
}

async fn progress(
    context: &RequestContext<RoleServer>,
    count: u32,
    state: &str,
    round_id: &str,
    elapsed_ms: u64,
) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    let seconds = elapsed_ms / 1000;
    let mut words = format!("{state} {:02}:{:02}", seconds / 60, seconds % 60);
    if !round_id.is_empty() {
        // A call that is cancelled is told nothing more: by this its round can be asked for.
        words.push_str(&format!(" ({round_id})"));
    }
    let note = ProgressNotificationParam::new(token, f64::from(count)).with_message(words);
    // A client that has gone is told nothing.
    let _ = context.peer.notify_progress(note).await;
}

fn listed(described: mcp::Described) -> Tool {
    let mut tool = Tool::new(
        described.name,
        described.description,
        Arc::new(described.input),
    )
    .with_raw_output_schema(Arc::new(described.output));
    tool.title = Some(described.title);
    // The bundled annotations are those of the protocol.
    tool.annotations = serde_json::from_value::<ToolAnnotations>(described.annotations).ok();
    tool
}

/// An answer as text and as it is.
fn shown_as(answer: Result<Value, Fault>) -> CallToolResult {
    match answer {
        Ok(value) => CallToolResult::structured(value),
        Err(fault) => {
            let words = json!({"error": {"code": fault.code.word(), "message": fault.message}});
            CallToolResult::error(vec![ContentBlock::text(words.to_string())])
        }
    }
}

fn refused(fault: &Fault) -> ErrorData {
    ErrorData::invalid_params(
        fault.message.clone(),
        Some(json!({"code": fault.code.word()})),
    )
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        let capabilities = match self.offer {
            Offer::Driver => ServerCapabilities::builder()
                .enable_tools()
                .enable_prompts()
                .enable_resources()
                .build(),
            Offer::Peer => ServerCapabilities::builder().enable_tools().build(),
        };
        let mut info = InitializeResult::new(capabilities);
        info.server_info = Implementation::new("codriver", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(match self.offer {
            Offer::Driver => {
                "Reviews by a second agent that never writes. Ask with discuss or ask_review; the prompt `pair` says how \
                 to work with it."
            }
            Offer::Peer => "Takes the review you were asked for, beside the one you write.",
        }.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offer.tools().into_iter().map(listed).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answer = tokio::select! {
            biased;
            // The wait ends; what was begun goes on, and `poll_round` has it.
            () = context.ct.cancelled() => {
                tracing::info!(tool = %plain::display(&request.name, 40), "a call was cancelled; what it began goes on");
                Err(Fault::new(Code::Interrupted, "the call was cancelled; a round that was begun goes on, and poll_round or the console has its result"))
            }
            answer = self.answer(&request.name, arguments, &context) => answer,
        };
        Ok(shown_as(answer).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let arguments = mcp::PROMPT_ARGUMENTS.map(|(name, description)| {
            PromptArgument::new(name)
                .with_description(description)
                .with_required(false)
        });
        let prompt = Prompt::new(
            mcp::PROMPT,
            Some("How to work with the peer: when to ask, how, and what each verdict means."),
            Some(arguments.to_vec()),
        );
        let prompts = match self.offer {
            Offer::Driver => vec![prompt],
            Offer::Peer => Vec::new(),
        };
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.offer == Offer::Peer || request.name != mcp::PROMPT {
            return Err(ErrorData::invalid_params(
                "there is no such prompt; there is `pair`",
                None,
            ));
        }
        let arguments = request.arguments.unwrap_or_default();
        let word = |name: &str| arguments.get(name).and_then(Value::as_str);
        let text = mcp::pair(word("pane"), word("kind")).map_err(|fault| refused(&fault))?;
        let mut result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
        result.description = Some("How to work with the peer.".to_owned());
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = match self.offer {
            Offer::Peer => Vec::new(),
            Offer::Driver => mcp::RESOURCES
                .map(|named| {
                    Resource::new(named.uri, named.name)
                        .with_description(named.description)
                        .with_mime_type("application/json")
                })
                .to_vec(),
        };
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let named = mcp::TEMPLATE;
        let template = ResourceTemplate::new(named.uri, named.name)
            .with_description(named.description)
            .with_mime_type("application/json");
        let templates = match self.offer {
            Offer::Driver => vec![template],
            Offer::Peer => Vec::new(),
        };
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let unknown = || ErrorData::resource_not_found("there is no such resource", None);
        if self.offer == Offer::Peer {
            return Err(unknown());
        }
        let lookup = mcp::lookup(&request.uri).ok_or_else(unknown)?;
        let asked = async {
            let link = self.link(&named(&context)).await?;
            link.call(Call::Look(lookup), |_| {}).await
        };
        let value = asked.await.map_err(|fault| match fault.code {
            Code::NoRound => ErrorData::resource_not_found(fault.message, None),
            _ => refused(&fault),
        })?;
        let text = format!("{value:#}");
        let contents = ResourceContents::text(text, request.uri).with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

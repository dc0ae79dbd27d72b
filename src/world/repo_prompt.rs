//! One conversation with an MCP server on this machine: list its tools, call one, take its text (systems.md B.3 to B.7).
//!
//! The protocol is `rmcp`'s; the connection is ours. It is made to a loopback address however the name resolves, through
//! no proxy, follows no redirect, and takes no more bytes than it is told. What the server writes never gets into what
//! is told of a failure.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ElicitRequestParams, ElicitResult, ErrorData,
    JsonObject, ServerJsonRpcMessage,
};
use rmcp::service::{RequestContext, RoleClient, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// How long the closing call may take; whatever becomes of it changes nothing.
const CLOSING: Duration = Duration::from_secs(3);
const SESSION: &str = "mcp-session-id";

/// What is asked, and within which bounds.
#[derive(Debug, Clone, Copy)]
pub struct Order<'o> {
    /// Name or literal, a version 6 one in brackets.
    pub host: &'o str,
    /// Port.
    pub port: u16,
    /// Whether it is spoken to over TLS.
    pub is_tls: bool,
    /// The whole address.
    pub url: &'o str,
    /// The tool that is called.
    pub tool: &'o str,
    /// The text it gets.
    pub message: &'o str,
    /// Longest for connecting and all that comes before the call.
    pub setup: Duration,
    /// Longest for the call.
    pub call: Duration,
    /// Most bytes of one answer.
    pub bound: usize,
}

/// Why there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing listens there, or it closed before an answer.
    #[error("nothing answered at the address that is set, or it closed before an answer")]
    Unreachable,
    /// The name leads to another machine.
    #[error("the address that is set leads to another machine, so nothing was connected to")]
    Elsewhere,
    /// It could not be made sure who answers.
    #[error("its certificate is not trusted here")]
    Untrusted,
    /// The set-up took too long.
    #[error("connecting and setting up took longer than its bound")]
    SlowSetup,
    /// The call took too long.
    #[error("the tool did not answer within its bound")]
    SlowCall,
    /// It said no.
    #[error("the server answered with an error")]
    Error,
    /// The tool said no.
    #[error("the tool answered with an error")]
    ToolError,
    /// The tool is not there.
    #[error("the server does not list the tool that is set")]
    NoTool,
    /// The tool takes no message.
    #[error("the tool that is set takes no `message`")]
    NoMessage,
    /// It is not the protocol.
    #[error("what it answered is not the protocol's")]
    NotTheProtocol,
    /// It answered with a redirect, which is never followed.
    #[error("it answered with a redirect, which is never followed")]
    Redirect,
    /// It is too much.
    #[error("its answer is larger than its bound")]
    TooLarge,
}

/// Asks for one text.
///
/// # Errors
///
/// The first thing that went wrong.
pub async fn ask(order: &Order<'_>) -> Result<String, Fault> {
    let seen = Arc::new(Seen::default());
    let client = Client {
        host: order.host.into(),
        port: order.port,
        tls: match order.is_tls {
            true => Some(connector()?),
            false => None,
        },
        bound: order.bound,
        seen: Arc::clone(&seen),
    };
    let mut config = StreamableHttpClientTransportConfig::with_uri(order.url);
    config.allow_stateless = true;
    config.reinit_on_expired_session = false;
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let setup = async {
        let server = rmcp::serve_client(Nobody, transport)
            .await
            .map_err(|_| seen.fault().unwrap_or(Fault::NotTheProtocol))?;
        let listed = first(&seen, server.list_all_tools()).await;
        Ok::<_, Fault>((server, listed))
    };
    let (server, listed) = timeout(order.setup, setup)
        .await
        .map_err(|_| seen.fault().unwrap_or(Fault::SlowSetup))??;
    let answer = async {
        let tools = listed?;
        let tool = tools
            .iter()
            .find(|tool| tool.name == order.tool)
            .ok_or(Fault::NoTool)?;
        let declares = |name: &str| {
            let properties = tool.input_schema.get("properties");
            properties.is_some_and(|all| all.get(name).is_some())
        };
        if !declares("message") {
            return Err(Fault::NoMessage);
        }
        let mut arguments = JsonObject::new();
        arguments.insert("message".to_owned(), Value::from(order.message));
        if declares("new_chat") {
            arguments.insert("new_chat".to_owned(), Value::Bool(true));
        }
        let mut params = CallToolRequestParams::new(order.tool.to_owned());
        params.arguments = Some(arguments);
        let result = timeout(order.call, first(&seen, server.call_tool(params)))
            .await
            .map_err(|_| Fault::SlowCall)??;
        if result.is_error == Some(true) {
            return Err(Fault::ToolError);
        }
        let texts = result
            .content
            .iter()
            .filter_map(|block| block.as_text().map(|text| text.text.as_str()));
        Ok(texts.collect::<Vec<_>>().join("\n"))
    };
    let answer = answer.await;
    // A server that cannot close a session, or does not, changes nothing.
    let _ = timeout(CLOSING, server.cancel()).await;
    answer
}

/// What comes first: the answer, or something wrong with the connection, which the protocol might wait out.
async fn first<T>(
    seen: &Seen,
    answer: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, Fault> {
    let answer = tokio::select! {
        biased;
        answer = answer => answer,
        fault = seen.wait() => return Err(fault),
    };
    answer.map_err(|error| match error {
        ServiceError::McpError(_) => Fault::Error,
        ServiceError::UnexpectedResponse => Fault::NotTheProtocol,
        _ => seen.fault().unwrap_or(Fault::Unreachable),
    })
}

/// The first thing that went wrong with a connection.
#[derive(Debug, Default)]
struct Seen {
    fault: Mutex<Option<Fault>>,
    came: Notify,
}

impl Seen {
    fn tell(&self, fault: Fault) -> Fault {
        // What is in it is whole even when a thread died while it held it.
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *first.get_or_insert(fault);
        self.came.notify_waiters();
        self.came.notify_one();
        first
    }

    fn fault(&self) -> Option<Fault> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn wait(&self) -> Fault {
        loop {
            let came = self.came.notified();
            if let Some(fault) = self.fault() {
                return fault;
            }
            came.await;
        }
    }
}

/// Answers whatever a server asks with "method not found" (B.4).
struct Nobody;

#[expect(
    deprecated,
    reason = "a server of an older version still asks for roots, and is told that there are none to ask for"
)]
impl ClientHandler for Nobody {
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            rmcp::model::ListRootsRequestMethod,
        >())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            rmcp::model::ElicitationCreateRequestMethod,
        >())
    }
}

/// An HTTP client that connects to this machine alone; one connection for each request.
#[derive(Clone)]
struct Client {
    host: Arc<str>,
    port: u16,
    tls: Option<TlsConnector>,
    bound: usize,
    seen: Arc<Seen>,
}

/// A fault as the protocol's client passes it on.
#[derive(Debug)]
struct Told(Fault);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Told {}

type Failed = StreamableHttpError<Told>;

impl Client {
    fn failed(&self, fault: Fault) -> Failed {
        StreamableHttpError::Client(Told(self.seen.tell(fault)))
    }

    /// Sends one request over a connection of its own.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let found = lookup_host((host, self.port))
            .await
            .map_err(|_| Fault::Unreachable)?;
        let (here, other): (Vec<_>, Vec<_>) = found.partition(|address| address.ip().is_loopback());
        if here.is_empty() && !other.is_empty() {
            return Err(Fault::Elsewhere);
        }
        let stream = TcpStream::connect(here.as_slice())
            .await
            .map_err(|_| Fault::Unreachable)?;
        // The one that counts is the one there is a connection to.
        if !stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()) {
            return Err(Fault::Elsewhere);
        }
        match &self.tls {
            None => exchange(stream, request).await,
            Some(tls) => {
                let name = ServerName::try_from(host.to_owned()).map_err(|_| Fault::Untrusted)?;
                let stream =
                    tls.connect(name, stream)
                        .await
                        .map_err(|error| match error.kind() {
                            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                                Fault::Unreachable
                            }
                            _ => Fault::Untrusted,
                        })?;
                exchange(stream, request).await
            }
        }
    }

    fn request(
        &self,
        method: Method,
        url: &str,
        session: Option<&str>,
        headers: &HashMap<HeaderName, HeaderValue>,
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>, Fault> {
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        let mut builder = Request::builder()
            .method(method)
            .uri(format!("/{path}"))
            .header(HOST, format!("{}:{}", self.host, self.port))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in headers {
            builder = builder.header(name, value);
        }
        if let Some(session) = session {
            builder = builder.header(SESSION, session);
        }
        builder
            .body(Full::new(Bytes::from(body)))
            .map_err(|_| Fault::NotTheProtocol)
    }

    async fn post(
        &self,
        url: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let body = serde_json::to_vec(message).map_err(|_| Fault::NotTheProtocol)?;
        let request = self.request(Method::POST, url, session, headers, body)?;
        let response = self.send(request).await?;
        let status = response.status();
        if status.is_redirection() {
            return Err(Fault::Redirect);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response
            .headers()
            .get(SESSION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split(';').next())
            .map(|value| value.trim().to_ascii_lowercase());
        if status.is_success() && kind.as_deref() == Some("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(
                self.events(response.into_body()),
                session,
            ));
        }
        let bytes = self.whole(response.into_body()).await?;
        let message: Option<ServerJsonRpcMessage> = serde_json::from_slice(&bytes).ok();
        match message {
            Some(message) if kind.as_deref() == Some("application/json") => {
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            // A server that answers a notification with nothing in particular.
            _ if status.is_success() && bytes.is_empty() => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            _ if status.is_success() => Err(Fault::NotTheProtocol),
            _ => Err(Fault::Error),
        }
    }

    async fn whole(&self, mut body: Incoming) -> Result<Vec<u8>, Fault> {
        let mut all = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Fault::Unreachable)?;
            if let Some(data) = frame.data_ref() {
                if data.len() > self.bound - all.len() {
                    return Err(Fault::TooLarge);
                }
                all.extend_from_slice(data);
            }
        }
        Ok(all)
    }

    /// The events of a stream: bounded, each of them the protocol's, and a stream that ends before its answer told.
    fn events(&self, body: Incoming) -> BoxStream<'static, Result<Sse, SseError>> {
        let (bound, seen) = (self.bound, Arc::clone(&self.seen));
        let mut taken = 0_usize;
        let bytes = body.into_data_stream().map(move |data| {
            let data = data.map_err(|_| Told(seen.tell(Fault::Unreachable)))?;
            taken = taken.saturating_add(data.len());
            match taken > bound {
                true => Err(Told(seen.tell(Fault::TooLarge))),
                false => Ok(data),
            }
        });
        let seen = Arc::clone(&self.seen);
        let mut is_answered = false;
        let events = SseStream::from_bytes_stream(bytes)
            .map(Some)
            .chain(futures_util::stream::once(async { None }));
        events
            .filter_map(move |event| {
                let event = match event {
                    None => {
                        if !is_answered {
                            seen.tell(Fault::Unreachable);
                        }
                        None
                    }
                    Some(Ok(event)) => {
                        let data = event.data.as_deref().unwrap_or_default();
                        if !data.trim().is_empty() {
                            match serde_json::from_str::<ServerJsonRpcMessage>(data) {
                                Ok(
                                    ServerJsonRpcMessage::Response(_)
                                    | ServerJsonRpcMessage::Error(_),
                                ) => is_answered = true,
                                Ok(_) => {}
                                Err(_) => drop(seen.tell(Fault::NotTheProtocol)),
                            }
                        }
                        Some(Ok(event))
                    }
                    Some(Err(error)) => {
                        seen.tell(Fault::NotTheProtocol);
                        Some(Err(error))
                    }
                };
                async move { event }
            })
            .boxed()
    }
}

/// One request and its answer on a stream.
async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Fault::Unreachable)?;
    // It ends with the answer's body.
    tokio::spawn(connection);
    sender
        .send_request(request)
        .await
        .map_err(|error| match error.is_parse() {
            true => Fault::NotTheProtocol,
            false => Fault::Unreachable,
        })
}

fn connector() -> Result<TlsConnector, Fault> {
    let mut roots = RootCertStore::empty();
    // What cannot be loaded is not trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| Fault::Untrusted)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

impl StreamableHttpClient for Client {
    type Error = Told;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        self.post(&uri, &message, session_id.as_deref(), &custom_headers)
            .await
            .map_err(|fault| self.failed(fault))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let told = |fault| StreamableHttpError::Client(Told(fault));
        let session = Some(&*session_id);
        let request = self
            .request(Method::DELETE, &uri, session, &custom_headers, Vec::new())
            .map_err(told)?;
        // Nothing is asked any more: what it answers is of no interest.
        self.send(request).await.map(drop).map_err(told)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        // One call, one answer: nothing is listened for beside it, and nothing is resumed.
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

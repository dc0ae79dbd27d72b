//! The side of whoever asks: one connection, many calls at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::wire::next;
use crate::bridge::{
    Call, Code, Fault, Frames, FromClient, FromServer, Hello, PROTOCOL, Welcome, encode,
};
use crate::limits;

/// A connection to whoever keeps the peer.
#[derive(Debug)]
pub(in crate::flow) struct Link {
    /// What it said of itself.
    pub welcome: Welcome,
    orders: mpsc::UnboundedSender<Order>,
    last: AtomicU64,
    /// How long a call may hear nothing.
    silence: Duration,
    is_open: Arc<AtomicBool>,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow) struct Told<'t> {
    /// What its round is called, where there is one.
    pub round_id: &'t str,
    /// The state in words.
    pub state: &'t str,
    /// How long it has gone on, in milliseconds.
    pub elapsed_ms: u64,
}

#[derive(Debug)]
enum Order {
    Call(u64, Call, mpsc::UnboundedSender<FromServer>),
    Leave(u64),
}

/// Says that a call is no longer waited for, however that came.
struct Waiting<'a> {
    link: &'a Link,
    id: u64,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // With the connection, the call is gone too.
            let _ = self.link.orders.send(Order::Leave(self.id));
        }
    }
}

impl Link {
    /// Greets whoever is at the other end. `name` is what the client calls itself.
    pub(in crate::flow) async fn open<S>(stream: S, name: &str) -> Result<Self, Fault>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (mut reading, mut writing) = tokio::io::split(stream);
        let hello = Hello {
            codriver: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: name.to_owned(),
        };
        let mut frames = Frames::default();
        let greeting = async {
            let bytes = encode(&hello).ok()?;
            // A console that turns clients away may have closed its end already; why it did so can still be read.
            let _ = writing.write_all(&bytes).await;
            next::<_, FromServer>(&mut reading, &mut frames).await
        };
        let welcome = match timeout(limits::GREETING, greeting).await {
            Ok(Some(FromServer::Welcome(welcome))) if welcome.codriver == PROTOCOL => welcome,
            Ok(Some(FromServer::Welcome(welcome))) => {
                return Err(Fault::new(
                    Code::Version,
                    format!(
                        "the console is codriver {} and this is codriver {}; start both from the same program",
                        crate::plain::display(&welcome.version, 40),
                        env!("CARGO_PKG_VERSION")
                    ),
                ));
            }
            Ok(Some(FromServer::Refused(fault))) => return Err(fault),
            Err(_) => {
                return Err(Fault::new(
                    Code::NoConsole,
                    "the console does not answer; it may be stopped (fg continues it)",
                ));
            }
            Ok(_) => {
                return Err(Fault::new(
                    Code::NoConsole,
                    "what listens at the console's socket does not greet as a console does",
                ));
            }
        };
        let (orders, taken) = mpsc::unbounded_channel();
        let is_open = Arc::new(AtomicBool::new(true));
        let open = Arc::clone(&is_open);
        tokio::spawn(async move {
            carry(reading, writing, frames, taken).await;
            open.store(false, Ordering::Relaxed);
        });
        Ok(Self {
            welcome,
            orders,
            last: AtomicU64::new(0),
            silence: limits::SILENCE,
            is_open,
        })
    }

    /// Whether the other end is still there.
    pub(in crate::flow) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Asks, and waits for the answer; `progress` is told how it stands. Given up, the call is left: what it began goes
    /// on. One of which nothing is heard for `limits::SILENCE` is given up: its console is stopped, or stuck.
    pub(in crate::flow) async fn call(
        &self,
        call: Call,
        mut progress: impl FnMut(Told<'_>),
    ) -> Result<Value, Fault> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut waiting = Waiting {
            link: self,
            id,
            is_over: false,
        };
        if self.orders.send(Order::Call(id, call, tell)).is_err() {
            return Err(gone());
        }
        let answer = loop {
            let Ok(said) = timeout(self.silence, told.recv()).await else {
                return Err(silent());
            };
            match said {
                Some(FromServer::Progress {
                    round_id,
                    state,
                    elapsed_ms,
                    ..
                }) => progress(Told {
                    round_id: &round_id,
                    state: &state,
                    elapsed_ms,
                }),
                Some(FromServer::Answer { value, .. }) => break Ok(value),
                Some(FromServer::Fault { fault, .. }) => break Err(fault),
                Some(FromServer::Welcome(_) | FromServer::Refused(_)) => {}
                None => break Err(gone()),
            }
        };
        waiting.is_over = true;
        answer
    }
}

fn gone() -> Fault {
    Fault::new(
        Code::ConsoleGone,
        "the console ended before there was an answer; what it recorded is in its session",
    )
}

fn silent() -> Fault {
    Fault::new(
        Code::NoConsole,
        format!(
            "the console says nothing for {} s: it may be stopped (fg continues it); a round that was begun goes on with \
             it, and what still waited is given up",
            limits::SILENCE.as_secs()
        ),
    )
}

/// Carries calls there and answers back until either end goes.
async fn carry(
    mut reading: impl AsyncRead + Unpin,
    mut writing: impl AsyncWrite + Unpin,
    mut frames: Frames,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    let mut open: HashMap<u64, mpsc::UnboundedSender<FromServer>> = HashMap::new();
    loop {
        let said = tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Call(id, call, tell)) => {
                    open.insert(id, tell);
                    FromClient::Call { id, call }
                }
                Some(Order::Leave(id)) => {
                    open.remove(&id);
                    FromClient::Leave { id }
                }
                None => return,
            },
            frame = next::<_, FromServer>(&mut reading, &mut frames) => {
                let Some(frame) = frame else { return };
                let Some(id) = frame.id() else { continue };
                let is_last = !matches!(frame, FromServer::Progress { .. });
                if let Some(tell) = open.get(&id) {
                    // Nobody waits any more.
                    let _ = tell.send(frame);
                }
                if is_last {
                    open.remove(&id);
                }
                continue;
            }
        };
        let bytes = match encode(&said) {
            Ok(bytes) => bytes,
            Err(error) => {
                if let FromClient::Call { id, .. } = said
                    && let Some(tell) = open.remove(&id)
                {
                    let fault = Fault::new(Code::Refused, format!("the call is too long: {error}"));
                    let _ = tell.send(FromServer::Fault { id, fault });
                }
                continue;
            }
        };
        if writing.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::bridge::Standing;

    #[tokio::test]
    async fn why_a_client_is_turned_away_is_heard_also_after_the_door_is_shut()
    -> Result<(), Box<dyn std::error::Error>> {
        let (near, mut far) = tokio::net::UnixStream::pair()?;
        let fault = Fault::new(Code::Busy, "32 clients are served already");
        far.write_all(&encode(&FromServer::Refused(fault.clone()))?)
            .await?;
        drop(far);
        assert_eq!(Link::open(near, "a test").await.err(), Some(fault));
        Ok(())
    }

    #[tokio::test]
    async fn a_console_that_says_nothing_is_not_waited_for_for_ever() -> Result<(), Fault> {
        let (near, far) = tokio::io::duplex(4096);
        let (mut reading, mut writing) = tokio::io::split(far);
        // It greets, and is stopped from then on.
        let console = tokio::spawn(async move {
            let welcome = FromServer::Welcome(Welcome {
                codriver: PROTOCOL,
                version: String::new(),
                session: String::new(),
                worktree: String::new(),
                repo: String::new(),
                mode: "console".to_owned(),
                standing: Standing::Person,
                pid: 1,
            });
            let bytes = encode(&welcome).expect("a short frame");
            writing.write_all(&bytes).await.expect("a pipe");
            let mut all = Vec::new();
            while reading
                .read_buf(&mut all)
                .await
                .is_ok_and(|count| count > 0)
            {}
            drop(writing);
            all
        });
        let mut link = Link::open(near, "a test").await?;
        link.silence = Duration::from_millis(20);
        let fault = link.call(Call::Ping, |_| {}).await.err();
        assert_eq!(fault.map(|fault| fault.code), Some(Code::NoConsole));
        drop(link);
        // It was told that nobody waits, for when it goes on.
        let heard = console.await.unwrap_or_default();
        assert!(String::from_utf8_lossy(&heard).contains("leave"));
        Ok(())
    }
}

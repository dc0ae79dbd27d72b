//! A server of the protocol's transport, in a few lines, that can misbehave in every way.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::Fault;

/// How the server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As it should, and says this.
    Says(&'static str),
    /// As it should, and answers the closing call with this status.
    ClosesWith(u16),
    /// It takes connections and says nothing.
    Silent,
    /// It sets up, and says nothing to the call.
    SilentCall,
    /// It closes in the middle of the call.
    HangsUp,
    /// It answers the call with this status, type and body.
    Answers(u16, &'static str, &'static str),
    /// It answers the call with this many bytes.
    Floods(usize),
    /// It answers the call with a stream that ends without an answer.
    EmptyStream,
    /// It redirects.
    Redirects,
    /// It asks for roots and an elicitation before it answers.
    AsksBack,
}

/// A server that runs until the test ends.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

pub(crate) const GOOD: &str = "Fine.\n\n## Verdict\n\nSHIP\n";

impl Server {
    pub(crate) fn start(manner: Manner) -> Result<Self, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                thread::spawn(move || {
                    // A connection that breaks is the client's doing.
                    let _ = serve(stream, manner, &log);
                });
            }
        });
        Ok(Self { port, seen })
    }

    /// What was asked of it, in order: methods of the protocol, and of the transport where there is no message.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen
            .lock()
            .map(|seen| seen.clone())
            .unwrap_or_default()
    }

    /// The machine settings that lead to it.
    pub(crate) fn settings(&self) -> String {
        format!(
            "[oracle]\nreview = 'rp'\n[oracle.rp]\nurl = 'http://localhost:{}/planted-path'\n",
            self.port
        )
    }
}

fn serve(mut stream: TcpStream, manner: Manner, seen: &Mutex<Vec<String>>) -> Result<(), Fault> {
    let (method, body) = read(&mut stream)?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = message["method"].as_str().unwrap_or(&method).to_owned();
    let replies_to_us = message.get("method").is_none() && message.get("id").is_some();
    if let Ok(mut seen) = seen.lock() {
        seen.push(match replies_to_us {
            true => format!("reply {}", message["error"]["code"]),
            false => asked.clone(),
        });
    }
    if manner == Manner::Silent {
        thread::sleep(Duration::from_secs(60));
        return Ok(());
    }
    if manner == Manner::Redirects {
        let head =
            "HTTP/1.1 307 Temporary\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(head.as_bytes())?;
        return Ok(());
    }
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let answer = match asked.as_str() {
        "initialize" => result(json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "planted-server", "version": "1"},
        })),
        "tools/list" => {
            // Two pages.
            let is_second = message["params"]["cursor"] == "2";
            let tool = |name: &str| {
                json!({"name": name, "inputSchema": {
                    "type": "object", "properties": {"message": {"type": "string"}},
                }})
            };
            match is_second {
                true => result(json!({"tools": [tool("oracle_send")]})),
                false => result(json!({"tools": [tool("other")], "nextCursor": "2"})),
            }
        }
        "tools/call" => return call(&mut stream, manner, &message, seen),
        "DELETE" => {
            let status = match manner {
                Manner::ClosesWith(status) => status,
                _ => 200,
            };
            return reply(&mut stream, status, "text/plain", b"");
        }
        _ => return reply(&mut stream, 202, "text/plain", b""),
    };
    reply(
        &mut stream,
        200,
        "application/json",
        answer.to_string().as_bytes(),
    )
}

fn call(
    stream: &mut TcpStream,
    manner: Manner,
    message: &Value,
    seen: &Mutex<Vec<String>>,
) -> Result<(), Fault> {
    if let Ok(mut seen) = seen.lock() {
        let names = message["params"]["arguments"].as_object();
        let names: Vec<&str> = names
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        seen.push(format!("arguments {}", names.join(",")));
    }
    let text = match manner {
        Manner::Says(text) => text,
        Manner::SilentCall => {
            thread::sleep(Duration::from_secs(60));
            return Ok(());
        }
        Manner::HangsUp => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{\"jso")?;
            return Ok(());
        }
        Manner::Answers(status, kind, body) => return reply(stream, status, kind, body.as_bytes()),
        Manner::Floods(bytes) => {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n\""
            );
            stream.write_all(head.as_bytes())?;
            for _ in 0..bytes / 4096 {
                stream.write_all(&[b'x'; 4096])?;
            }
            return Ok(());
        }
        Manner::EmptyStream => return reply(stream, 200, "text/event-stream", b": nothing\n\n"),
        _ => GOOD,
    };
    let result = json!({"jsonrpc": "2.0", "id": message["id"], "result": {
        "content": [{"type": "text", "text": text}],
    }});
    if manner == Manner::AsksBack {
        let ask = |id: &str, method: &str, params: Value| {
            format!(
                "event: message\ndata: {}\n\n",
                json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            )
        };
        let mut events = ask("a", "roots/list", json!({}));
        events += &ask(
            "b",
            "elicitation/create",
            json!({"message": "planted", "requestedSchema": {"type": "object", "properties": {}}}),
        );
        events += &ask(
            "c",
            "sampling/createMessage",
            json!({"messages": [], "maxTokens": 1}),
        );
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
        )?;
        stream.write_all(events.as_bytes())?;
        stream.flush()?;
        // The three refusals arrive on connections of their own.
        for _ in 0..250 {
            let replies = seen
                .lock()
                .map(|seen| seen.iter().filter(|one| one.starts_with("reply")).count());
            if replies.unwrap_or_default() >= 3 {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        stream.write_all(format!("event: message\ndata: {result}\n\n").as_bytes())?;
        return Ok(());
    }
    reply(
        stream,
        200,
        "application/json",
        result.to_string().as_bytes(),
    )
}

fn reply(stream: &mut TcpStream, status: u16, kind: &str, body: &[u8]) -> Result<(), Fault> {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nMcp-Session-Id: planted-session\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    Ok(())
}

/// Reads one request: its method and its body.
fn read(stream: &mut TcpStream) -> Result<(String, Vec<u8>), Fault> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Err("closed".into());
        }
        bytes.extend_from_slice(&chunk[..count]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length: usize = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
        .unwrap_or(0);
    while bytes.len() < head + length {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
    let method = text.split(' ').next().unwrap_or_default().to_uppercase();
    Ok((method, bytes[head..].to_vec()))
}

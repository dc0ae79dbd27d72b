//! A client of the protocol that knows nothing of the server: lines of JSON over its standard streams.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Fault, LIMIT, Outcome, PROGRAM, World};

pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Result<Value, String>>,
    kept: VecDeque<Value>,
    /// What the server asked of the client.
    asked: VecDeque<Value>,
    last: u64,
    /// What was told beside answers.
    pub(crate) told: Vec<Value>,
}

impl Client {
    /// Starts a server and greets it.
    pub(crate) fn start(world: &World, args: &[&str]) -> Result<Self, Fault> {
        let mut client = Self::silent(world, args)?;
        client.greet()?;
        Ok(client)
    }

    /// Starts a server and says nothing yet.
    pub(crate) fn silent(world: &World, args: &[&str]) -> Result<Self, Fault> {
        Self::silent_in(world, args, &[])
    }

    /// Starts a server with these variables beside the others.
    pub(crate) fn silent_in(
        world: &World,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self, Fault> {
        let mut child = Command::new(PROGRAM)
            .args(args)
            .arg("mcp")
            .env_clear()
            .envs(world.environment())
            .envs(variables.iter().copied())
            .current_dir(world.path("repo"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                let value = serde_json::from_str(&line).map_err(|_| line);
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            input: child.stdin.take(),
            child,
            lines,
            kept: VecDeque::new(),
            asked: VecDeque::new(),
            last: 0,
            told: Vec::new(),
        })
    }

    fn keep(&mut self, line: Value) {
        match (line.get("id"), line.get("method")) {
            (Some(_), Some(_)) => self.asked.push_back(line),
            (Some(_), None) => self.kept.push_back(line),
            (None, _) => self.told.push(line),
        }
    }

    /// Waits until the server asks something of the client.
    pub(crate) fn be_asked(&mut self) -> Result<Value, Fault> {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(asked) = self.asked.pop_front() {
                return Ok(asked);
            }
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.map_err(|_| format!("nothing was asked; told: {:?}", self.told))?;
            let line = line.map_err(|line| format!("not the protocol: {line}"))?;
            self.keep(line);
        }
    }

    /// The id of the round that goes on, as its progress tells it.
    pub(crate) fn round_id(&mut self) -> Result<String, Fault> {
        let told = self.hear(|told| {
            let words = told["params"]["message"].as_str().unwrap_or_default();
            words.starts_with("waiting busy") && words.contains("(rnd_")
        })?;
        let words = told["params"]["message"].as_str().unwrap_or_default();
        let id = words
            .rsplit_once('(')
            .map(|(_, id)| id.trim_end_matches(')'));
        Ok(id.ok_or("no id")?.to_owned())
    }

    pub(crate) fn greet(&mut self) -> Result<Value, Fault> {
        self.greet_with(&json!({}))
    }

    pub(crate) fn greet_with(&mut self, capabilities: &Value) -> Result<Value, Fault> {
        let greeting = self.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": {"name": "a test", "version": "1"},
            }),
        )?;
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(greeting)
    }

    pub(crate) fn say(&mut self, value: &Value) -> Outcome {
        let input = self.input.as_mut().ok_or("the input is closed")?;
        writeln!(input, "{value}")?;
        input.flush()?;
        Ok(())
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> Result<u64, Fault> {
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    /// Begins a call of a tool; its progress is told.
    pub(crate) fn begin(&mut self, tool: &str, arguments: &Value) -> Result<u64, Fault> {
        let token = format!("t{}", self.last + 1);
        self.send(
            "tools/call",
            &json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}}),
        )
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Result<Value, Fault> {
        if let Some(at) = self.kept.iter().position(|one| one["id"] == id) {
            return Ok(self.kept.remove(at).unwrap_or_default());
        }
        let end = Instant::now() + LIMIT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self
                .lines
                .recv_timeout(left)
                .map_err(|_| format!("no answer to request {id}; told so far: {:?}", self.told))?;
            let line = line.map_err(|line| format!("not the protocol: {line}"))?;
            if line["id"] == id && line.get("method").is_none() {
                return Ok(line);
            }
            self.keep(line);
        }
    }

    /// Waits until something was told that fits.
    pub(crate) fn hear(&mut self, fits: impl Fn(&Value) -> bool) -> Result<Value, Fault> {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(found) = self.told.iter().find(|one| fits(one)) {
                return Ok(found.clone());
            }
            let left = end.saturating_duration_since(Instant::now());
            let line = self
                .lines
                .recv_timeout(left)
                .map_err(|_| format!("nothing of the kind was told: {:?}", self.told))?;
            let line = line.map_err(|line| format!("not the protocol: {line}"))?;
            self.keep(line);
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        let id = self.send(method, params)?;
        self.answer(id)
    }

    /// The structured answer of a call, text beside it and all.
    pub(crate) fn finish(&mut self, id: u64) -> Result<Value, Fault> {
        let answer = self.answer(id)?;
        let result = &answer["result"];
        let text = result["content"][0]["text"]
            .as_str()
            .ok_or_else(|| format!("no text: {answer}"))?;
        let text: Value = serde_json::from_str(text)?;
        if result["isError"] == true {
            return Err(format!("{}: {}", text["error"]["code"], text["error"]["message"]).into());
        }
        assert_eq!(
            text, result["structuredContent"],
            "text and structure differ"
        );
        Ok(text)
    }

    /// Calls a tool and waits.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Fault> {
        let id = self.begin(tool, arguments)?;
        self.finish(id)
    }

    /// Calls a tool that gives no answer; tells the code.
    pub(crate) fn refusal(&mut self, tool: &str, arguments: &Value) -> Result<String, Fault> {
        match self.call(tool, arguments) {
            Ok(answer) => Err(format!("{tool} was answered: {answer}").into()),
            Err(error) => Ok(error.to_string()),
        }
    }

    /// Closes the server's input and waits for its end.
    pub(crate) fn leave(mut self) -> Outcome {
        drop(self.input.take());
        let end = Instant::now() + LIMIT;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > end {
                return Err("the server does not end".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Kills the server.
    pub(crate) fn kill(mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

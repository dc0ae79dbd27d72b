//! The program: parses, runs, prints the one error.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use codriver::demo::Kind;
use codriver::demo::fault::Faults;
use codriver::flow::demo_agent::{self, DemoOptions};

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The built-in agent: draws like a real one, answers by a script or a few fixed rules.
    DemoAgent {
        /// Which agent it looks like.
        #[arg(long, value_enum, default_value_t = Style::Claude)]
        style: Style,
        /// A script of turns (JSON).
        #[arg(long, value_name = "FILE")]
        script: Option<PathBuf>,
        /// Faults, with commas between.
        #[arg(long, value_name = "NAME", default_value = "")]
        fault: Faults,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Style {
    Claude,
    Codex,
    Opencode,
    Plain,
}

fn main() -> ExitCode {
    let Command::DemoAgent {
        style,
        script,
        fault,
    } = Cli::parse().command;
    let options = DemoOptions {
        kind: match style {
            Style::Claude => Kind::Claude,
            Style::Codex => Kind::Codex,
            Style::Opencode => Kind::OpenCode,
            Style::Plain => Kind::Plain,
        },
        script,
        faults: fault,
        channel: std::env::var_os("CODRIVER_DEMO_CHANNEL").map(PathBuf::from),
        log: std::env::var_os("CODRIVER_DEMO_LOG").map(PathBuf::from),
    };
    match demo_agent::run(&options) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the one place where an error is printed"
)]
fn print_error(error: &dyn std::error::Error) {
    eprint!("codriver: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprint!(": {error}");
        cause = error.source();
    }
    eprintln!();
}

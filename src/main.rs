//! The program: parses, runs, prints the one error.

use std::process::ExitCode;

use codriver::app::{App, Role};
use codriver::cli::{
    self, Call, ConfineArgs, DemoArgs, DemoStyle, Exit, Options, Serving, Surroundings, Task,
};
use codriver::demo::Kind;
use codriver::flow::compose::Asked;
use codriver::flow::config::{Printed, Workplace};
use codriver::flow::confine::{self, Outcome};
use codriver::flow::demo_agent::{self, DemoOptions};
use codriver::flow::{
    answer, ask, config, console, doctor, explain, extract, mcp, receipts, replay, review, round,
    sessions, setup,
};
use codriver::ui;
use codriver::world::{environment, files, log, terminal};

fn main() -> ExitCode {
    let streams = terminal::Streams::look();
    let around = Surroundings {
        input_is_terminal: streams.stdin,
        output_is_terminal: streams.stdout,
        error_is_terminal: streams.stderr,
        no_color: environment::variable("NO_COLOR").is_some()
            || environment::variable("TERM").is_some_and(|term| term == "dumb"),
    };
    let args = match cli::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            let code = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            // Help into a closed pipe, or a complaint nobody can see: nothing is left to do.
            let _ = error.print();
            return code.code().into();
        }
    };
    let call = match args.resolve(&around) {
        Ok(call) => call,
        Err(error) => {
            let help = match error {
                cli::UsageError::NoCommand => format!("\n{}", cli::command().render_help()),
                _ => String::new(),
            };
            complain(&error, &help);
            return Exit::Usage.code().into();
        }
    };
    if let Task::DemoAgent(args) = &call.task {
        return demo(args);
    }
    if let Task::Confine(args) = &call.task {
        return shut_in(args, &call.options);
    }
    match run(&call) {
        Ok(printed) => print(&printed),
        Err((exit, error)) => {
            complain(error.as_ref(), "");
            exit.code().into()
        }
    }
}

type Failure = (Exit, Box<dyn std::error::Error>);

fn run(call: &Call) -> Result<Printed, Failure> {
    let options = &call.options;
    let place = || {
        Workplace::find(options.directory.as_deref())
            .map_err(|error| (Exit::Error, Box::from(error)) as Failure)
    };
    match &call.task {
        Task::Config(command) => config::run(*command, &place()?, options)
            .map_err(|faults| (Exit::Usage, Box::from(faults)) as Failure),
        Task::Receipts(command) => receipts::run(command, &place()?, options)
            .map_err(|failure| (failure.exit, Box::from(failure)) as Failure),
        Task::Doctor => Ok(doctor::run(&place()?, options)),
        Task::Replay(args) => {
            let place = place()?;
            let settings = config::settings(&place, options)
                .map_err(|faults| (Exit::Usage, Box::from(faults)) as Failure)?;
            if options.headless {
                return replay::headless(args, &place, &settings, options, &mut note)
                    .map_err(|failure| (failure.exit, Box::from(failure)) as Failure);
            }
            start_log(options);
            let runtime = runtime()?;
            let mut drawing = Drawing(ui::Console::default());
            let left = runtime.block_on(replay::console(args, &place, &settings, &mut drawing));
            // What still looks for a moment is of no use any more.
            runtime.shutdown_background();
            left.map_err(|failure| (failure.exit, Box::from(failure)) as Failure)?;
            Ok(Printed {
                text: String::new(),
                exit: Exit::Done,
            })
        }
        Task::Sessions(command) => {
            let place = place()?;
            let settings = config::settings(&place, options)
                .map_err(|faults| (Exit::Usage, Box::from(faults)) as Failure)?;
            sessions::run(command, &place, &settings, options)
                .map_err(|failure| (failure.exit, Box::from(failure)) as Failure)
        }
        Task::Completions(shell) => Ok(Printed::done(cli::completions(*shell))),
        Task::Man => cli::manual()
            .map(Printed::done)
            .map_err(|error| (Exit::Error, Box::from(error)) as Failure),
        Task::Extract(args) => {
            let settings = config::settings(&place()?, options)
                .map_err(|faults| (Exit::Usage, Box::from(faults)) as Failure)?;
            extract::run(args, &settings, options, &mut note)
                .map_err(|error| (error.exit(), Box::from(error)) as Failure)
        }
        Task::Discuss {
            kind,
            message,
            diff,
        } => {
            let asked = Asked::Discuss {
                kind: *kind,
                message: message.clone(),
                diff: diff.clone(),
            };
            converse(asked, &place()?, options)
        }
        Task::Review {
            role,
            base,
            report,
            panel,
            dry_run,
        } => {
            let wish = review::Wish {
                role: *role,
                base: base.clone(),
                report: report.clone(),
                panel: *panel,
                dry_run: *dry_run,
            };
            judge(&wish, &place()?, options)
        }
        Task::Brief { force } => converse(Asked::Brief { force: *force }, &place()?, options),
        Task::Setup(args) => {
            let settings = config::settings(&place()?, options)
                .map_err(|faults| (Exit::Usage, Box::from(faults)) as Failure)?;
            setup::run(args, &settings, options)
                .map_err(|failure| (failure.exit, Box::from(failure)) as Failure)
        }
        Task::Mcp(serving) => serve(serving, &place()?, options),
        Task::Explain(args) if ask::is_pane(&args.file) => {
            let pane = args.file.to_string_lossy();
            let told = runtime()?.block_on(ask::explain(&pane, &place()?, options));
            told.map_err(|failure| (failure.exit, Box::from(failure)) as Failure)
        }
        Task::Explain(args) => {
            let settings = config::settings(&place()?, options)
                .map_err(|faults| (Exit::Usage, Box::from(faults)) as Failure)?;
            explain::run(args, &settings, options, &mut note)
                .map_err(|error| (error.exit(), Box::from(error)) as Failure)
        }
        Task::Pair | Task::Resume(_) | Task::Demo => pair(&call.task, &place()?, options),
        Task::Confine(_) | Task::DemoAgent(_) => unreachable!("these are programs of their own"),
    }
}

/// Says one thing about what was read.
fn note(text: &str) {
    terminal::say(&format!("codriver: {text}"));
}

/// What the console is drawn with.
struct Drawing(ui::Console);

impl console::Draw for Drawing {
    fn draw(&mut self, app: &mut App, forget: bool, echo: Option<Role>, out: &mut Vec<u8>) {
        if forget {
            self.0.forget();
        }
        self.0.draw(app, echo, out);
    }
}

/// Serves an MCP client.
fn serve(serving: &Serving, place: &Workplace, options: &Options) -> Result<Printed, Failure> {
    start_log(options);
    let runtime = runtime()?;
    let served = runtime.block_on(mcp::run(place, options, serving));
    // Standard input is read on a thread that nothing wakes.
    runtime.shutdown_background();
    served.map_err(|failure| (failure.exit, Box::from(failure)) as Failure)?;
    Ok(Printed {
        text: String::new(),
        exit: Exit::Done,
    })
}

/// Opens the console.
fn pair(task: &Task, place: &Workplace, options: &Options) -> Result<Printed, Failure> {
    start_log(options);
    let runtime = runtime()?;
    let mut drawing = Drawing(ui::Console::default());
    let left = match task {
        Task::Demo => runtime.block_on(console::demo(place, options, &mut drawing)),
        Task::Resume(named) => {
            runtime.block_on(console::resume(named, place, options, &mut drawing))
        }
        _ => runtime.block_on(console::run(place, options, &mut drawing)),
    };
    // What still looks at something is of no use any more.
    runtime.shutdown_background();
    left.map_err(|failure| (failure.exit, Box::from(failure)) as Failure)?;
    Ok(Printed {
        text: String::new(),
        exit: Exit::Done,
    })
}

/// Without a log everything goes on; that nothing can be written is told of the session's record.
fn start_log(options: &Options) {
    let _ = files::Places::from_env(environment::variable)
        .log()
        .map(|folder| log::start(&folder, options.verbose));
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| (Exit::Error, Box::from(error)) as Failure)
}

/// Runs a round and prints its result as soon as it is there; the peer is stopped behind it.
fn converse(asked: Asked, place: &Workplace, options: &Options) -> Result<Printed, Failure> {
    start_log(options);
    let runtime = runtime()?;
    if !options.headless {
        let answered = runtime.block_on(ask::run(&asked, place, options));
        return answered.map_err(|failure| (failure.exit, Box::from(failure)) as Failure);
    }
    let mut exit = Exit::Done;
    let mut broken = None;
    let shown = runtime.block_on(round::run(&[asked], place, options, |result| {
        let printed = answer::print(result, options);
        exit = printed.exit;
        broken = terminal::print(&printed.text).err();
    }));
    // A version that is still being asked for is of no use any more.
    runtime.shutdown_background();
    shown.map_err(|failure| (failure.exit, Box::from(failure)) as Failure)?;
    match broken {
        Some(error) => Err((Exit::Error, Box::from(error))),
        None => Ok(Printed {
            text: String::new(),
            exit,
        }),
    }
}

/// Has a role review the present change.
fn judge(wish: &review::Wish, place: &Workplace, options: &Options) -> Result<Printed, Failure> {
    start_log(options);
    let runtime = runtime()?;
    let ended = runtime.block_on(review::run(wish, place, options));
    // A version that is still being asked for is of no use any more.
    runtime.shutdown_background();
    let outcome = ended.map_err(|failure| (failure.exit, Box::from(failure)) as Failure)?;
    for remark in outcome.remarks() {
        note(remark);
    }
    Ok(review::print(&outcome, options))
}

/// Shuts a program in. Nothing before it may start a thread.
fn shut_in(args: &ConfineArgs, options: &Options) -> ExitCode {
    match confine::run(args, options) {
        Ok(Outcome::Printed(printed)) => print(&printed),
        Ok(Outcome::Ended(status)) => status.into(),
        Err(failure) => {
            complain(&failure, "");
            failure.exit.code().into()
        }
    }
}

fn demo(args: &DemoArgs) -> ExitCode {
    let options = DemoOptions {
        kind: match args.style {
            DemoStyle::Claude => Kind::Claude,
            DemoStyle::Codex => Kind::Codex,
            DemoStyle::Opencode => Kind::OpenCode,
            DemoStyle::Plain => Kind::Plain,
        },
        script: args.script.clone(),
        faults: args.fault.clone(),
        channel: environment::variable("CODRIVER_DEMO_CHANNEL").map(Into::into),
        log: environment::variable("CODRIVER_DEMO_LOG").map(Into::into),
    };
    match demo_agent::run(&options) {
        Ok(status) => status.into(),
        Err(error) => {
            complain(&error, "");
            Exit::Error.code().into()
        }
    }
}

/// Prints the result; a reader that has gone away is no failure of ours.
fn print(printed: &Printed) -> ExitCode {
    match terminal::print(&printed.text) {
        Ok(_) => printed.exit.code().into(),
        Err(error) => {
            complain(&error, "");
            Exit::Error.code().into()
        }
    }
}

/// Says the one error, with what lies behind it.
fn complain(error: &dyn std::error::Error, more: &str) {
    let mut words = format!("codriver: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    terminal::say(&format!("{words}{more}"));
}

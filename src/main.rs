//! The program: parses, runs, prints the one error.

use std::io::{self, Write};
use std::process::ExitCode;

use codriver::cli::{self, Call, Exit, Surroundings, Task};
use codriver::flow::config::{Printed, Workplace};
use codriver::flow::{config, doctor};
use codriver::world::environment;

fn main() -> ExitCode {
    let [input, output, error] = environment::terminals();
    let around = Surroundings {
        input_is_terminal: input,
        output_is_terminal: output,
        error_is_terminal: error,
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
        Task::Doctor => Ok(doctor::run(&place()?, options)),
        Task::Completions(shell) => Ok(Printed::done(cli::completions(*shell))),
        Task::Man => cli::manual()
            .map(Printed::done)
            .map_err(|error| (Exit::Error, Box::from(error)) as Failure),
        task => Err((Exit::Error, Box::from(format!("{task:?} is not built yet")))),
    }
}

/// Prints the result. A reader that has gone away is no failure of ours.
fn print(printed: &Printed) -> ExitCode {
    let written = io::stdout().lock().write_all(printed.text.as_bytes());
    match written {
        Ok(()) => printed.exit.code().into(),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => printed.exit.code().into(),
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
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{words}{more}");
}

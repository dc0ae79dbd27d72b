//! Rounds through the program itself, the demo agent as the peer: what a person, a script and an agent rely on.
//!
//! Every run has a home, a repository and a state folder of its own and a hard time limit; after each it is looked
//! whether a process of the peer is left, and whether the record is sound.

use std::process::ExitCode;

use libtest_mimic::Arguments;

/// Lists the tests of a module.
macro_rules! tests {
    ($($test:ident,)*) => {
        pub(crate) fn all() -> Vec<libtest_mimic::Trial> {
            vec![$(
                libtest_mimic::Trial::test(
                    concat!(module_path!(), "::", stringify!($test)),
                    || $test().map_err(libtest_mimic::Failed::from),
                ),
            )*]
        }
    };
}

mod fault;
mod interruption;
mod message;
mod record;
mod result;
mod schema;
mod surroundings;
mod world;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(world::AT_ONCE);
    let tests = [
        fault::all(),
        interruption::all(),
        message::all(),
        record::all(),
        result::all(),
        surroundings::all(),
    ];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit_code()
}

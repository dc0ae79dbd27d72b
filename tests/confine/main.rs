//! What a peer that is shut in cannot do, and what it still can: more than sixty ways to write, tried under each lock
//! this machine offers, and the ordinary work of a reviewer.
//!
//! The program that is shut in is this test, called anew with the name of a way. Each way is first tried without a
//! lock: one that changes nothing there proves nothing, and fails the test.

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

mod choice;
mod hygiene;
mod native;
mod shell;
mod work;
mod world;
mod writing;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let [_, flag, name] = words.as_slice()
        && flag == "--way"
    {
        return native::run(name);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(4);
    let tests = [choice::all(), writing::all(), work::all(), hygiene::all()];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit_code()
}

//! Catches a panic inside the emulator without a word on standard error, which is the person's terminal.
//!
//! The panic hook is the process's, so ours asks a flag of the thread and hands every other panic on to the hook
//! that was there before.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// The call panicked; what it was changing must not be used any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Panicked;

/// Installs the hook, once.
pub(super) fn install() {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
}

/// Calls `f`, silently if it panics.
pub(super) fn call(f: impl FnOnce()) -> Result<(), Panicked> {
    let outer = GUARDED.replace(true);
    // The caller throws away whatever `f` may have left half changed.
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(outer);
    result.map_err(|_| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        install();
        assert_eq!(call(|| panic!("as the emulator does")), Err(Panicked));
        assert_eq!(call(|| {}), Ok(()));
        assert!(!GUARDED.get());
    }
}

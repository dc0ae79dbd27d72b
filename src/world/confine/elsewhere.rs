//! Systems without these locks: a program is started as it is, and what would shut it in is refused.

use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt as _;

use super::{ConfineError, Lock, Order, Walls};

/// How a program ended. None does here: this process becomes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {}

impl Ended {
    /// Ends this process the way the program ended.
    pub fn repeat(self) -> u8 {
        match self {}
    }
}

/// Becomes the program; with a lock, refuses.
pub fn enter(
    lock: Lock,
    _walls: &Walls,
    order: &Order,
    _inner: &[&str],
) -> Result<Ended, ConfineError> {
    super::super::process::keep_descriptors();
    match lock {
        Lock::Namespace | Lock::Landlock => refused().map(|never| match never {}),
        Lock::None => Err(ConfineError::Start {
            program: order.program.clone(),
            source: order.command().exec(),
        }),
    }
}

/// There is no inside here.
pub fn keep_inside(_order: &Order, _tell: u32) -> Result<Ended, ConfineError> {
    refused().map(|never| match never {})
}

fn refused() -> Result<Infallible, ConfineError> {
    let source = io::Error::from(io::ErrorKind::Unsupported);
    Err(ConfineError::lock("this system has no such lock", source))
}

//! The outside: one file per outside thing, no decisions.

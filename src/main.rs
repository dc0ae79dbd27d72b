//! The program: parses, runs, prints the one error.

fn main() {}

//! Rounds through the program itself, the demo agent as the peer: what a person, a script and an agent rely on.
//!
//! Every run has a home, a repository and a state folder of its own and a hard time limit; after each it is looked
//! whether a process of the peer is left, and whether the record is sound.

mod fault;
mod interruption;
mod message;
mod record;
mod result;
mod schema;
mod surroundings;
mod world;

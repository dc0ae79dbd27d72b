//! The console as a program: in a real tmux, driven by its keys, and on a bare pseudo-terminal. Each test has a home and
//! a repository of its own and a time limit; without tmux those that need it say so and pass.

mod keys;
mod life;
mod panes;
mod replay;
mod resume;
mod rounds;
mod tmux;
mod world;

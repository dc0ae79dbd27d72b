//! The tools from outside: the real server and the real console, called as an agent calls them (issue TOOLS).

mod client;
mod console;
mod headless;
mod setup;
mod world;

//! The reading of replies (systems.md A.10 to A.13, interface.md 6), held to recordings of real agents, to replies drawn
//! by hand at every width, and to screens that mean harm.

mod demo;
mod drawn;
mod golden;
mod guess;
mod hostile;
mod measure;
mod never;
mod recording;
mod stream;
mod width;

//! Routes with the real program: runners that answer, fail, hang and flood are scripts here, the host is the demo agent.

mod ground;
mod pairing;
mod receipts;
mod review;
mod server;

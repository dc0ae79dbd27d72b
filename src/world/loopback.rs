//! Loopback: a free port.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A port of 127.0.0.1 that nobody listens on at this moment.
pub fn free_port() -> io::Result<u16> {
    // Closed again at once: the system does not give the same port to the next caller while it is fresh.
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()
        .map(|address| address.port())
}

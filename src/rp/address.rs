//! The address of a server on this machine (systems.md B.3).

// The values alone: nothing here touches a socket.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest address, in bytes.
const BYTES: usize = 2048;

/// An address that can only mean this machine. It is never shown: a path may hold a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    is_tls: bool,
    host: Host,
    port: u16,
    path: String,
}

#[derive(Clone, PartialEq, Eq)]
enum Host {
    Localhost,
    Literal(IpAddr),
}

impl Address {
    /// Reads an address: `http` or `https`, `localhost` or a loopback address, no user, query or fragment.
    pub fn of(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
        if text.len() > BYTES || !is_plain || text.contains(['?', '#', '@']) {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (literal, port) = inner.split_once(']')?;
                let literal: Ipv6Addr = literal.parse().ok()?;
                (Host::Literal(literal.into()), port)
            }
            None => {
                let at = authority.find(':').unwrap_or(authority.len());
                let (name, port) = authority.split_at(at);
                let host = match name.eq_ignore_ascii_case("localhost") {
                    true => Host::Localhost,
                    false => Host::Literal(name.parse::<Ipv4Addr>().ok()?.into()),
                };
                (host, port)
            }
        };
        if let Host::Literal(literal) = host
            && !literal.is_loopback()
        {
            return None;
        }
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => match is_tls {
                true => 443,
                false => 80,
            },
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port != 0)?
            }
            _ => return None,
        };
        let path = match path {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        Some(Self {
            is_tls,
            host,
            port,
            path,
        })
    }

    /// Whether it is spoken to over TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The name or the literal, a version 6 one in brackets.
    pub fn host(&self) -> String {
        match self.host {
            Host::Localhost => "localhost".to_owned(),
            Host::Literal(IpAddr::V6(literal)) => format!("[{literal}]"),
            Host::Literal(IpAddr::V4(literal)) => literal.to_string(),
        }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path, from its first `/` on.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole address, to connect to.
    pub fn url(&self) -> String {
        let scheme = match self.is_tls {
            true => "https",
            false => "http",
        };
        format!("{scheme}://{}:{}{}", self.host(), self.port, self.path)
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_this_machine_is_taken() {
        for (text, url) in [
            ("http://localhost", "http://localhost:80/"),
            ("HTTP://LocalHost:4096/mcp", "http://localhost:4096/mcp"),
            ("https://127.0.0.1", "https://127.0.0.1:443/"),
            ("http://127.9.9.9:1/a/b", "http://127.9.9.9:1/a/b"),
            ("http://[::1]:65535/", "http://[::1]:65535/"),
        ] {
            assert_eq!(Address::of(text).map(|a| a.url()).as_deref(), Some(url));
        }
    }

    #[test]
    fn what_could_mean_another_one_is_not() {
        for text in [
            "",
            "localhost",
            "ftp://localhost",
            "http://user@localhost:1/",
            "http://user:pw@localhost/",
            "http://localhost/?x=1",
            "http://localhost/#f",
            "http://localhost?x",
            "http://192.168.1.2/",
            "http://example.org/",
            "http://localhost.example.org/",
            "http://127.1/",
            "http://0x7f.0.0.1/",
            "http://0127.0.0.1/",
            "http://2130706433/",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::1/",
            "http://[::1]x/",
            "http://localhost:/",
            "http://localhost:0/",
            "http://localhost:65536/",
            "http://localhost:+1/",
            "http://localhost:1:2/",
            "http://localhost /",
            "http://localhost\\@example.org/",
            "http://loc\u{e5}lhost/",
            "http:///x",
            "http:localhost",
        ] {
            assert!(Address::of(text).is_none(), "{text}");
        }
        assert!(Address::of(&format!("http://localhost/{}", "x".repeat(BYTES))).is_none());
    }

    #[test]
    fn it_is_not_shown_by_accident() {
        let address = Address::of("http://localhost/SECRET").expect("an address");
        assert_eq!(format!("{address:?}"), "Address(..)");
    }
}

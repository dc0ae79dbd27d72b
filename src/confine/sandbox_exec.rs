//! The policy in the language of macOS's `sandbox-exec`. It was never run: nobody has proven it on a Mac yet.

use std::fmt::Write;
use std::path::Path;

use super::Policy;

/// Devices a terminal program writes to.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/dtracehelper",
];

/// The profile for `sandbox-exec -p`. The last rule that fits decides.
pub fn sandbox_exec(policy: &Policy) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    let mut rule = |words: &str, paths: &[String]| {
        if !paths.is_empty() {
            // A String takes all that is written.
            let _ = writeln!(text, "({words}\n  {})", paths.join("\n  "));
        }
    };
    let below = |path: &Path| format!("(subpath {})", quoted(path));
    let devices = DEVICES.map(|path| format!("(literal {})", quoted(Path::new(path))));
    rule(
        "deny file-read* file-write*",
        &policy
            .unreadable
            .iter()
            .map(|place| below(&place.path))
            .collect::<Vec<_>>(),
    );
    rule(
        "allow file-write* file-ioctl",
        &[
            &devices[..],
            &[r##"(regex #"^/dev/ttys[0-9]+$")"##.to_owned()],
        ]
        .concat(),
    );
    rule(
        "allow file-read* file-write*",
        &policy
            .writable
            .iter()
            .map(|place| below(&place.path))
            .collect::<Vec<_>>(),
    );
    let sockets: Vec<String> = policy
        .sealed
        .iter()
        .map(|place| format!("(remote unix-socket {})", below(&place.path)))
        .collect();
    rule("deny network-outbound", &sockets);
    text.push_str("(deny signal (target others))\n(deny appleevent-send)\n(deny job-creation)\n");
    text
}

fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;

    #[test]
    fn the_last_rule_opens_what_is_writable_again() {
        let place = |path: &str| Place {
            path: path.into(),
            why: String::new(),
            is_there: true,
        };
        let policy = Policy {
            writable: vec![place("/s/w\"o")],
            unreadable: vec![place("/s")],
            sealed: vec![place("/var/run/docker.sock")],
            ..Policy::default()
        };
        let expected = r##"(version 1)
(allow default)
(deny file-write*)
(deny file-read* file-write*
  (subpath "/s"))
(allow file-write* file-ioctl
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/tty")
  (literal "/dev/ptmx")
  (literal "/dev/dtracehelper")
  (regex #"^/dev/ttys[0-9]+$"))
(allow file-read* file-write*
  (subpath "/s/w\"o"))
(deny network-outbound
  (remote unix-socket (subpath "/var/run/docker.sock")))
(deny signal (target others))
(deny appleevent-send)
(deny job-creation)
"##;
        assert_eq!(sandbox_exec(&policy), expected);
    }
}

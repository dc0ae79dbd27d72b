//! Who a client is: the console's own children are known by their descent, their terminal and the mark of their launch.

use crate::bridge::Standing;
use crate::config::SEAT;
use crate::world::process::{self, Process, ProcessId};

/// A child of the console and how those it started are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::flow) struct Family {
    /// The child.
    pub id: ProcessId,
    /// The entry of the environment that marks its launch.
    pub mark: Vec<u8>,
    /// Whether it is a peer.
    pub is_peer: bool,
}

/// Who the process with this number is. One of which nothing can be told counts as a reviewer: it may do the least.
pub(in crate::flow) fn standing(pid: Option<i32>, families: &[Family]) -> Standing {
    if !cfg!(target_os = "linux") {
        // Nothing tells there who descends from whom.
        return Standing::Person;
    }
    let Some(pid) = pid else {
        return Standing::Reviewer;
    };
    let line = process::line_of(pid);
    if line.is_empty() {
        return Standing::Reviewer;
    }
    let descends = |family: &Family| {
        line.iter().any(|one| one.id == family.id)
            // The child leads the session of its terminal; one that left its parents may still be in it.
            || line.iter().any(|one| one.session == family.id.pid)
    };
    let is_marked = |family: &Family| line.iter().any(|one| one.was_given(&family.mark));
    // Who is of both families is the one that may do less.
    if bears_seat(&line)
        || families
            .iter()
            .any(|family| family.is_peer && (descends(family) || is_marked(family)))
    {
        return Standing::Reviewer;
    }
    if families.iter().any(descends) {
        return Standing::Driver;
    }
    // It left its parents, its terminal and its environment: nothing else tells whose it was, and the mark of another
    // family can be read and borne by anybody.
    if is_adopted(&line, families) {
        return Standing::Reviewer;
    }
    if families.iter().any(is_marked) {
        return Standing::Driver;
    }
    Standing::Person
}

/// Whether the process with this number is known to be one that a peer started, of whichever console.
pub(in crate::flow) fn is_reviewers(pid: i32) -> bool {
    bears_seat(&process::line_of(pid))
}

fn bears_seat(line: &[Process]) -> bool {
    let (name, seat) = SEAT;
    let entry = format!("{name}={seat}");
    line.iter().any(|one| one.was_given(entry.as_bytes()))
}

/// Whether the line leads to this process over one that became its child when its own parent ended. What this process
/// starts itself is in its session, or is a child that is known.
fn is_adopted(line: &[Process], families: &[Family]) -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    line.iter()
        .zip(line.iter().skip(1))
        .find(|(_, parent)| parent.id.pid == own)
        .is_some_and(|(child, parent)| {
            child.session != parent.session && !families.iter().any(|family| family.id == child.id)
        })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn family(child: &Child, mark: &str, is_peer: bool) -> Family {
        let pid = i32::try_from(child.id()).expect("a process number");
        Family {
            id: ProcessId::of(pid).expect("a running process"),
            mark: mark.as_bytes().to_vec(),
            is_peer,
        }
    }

    fn start(words: &[&str], mark: &str) -> std::io::Result<Child> {
        Command::new(words[0])
            .args(&words[1..])
            .env("CODRIVER_TEST_MARK", mark)
            .spawn()
    }

    #[test]
    fn a_child_and_a_marked_stranger_are_of_the_family() -> std::io::Result<()> {
        let mut peer = start(&["sleep", "30"], "peer")?;
        let mut stranger = start(&["sleep", "30"], "none")?;
        let families = [
            family(&peer, "CODRIVER_TEST_MARK=peer", true),
            Family {
                mark: b"CODRIVER_TEST_MARK=driver".to_vec(),
                ..family(&peer, "", false)
            },
        ];
        let of = |child: &Child| standing(i32::try_from(child.id()).ok(), &families);
        let found = [of(&peer), of(&stranger)];
        let mut escaped = start(&["sleep", "30"], "peer")?;
        let by_mark = of(&escaped);
        for child in [&mut peer, &mut stranger, &mut escaped] {
            child.kill()?;
            child.wait()?;
        }
        assert_eq!(found, [Standing::Reviewer, Standing::Person]);
        assert_eq!(by_mark, Standing::Reviewer);
        Ok(())
    }

    #[test]
    fn one_that_is_gone_may_do_the_least() -> std::io::Result<()> {
        let mut gone = start(&["true"], "none")?;
        gone.wait()?;
        assert_eq!(
            standing(i32::try_from(gone.id()).ok(), &[]),
            Standing::Reviewer
        );
        assert_eq!(standing(None, &[]), Standing::Reviewer);
        Ok(())
    }
}

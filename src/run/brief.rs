//! The texts a review is asked with: the brief, the message to a host, the request to RepoPrompt (systems.md B.6, C.2,
//! F.5). The words are files in `assets/messages/`.

use super::contract::words;
use crate::limits;
use crate::pairing::message::fill;
use crate::recording::fallback::FailureKind;
use crate::recording::word::Verdict;
use crate::route::Role;
use crate::runner::Broken;

const BRIEF: &str = include_str!("../../assets/messages/review-brief.md");
const CONTRACT: &str = include_str!("../../assets/messages/review-contract.md");
const HOST: &str = include_str!("../../assets/messages/review-host.md");
const REQUEST: &str = include_str!("../../assets/messages/review-request.md");
const RUTHLESS: &str = include_str!("../../assets/messages/role-ruthless-reviewer.md");
const SECURITY: &str = include_str!("../../assets/messages/role-security-reviewer.md");
const AUDITOR: &str = include_str!("../../assets/messages/role-auditor.md");

/// What a review is about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    /// The role.
    pub role: Role,
    /// The repository.
    pub dir: &'s str,
    /// The commit the change is held against.
    pub base: &'s str,
    /// The file with the change.
    pub change: &'s str,
    /// The whole change, as git prints it.
    pub diff: &'s str,
    /// Reports of who made the change, oldest first, each with its round.
    pub reports: &'s [(u32, String)],
}

/// The brief.
pub fn brief(subject: &Subject<'_>) -> String {
    let report = reports(subject);
    fill(
        BRIEF,
        &[
            ("role", subject.role.name()),
            ("mandate", mandate(subject.role)),
            ("dir", subject.dir),
            ("base", subject.base),
            ("change", subject.change),
            ("report", &report),
            ("contract", &contract(subject.role)),
            ("diff", &fenced(subject.diff, "diff")),
        ],
    ) + "\n"
}

/// The words that say what a return has to be.
pub fn contract(role: Role) -> String {
    let words: Vec<&str> = words(role).iter().map(|word| word.word()).collect();
    fill(CONTRACT, &[("words", &words.join(", "))])
}

/// The message to a host: the same prompt, with the brief in it where there is room, else by its path (F.5).
pub fn for_host(role: Role, prompt: &str, brief: &str) -> String {
    let pairs = |said: Verdict| {
        let all = words(role)
            .iter()
            .filter(move |word| word.told_by() == said);
        all.map(move |word| format!("{} with {word}", said.word()))
    };
    let pairs: Vec<String> = [Verdict::Agree, Verdict::Object, Verdict::Escalate]
        .into_iter()
        .flat_map(pairs)
        .collect();
    let message = |brief: &str| {
        fill(
            HOST,
            &[
                ("prompt", prompt.trim_end()),
                ("brief", brief.trim_end()),
                ("pairs", &pairs.join(", ")),
            ],
        )
    };
    let inline = message(&format!("The brief, as it stands in that file:\n\n{brief}"));
    match inline.len() <= limits::MESSAGE_BYTES {
        true => inline,
        false => message("The brief is too long to stand here; read the file."),
    }
}

/// The request to RepoPrompt, whole (B.6).
///
/// # Errors
///
/// [`FailureKind::Failed`] when the change is over its bound: a request is never shortened.
pub fn for_repo_prompt(subject: &Subject<'_>, path: &str, brief: &str) -> Result<String, Broken> {
    if subject.diff.len() > limits::RP_DIFF_BYTES {
        let most = limits::RP_DIFF_BYTES >> 10;
        return Err(Broken::new(
            FailureKind::Failed,
            format!("the change has more than {most} KiB, and a request is never shortened"),
        ));
    }
    Ok(fill(
        REQUEST,
        &[
            ("mandate", mandate(subject.role)),
            ("contract", &contract(subject.role)),
            ("role", subject.role.name()),
            ("path", path),
            ("brief", brief.trim_end()),
        ],
    ) + "\n")
}

fn mandate(role: Role) -> &'static str {
    match role {
        Role::Ruthless => RUTHLESS,
        Role::Security => SECURITY,
        Role::Auditor | Role::Peer | Role::Implementer => AUDITOR,
    }
    .trim_end()
}

fn reports(subject: &Subject<'_>) -> String {
    if subject.reports.is_empty() {
        return "Who made the change left no report.".to_owned();
    }
    let each = subject.reports.iter().map(|(round, report)| {
        let report = fenced(report, "text");
        format!("What who made the change reported for round {round}:\n\n{report}")
    });
    each.collect::<Vec<_>>().join("\n\n")
}

/// A text in a fence that nothing in it closes.
fn fenced(text: &str, kind: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{kind}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::verify;

    const ROLES: [Role; 3] = [Role::Ruthless, Role::Security, Role::Auditor];

    fn subject<'s>(role: Role, diff: &'s str, reports: &'s [(u32, String)]) -> Subject<'s> {
        Subject {
            role,
            dir: "/w",
            base: "abc",
            change: "/s/change.diff",
            diff,
            reports,
        }
    }

    #[test]
    fn a_brief_holds_mandate_contract_reports_and_the_whole_change() {
        let reports = [(1, "Done {diff}.".to_owned()), (2, "Fixed.".to_owned())];
        for role in ROLES {
            let brief = brief(&subject(role, "+````\n+{role}\n", &reports));
            for part in [
                mandate(role),
                &contract(role),
                "The base: abc",
                "for round 1:\n\n```text\nDone {diff}.\n```",
                "for round 2:",
                "`````diff\n+````\n+{role}\n`````\n",
            ] {
                assert!(brief.contains(part), "{part}\n{brief}");
            }
        }
    }

    #[test]
    fn no_text_of_ours_is_a_return_by_itself() {
        for role in ROLES {
            let brief = brief(&subject(role, "+x", &[]));
            assert!(verify(role, brief.as_bytes()).is_err(), "{role}");
            let host = for_host(role, "prompt", &brief);
            assert!(verify(role, host.as_bytes()).is_err(), "{role}");
        }
    }

    #[test]
    fn a_host_gets_the_brief_in_the_message_while_it_fits() {
        let short = for_host(Role::Ruthless, "PROMPT", "BRIEF");
        assert!(
            short.contains("PROMPT") && short.contains("BRIEF"),
            "{short}"
        );
        assert!(
            short.contains("AGREE with SHIP, OBJECT with FIX FIRST."),
            "{short}"
        );
        let long = for_host(Role::Security, "PROMPT", &"x".repeat(64 << 10));
        assert!(long.contains("PROMPT") && !long.contains("xxx"), "{long}");
        assert!(long.contains("ESCALATE with NEEDS-INPUT"), "{long}");
    }

    #[test]
    fn a_request_to_repo_prompt_is_whole_or_none() {
        let diff = "x".repeat(limits::RP_DIFF_BYTES);
        let subject_of = |diff| subject(Role::Ruthless, diff, &[]);
        let brief_of = brief(&subject_of(&diff));
        let whole = for_repo_prompt(&subject_of(&diff), "/b.md", &brief_of);
        assert!(whole.is_ok_and(|text| text.contains(&diff) && text.contains("/b.md")));
        let over = format!("{diff}x");
        let broken = for_repo_prompt(&subject_of(&over), "/b.md", "b").expect_err("too long");
        assert_eq!(broken.kind, FailureKind::Failed);
    }
}

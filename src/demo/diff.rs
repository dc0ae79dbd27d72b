//! Unified diffs found anywhere in a text: which files, which lines were added and removed, and what could not be
//! looked at. Ordinary and combined (`diff --cc`) hunks are read.

/// Lines of context git prints behind a change.
const CONTEXT: usize = 3;

/// One changed file of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Path of the file as it is afterwards, as it was before when it was deleted.
    pub path: String,
    /// Whether the change deletes the file.
    pub deleted: bool,
    /// Whether only the fact of a change is shown (binary file).
    pub opaque: bool,
    /// Added lines, in order.
    pub added: Vec<AddedLine>,
    /// Texts of the removed lines, in order.
    pub removed: Vec<String>,
    /// What the hunk headers name as the place (the text behind the second `@@`), in order.
    pub places: Vec<String>,
}

/// One added line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedLine {
    /// Its number in the file as it is afterwards.
    pub number: usize,
    /// Its text without the `+`.
    pub text: String,
}

/// All that was found in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// The files, in order.
    pub files: Vec<FileDiff>,
    /// Whether a hunk ended before the lines its header promised.
    pub cut_short: bool,
    /// The lines of the text that belong to no diff.
    pub prose: String,
}

impl Diff {
    /// Finds every diff in `text`.
    pub fn find(text: &str) -> Self {
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.take(line.strip_suffix('\r').unwrap_or(line));
        }
        reader.finish()
    }
}

/// A hunk that is being read.
struct Hunk {
    parents: usize,
    old_left: Vec<usize>,
    new_left: usize,
    number: usize,
}

impl Hunk {
    fn is_done(&self) -> bool {
        self.new_left == 0 && self.old_left.iter().all(|left| *left == 0)
    }

    /// Whether all that is missing can be blank lines of context, which a message loses when its end is trimmed.
    fn lacks_context_only(&self) -> bool {
        self.new_left <= CONTEXT && self.old_left.iter().all(|left| *left == self.new_left)
    }
}

#[derive(Default)]
struct Reader {
    found: Diff,
    /// Whether file headers are expected: after a `diff` line or a pair of `---`, `+++`.
    heading: bool,
    old_path: Option<String>,
    hunk: Option<Hunk>,
}

impl Reader {
    fn take(&mut self, line: &str) {
        if self.hunk.is_some() && self.take_in_hunk(line) {
            return;
        }
        if let Some(rest) = line.strip_prefix("diff --") {
            self.start_file(&path_of_diff_line(rest));
            return;
        }
        if self.take_header(line) {
            return;
        }
        if let Some(hunk) = parse_hunk(line)
            && self.heading
            && let Some(file) = self.found.files.last_mut()
        {
            file.places.push(place_of(line));
            self.hunk = Some(hunk);
            return;
        }
        if line.starts_with("\\ No newline") {
            return;
        }
        self.heading = false;
        self.old_path = None;
        self.found.prose.push_str(line);
        self.found.prose.push('\n');
    }

    /// Takes one line of the open hunk; false when the line is none, which closes the hunk.
    fn take_in_hunk(&mut self, line: &str) -> bool {
        let (Some(hunk), Some(file)) = (self.hunk.as_mut(), self.found.files.last_mut()) else {
            return false;
        };
        if hunk.is_done() {
            self.hunk = None;
            return false;
        }
        if line.starts_with('\\') {
            return true;
        }
        // A blank context line often reaches us without its leading blank.
        let marks: String = if line.is_empty() {
            " ".repeat(hunk.parents)
        } else {
            line.chars().take(hunk.parents).collect()
        };
        if marks.len() < hunk.parents || marks.chars().any(|mark| !matches!(mark, ' ' | '+' | '-'))
        {
            self.found.cut_short |= !(hunk.lacks_context_only() && line.starts_with("```"));
            self.hunk = None;
            return false;
        }
        let text = line.get(hunk.parents..).unwrap_or_default().to_owned();
        let gone = marks.contains('-');
        for (mark, left) in marks.chars().zip(hunk.old_left.iter_mut()) {
            if mark == '-' || (mark == ' ' && !gone) {
                *left = left.saturating_sub(1);
            }
        }
        if gone {
            file.removed.push(text);
            return true;
        }
        if marks.contains('+') {
            file.added.push(AddedLine {
                number: hunk.number,
                text,
            });
        }
        hunk.number += 1;
        hunk.new_left = hunk.new_left.saturating_sub(1);
        true
    }

    fn take_header(&mut self, line: &str) -> bool {
        if let Some(path) = line.strip_prefix("--- ")
            && (self.heading || looks_like_path(path))
        {
            self.old_path = Some(clean_path(path, "a/"));
            return true;
        }
        if let Some(path) = line.strip_prefix("+++ ")
            && (self.heading || self.old_path.is_some())
        {
            let new = clean_path(path, "b/");
            let deleted = new == "/dev/null";
            let path = if deleted {
                self.old_path.take().unwrap_or_default()
            } else {
                new
            };
            if !self.heading {
                self.start_file(&path);
            }
            if let Some(file) = self.found.files.last_mut() {
                file.path = path;
                file.deleted = deleted;
            }
            return true;
        }
        if !self.heading {
            return false;
        }
        if line.starts_with("Binary files ") || line == "GIT binary patch" {
            if let Some(file) = self.found.files.last_mut() {
                file.opaque = true;
            }
            return true;
        }
        if let Some(path) = line.strip_prefix("rename to ")
            && let Some(file) = self.found.files.last_mut()
        {
            file.path = path.to_owned();
        }
        if line.starts_with("deleted file mode ")
            && let Some(file) = self.found.files.last_mut()
        {
            file.deleted = true;
        }
        [
            "index ",
            "old mode ",
            "new mode ",
            "new file mode ",
            "deleted file mode ",
            "similarity index ",
            "dissimilarity index ",
            "rename from ",
            "rename to ",
            "copy from ",
            "copy to ",
            "mode ",
        ]
        .iter()
        .any(|head| line.starts_with(head))
    }

    fn start_file(&mut self, path: &str) {
        self.heading = true;
        self.found.files.push(FileDiff {
            path: path.to_owned(),
            ..FileDiff::default()
        });
    }

    fn finish(mut self) -> Diff {
        if let Some(hunk) = &self.hunk {
            self.found.cut_short |= !hunk.is_done() && !hunk.lacks_context_only();
        }
        self.found
    }
}

/// Reads `@@ -1,2 +3,4 @@ place`, or with one more `@` and one more `-` range for each further parent.
fn parse_hunk(line: &str) -> Option<Hunk> {
    let ats = line.bytes().take_while(|byte| *byte == b'@').count();
    if ats < 2 {
        return None;
    }
    let fence = &line[..ats];
    let (ranges, _) = line[ats..].split_once(fence)?;
    let mut old_left = Vec::new();
    let mut new = None;
    for range in ranges.split_whitespace() {
        if let Some(range) = range.strip_prefix('-') {
            old_left.push(parse_range(range)?.1);
        } else {
            new = Some(parse_range(range.strip_prefix('+')?)?);
        }
    }
    let (number, new_left) = new?;
    (old_left.len() == ats - 1).then_some(Hunk {
        parents: ats - 1,
        old_left,
        new_left,
        number,
    })
}

fn parse_range(range: &str) -> Option<(usize, usize)> {
    match range.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((range.parse().ok()?, 1)),
    }
}

fn place_of(line: &str) -> String {
    line.rsplit_once("@@")
        .map(|(_, place)| place.trim().to_owned())
        .unwrap_or_default()
}

fn path_of_diff_line(rest: &str) -> String {
    let path = rest
        .strip_prefix("cc ")
        .or_else(|| rest.strip_prefix("combined "));
    if let Some(path) = path {
        return path.to_owned();
    }
    let both = rest.strip_prefix("git ").unwrap_or(rest);
    both.rsplit_once(" b/")
        .map_or(both, |(_, path)| path)
        .trim_matches('"')
        .to_owned()
}

fn clean_path(path: &str, prefix: &str) -> String {
    let path = path.split('\t').next().unwrap_or(path).trim();
    let path = path.trim_matches('"');
    path.strip_prefix(prefix).unwrap_or(path).to_owned()
}

/// Whether what stands behind `--- ` is a diff's file name and not a sentence.
fn looks_like_path(rest: &str) -> bool {
    rest.starts_with("a/") || rest.starts_with("/dev/null") || rest.contains('\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(file: &FileDiff) -> Vec<(usize, &str)> {
        file.added
            .iter()
            .map(|line| (line.number, line.text.as_str()))
            .collect()
    }

    #[test]
    fn a_git_diff_inside_a_message_is_found() {
        let text = "Please look.\n\ndiff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n\
                    +++ b/src/a.rs\n@@ -1,3 +1,4 @@ fn main() {\n one\n-two\n+2\n+2b\n three\n\nThank you.\n";
        let diff = Diff::find(text);
        assert_eq!(diff.files.len(), 1);
        assert_eq!(diff.files[0].path, "src/a.rs");
        assert_eq!(numbers(&diff.files[0]), [(2, "2"), (3, "2b")]);
        assert_eq!(diff.files[0].removed, ["two"]);
        assert_eq!(diff.files[0].places, ["fn main() {"]);
        assert_eq!(diff.prose, "Please look.\n\n\nThank you.\n");
        assert!(!diff.cut_short);
    }

    #[test]
    fn the_counts_of_a_hunk_say_where_it_ends() {
        let text = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n- a list item of the message\n+ another\n";
        let diff = Diff::find(text);
        assert_eq!(numbers(&diff.files[0]), [(1, "b")]);
        assert_eq!(diff.prose, "- a list item of the message\n+ another\n");
    }

    #[test]
    fn a_blank_context_line_without_its_blank_is_context() {
        let text = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n\n b\n+c\n";
        let diff = Diff::find(text);
        assert_eq!(numbers(&diff.files[0]), [(4, "c")]);
        assert!(!diff.cut_short);
    }

    #[test]
    fn a_hunk_that_ends_early_is_said_to_be_cut() {
        let diff = Diff::find("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n+b\n");
        assert!(diff.cut_short);
        assert_eq!(numbers(&diff.files[0]), [(2, "b")]);
        assert!(Diff::find("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n+b\nThanks!\n").cut_short);
    }

    #[test]
    fn blank_context_lost_at_the_end_of_a_message_is_no_cut() {
        for text in [
            "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n+b\n c",
            "```diff\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n+b\n c\n```\nThanks",
        ] {
            let diff = Diff::find(text);
            assert!(!diff.cut_short, "{text}");
            assert_eq!(numbers(&diff.files[0]), [(2, "b")]);
        }
    }

    #[test]
    fn a_combined_diff_of_a_conflict_is_read() {
        let text = "diff --cc src/a.rs\nindex 1,2..0\n--- a/src/a.rs\n+++ b/src/a.rs\n@@@ -1,1 -1,1 +1,5 @@@\n\
                    ++<<<<<<< HEAD\n +ours\n++=======\n+ theirs\n++>>>>>>> side\n";
        let diff = Diff::find(text);
        assert_eq!(
            numbers(&diff.files[0]),
            [
                (1, "<<<<<<< HEAD"),
                (2, "ours"),
                (3, "======="),
                (4, "theirs"),
                (5, ">>>>>>> side")
            ]
        );
        assert!(!diff.cut_short);
    }

    #[test]
    fn new_deleted_renamed_and_binary_files_keep_their_names() {
        let text = "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\
                    diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n\
                    diff --git a/q b/r\nsimilarity index 100%\nrename from q\nrename to r\n";
        let diff = Diff::find(text);
        let names: Vec<_> = diff
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.deleted, file.opaque))
            .collect();
        assert_eq!(
            names,
            [
                ("new", false, false),
                ("old", true, false),
                ("p.png", false, true),
                ("r", false, false)
            ]
        );
        assert_eq!(diff.prose, "");
    }

    #[test]
    fn a_missing_newline_note_is_no_line() {
        let diff = Diff::find(
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\nbye\n",
        );
        assert_eq!(numbers(&diff.files[0]), [(1, "b")]);
        assert_eq!(diff.prose, "bye\n");
    }

    #[test]
    fn a_message_without_a_diff_has_none() {
        let text = "--- a headline ---\n+++ b\nVERDICT\n@@ nothing @@\n";
        assert_eq!(Diff::find(text).files, []);
        assert_eq!(Diff::find(text).prose, text);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "([-+@ \\\\a0-9,é]{0,12}\n|diff --git a/x b/x\n|--- a/x\n|\\+\\+\\+ b/x\n|@@ -1,2 \\+1,2 @@\n){0,30}") {
            let _ = Diff::find(&text);
        }
    }
}

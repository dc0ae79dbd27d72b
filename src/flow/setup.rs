//! `setup`: how a driver that is started outside the console gets the tools, and doing it (issue TOOLS 8).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use similar::TextDiff;

use super::config::Printed;
use super::failure::{Failure, shown};
use crate::cli::{Exit, Options, SetupArgs};
use crate::config::{Profile, Settings, Wiring};
use crate::limits;
use crate::plain;
use crate::world::clock::WallTime;
use crate::world::{environment, files};

/// Prints the wiring of one harness or of all, or writes it.
pub fn run(args: &SetupArgs, settings: &Settings, options: &Options) -> Result<Printed, Failure> {
    let own = environment::own_program()
        .map_err(|error| Failure::new(Exit::Error, format!("this program's path: {error}")))?;
    let own = own.to_string_lossy().into_owned();
    let name = match args.harness.as_deref() {
        Some("cursor") => Some("cursor-agent"),
        other => other,
    };
    let Some(name) = name else {
        if args.write || args.remove {
            return Err(Failure::new(
                Exit::Usage,
                format!(
                    "name the harness to change the settings of: {}",
                    known(settings)
                ),
            ));
        }
        return Ok(all(settings, &own, options));
    };
    if name == "generic" {
        return Ok(Printed::done(generic(&own)));
    }
    let found = settings
        .profiles()
        .find(|profile| profile.name == name)
        .and_then(|profile| Some((profile, profile.setup.as_ref()?)));
    let Some((profile, wiring)) = found else {
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "how `{}` is wired is not known; known are {}, and generic, which prints JSON most agents take",
                plain::display(name, limits::QUOTE_BYTES),
                known(settings)
            ),
        ));
    };
    let path = place_of(wiring)?;
    match (args.write, args.remove) {
        (false, false) => Ok(printed(profile, wiring, &path, &own, options)?),
        (_, is_removed) => change(profile, wiring, &path, &own, is_removed),
    }
}

fn known(settings: &Settings) -> String {
    let names = settings
        .profiles()
        .filter(|profile| profile.setup.is_some())
        .map(|profile| profile.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// The settings file of an agent.
fn place_of(wiring: &Wiring) -> Result<PathBuf, Failure> {
    let absolute = |name: &str| match environment::variable(name) {
        Some(value) if !name.is_empty() && !value.is_empty() => {
            let path = PathBuf::from(value);
            match path.is_absolute() {
                true => Ok(Some(path)),
                false => Err(Failure::new(
                    Exit::Error,
                    format!(
                        "{name} is the relative path {}, which leads elsewhere from every folder; make it absolute",
                        shown(&path)
                    ),
                )),
            }
        }
        _ => Ok(None),
    };
    let folder = match absolute(&wiring.variable)? {
        Some(named) => named.join(&wiring.below),
        None => match absolute("HOME")? {
            Some(home) => home.join(&wiring.folder),
            None => {
                return Err(Failure::new(
                    Exit::Error,
                    "HOME is not set, so the agent's settings are not found",
                ));
            }
        },
    };
    let there = wiring
        .files
        .iter()
        .map(|name| folder.join(name))
        .find(|path| files::is_there(path));
    let last = wiring.files.last().map(|name| folder.join(name));
    there
        .or(last)
        .ok_or_else(|| Failure::new(Exit::Usage, "the profile's `setup.files` names no file"))
}

fn unfit(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        Exit::Error,
        format!("{} is left as it is: {error}", shown(path)),
    )
}

fn printed(
    profile: &Profile,
    wiring: &Wiring,
    path: &Path,
    own: &str,
    options: &Options,
) -> Result<Printed, Failure> {
    let alone = wiring.alone(own).map_err(|error| unfit(path, &error))?;
    if options.json {
        let entry = wiring.entry(own).map_err(|error| unfit(path, &error))?;
        let value = json!({
            "harness": profile.name,
            "file": path.to_string_lossy(),
            "key": wiring.key,
            "entry": entry,
        });
        return Ok(Printed::done(format!("{value:#}\n")));
    }
    Ok(Printed::done(section(profile, wiring, path, own, &alone)))
}

/// What a person is told of one harness.
fn section(profile: &Profile, wiring: &Wiring, path: &Path, own: &str, alone: &str) -> String {
    let mut out = format!("{}: in {}\n\n", profile.display_name(), shown(path));
    for line in alone.lines() {
        out.push_str(&format!("    {line}\n"));
    }
    if !wiring.by_hand.is_empty() {
        let by_hand = wiring.by_hand.replace("{self}", &quoted(own));
        out.push_str(&format!("\nor by its own command:\n\n    {by_hand}\n"));
    }
    let name = &profile.name;
    out.push_str(&format!(
        "\n`codriver setup {name} --write` puts it there, `--remove` takes it out.\n"
    ));
    out
}

/// A path as a word of a shell.
fn quoted(own: &str) -> String {
    shlex::try_quote(own).map_or_else(|_| own.to_owned(), std::borrow::Cow::into_owned)
}

fn generic(own: &str) -> String {
    let value: Value = json!({"mcpServers": {"codriver": {"command": own, "args": ["mcp"]}}});
    format!("{value:#}\n")
}

fn all(settings: &Settings, own: &str, options: &Options) -> Printed {
    let mut sections = Vec::new();
    let mut values = Vec::new();
    for profile in settings.profiles() {
        let Some(wiring) = &profile.setup else {
            continue;
        };
        let Ok(path) = place_of(wiring) else { continue };
        let (Ok(alone), Ok(entry)) = (wiring.alone(own), wiring.entry(own)) else {
            continue;
        };
        sections.push(section(profile, wiring, &path, own, &alone));
        values.push(json!({
            "harness": profile.name,
            "file": path.to_string_lossy(),
            "key": wiring.key,
            "entry": entry,
        }));
    }
    if options.json {
        return Printed::done(format!("{:#}\n", Value::from(values)));
    }
    sections.push(format!("any other agent that takes `mcpServers`:\n\n{}", {
        let text = generic(own);
        let lines = text.lines().map(|line| format!("    {line}\n"));
        lines.collect::<String>()
    }));
    Printed::done(sections.join("\n"))
}

/// Copies the file as it is to a name beside it that is not taken.
fn keep(real: &Path, stamp: &str) -> Result<PathBuf, Failure> {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let mut count = 1;
    loop {
        let end = if count > 1 {
            format!("-{count}")
        } else {
            String::new()
        };
        let kept = real.with_file_name(format!("{name}.before-codriver-{stamp}{end}"));
        match files::copy_new(real, &kept) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && count < 100 => {
                count += 1;
            }
            Err(error) => {
                let what = format!("{} cannot be written: {error}", shown(&kept));
                return Err(Failure::new(Exit::Error, what));
            }
        }
    }
}

/// Changes the settings file, after showing how; a copy of what was there is kept.
fn change(
    profile: &Profile,
    wiring: &Wiring,
    path: &Path,
    own: &str,
    is_removed: bool,
) -> Result<Printed, Failure> {
    // A link stays one; what it leads to is changed.
    let real = files::real(path);
    if real == path && files::is_link(path) {
        return Err(unfit(path, &"it is a link that leads nowhere"));
    }
    let before =
        files::read_file(&real, limits::SETTINGS_BYTES).map_err(|error| unfit(path, &error))?;
    let text = before.clone().unwrap_or_default();
    let after = match is_removed {
        true => wiring.remove(&text),
        false => wiring.add(&text, own),
    };
    let after = after.map_err(|error| unfit(path, &error))?;
    if after == text {
        let what = if is_removed { "is not" } else { "is" };
        return Ok(Printed::done(format!(
            "{}: codriver {what} in {} already; nothing was changed\n",
            profile.display_name(),
            shown(path)
        )));
    }
    let mut out = String::new();
    let diff = TextDiff::from_lines(&text, &after);
    let name = plain::display(&real.to_string_lossy(), 4096);
    let unified = diff
        .unified_diff()
        .context_radius(3)
        .header(&name, &name)
        .to_string();
    out.push_str(&plain::block(&unified));
    if !out.ends_with('\n') {
        out.push('\n');
    }
    let failed = |what: &Path, error: std::io::Error| {
        Failure::new(
            Exit::Error,
            format!("{} cannot be written: {error}", shown(what)),
        )
    };
    if before.is_some() {
        let stamp: String = WallTime::now()
            .utc()
            .chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect();
        let kept = keep(&real, &stamp)?;
        out.push_str(&format!("\nkept as it was: {}\n", shown(&kept)));
    }
    if let Some(folder) = real.parent() {
        files::make_folder(folder).map_err(|error| failed(folder, error))?;
    }
    files::replace_like(&real, after.as_bytes()).map_err(|error| failed(&real, error))?;
    out.push_str(&format!("changed: {}\n", shown(path)));
    Ok(Printed::done(out))
}

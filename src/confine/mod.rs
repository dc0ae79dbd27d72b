//! What a peer may write and read: from its profile, the place and what the machine has, to a policy.
//!
//! Everything may be read and nothing written, but for what is named here. What is guarded (the repository, its `.git`,
//! codriver's own folders) stays closed whatever a settings file says.

mod lock;
mod sandbox_exec;
mod table;

use std::path::{Path, PathBuf};

use crate::config::Profile;

pub use lock::{Lock, LockArgs};
pub use sandbox_exec::sandbox_exec;
pub use table::table;

/// A place and why the policy names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The real path, or the path as it would be where nothing is there yet.
    pub path: PathBuf,
    /// Why it is named.
    pub why: String,
    /// Whether something is there.
    pub is_there: bool,
}

impl Place {
    /// Whether a folder is meant where nothing is there: a name with an ending is a file's, which is never made.
    pub fn is_folder(&self) -> bool {
        self.path.extension().is_none()
    }
}

/// What a peer may write and read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Folders and files it may write.
    pub writable: Vec<Place>,
    /// Folders and files it may not read.
    pub unreadable: Vec<Place>,
    /// Sockets, and folders of sockets, that lead out.
    pub sealed: Vec<Place>,
    /// Files that are to be there, closed, with their text.
    pub made: Vec<(PathBuf, String)>,
    /// Folders that are to be there, closed.
    pub made_folders: Vec<PathBuf>,
    /// Folders in the scratch folder, each with the one whose entries are linked there.
    pub linked: Vec<(String, PathBuf)>,
    /// Whether Landlock may lie on top of a namespace: not for an agent that makes a namespace of its own.
    pub layered: bool,
    /// What was asked for and is not done, and why.
    pub remarks: Vec<String>,
}

/// What a policy depends on beside the profile.
#[derive(Clone, Copy)]
pub struct Grounds<'g> {
    /// The person's home folder.
    pub home: Option<&'g Path>,
    /// The folder under review.
    pub repository: &'g Path,
    /// What is never writable, each with its name: the repository, git's own folders, codriver's folders.
    pub guarded: &'g [(PathBuf, &'static str)],
    /// Folders of this launch, made for it.
    pub private: &'g [PathBuf],
    /// codriver's state folder.
    pub state: Option<&'g Path>,
    /// The folder of the person's own services.
    pub runtime: &'g Path,
    /// The number of the person.
    pub user: u32,
    /// What the settings say may not be read.
    pub deny_read: &'g [String],
    /// Files with the keys of other agents.
    pub key_files: &'g [String],
    /// The variables of our own environment.
    pub variable: &'g dyn Fn(&str) -> Option<String>,
    /// The real path of what is there.
    pub real: &'g dyn Fn(&Path) -> Option<PathBuf>,
}

/// Sockets of the system's services that start programs or speak for others, where they are there.
const SERVICES: [(&str, &str); 11] = [
    ("/run/docker.sock", "docker"),
    ("/run/podman", "podman"),
    ("/run/containerd", "containerd"),
    ("/run/crio", "cri-o"),
    ("/run/dbus", "the system bus"),
    ("/run/systemd/private", "the service manager"),
    ("/run/systemd/io.systemd.Manager", "the service manager"),
    ("/run/initctl", "init"),
    ("/run/snapd.socket", "snapd"),
    ("/run/libvirt", "libvirt"),
    ("/var/lib/lxd/unix.socket", "lxd"),
];

/// Where a folder of the home folder lies when a variable moves it.
const MOVED: [(&str, &str); 4] = [
    ("~/.config", "XDG_CONFIG_HOME"),
    ("~/.local/share", "XDG_DATA_HOME"),
    ("~/.local/state", "XDG_STATE_HOME"),
    ("~/.cache", "XDG_CACHE_HOME"),
];

impl Grounds<'_> {
    /// The path a written one means; none without a home folder.
    fn resolve(&self, written: &str) -> Option<PathBuf> {
        for (head, variable) in MOVED {
            let rest = written.strip_prefix(head);
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'))
                && let Some(moved) = (self.variable)(variable).filter(|path| path.starts_with('/'))
            {
                return Some(PathBuf::from(format!(
                    "{}{rest}",
                    moved.trim_end_matches('/')
                )));
            }
        }
        match written.strip_prefix("~/") {
            Some(rest) => Some(self.home?.join(rest)),
            None => Some(PathBuf::from(written)),
        }
    }

    fn place(&self, path: PathBuf, why: impl Into<String>) -> Place {
        let real = (self.real)(&path);
        Place {
            is_there: real.is_some(),
            path: real.unwrap_or(path),
            why: why.into(),
        }
    }

    /// What keeps a place from being writable: something guarded in it or around it.
    fn guard_of(&self, path: &Path) -> Option<String> {
        self.guarded.iter().find_map(|(guarded, name)| {
            if guarded.starts_with(path) {
                Some(format!("it holds {name}"))
            } else if path.starts_with(guarded) {
                Some(format!("it lies in {name}"))
            } else {
                None
            }
        })
    }
}

/// The policy for a peer of this profile.
pub fn policy(profile: &Profile, grounds: &Grounds<'_>) -> Policy {
    let mut policy = Policy {
        layered: !profile.own_sandbox,
        ..Policy::default()
    };
    writable(profile, grounds, &mut policy);
    let made = profile.made_files.iter();
    policy.made = made
        .filter_map(|(written, text)| Some((grounds.resolve(written)?, text.clone())))
        .collect();
    let folders = profile.made_folders.iter();
    policy.made_folders = folders
        .filter_map(|written| grounds.resolve(&written.replace("{uid}", &grounds.user.to_string())))
        .collect();
    let linked = profile.linked_folders.iter();
    policy.linked = linked
        .filter_map(|(name, written)| Some((name.clone(), grounds.resolve(written)?)))
        .collect();
    unreadable(profile, grounds, &mut policy);
    sealed(grounds, &mut policy);
    policy
}

fn writable(profile: &Profile, grounds: &Grounds<'_>, policy: &mut Policy) {
    for path in grounds.private {
        let place = grounds.place(path.clone(), "private to this launch");
        policy.writable.push(place);
    }
    for written in &profile.writable {
        let Some(path) = grounds.resolve(written) else {
            policy.remarks.push(format!(
                "`{written}` is not made writable: there is no HOME"
            ));
            continue;
        };
        let place = grounds.place(path, format!("harness.{}.writable", profile.name));
        match grounds.guard_of(&place.path) {
            Some(why) => policy.remarks.push(format!(
                "`{}` is not made writable: {why}",
                place.path.display()
            )),
            None => policy.writable.push(place),
        }
    }
}

fn unreadable(profile: &Profile, grounds: &Grounds<'_>, policy: &mut Policy) {
    let own = |written: &&String| !profile.key_files.contains(written);
    let listed = grounds.deny_read.iter().map(|path| (path, "deny_read"));
    let keys = grounds
        .key_files
        .iter()
        .filter(own)
        .map(|path| (path, "the key of another agent"));
    let mut places: Vec<Place> = grounds
        .state
        .map(|state| grounds.place(state.to_path_buf(), "codriver's records"))
        .into_iter()
        .collect();
    for (written, why) in listed.chain(keys) {
        if let Some(path) = grounds.resolve(written) {
            places.push(grounds.place(path, why));
        }
    }
    for place in places {
        if grounds.repository.starts_with(&place.path) {
            policy.remarks.push(format!(
                "`{}` can be read: it holds the repository",
                place.path.display()
            ));
            continue;
        }
        let is_covered = policy
            .unreadable
            .iter()
            .any(|known| place.path.starts_with(&known.path));
        if !is_covered {
            policy.unreadable.push(place);
        }
    }
}

fn sealed(grounds: &Grounds<'_>, policy: &mut Policy) {
    let variable = |name: &str| (grounds.variable)(name).filter(|value| value.starts_with('/'));
    let mut places: Vec<(PathBuf, &str)> = SERVICES
        .iter()
        .map(|(path, name)| (PathBuf::from(path), *name))
        .collect();
    places.push((grounds.runtime.to_path_buf(), "your own services"));
    if let Some(runtime) = variable("XDG_RUNTIME_DIR") {
        places.push((runtime.into(), "your own services"));
    }
    let tmux = variable("TMUX_TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
    places.push((
        Path::new(&tmux).join(format!("tmux-{}", grounds.user)),
        "tmux",
    ));
    places.push((
        PathBuf::from(format!("/tmp/screen/S-{}", grounds.user)),
        "screen",
    ));
    places.push((PathBuf::from("/tmp/.X11-unix"), "the display"));
    if let Some(agent) = variable("SSH_AUTH_SOCK") {
        places.push((agent.into(), "the ssh agent"));
    }
    let docker = (grounds.variable)("DOCKER_HOST");
    if let Some(path) = docker
        .as_deref()
        .and_then(|host| host.strip_prefix("unix://"))
    {
        places.push((path.into(), "docker"));
    }
    for (path, why) in places {
        let place = grounds.place(path, why);
        let is_known = policy.sealed.iter().any(|known| known.path == place.path);
        let holds_work = grounds.repository.starts_with(&place.path);
        if place.is_there && !is_known && !holds_work {
            policy.sealed.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::bundled_profile;

    fn none(_: &str) -> Option<String> {
        None
    }

    fn all(path: &Path) -> Option<PathBuf> {
        Some(path.to_path_buf())
    }

    struct Fixture {
        guarded: [(PathBuf, &'static str); 2],
        private: [PathBuf; 1],
    }

    impl Fixture {
        fn new() -> Self {
            let state = PathBuf::from("/h/.local/state/codriver");
            Self {
                private: [state.join("x/work")],
                guarded: [
                    ("/h/src/r".into(), "the repository"),
                    (state, "codriver's state"),
                ],
            }
        }

        fn grounds(&self) -> Grounds<'_> {
            Grounds {
                home: Some(Path::new("/h")),
                repository: Path::new("/h/src/r"),
                guarded: &self.guarded,
                private: &self.private,
                state: Some(Path::new("/h/.local/state/codriver")),
                runtime: Path::new("/run/user/7"),
                user: 7,
                deny_read: &[],
                key_files: &[],
                variable: &none,
                real: &all,
            }
        }
    }

    fn paths(places: &[Place]) -> Vec<String> {
        let path = |place: &Place| place.path.display().to_string();
        places.iter().map(path).collect()
    }

    fn writing(paths: &[&str]) -> Profile {
        Profile {
            name: "a".to_owned(),
            writable: paths.iter().map(|path| (*path).to_owned()).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn what_is_guarded_is_never_writable_from_above_or_below() {
        let profile = writing(&["~/src", "~/src/r/target", "/h", "~/.a", "~/.local/state"]);
        let policy = policy(&profile, &Fixture::new().grounds());
        assert_eq!(
            paths(&policy.writable),
            ["/h/.local/state/codriver/x/work", "/h/.a"]
        );
        assert_eq!(
            policy.remarks,
            [
                "`/h/src` is not made writable: it holds the repository",
                "`/h/src/r/target` is not made writable: it lies in the repository",
                "`/h` is not made writable: it holds the repository",
                "`/h/.local/state` is not made writable: it holds codriver's state",
            ]
        );
    }

    #[test]
    fn a_folder_that_a_variable_moves_is_found_where_it_is() {
        let moved = |name: &str| (name == "XDG_DATA_HOME").then(|| "/data/".to_owned());
        let profile = writing(&["~/.local/share/a", "~/.local/shared"]);
        let fixture = Fixture::new();
        let grounds = Grounds {
            variable: &moved,
            ..fixture.grounds()
        };
        let policy = policy(&profile, &grounds);
        assert_eq!(
            paths(&policy.writable)[1..],
            ["/data/a", "/h/.local/shared"]
        );
    }

    #[test]
    fn an_agent_reads_its_own_key_and_no_other_one() {
        let mut profile = writing(&[]);
        profile.key_files = vec!["~/.a/key".to_owned()];
        let keys = ["~/.a/key".to_owned(), "~/.b/key".to_owned()];
        let fixture = Fixture::new();
        let grounds = Grounds {
            key_files: &keys,
            ..fixture.grounds()
        };
        let policy = policy(&profile, &grounds);
        assert_eq!(
            paths(&policy.unreadable),
            ["/h/.local/state/codriver", "/h/.b/key"]
        );
    }

    #[test]
    fn what_holds_the_repository_stays_readable() {
        let deny = [
            "/h/src".to_owned(),
            "~/.ssh".to_owned(),
            "/h/src/r/.env".to_owned(),
        ];
        let fixture = Fixture::new();
        let grounds = Grounds {
            deny_read: &deny,
            ..fixture.grounds()
        };
        let policy = policy(&writing(&[]), &grounds);
        assert_eq!(paths(&policy.unreadable)[1..], ["/h/.ssh", "/h/src/r/.env"]);
        assert_eq!(
            policy.remarks,
            ["`/h/src` can be read: it holds the repository"]
        );
    }

    #[test]
    fn the_sockets_of_this_person_and_of_the_system_are_sealed() {
        let variable = |name: &str| match name {
            "SSH_AUTH_SOCK" => Some("/tmp/ssh-x/agent.1".to_owned()),
            "DOCKER_HOST" => Some("unix:///h/.docker/run/docker.sock".to_owned()),
            _ => None,
        };
        let there = |path: &Path| (!path.starts_with("/run/podman")).then(|| path.to_path_buf());
        let fixture = Fixture::new();
        let grounds = Grounds {
            variable: &variable,
            real: &there,
            ..fixture.grounds()
        };
        let policy = policy(&writing(&[]), &grounds);
        let sealed = paths(&policy.sealed);
        for path in [
            "/run/docker.sock",
            "/run/user/7",
            "/tmp/tmux-7",
            "/tmp/ssh-x/agent.1",
            "/h/.docker/run/docker.sock",
        ] {
            assert!(
                sealed.iter().any(|known| known == path),
                "{path}: {sealed:?}"
            );
        }
        assert!(!sealed.iter().any(|known| known == "/run/podman"));
    }

    #[test]
    fn no_bundled_profile_lets_its_agent_write_what_it_loads() {
        for name in crate::config::bundled_profiles() {
            let profile = bundled_profile(name);
            for path in &profile.writable {
                let file = path.rsplit('/').next().unwrap_or_default();
                for loaded in [
                    "settings", "config", "hooks", "plugin", "mcp", "agents", "skills",
                ] {
                    assert!(!file.contains(loaded), "{name}: {path}");
                }
                assert!(
                    path.matches('/').count() >= 2,
                    "{name}: `{path}` is a whole agent home"
                );
            }
        }
    }
}

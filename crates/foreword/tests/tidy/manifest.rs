//! Reads from a `Cargo.toml` what the rules are about: the crate's name and its dependencies. Not a TOML parser.

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
    Workspace,
}

/// A line of a manifest's dependencies.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What the rules need to know of a `Cargo.toml`.
pub(crate) struct Manifest {
    /// Empty for the workspace's own.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) dependencies: Vec<Dependency>,
}

impl Manifest {
    /// Reads as much TOML as our manifests are written in: a heading, or a key and its value, on each line.
    pub(crate) fn read(text: String) -> Self {
        let (mut name, mut dependencies, mut section) = (String::new(), Vec::new(), "");
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix('[') {
                section = heading.trim_end_matches(']');
                // `[dependencies.name]`: a dependency with a table of its own.
                if let Some((kind, name)) =
                    section.rsplit_once('.').and_then(|(kind, name)| Some((kind_of(kind)?, name)))
                {
                    dependencies.push(Dependency { name: name.to_owned(), kind });
                }
                continue;
            }
            let starts_a_key = line.starts_with(|first: char| first.is_ascii_alphanumeric());
            let Some((key, value)) = line.split_once('=').filter(|_| starts_a_key) else { continue };
            let key = key.trim().split('.').next().unwrap_or_default();
            if section == "package" && key == "name" {
                name = value.trim().trim_matches('"').to_owned();
            } else if let Some(kind) = kind_of(section) {
                dependencies.push(Dependency { name: key.to_owned(), kind });
            }
        }
        Self { name, text, dependencies }
    }
}

/// What kind of dependencies a section lists, also for one platform: `target.'cfg(unix)'.dependencies`.
fn kind_of(section: &str) -> Option<Kind> {
    match section.rsplit('.').next()? {
        "dependencies" if section == "workspace.dependencies" => Some(Kind::Workspace),
        "dependencies" => Some(Kind::Normal),
        "build-dependencies" => Some(Kind::Build),
        "dev-dependencies" => Some(Kind::Dev),
        _ => None,
    }
}

#[test]
fn dependencies_are_parsed_in_every_written_form() {
    let text = "[package]\nname = \"a\" \n[dependencies]\n# b = \"1\"\nc.workspace = true\nd = { version = \"1\", features = [\n  \"x=y\",\n] }\n\
                [target.'cfg(unix)'.dependencies]\ne = \"1\"\n[dev-dependencies.f]\nversion = \"1\"\n[features]\ng = []\n";
    let manifest = Manifest::read(text.to_owned());
    assert_eq!(manifest.name, "a");
    let read: Vec<_> = manifest.dependencies.iter().map(|found| (found.name.as_str(), found.kind)).collect();
    assert_eq!(read, [("c", Kind::Normal), ("d", Kind::Normal), ("e", Kind::Normal), ("f", Kind::Dev)]);
    let workspace = Manifest::read("[workspace.dependencies]\nh = \"1\"\n".to_owned());
    assert_eq!((workspace.name.as_str(), workspace.dependencies[0].kind), ("", Kind::Workspace));
}

//! The sample workspace: a `gateway` with 8 files of 40 KB in total, 16 KB of it MEMORY.md, and a given number of
//! skills and memory files. Deterministic.

use std::io;
use std::path::{Path, PathBuf};

use foreword_workspace::request::Request;
use foreword_workspace::workspace::{Environment, Workspace};
use jiff::Zoned;
use jiff::civil::date;
use jiff::tz::TimeZone;

const CONFIG: &str = "agent: { name: Assistant, blueprint: gateway, model: offline/echo }\n\
    users:\n  - { name: alice, trust: full, match: [\"terminal:default\"] }\n";

/// Path and size of the files that exist at every scale.
pub(crate) const FILES: [(&str, usize); 8] = [
    ("SOUL.md", 4 * 1024),
    ("AGENTS.md", 8 * 1024),
    ("TOOLS.md", 4 * 1024),
    ("IDENTITY.md", 2 * 1024),
    ("MEMORY.md", 16 * 1024),
    ("HEARTBEAT.md", 2 * 1024),
    ("users/alice/USER.md", 2 * 1024),
    ("channels/terminal.md", 2 * 1024),
];

/// The number of skills and memory files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) skills: usize,
    pub(crate) memories: usize,
}

impl Scale {
    /// The scale of most measurements.
    pub(crate) const BASE: Self = Self { skills: 10, memories: 1_000 };

    pub(crate) fn times(self, factor: usize) -> Self {
        Self { skills: self.skills * factor, memories: self.memories * factor }
    }
}

/// A workspace in a temporary directory.
pub(crate) struct Sample {
    directory: tempfile::TempDir,
    /// All files except the configuration.
    pub(crate) files: Vec<PathBuf>,
}

impl Sample {
    pub(crate) fn write(scale: Scale) -> io::Result<Self> {
        let mut sample = Self { directory: tempfile::tempdir()?, files: Vec::new() };
        std::fs::write(sample.path().join("foreword.yaml"), CONFIG)?;
        for (path, size) in FILES {
            sample.add(path, &prose(size))?;
        }
        for number in 0..scale.skills {
            let name = format!("skill-{number:04}");
            let card =
                format!("---\nname: {name}\ndescription: When somebody asks for number {number}.\n---\n");
            sample.add(&format!("skills/{name}/SKILL.md"), &format!("{card}{}", prose(500)))?;
        }
        for number in 0..scale.memories {
            let store = ["private", "shared", "social"][number % 3];
            let note = format!("---\ndescription: What was said about matter {number}.\n---\n{}", prose(200));
            sample.add(&format!("memory/{store}/note-{number:06}.md"), &note)?;
        }
        Ok(sample)
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn open(&self) -> Result<Workspace, Box<dyn std::error::Error>> {
        Ok(Workspace::open(self.path(), Environment::default())?)
    }

    fn add(&mut self, path: &str, text: &str) -> io::Result<()> {
        let path = self.path().join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text)?;
        self.files.push(path);
        Ok(())
    }
}

/// A request by alice at her terminal, some minutes after a fixed time.
pub(crate) fn request(minute: i64) -> Result<Request, jiff::Error> {
    let start: Zoned = date(2026, 11, 16).at(8, 30, 0, 0).to_zoned(TimeZone::UTC)?;
    Ok(Request::at(start.checked_add(jiff::Span::new().minutes(minute))?, [7; 16]))
}

/// Plain English in short lines, of this many bytes.
pub(crate) fn prose(bytes: usize) -> String {
    const LINES: [&str; 6] = [
        "- Answer in the language of the question, and keep to what was asked.\n",
        "- When a request can't be carried out, say so at once and say what would help.\n",
        "- Dates are written as 2026-11-16, amounts with their currency (EUR 12.50).\n",
        "- Before you change a file, read it; afterwards, show what was changed.\n",
        "\n## How we work together\n\n",
        "Mornings are for planning, afternoons for calls; the kitchen closes at 9:30 pm.\n",
    ];
    let mut text: String = LINES
        .iter()
        .cycle()
        .scan(0, |length, line| {
            let before = *length;
            *length += line.len();
            (before < bytes).then_some(*line)
        })
        .collect();
    text.truncate(bytes);
    text
}

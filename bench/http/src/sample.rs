//! The sample workspace: a `gateway` with 8 files of 40 KB in total, 16 KB of it MEMORY.md, and a given number of
//! skills and memory files. Deterministic.

use std::io;
use std::path::{Path, PathBuf};

const CONFIG: &str = "agent: { name: Assistant, blueprint: gateway, model: offline/echo }\n\
    users:\n  - { name: alice, trust: full, match: [\"terminal:default\"] }\n";

/// Path and size of the files that exist at every scale.
pub const FILES: [(&str, usize); 8] = [
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
pub struct Scale {
    /// How many skills.
    pub skills: usize,
    /// How many memory files.
    pub memories: usize,
}

impl Scale {
    /// The scale of most measurements.
    pub const BASE: Self = Self { skills: 10, memories: 1_000 };

    /// A multiple of this scale.
    #[must_use]
    pub fn times(self, factor: usize) -> Self {
        Self { skills: self.skills * factor, memories: self.memories * factor }
    }
}

/// A workspace in a temporary directory.
pub struct Sample {
    directory: tempfile::TempDir,
    /// All files except the configuration.
    pub files: Vec<PathBuf>,
}

impl Sample {
    /// Writes the files.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn write(scale: Scale) -> io::Result<Self> {
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

    /// The workspace's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
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

/// Plain English in short lines, of this many bytes.
pub fn prose(bytes: usize) -> String {
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

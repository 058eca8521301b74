//! What the workspace weighs, beyond its prompt: the definitions of the tools, and the files of the convention as they are.

use foreword_core::simulate::{Measured, WholeFile};
use foreword_core::tools::parameters_schema;
use foreword_prompt::tokens::Counter;
use foreword_prompt::tool::ToolSpec;
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

/// The files that are injected whole where everything is: those seed 000 names.
const CONVENTION: [&str; 7] =
    ["SOUL.md", "AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"];
/// How much of each is, in characters: seed 000's figure.
const MOST_CHARS: usize = 20_000;

/// What is sent beside the prompt.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) tools: usize,
    pub(super) files: Vec<WholeFile>,
}

impl Sizes {
    pub(super) fn measured<'a>(&'a self, built: &'a Built) -> Measured<'a> {
        Measured {
            prompt: &built.prompt,
            tools: self.tools,
            files: &self.files,
            template_has_clock: !built.repeatable,
        }
    }
}

/// Weighs it. Whoever asks is the owner, and what is injected whole knows no trust: files are read for their size alone.
pub(super) fn measure(
    workspace: &Workspace,
    request: &Request,
    built: &Built,
) -> Result<Sizes, WorkspaceError> {
    let view = workspace.snapshot().of_agent(request.agent.as_deref())?;
    let counter = built.model.as_ref().map_or(Counter::Estimate, |model| model.tokenizer);
    let tools = view.config.tools_at(built.dependencies.trust, &[]);
    let user = built.occasion.user.as_deref().map(|user| format!("users/{user}/USER.md"));
    let paths = CONVENTION.iter().map(|path| (*path).to_owned()).chain(user);
    let whole = |path: String| {
        let file = view.file(&view.place_of(&path)).ok()?;
        Some(WholeFile { tokens: tokens_of(&file.text, counter), path })
    };
    Ok(Sizes { tools: tools_tokens(&tools, counter), files: paths.filter_map(whole).collect() })
}

fn tokens_of(text: &str, counter: Counter) -> usize {
    let end = text.char_indices().nth(MOST_CHARS).map_or(text.len(), |(at, _)| at);
    counter.get().count(&text[..end])
}

/// What the definitions of tools weigh, which a request has before the prompt.
pub(crate) fn tools_tokens(tools: &[ToolSpec], counter: Counter) -> usize {
    let counter = counter.get();
    let of_one = |tool: &ToolSpec| -> usize {
        let schema = parameters_schema(tool).to_string();
        [tool.name.as_str(), &tool.description, &schema].iter().map(|text| counter.count(text)).sum()
    };
    tools.iter().map(of_one).sum()
}

/// How many bytes they are in a request, by which it is seen whether a prefix is large enough to be cached.
pub(crate) fn tools_bytes(tools: &[ToolSpec]) -> usize {
    let of_one = |tool: &ToolSpec| {
        tool.name.len() + tool.description.len() + parameters_schema(tool).to_string().len()
    };
    tools.iter().map(of_one).sum()
}

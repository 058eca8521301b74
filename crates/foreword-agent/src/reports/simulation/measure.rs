//! Measures the workspace beyond its prompt: tool definitions, and the conventional files as they are.

use foreword_core::simulate::{MeasuredPrompt, WholeFile};
use foreword_core::tools::parameters_schema;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::tool::ToolSpec;
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

/// The files that the naive strategy injects completely, as listed in seed 000.
const CONVENTION: [&str; 7] =
    ["SOUL.md", "AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"];
/// The maximum number of characters per file, as in seed 000.
const MAX_CHARS: usize = 20_000;

/// The sizes of everything sent besides the prompt.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) tools: usize,
    pub(super) files: Vec<WholeFile>,
}

impl Sizes {
    pub(super) fn measured<'a>(&'a self, built: &'a Built) -> MeasuredPrompt<'a> {
        MeasuredPrompt {
            prompt: &built.prompt,
            tools: self.tools,
            files: &self.files,
            template_has_clock: !built.repeatable,
        }
    }
}

/// Measures the sizes. Only the owner may call it: files are read regardless of trust, for their size alone.
pub(super) fn measure(
    workspace: &Workspace,
    request: &Request,
    built: &Built,
) -> Result<Sizes, WorkspaceError> {
    let view = workspace.snapshot().of_agent(request.speaker.agent.as_deref())?;
    let tokenizer = built.model.as_ref().map_or(Tokenizer::Estimate, |model| model.tokenizer);
    let tools = view.config.tools_at(built.dependencies.trust, &[]);
    let user = built.occasion.user.as_deref().map(|user| format!("users/{user}/USER.md"));
    let paths = CONVENTION.iter().map(|path| (*path).to_owned()).chain(user);
    let whole = |path: String| {
        let file = view.file(&view.place_of(&path)).ok()?;
        Some(WholeFile { tokens: tokens_of(&file.text, tokenizer), path })
    };
    Ok(Sizes { tools: tools_tokens(&tools, tokenizer), files: paths.filter_map(whole).collect() })
}

fn tokens_of(text: &str, tokenizer: Tokenizer) -> usize {
    let end = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| at);
    tokenizer.get().count(&text[..end])
}

/// The tokens of the tool definitions, which precede the prompt in a request.
pub(crate) fn tools_tokens(tools: &[ToolSpec], tokenizer: Tokenizer) -> usize {
    let tokenizer = tokenizer.get();
    let of_one = |tool: &ToolSpec| -> usize {
        let schema = parameters_schema(tool).to_string();
        [tool.name.as_str(), &tool.description, &schema].iter().map(|text| tokenizer.count(text)).sum()
    };
    tools.iter().map(of_one).sum()
}

/// The bytes of the tool definitions in a request, to check whether a prefix reaches the minimum cacheable size.
pub(crate) fn tools_bytes(tools: &[ToolSpec]) -> usize {
    let of_one = |tool: &ToolSpec| {
        tool.name.len() + tool.description.len() + parameters_schema(tool).to_string().len()
    };
    tools.iter().map(of_one).sum()
}

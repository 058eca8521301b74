//! The built-in tools as data: what a model is told about each, what it takes, and who may use it. What they do is in
//! the crate that runs them.

use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;

/// The built-in tools, in a stable order.
///
/// ```
/// let tools = foreword_core::tools::builtin_tools();
/// assert!(tools.windows(2).all(|pair| pair[0].name < pair[1].name));
/// ```
#[must_use]
pub fn builtin_tools() -> Vec<ToolSpec> {
    let mut tools = [memory(), files(), agent(), introspection()].concat();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}

fn memory() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "memory_search",
            "Finds facts in memory. Returns the best matching snippets with their paths and token costs. Search before you load anything.",
            Trust::Familiar,
        )
        .required("query", "string", "The words to look for."),
        ToolSpec::new(
            "memory_get",
            "Reads lines of a file that the memory menu, a search result or a cut marker names.",
            Trust::Familiar,
        )
        .required("path", "string", "The path exactly as it was shown.")
        .optional("from", "integer", "The first line, from 1.")
        .optional("lines", "integer", "How many lines."),
        ToolSpec::new(
            "memory_write",
            "Records an observation worth keeping. Write one fact at a time, in words that will make sense in a year.",
            Trust::Familiar,
        )
        .required("store", "string", "Where: `private`, `shared` or `social`.")
        .required("title", "string", "A short title.")
        .required("text", "string", "The observation."),
    ]
}

fn files() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new("read_file", "Reads lines of a text file in the workspace.", Trust::Inner)
            .required("path", "string", "The path below the workspace.")
            .optional("from", "integer", "The first line, from 1.")
            .optional("lines", "integer", "How many lines."),
        ToolSpec::new(
            "write_file",
            "Writes a text file in the workspace, replacing what is there. Read a file before you replace it.",
            Trust::Full,
        )
        .required("path", "string", "The path below the workspace.")
        .required("text", "string", "The whole new text."),
        ToolSpec::new(
            "bash",
            "Runs a shell command and returns what it prints and its exit code. It is stopped when it takes too long.",
            Trust::Full,
        )
        .required("command", "string", "The command."),
    ]
}

fn agent() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new("skill_get", "Loads the instructions of a skill by its name. Use it before the skill.", Trust::Familiar)
            .required("name", "string", "The skill's name as listed."),
        ToolSpec::new(
            "update_prompt_layer",
            "Rewrites one of your own mutable prompt layers, once per turn. It takes effect with the next epoch, and every version is kept.",
            Trust::Full,
        )
        .required("layer_id", "string", "The layer, such as `6`.")
        .required("content", "string", "The whole new text.")
        .required("expected_version", "integer", "The version you read; the update fails if it has changed since."),
    ]
}

fn introspection() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "foreword_status",
            "Shows how you are doing: channels, sessions, memory and the latest errors.",
            Trust::Familiar,
        ),
        ToolSpec::new(
            "foreword_logs",
            "Searches your own event log. Use it to answer what went wrong, and when.",
            Trust::Familiar,
        )
        .optional("session_id", "string", "Only this session.")
        .optional("level", "string", "`info`, `warn` or `error`.")
        .optional("event_type", "string", "Only events of this type, such as `api_error`.")
        .optional("user", "string", "Only events of this user.")
        .optional("since", "string", "How far back: `1h`, `12h`, `today`.")
        .optional("limit", "integer", "At most this many."),
        ToolSpec::new(
            "foreword_trace",
            "Shows one turn step by step: trust, prompt, model calls, tools and reply, with times and tokens.",
            Trust::Familiar,
        )
        .required("turn", "string", "The turn's id."),
    ]
}

//! The built-in tools, one function per group; see [`super`] for the rules of their descriptions.

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;

/// The tools of every agent, sorted by name. The trust of a turn decides which of them it may use.
///
/// ```
/// use foreword_core::tools::builtin_tools;
/// let calls: Vec<String> = builtin_tools().iter().map(|tool| tool.signature()).collect();
/// assert!(calls.contains(&"memory_get(path, from?, lines?)".to_owned()));
/// ```
#[must_use]
pub fn builtin_tools() -> Vec<ToolSpec> {
    let mut tools = [memory(), files(), prompt(), workflows(), introspection(), agents()].concat();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}

fn memory() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "memory_search",
            "Searches the notes. Use it before you say you don't know, and before you load a whole \
             file. Returns the best snippets with their path, lines and token cost.",
            Trust::Familiar,
        )
        .with(Parameter::required("query", TEXT, "What to look for, in a few words.")),
        ToolSpec::new(
            "memory_get",
            "Reads a note, or part of it. Use it when a snippet or the memory menu shows that the note is worth its \
             tokens. Returns the lines asked for, and how many there are in all.",
            Trust::Familiar,
        )
        .with(Parameter::required("path", TEXT, "Path of the note, as the menu or a search shows it."))
        .with(from_line())
        .with(line_count()),
        ToolSpec::new(
            "memory_write",
            "Records something worth knowing in later conversations: one fact or decision, with enough context to be \
             understood alone. Returns the path it was written to. A store above the trust of this conversation is \
             refused.",
            Trust::Familiar,
        )
        .with(Parameter::required(
            "store",
            ParameterKind::choice(["private", "shared", "social"]),
            "Who may read it later: private is for the owner alone, shared for those close, social for everyone known.",
        ))
        .with(Parameter::required("title", TEXT, "One line by which it will be found again."))
        .with(Parameter::required("text", TEXT, "What to remember, in plain sentences.")),
    ]
}

fn files() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "read_file",
            "Reads a text file of the workspace. Use it to see what a file says now, before you change or quote it. \
             Returns the lines asked for, numbered, and how many there are in all.",
            Trust::Inner,
        )
        .with(Parameter::required("path", TEXT, "Path of the file, from the workspace's root."))
        .with(from_line())
        .with(line_count()),
        ToolSpec::new(
            "write_file",
            "Writes a text file of the workspace, replacing it whole if it is there. Read it first unless it is new. \
             Returns the number of bytes written.",
            Trust::Full,
        )
        .with(Parameter::required("path", TEXT, "Path of the file, from the workspace's root."))
        .with(Parameter::required("text", TEXT, "The complete new text of the file.")),
        ToolSpec::new(
            "bash",
            "Runs one shell command in the workspace and waits for it. Use it for what no other tool does; prefer \
             read_file and write_file for files. Returns the exit code and what it printed, cut in the middle if it \
             is long.",
            Trust::Full,
        )
        .with(Parameter::required("command", TEXT, "The command line, as bash reads it.")),
    ]
}

fn prompt() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "update_prompt_layer",
            "Replaces the text of one of your own prompt layers, to keep what you have learned about how to work. Only \
             layers marked as yours to edit, and not in a turn that has read untrusted text. Takes effect when the \
             prompt is next rebuilt. Returns the new version, or why it was refused.",
            Trust::Full,
        )
        .with(Parameter::required("layer_id", TEXT, "Id of the layer, as the prompt shows it."))
        .with(Parameter::required("content", TEXT, "The whole new text of the layer."))
        .with(Parameter::optional(
            "expected_version",
            ParameterKind::Integer,
            "The version you replace. Default: the one in this prompt. If another one is in force, nothing is written and \
             you get its text.",
        )),
        ToolSpec::new(
            "skill_get",
            "Loads the instructions of a skill. Call it before you do what the skill is for. Returns its full text.",
            Trust::Familiar,
        )
        .with(Parameter::required("name", TEXT, "Name of the skill, as the prompt lists it.")),
    ]
}

fn workflows() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "workflow_run",
            "Runs a workflow, step by step, and waits for it. Use it when a listed workflow does what the user wants, \
             instead of doing its steps yourself. Returns its output, or which step failed and why.",
            Trust::Familiar,
        )
        .with(Parameter::required("name", TEXT, "Name of the workflow, as the prompt lists it."))
        .with(Parameter::optional(
            "parameters",
            ParameterKind::Any,
            "Its parameters as one JSON object, by name; left out if it takes none.",
        )),
    ]
}

fn introspection() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            "foreword_status",
            "Returns your current status. Use it when a user asks whether something is wrong, or slow. Returns \
             the state of every channel, the active conversations, the memory index and the latest errors.",
            Trust::Familiar,
        ),
        ToolSpec::new(
            "foreword_logs",
            "Searches your own event log. Use it to find out why a message failed, was late or was expensive. Returns \
             the newest matching events with time, type, conversation and details; what this conversation's trust \
             does not permit is left out.",
            Trust::Familiar,
        )
        .with(Parameter::optional("session_id", TEXT, "Only events of this conversation."))
        .with(Parameter::optional(
            "level",
            ParameterKind::choice(["debug", "info", "warn", "error"]),
            "Only events of this level and above.",
        ))
        .with(Parameter::optional("event_type", TEXT, "Only events of this type, such as `api_error`."))
        .with(Parameter::optional("user", TEXT, "Only events of this user."))
        .with(Parameter::optional("since", TEXT, "How far back: `1h`, `12h`, `today`, or a date and time."))
        .with(Parameter::optional("limit", ParameterKind::Integer, "How many at most; 50 if left out.")),
        ToolSpec::new(
            "foreword_trace",
            "Shows one turn step by step: the prompt it was built from, every model call and tool call with its time, \
             retries, tokens and cost. Use it after foreword_logs has shown which turn matters.",
            Trust::Familiar,
        )
        .with(Parameter::required("turn", TEXT, "Id of the turn, as the log shows it; of a message in it; or of a proxied request.")),
        ToolSpec::new(
            "foreword_cost",
            "Returns the usage and cost of model calls: in all, on average per turn, and by conversation, user, model, agent \
             or day. Use it when a user asks which conversation used the most tokens, or what a turn costs.",
            Trust::Full,
        )
        .with(Parameter::optional(
            "by",
            ParameterKind::choice(["session", "user", "model", "agent", "day"]),
            "What to list; `session`, which is the conversation, if left out.",
        ))
        .with(Parameter::optional("since", TEXT, "How far back: `12h`, `today`, `7d`, or a date; 30 days if left out.")),
    ]
}

/// The tool that hands a conversation over to another agent. Only for workspaces with several agents.
pub const HAND_OVER: &str = "hand_over";

fn agents() -> Vec<ToolSpec> {
    vec![
        ToolSpec::new(
            HAND_OVER,
            "Gives this conversation to another agent, who answers from the next message on. Use it when a user asks \
             for another agent, or when what they need is another agent's work. Takes effect when this turn ends: say so \
             in your answer.",
            Trust::Inner,
        )
        .with(Parameter::required("agent", TEXT, "Name of the agent."))
        .with(Parameter::required("reason", TEXT, "Why, in a line that the other agent will read.")),
    ]
}

const TEXT: ParameterKind = ParameterKind::String;

fn from_line() -> Parameter {
    Parameter::optional("from", ParameterKind::Integer, "First line to read; 1 if left out.")
}

fn line_count() -> Parameter {
    Parameter::optional("lines", ParameterKind::Integer, "How many lines; to the end if left out.")
}

#[cfg(test)]
mod tests {
    use foreword_prompt::tokens::Tokenizer;

    use super::*;

    #[test]
    fn tools_require_the_documented_trust() {
        let listed: Vec<String> =
            builtin_tools().iter().map(|tool| format!("{}: {}", tool.trust, tool.signature())).collect();
        let expected = [
            "full: bash(command)",
            "full: foreword_cost(by?, since?)",
            "familiar: foreword_logs(session_id?, level?, event_type?, user?, since?, limit?)",
            "familiar: foreword_status()",
            "familiar: foreword_trace(turn)",
            "inner: hand_over(agent, reason)",
            "familiar: memory_get(path, from?, lines?)",
            "familiar: memory_search(query)",
            "familiar: memory_write(store, title, text)",
            "inner: read_file(path, from?, lines?)",
            "familiar: skill_get(name)",
            "full: update_prompt_layer(layer_id, content, expected_version?)",
            "familiar: workflow_run(name, parameters?)",
            "full: write_file(path, text)",
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn machine_and_prompt_changes_need_full_trust() {
        for tool in builtin_tools() {
            if ["write_file", "bash", "update_prompt_layer"].contains(&tool.name.as_str()) {
                assert_eq!(tool.trust, Trust::Full, "{}", tool.name);
            }
            assert!(!Trust::Public.permits(tool.trust), "{} is not for strangers", tool.name);
        }
    }

    #[test]
    fn names_are_unique_and_valid() {
        let all = || builtin_tools().into_iter().chain(super::super::inbox_tools());
        let mut names: Vec<String> = all().map(|tool| tool.name).collect();
        assert!(
            names
                .iter()
                .all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') && name.len() <= 64)
        );
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all().count());
    }

    #[test]
    fn descriptions_are_short_sentences() {
        for tool in builtin_tools().into_iter().chain(super::super::inbox_tools()) {
            let texts = tool.parameters.iter().map(|parameter| &parameter.description);
            for text in texts.chain([&tool.description]) {
                assert!(text.ends_with('.') && text.starts_with(char::is_uppercase), "{}: {text}", tool.name);
                assert!(!text.contains("  "), "{}: {text}", tool.name);
            }
            let tokens = Tokenizer::Estimate.get().count(&tool.description);
            assert!(tokens <= 90, "{} describes itself in {tokens} tokens", tool.name);
        }
    }
}

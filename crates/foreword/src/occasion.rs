//! Builds a request from the occasion's arguments on the command line.

use std::path::Path;
use std::sync::Arc;

use foreword_agent::conversation::settings::apply;
use foreword_agent::error::AgentError;
use foreword_core::ordered_value::OrderedValue;
use foreword_core::template_context::TemplateContext;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::occasion::Channel;
use foreword_prompt::untrusted::display_line;
use foreword_workspace::check::context_problem;
use foreword_workspace::config::Config;
use foreword_workspace::document::YamlSource;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use foreword_workspace::workspace::Workspace;
use serde_json::Value;

use crate::cli::OccasionArgs;
use crate::failure::Failure;
use crate::process_context::ProcessContext;
use crate::workspace_store::{settings, texts};

const CONTEXT_BYTES: u64 = 16 * 1024 * 1024;
/// The keys that `diff` accepts in an occasion.
const KEYS: [&str; 7] = ["user", "channel", "situation", "agent", "model", "conversation", "cwd"];

/// The request that `args` describe.
pub(crate) fn request(
    args: &OccasionArgs,
    workspace: &Workspace,
    process: &ProcessContext,
) -> Result<Request, Failure> {
    let text = |word: &Option<String>| word.as_deref().map(Into::into);
    let context = context(&args.context, args.context_file.as_deref(), process)?;
    let mut request = Request {
        speaker: Speaker {
            user: text(&args.user),
            channel: args.channel.as_deref().map(Channel::new),
            situation: text(&args.situation),
            agent: text(&args.agent),
            model: text(&args.model),
            ..Speaker::default()
        },
        conversation: text(&args.conversation),
        cwd: args.cwd.as_deref().map(|cwd| process.current.join(cwd)),
        context: Arc::new(context),
        session_instructions: text(&args.session_instructions),
        stored: texts(workspace, args.agent.as_deref(), process)?,
        ..Request::at(process.now.clone(), process.marker)
    };
    if let Some(settings) = settings(args.conversation.as_deref(), workspace, process)? {
        apply(workspace, &settings, &mut request).map_err(AgentError::from)?;
    }
    Ok(request)
}

/// Warnings about unknown users and situations. They are allowed, with trust `public`.
pub(crate) fn unknown_name_warnings(
    user: Option<&str>,
    situation: Option<&str>,
    config: &Config,
) -> Vec<String> {
    let users: Vec<&str> = config.users.iter().map(|user| &*user.name).collect();
    let situations: Vec<&str> = config.situations.keys().map(|name| &**name).collect();
    let unknown = |name: Option<&str>, known: &[&str], what: &str| {
        let name = name.filter(|name| !known.contains(name))?;
        let near = did_you_mean(name, known.iter().copied());
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        Some(format!("unknown {what} `{}`, so trust is `public`{near}", display_line(name, 80)))
    };
    let user = unknown(user, &users, "user");
    user.into_iter().chain(unknown(situation, &situations, "situation")).collect()
}

/// Rejects a context that a layer of the blueprint would silently ignore.
pub(crate) fn context_fits(request: &Request, workspace: &Workspace) -> Result<(), Failure> {
    let view = workspace.snapshot().of_agent(request.speaker.agent.as_deref())?;
    match context_problem(&view.config.blueprint, &request.context) {
        None => Ok(()),
        Some(problem) => {
            Err(Failure::usage(problem.message, format!("write it as --context '{}'", problem.shape)))
        }
    }
}

/// Parses an occasion such as `user=bob,situation=group`.
pub(crate) fn parse_occasion(text: &str) -> Result<OccasionArgs, Failure> {
    let mut args = OccasionArgs::default();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(
                format!("`{pair}` is not of the form K=V"),
                "write it as user=bob,situation=group",
            ));
        };
        let value = Some(value.to_owned());
        match key {
            "user" => args.user = value,
            "channel" => args.channel = value,
            "situation" => args.situation = value,
            "agent" => args.agent = value,
            "model" => args.model = value,
            "conversation" => args.conversation = value,
            "cwd" => args.cwd = value.map(Into::into),
            other => {
                let help = match did_you_mean(other, KEYS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("use {}", KEYS.join(", ")),
                };
                return Err(Failure::usage(format!("`{other}` is not a key of an occasion"), help));
            }
        }
    }
    Ok(args)
}

/// The values of `--context-file` and `--context`; the latter take precedence.
pub(crate) fn context(
    pairs: &[String],
    file: Option<&Path>,
    process: &ProcessContext,
) -> Result<TemplateContext, Failure> {
    let mut context = match file {
        Some(file) => context_file(&process.current.join(file))?,
        None => TemplateContext::default(),
    };
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Failure::usage(
                format!("`--context {pair}` is not of the form K=V"),
                "write it as --context locale=pt-PT",
            ));
        };
        context.insert(key, context_value(value));
    }
    Ok(context)
}

/// A scalar is JSON only if it serialises to the same text, so that `1e5` and `007` stay strings.
fn context_value(text: &str) -> OrderedValue {
    match serde_json::from_str::<OrderedValue>(text) {
        Ok(OrderedValue::Leaf(value)) if is_written_as(&value, text) => OrderedValue::Leaf(value),
        Ok(value @ (OrderedValue::List(_) | OrderedValue::Map(_))) => value,
        _ => OrderedValue::Leaf(text.into()),
    }
}

fn is_written_as(value: &Value, text: &str) -> bool {
    serde_json::to_string(value).is_ok_and(|written| written == text)
}

fn context_file(path: &Path) -> Result<TemplateContext, Failure> {
    let size = std::fs::metadata(path).map_err(|error| Failure::io("read", path, &error))?;
    if !size.is_file() || size.len() > CONTEXT_BYTES {
        let message = format!("`{}` is not a file of at most 16 MiB", path.display());
        return Err(Failure::usage(message, "name a JSON or YAML file"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))?;
    // JSON is a subset of YAML, so one parser serves both, and its errors have line numbers.
    let source = YamlSource::whole(&path.to_string_lossy(), text.as_str().into());
    match source.parse::<OrderedValue>() {
        Ok(OrderedValue::Map(entries)) => Ok(entries.into_iter().collect()),
        Ok(OrderedValue::Leaf(Value::Null)) => Ok(TemplateContext::default()),
        Ok(_) => Err(Failure::usage(
            format!("`{}` is not a mapping", path.display()),
            "the file must be a mapping, such as {\"locale\": \"pt-PT\"}",
        )),
        Err(error) => Err(Failure::Refused(error.into())),
    }
}

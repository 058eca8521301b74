//! Turns the command line's words about an occasion into a request.

use std::path::Path;
use std::sync::Arc;

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::occasion::Channel;
use foreword_prompt::untrusted::display_line;
use foreword_workspace::config::Config;
use foreword_workspace::document::YamlSource;
use foreword_workspace::inspect::context_problem;
use foreword_workspace::ordered_value::OrderedValue;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;
use serde_json::{Map, Value};

use crate::cli::OccasionArgs;
use crate::failure::Failure;
use crate::stored::texts;
use crate::world::World;

/// The largest context file.
const CONTEXT_BYTES: u64 = 16 * 1024 * 1024;
/// What `diff` can say about an occasion.
const KEYS: [&str; 7] = ["user", "channel", "situation", "agent", "model", "conversation", "cwd"];

/// The request that `args` describe.
pub(crate) fn request(args: &OccasionArgs, workspace: &Workspace, world: &World) -> Result<Request, Failure> {
    let text = |word: &Option<String>| word.as_deref().map(Into::into);
    let context = context(&args.context, args.context_file.as_deref(), world)?;
    Ok(Request {
        user: text(&args.user),
        channel: args.channel.as_deref().map(Channel::new),
        situation: text(&args.situation),
        agent: text(&args.agent),
        model: text(&args.model),
        conversation: text(&args.conversation),
        cwd: args.cwd.as_deref().map(|cwd| world.current.join(cwd)),
        context: Arc::new(context.values),
        ordered_context: Some(Arc::new(context.ordered)),
        session_instructions: text(&args.session_instructions),
        stored: texts(workspace, args.agent.as_deref(), world)?,
        ..Request::at(world.now.clone(), world.marker)
    })
}

/// What is strange about whoever is named: names nobody has written down are allowed, and trusted with nothing.
pub(crate) fn oddities(user: Option<&str>, situation: Option<&str>, config: &Config) -> Vec<String> {
    let users: Vec<&str> = config.users.iter().map(|user| &*user.name).collect();
    let situations: Vec<&str> = config.situations.keys().map(|name| &**name).collect();
    let unknown = |name: Option<&str>, known: &[&str], what: &str| {
        let name = name.filter(|name| !known.contains(name))?;
        let near = did_you_mean(name, known.iter().copied());
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        Some(format!("{what} `{}`, so this is `public`{near}", display_line(name, 80)))
    };
    let user = unknown(user, &users, "nobody here is called");
    user.into_iter().chain(unknown(situation, &situations, "there is no situation")).collect()
}

/// Refuses a context that a layer of the workspace's blueprint would pass over in silence.
pub(crate) fn context_fits(request: &Request, workspace: &Workspace) -> Result<(), Failure> {
    let view = workspace.snapshot().of_agent(request.agent.as_deref())?;
    match context_problem(&view.config.blueprint, &request.context) {
        None => Ok(()),
        Some(problem) => {
            Err(Failure::usage(problem.message, format!("write it as --context '{}'", problem.shape)))
        }
    }
}

/// The occasion written as `user=bob,situation=group`.
pub(crate) fn parse_occasion(text: &str) -> Result<OccasionArgs, Failure> {
    let mut args = OccasionArgs::default();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(
                format!("`{pair}` is no K=V"),
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
                return Err(Failure::usage(format!("an occasion has no `{other}`"), help));
            }
        }
    }
    Ok(args)
}

/// The values of `--context-file` and `--context`.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) values: Map<String, Value>,
    /// The same, in the order they were written in.
    pub(crate) ordered: OrderedValue,
}

impl Context {
    fn empty() -> Self {
        Self { values: Map::new(), ordered: OrderedValue::empty_map() }
    }
}

/// The values of `--context-file` and `--context`; the latter win.
pub(crate) fn context(pairs: &[String], file: Option<&Path>, world: &World) -> Result<Context, Failure> {
    let mut context = match file {
        Some(file) => context_file(&world.current.join(file))?,
        None => Context::empty(),
    };
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Failure::usage(
                format!("`--context {pair}` is no K=V"),
                "write it as --context locale=pt-PT",
            ));
        };
        let parsed = context_value(value);
        // A word that is not JSON, or was not meant as JSON, has no order.
        let ordered = match &parsed {
            Value::Object(_) | Value::Array(_) => serde_json::from_str(value).ok(),
            _ => None,
        };
        context.ordered.insert(key, ordered.unwrap_or_else(|| OrderedValue::Leaf(parsed.clone())));
        context.values.insert(key.to_owned(), parsed);
    }
    Ok(context)
}

/// A value as it was meant: JSON only where writing it down again gives the same, so that `1e5` and `007` stay words.
fn context_value(text: &str) -> Value {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Value::String(text.to_owned()) };
    let written = value.to_string();
    if value.is_object() || value.is_array() || written == text {
        value
    } else {
        Value::String(text.to_owned())
    }
}

fn context_file(path: &Path) -> Result<Context, Failure> {
    let size = std::fs::metadata(path).map_err(|error| Failure::io("read", path, &error))?;
    if !size.is_file() || size.len() > CONTEXT_BYTES {
        let message = format!("`{}` is no file of at most 16 MiB", path.display());
        return Err(Failure::usage(message, "name a JSON or YAML file"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))?;
    // JSON is YAML as well, so one reader does for both, and its errors have lines.
    let source = YamlSource::whole(&path.to_string_lossy(), text.as_str().into());
    match source.parse::<Value>() {
        Ok(Value::Object(values)) => {
            let ordered = source.parse::<OrderedValue>().map_err(|error| Failure::Refused(error.into()))?;
            Ok(Context { values, ordered })
        }
        Ok(Value::Null) => Ok(Context::empty()),
        Ok(_) => Err(Failure::usage(
            format!("`{}` holds no names and values", path.display()),
            "the file must be a mapping, such as {\"locale\": \"pt-PT\"}",
        )),
        Err(error) => Err(Failure::Refused(error.into())),
    }
}

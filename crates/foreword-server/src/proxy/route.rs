//! Matches the paths of the drop-in endpoints, which `router::DROP_IN_ROUTES` lists.

use foreword_core::provider::WireDialect;
use http::Method;

use super::percent_encoding;

/// A provider route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Anthropic `POST /v1/messages`.
    Messages,
    /// Anthropic `POST /v1/messages/count_tokens`.
    CountTokens,
    /// OpenAI `POST /v1/chat/completions`.
    ChatCompletions,
    /// OpenAI `POST /v1/embeddings`.
    Embeddings,
    /// `GET /v1/models` and `GET /v1/models/{id}`.
    Models,
}

impl Route {
    /// Whether it is a turn of a conversation.
    pub(crate) fn is_turn(self) -> bool {
        matches!(self, Self::Messages | Self::ChatCompletions)
    }

    /// Whether it costs money, so that rate limits and budgets apply.
    pub(crate) fn costs(self) -> bool {
        self.is_turn() || self == Self::Embeddings
    }
}

/// An entry of the list of drop-in endpoints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DropInRoute {
    pub(crate) dialect: WireDialect,
    pub(crate) method: &'static str,
    /// The path after `/v1/`. `models/{id}` matches every model name.
    pub(crate) path: &'static str,
    pub(crate) route: Route,
}

/// The path of one model.
const MODEL_PATH: &str = "models/{id}";

impl DropInRoute {
    pub(crate) const fn get(dialect: WireDialect, path: &'static str, route: Route) -> Self {
        Self { dialect, method: "GET", path, route }
    }

    pub(crate) const fn post(dialect: WireDialect, path: &'static str, route: Route) -> Self {
        Self { dialect, method: "POST", path, route }
    }

    pub(crate) fn full_path(&self) -> String {
        let prefix = match self.dialect {
            WireDialect::Anthropic => "/anthropic",
            WireDialect::OpenAi => "/openai",
        };
        format!("{prefix}/v1/{}", self.path)
    }
}

/// A matched path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) dialect: WireDialect,
    pub(crate) route: Route,
    /// The path after `/v1/`.
    pub(crate) rest: &'a str,
}

/// Why a path does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoute {
    Unknown,
    /// The method is not allowed; this one is.
    Method(&'static str),
}

/// The dialect of a drop-in endpoint's path, and the path after its prefix.
pub(crate) fn dialect(path: &str) -> Option<(WireDialect, &str)> {
    let (dialect, rest) = if let Some(rest) = path.strip_prefix("/anthropic") {
        (WireDialect::Anthropic, rest)
    } else {
        (WireDialect::OpenAi, path.strip_prefix("/openai")?)
    };
    (rest.is_empty() || rest.starts_with('/')).then_some((dialect, rest))
}

/// Matches the path after the prefix. `/v1` may be missing or repeated, depending on the client's base URL.
pub(crate) fn target<'a>(
    routes: &[DropInRoute],
    dialect: WireDialect,
    method: &Method,
    rest: &'a str,
) -> Result<Target<'a>, NoRoute> {
    let mut rest = rest.strip_prefix('/').unwrap_or(rest);
    while let Some(behind) = rest.strip_prefix("v1/") {
        rest = behind;
    }
    let matches = |known: &&DropInRoute| {
        known.dialect == dialect && (known.path == rest || known.path == MODEL_PATH && is_model(rest))
    };
    let known = routes.iter().find(matches).ok_or(NoRoute::Unknown)?;
    if method == known.method {
        return Ok(Target { dialect, route: known.route, rest });
    }
    Err(NoRoute::Method(known.method))
}

/// Whether this is the name of a model, which must not lead to another path of the provider. Clients percent-encode a
/// slash in it.
fn is_model(rest: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:@/".contains(byte);
    rest.strip_prefix("models/").is_some_and(|model| {
        let model = percent_encoding::decode(model.as_bytes());
        !model.is_empty()
            && model.iter().all(is_word)
            && model
                .split(|byte| *byte == b'/')
                .all(|part| !part.is_empty() && !part.iter().all(|byte| *byte == b'.'))
    })
}

/// The supported routes, for error messages.
pub(crate) fn supported(routes: &[DropInRoute], dialect: WireDialect) -> String {
    let of_dialect = routes.iter().filter(|route| route.dialect == dialect);
    let names: Vec<String> =
        of_dialect.map(|route| format!("`{} {}`", route.method, route.full_path())).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

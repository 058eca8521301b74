//! Which paths the drop-in endpoints have, and what is behind them.

use foreword_core::provider::WireDialect;
use http::Method;

use super::percent_encoding;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Anthropic's messages.
    Messages,
    /// How many tokens such a request has.
    CountTokens,
    /// OpenAI's chat completions.
    ChatCompletions,
    /// OpenAI's embeddings.
    Embeddings,
    /// Which models there are, or one of them.
    Models,
}

impl Route {
    /// Whether a model answers, as part of a conversation.
    pub(crate) fn is_turn(self) -> bool {
        matches!(self, Self::Messages | Self::ChatCompletions)
    }

    /// Whether it costs money: that is asked of limits and budgets first.
    pub(crate) fn costs(self) -> bool {
        self.is_turn() || self == Self::Embeddings
    }
}

/// A path that was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) dialect: WireDialect,
    pub(crate) route: Route,
    /// What follows the provider's `…/v1/`.
    pub(crate) rest: &'a str,
}

/// Why a path leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// There is no such path.
    Unknown,
    /// There is, but not with this method.
    Method(&'static str),
}

/// Whose endpoint a path belongs to, if it is a drop-in endpoint at all.
pub(crate) fn dialect(path: &str) -> Option<(WireDialect, &str)> {
    let (dialect, rest) = if let Some(rest) = path.strip_prefix("/anthropic") {
        (WireDialect::Anthropic, rest)
    } else {
        (WireDialect::OpenAi, path.strip_prefix("/openai")?)
    };
    (rest.is_empty() || rest.starts_with('/')).then_some((dialect, rest))
}

/// What `method` on the path `rest`, behind the name of the endpoint, is for. A client that has `/v1` in its address and adds
/// it too, or has it nowhere, means the same.
pub(crate) fn target<'a>(
    dialect: WireDialect,
    method: &Method,
    rest: &'a str,
) -> Result<Target<'a>, NoRoute> {
    let mut rest = rest.strip_prefix('/').unwrap_or(rest);
    while let Some(behind) = rest.strip_prefix("v1/") {
        rest = behind;
    }
    let (route, wanted) = match (dialect, rest) {
        (WireDialect::Anthropic, "messages") => (Route::Messages, Method::POST),
        (WireDialect::Anthropic, "messages/count_tokens") => (Route::CountTokens, Method::POST),
        (WireDialect::OpenAi, "chat/completions") => (Route::ChatCompletions, Method::POST),
        (WireDialect::OpenAi, "embeddings") => (Route::Embeddings, Method::POST),
        (_, "models") => (Route::Models, Method::GET),
        (_, model) if is_model(model) => (Route::Models, Method::GET),
        _ => return Err(NoRoute::Unknown),
    };
    if *method == wanted {
        return Ok(Target { dialect, route, rest });
    }
    Err(NoRoute::Method(if wanted == Method::GET { "GET" } else { "POST" }))
}

/// Whether this names one model: nothing in it may lead elsewhere below the provider's address. Clients percent-encode the slash of
/// a name that has one.
fn is_model(rest: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:@/".contains(byte);
    rest.strip_prefix("models/").is_some_and(|model| {
        let model = percent_encoding::decoded(model.as_bytes());
        !model.is_empty()
            && model.iter().all(is_word)
            && model
                .split(|byte| *byte == b'/')
                .all(|part| !part.is_empty() && !part.iter().all(|byte| *byte == b'.'))
    })
}

/// The paths there are, for whoever took another.
pub(crate) fn known(dialect: WireDialect) -> &'static str {
    match dialect {
        WireDialect::Anthropic => {
            "`POST /anthropic/v1/messages`, `POST /anthropic/v1/messages/count_tokens`, `GET /anthropic/v1/models` and \
             `GET /anthropic/v1/models/{id}`"
        }
        WireDialect::OpenAi => {
            "`POST /openai/v1/chat/completions`, `POST /openai/v1/embeddings`, `GET /openai/v1/models` and \
             `GET /openai/v1/models/{id}`"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, path: &str, expected: Result<(Route, &str), NoRoute>) {
        let (dialect, rest) = dialect(path).unwrap();
        let found = target(dialect, &method, rest).map(|target| (target.route, target.rest));
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn a_path_leads_where_the_client_means() {
        let post = Method::POST;
        check(post.clone(), "/anthropic/v1/messages", Ok((Route::Messages, "messages")));
        check(post.clone(), "/anthropic/messages", Ok((Route::Messages, "messages")));
        check(post.clone(), "/anthropic/v1/v1/messages", Ok((Route::Messages, "messages")));
        check(
            post.clone(),
            "/anthropic/v1/messages/count_tokens",
            Ok((Route::CountTokens, "messages/count_tokens")),
        );
        check(post.clone(), "/openai/v1/chat/completions", Ok((Route::ChatCompletions, "chat/completions")));
        check(post.clone(), "/openai/chat/completions", Ok((Route::ChatCompletions, "chat/completions")));
        check(post.clone(), "/openai/v1/embeddings", Ok((Route::Embeddings, "embeddings")));
        check(Method::GET, "/openai/v1/models", Ok((Route::Models, "models")));
        check(Method::GET, "/anthropic/v1/models/claude-x", Ok((Route::Models, "models/claude-x")));
        check(
            Method::GET,
            "/openai/v1/models/meta-llama/x:free",
            Ok((Route::Models, "models/meta-llama/x:free")),
        );
        check(
            Method::GET,
            "/openai/v1/models/meta-llama%2Fx%3Afree",
            Ok((Route::Models, "models/meta-llama%2Fx%3Afree")),
        );
    }

    #[test]
    fn other_paths_lead_nowhere() {
        for path in [
            "/anthropic",
            "/anthropic/",
            "/anthropic/v1/complete",
            "/anthropic/v1/chat/completions",
            "/anthropic/v1/models/",
            "/anthropic/v1/models/..",
            "/anthropic/v1/models/a/../../x",
            "/anthropic/v1/models/a%2f..",
            "/anthropic/v1/models/%2e%2e/messages",
            "/anthropic/v1/models/a%252fb",
            "/anthropic/v1/models/a%2f",
            "/openai/v1/messages",
            "/openai/v1/files",
        ] {
            check(Method::POST, path, Err(NoRoute::Unknown));
        }
        check(Method::GET, "/anthropic/v1/messages", Err(NoRoute::Method("POST")));
        check(Method::POST, "/openai/v1/models", Err(NoRoute::Method("GET")));
        assert_eq!(dialect("/anthropical/v1/messages"), None);
        assert_eq!(dialect("/api/v1/anthropic"), None);
    }
}

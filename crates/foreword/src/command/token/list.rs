//! Lists tokens, without the tokens themselves or their hashes.

use foreword_core::api_token::{ProxyMode, TokenLimits};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::untrusted::display_line;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use serde_json::{Value, json};

use super::{scope_names, token_json};
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, GREEN, Output, YELLOW, styled, when};
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, now};

const MAX_NAME_CHARS: usize = 40;

pub(super) fn run(workspace: &Workspace, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    let tokens = match WorkspaceStore::open_existing(workspace, process)? {
        Some(stored) => stored.wait(stored.store.tokens())?,
        None => Vec::new(),
    };
    let now = now(process);
    if output.wants_json() {
        let tokens: Vec<Value> = tokens
            .iter()
            .map(|token| {
                let mut out = token_json(token);
                out["state"] = json!(state(token, now));
                out
            })
            .collect();
        return output.json(&json!({ "tokens": tokens }));
    }
    if tokens.is_empty() {
        output.print_stderr("No tokens yet: create one with `foreword token create`.");
        return Ok(());
    }
    output.print(&table(&tokens, &workspace.snapshot().config, now).render())
}

fn table(tokens: &[ApiToken], config: &Config, now: Timestamp) -> Table {
    let names =
        ["id", "name", "user", "scopes", "mode", "limits", "created", "last used", "expires", "state"];
    let mut table = Table::new(&names.map(|name| (name, Align::Left)));
    for token in tokens {
        let known = config.user(&token.user).is_some();
        let user = display_line(&token.user, MAX_NAME_CHARS);
        let validity = token.validity;
        table.row(vec![
            styled(DIM, &token.id),
            styled(BOLD, display_line(&token.name, MAX_NAME_CHARS)),
            if known { user } else { format!("{user} {}", styled(YELLOW, "(unknown)")) },
            scope_names(token).join(","),
            token.mode.map_or("-", ProxyMode::as_str).to_owned(),
            limits(&token.limits),
            when(token.created_at),
            token.last_used_at.map_or_else(|| "never".to_owned(), when),
            validity.expires_at.map_or_else(|| "never".to_owned(), when),
            match state(token, now) {
                "usable" => styled(GREEN, "usable"),
                other => styled(DIM, other),
            },
        ]);
    }
    table
}

/// The token's own limits, as options of `foreword token create`.
fn limits(limits: &TokenLimits) -> String {
    let parts = [
        limits.requests_per_minute.map(|requests| format!("{requests} requests/min")),
        limits
            .concurrent_turns
            .map(|turns| format!("{turns} {} at once", if turns == 1 { "turn" } else { "turns" })),
        limits.body_mb.map(|megabytes| format!("{megabytes} MiB")),
        limits.usd_per_day.map(|dollars| format!("${dollars}/day")),
    ];
    let said: Vec<String> = parts.into_iter().flatten().collect();
    if said.is_empty() { "-".to_owned() } else { said.join(", ") }
}

/// Whether a token is valid, and if not, why.
fn state(token: &ApiToken, now: Timestamp) -> &'static str {
    match token.validity.revoked_at {
        Some(_) => "revoked",
        None if token.validity.is_usable(now) => "usable",
        None => "expired",
    }
}

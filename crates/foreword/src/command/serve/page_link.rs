//! A one-time login link to the web page for the owner at the terminal. It is not printed if standard error is
//! redirected.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;

use foreword_core::api_token::Scope;
use foreword_server::auth::token_spec::TokenSpec;
use foreword_server::server::Server;
use serde_json::json;

use crate::output::{BOLD, DIM, Output, styled};

/// All scopes, so that the owner can also preview other users' views.
const SCOPES: [Scope; 4] = [Scope::Chat, Scope::Observe, Scope::Admin, Scope::Assert];
/// How long the login session lasts.
const LOGIN_DURATION: &str = "30d";

/// Prints a link at a terminal or in a demo.
pub(super) fn show(server: &Server, url: &str, demo: bool, output: &Output) {
    if !demo && !std::io::stderr().is_terminal() {
        return;
    }
    let scopes = BTreeSet::from(SCOPES);
    let wish = TokenSpec { scopes, expires: Some(LOGIN_DURATION.to_owned()), ..TokenSpec::default() };
    let link = server.page_link(url, wish);
    if output.wants_json() {
        output.print_stderr(&json!({ "type": "page_link", "url": link }).to_string());
        return;
    }
    let about = styled(DIM, "(one-time link, valid for an hour; later log in with a token)");
    output.print_stderr(&format!("Web page: {} {about}", styled(BOLD, link)));
}

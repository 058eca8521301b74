//! The link that opens the web page once, for the owner, who sits at the terminal. A log that is kept somewhere gets none.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;

use foreword_core::api_token::Scope;
use foreword_server::auth::issuing::TokenWish;
use foreword_server::server::Server;
use serde_json::json;

use crate::output::{BOLD, DIM, Output, styled};

/// What the page may do for the owner: everything, and speak as somebody else to see what they would.
const SCOPES: [Scope; 4] = [Scope::Chat, Scope::Observe, Scope::Admin, Scope::Assert];
/// How long whoever used it stays signed in.
const SIGNED_IN: &str = "30d";

/// Shows a link, if somebody is there to see it or asked for a demonstration.
pub(super) fn show(server: &Server, url: &str, demo: bool, output: &Output) {
    if !demo && !std::io::stderr().is_terminal() {
        return;
    }
    let scopes = BTreeSet::from(SCOPES);
    let wish = TokenWish { scopes, expires: Some(SIGNED_IN.to_owned()), ..TokenWish::default() };
    let link = server.page_link(url, wish);
    if output.wants_json() {
        output.say(&json!({ "type": "page_link", "url": link }).to_string());
        return;
    }
    let about = styled(DIM, "(opens once, within the hour; after that, with a token)");
    output.say(&format!("The page: {} {about}", styled(BOLD, link)));
}

//! Authentication and authorisation. A token belongs to a user, whose trust it has, and has scopes. Only its hash is
//! stored. Asserting another user needs the scope `assert`.

mod caller;
mod conversation;
pub(crate) mod cookie;
pub mod credential;
pub(crate) mod limits;
mod origin;
mod page_links;
mod rate_limit;
pub(crate) mod refusal;
mod settings;
pub(crate) mod token_cache;
pub mod token_spec;
pub(crate) mod turn_metering;

pub(crate) use caller::{
    Asserted, Caller, authenticate, bearer, find_caller, from_cookie, limit_rate, missing_token, unauthorized,
};
pub(crate) use conversation::{Reader, VisibleConversation, find_visible, find_visible_as};
pub(crate) use origin::{from_allowed_page, names_loopback};
pub(crate) use page_links::{LINK_TOKEN_NAME, PageLinks};
pub(crate) use settings::{has_settings, may_set};

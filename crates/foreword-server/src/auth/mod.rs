//! Who may ask for what. A token stands for a user, and so for a trust, and opens scopes; only its hash is stored. Whoever
//! asserts to be somebody else needs a token that may.

mod caller;
mod conversation;
pub(crate) mod cookie;
pub mod credential;
pub mod issuing;
pub(crate) mod keeper;
pub(crate) mod limits;
mod origin;
mod page_links;
mod rate;
pub(crate) mod refusal;
mod settings;
pub(crate) mod turn_in_hand;

pub(crate) use caller::{
    Asserted, Caller, authenticated, bearer, from_cookie, known, no_token, unauthorized, within_limits,
};
pub(crate) use conversation::{Onlooker, Seen, may_see, may_see_as};
pub(crate) use origin::{from_allowed_page, names_loopback};
pub(crate) use page_links::{LINKED, PageLinks};
pub(crate) use settings::{has_settings, may_set};

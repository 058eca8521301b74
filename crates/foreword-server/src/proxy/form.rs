//! Checks that a prompt can be injected into a request, before anything is created for it: a refused request leaves no
//! conversation behind.

use foreword_core::provider::WireDialect;

use super::body::RequestBody;
use super::inject_prompt::InjectError;
use super::scan;

pub(crate) fn check(body: &RequestBody<'_>, dialect: WireDialect) -> Result<(), InjectError> {
    if let Some(twice) = body.repeated() {
        return Err(InjectError::Duplicate(twice));
    }
    let messages = body.messages_list().filter(|list| body.at(list).first() == Some(&b'['));
    let first = messages.and_then(|list| scan::items(body.bytes(), &list).next());
    if !matches!(first, Some(Ok(_))) {
        return Err(InjectError::NoMessages);
    }
    let system = body.system().filter(|_| dialect == WireDialect::Anthropic);
    match system.and_then(|system| body.at(&system).first()) {
        None | Some(b'n' | b'"' | b'[') => Ok(()),
        Some(_) => Err(InjectError::InvalidSystem),
    }
}

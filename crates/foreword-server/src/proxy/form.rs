//! Whether a request has the form that our words can be put into. Looked at before anything is made for it: one that is
//! refused leaves no conversation behind.

use foreword_core::provider::WireDialect;

use super::body::RequestBody;
use super::scan;
use super::splice::NoPlace;

/// Says what is wrong with the form of a request.
pub(crate) fn check(body: &RequestBody<'_>, dialect: WireDialect) -> Result<(), NoPlace> {
    if let Some(twice) = body.repeated() {
        return Err(NoPlace::Twice(twice));
    }
    let messages = body.messages_list().filter(|list| body.at(list).first() == Some(&b'['));
    let first = messages.and_then(|list| scan::items(body.bytes(), &list).next());
    if !matches!(first, Some(Ok(_))) {
        return Err(NoPlace::NoMessages);
    }
    let system = body.system().filter(|_| dialect == WireDialect::Anthropic);
    match system.and_then(|system| body.at(&system).first()) {
        None | Some(b'n' | b'"' | b'[') => Ok(()),
        Some(_) => Err(NoPlace::OddSystem),
    }
}

//! Our words in a request for OpenAI's chat completions: a message before the client's, in the role the client gives to such.

use std::ops::Range;

use super::{NoPlace, Theirs, Words};
use crate::proxy::body::RequestBody;
use crate::proxy::scan;

/// A message, around its role and its content.
const MESSAGE: [&str; 3] = [r#"{"role":""#, r#"","content":"#, "}"];
/// How many bytes that is, with a comma.
const AROUND: usize = MESSAGE[0].len() + MESSAGE[1].len() + MESSAGE[2].len() + 1;

pub(super) fn splice(body: &RequestBody<'_>, words: &Words, theirs: Theirs) -> Result<Vec<u8>, NoPlace> {
    let bytes = body.bytes();
    let list = body
        .messages_list()
        .filter(|list| body.at(list).first() == Some(&b'['))
        .ok_or(NoPlace::NoMessages)?;
    let messages = body.all_messages().ok_or(NoPlace::NoMessages)?;
    let role = messages.first().and_then(|first| system_role(body, first)).unwrap_or("system");
    let from = match theirs {
        Theirs::Follow => 0,
        Theirs::Go => messages.iter().take_while(|message| system_role(body, message).is_some()).count(),
    };
    // What stays: from the first message that does, to the end of everything.
    let rest = messages.get(from).map_or(list.end - 1, |first| first.start);
    let ours: usize = words.blocks.iter().map(|block| AROUND + role.len() + block.json.len()).sum();
    let mut out = Vec::with_capacity(list.start + 1 + ours + 1 + bytes.len() - rest);
    out.extend_from_slice(&bytes[..=list.start]);
    for (index, block) in words.blocks.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let [before, between, behind] = MESSAGE;
        let parts = [before, role, between, &*block.json, behind];
        parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    }
    if from < messages.len() && !words.blocks.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(&bytes[rest..]);
    Ok(out)
}

/// The role of a message that instructs the model, if it is one.
fn system_role(body: &RequestBody<'_>, message: &Range<usize>) -> Option<&'static str> {
    let mut members = scan::members(body.bytes(), message).map_while(Result::ok);
    let role = members.find(|member| member.key == "role")?;
    match &*scan::text(body.at(&role.value))? {
        "system" => Some("system"),
        "developer" => Some("developer"),
        _ => None,
    }
}

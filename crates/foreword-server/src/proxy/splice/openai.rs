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
    let stays = |message: &Range<usize>| theirs == Theirs::Follow || system_role(body, message).is_none();
    let theirs = runs(messages, stays);
    let end = messages.last().map_or(list.start + 1, |last| last.end);
    let ours: usize = words.blocks.iter().map(|block| AROUND + role.len() + block.json.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + ours + 1);
    out.extend_from_slice(&bytes[..=list.start]);
    let mut is_first = true;
    let mut next = |out: &mut Vec<u8>, parts: &[&[u8]]| {
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        parts.iter().for_each(|part| out.extend_from_slice(part));
    };
    for block in &words.blocks {
        let [before, between, behind] = MESSAGE;
        next(&mut out, &[before, role, between, &*block.json, behind].map(str::as_bytes));
    }
    for run in theirs {
        next(&mut out, &[&bytes[run]]);
    }
    out.extend_from_slice(&bytes[end..]);
    Ok(out)
}

/// Where messages stand that stay: those that follow each other as one, with whatever is between them.
fn runs(messages: &[Range<usize>], stays: impl Fn(&Range<usize>) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut goes_on = false;
    for message in messages {
        let before = std::mem::replace(&mut goes_on, stays(message));
        match runs.last_mut() {
            Some(run) if goes_on && before => run.end = message.end,
            _ if goes_on => runs.push(message.clone()),
            _ => {}
        }
    }
    runs
}

/// The role of a message that instructs the model, if it is one.
fn system_role(body: &RequestBody<'_>, message: &Range<usize>) -> Option<&'static str> {
    let members = scan::members(body.bytes(), message).map_while(Result::ok);
    // One that says its role twice is one if either says so: nobody can tell which counts.
    members.filter(|member| member.key == "role").find_map(|role| match &*scan::text(body.at(&role.value))? {
        "system" => Some("system"),
        "developer" => Some("developer"),
        _ => None,
    })
}

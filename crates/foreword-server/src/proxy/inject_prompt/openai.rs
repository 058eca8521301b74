//! Injects the prompt into an OpenAI request, as a message before the client's, in the client's own role for system
//! messages.

use std::ops::Range;

use super::{ClientPrompt, InjectError, PromptBlocks};
use crate::proxy::body::RequestBody;
use crate::proxy::scan;

/// The JSON around a message's role and content.
const MESSAGE: [&str; 3] = [r#"{"role":""#, r#"","content":"#, "}"];
/// Its length, with a comma.
const MESSAGE_OVERHEAD: usize = MESSAGE[0].len() + MESSAGE[1].len() + MESSAGE[2].len() + 1;

pub(super) fn inject(
    body: &RequestBody<'_>,
    prompt: &PromptBlocks,
    client_prompt: ClientPrompt,
) -> Result<Vec<u8>, InjectError> {
    let bytes = body.bytes();
    let list = body
        .messages_list()
        .filter(|list| body.at(list).first() == Some(&b'['))
        .ok_or(InjectError::NoMessages)?;
    let messages = body.all_messages().ok_or(InjectError::NoMessages)?;
    let role = messages.first().and_then(|first| system_role(body, first)).unwrap_or("system");
    let is_kept =
        |message: &Range<usize>| client_prompt == ClientPrompt::Keep || system_role(body, message).is_none();
    let kept = runs(messages, is_kept);
    let end = messages.last().map_or(list.start + 1, |last| last.end);
    let added: usize =
        prompt.blocks.iter().map(|block| MESSAGE_OVERHEAD + role.len() + block.json.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + added + 1);
    out.extend_from_slice(&bytes[..=list.start]);
    let mut is_first = true;
    let mut next = |out: &mut Vec<u8>, parts: &[&[u8]]| {
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        parts.iter().for_each(|part| out.extend_from_slice(part));
    };
    for block in &prompt.blocks {
        let [before, between, behind] = MESSAGE;
        next(&mut out, &[before, role, between, &*block.json, behind].map(str::as_bytes));
    }
    for run in kept {
        next(&mut out, &[&bytes[run]]);
    }
    out.extend_from_slice(&bytes[end..]);
    Ok(out)
}

/// The ranges of kept messages. Adjacent ones are one range, with the bytes between them.
fn runs(messages: &[Range<usize>], is_kept: impl Fn(&Range<usize>) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut continues = false;
    for message in messages {
        let before = std::mem::replace(&mut continues, is_kept(message));
        match runs.last_mut() {
            Some(run) if continues && before => run.end = message.end,
            _ if continues => runs.push(message.clone()),
            _ => {}
        }
    }
    runs
}

/// The role of a system or developer message; `None` for others.
fn system_role(body: &RequestBody<'_>, message: &Range<usize>) -> Option<&'static str> {
    let members = scan::members(body.bytes(), message).map_while(Result::ok);
    // With duplicate `role` fields it is not clear which one counts, so any match does.
    members.filter(|member| member.key == "role").find_map(|role| match &*scan::text(body.at(&role.value))? {
        "system" => Some("system"),
        "developer" => Some("developer"),
        _ => None,
    })
}

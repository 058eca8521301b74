//! Which conversations a template may touch: those that were active last, with what has to be known of each. Reads; what becomes of
//! them is worked out elsewhere.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foreword_prompt::occasion::Channel;
use foreword_prompt::stored::StoredTexts;
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::epochs::StoredEpoch;
use foreword_store::error::StoreError;
use foreword_store::proxied::is_passed_through;
use foreword_workspace::request::Request;
use foreword_workspace::snapshot::Snapshot;

use crate::conversation_settings;
use crate::error::AgentError;
use crate::inbound::Purpose;
use crate::inbox;
use crate::shared::Shared;

/// How many conversations are looked at, those first that were active last.
pub(super) const LOOKED_AT: usize = 200;
/// How many pages of an agent's conversations are read for that: most of them may be somebody else's, that only passed through.
const PAGES: usize = 25;

/// A conversation with what has to be known of it.
pub(super) struct Looked {
    pub(super) conversation: Conversation,
    pub(super) epoch: StoredEpoch,
    /// What its last answer has said that it weighs.
    pub(super) weight: u64,
    pub(super) view: Arc<Snapshot>,
    /// What it would be asked for now.
    pub(super) request: Request,
}

/// The conversations whose agents build from the stored template and that have a prompt, and whether there may be more.
pub(super) async fn look(
    shared: &Shared,
    snapshot: &Arc<Snapshot>,
) -> Result<(Vec<Looked>, bool), AgentError> {
    let mut all: Vec<(Conversation, Arc<Snapshot>)> = Vec::new();
    let mut stored: BTreeMap<Arc<str>, Arc<StoredTexts>> = BTreeMap::new();
    let mut unseen = false;
    let company = snapshot.config.roster.has_company();
    for view in snapshot.of_all_agents().filter(|view| view.config.builds_from_stored_template()) {
        let page = ConversationPage::first(u32::try_from(LOOKED_AT + 1).unwrap_or(u32::MAX));
        let page = if company { page.of_agent(&*view.config.agent.name) } else { page };
        let (found, more) = newest(shared, page).await?;
        unseen |= more;
        all.extend(found.into_iter().map(|one| (one, Arc::clone(view))));
        let texts = shared.store.current_texts(&view.config.blueprint.name).await?;
        stored.insert(Arc::clone(&view.config.agent.name), Arc::new(texts));
    }
    all.sort_by_key(|(one, _)| (Reverse(one.last_activity_at), one.id.clone()));
    let or_more = unseen || all.len() > LOOKED_AT;
    all.truncate(LOOKED_AT);
    let mut looked = Vec::new();
    for (conversation, view) in all {
        let Some((epoch, weight)) = frozen(shared, &conversation).await? else { continue };
        let settings = shared.store.conversation_settings(&conversation.id).await?;
        let mut request = Request {
            stored: stored.get(&view.config.agent.name).cloned(),
            more_tools: inbox::more_tools(&shared.outside_tools().specs, &Purpose::Talk),
            calibration: shared.calibrations.factor(&view.config, &view.config.agent.model),
            history_tokens: usize::try_from(weight).unwrap_or(usize::MAX),
            agent: company.then(|| conversation.agent.as_str().into()),
            ..asked(shared, &conversation, &epoch)
        };
        conversation_settings::apply(&shared.workspace, &settings, &mut request)?;
        looked.push(Looked { conversation, epoch, weight, view, request });
    }
    Ok((looked, or_more))
}

/// Enough of those that were active last, page by page, and whether some were not seen. Those that only passed through are left
/// out: their prompts are lent, and frozen by nobody here.
async fn newest(shared: &Shared, first: ConversationPage) -> Result<(Vec<Conversation>, bool), AgentError> {
    let (mut found, mut next) = (Vec::new(), Some(first));
    for _ in 0..PAGES {
        let Some(page) = next.take().filter(|_| found.len() <= LOOKED_AT) else { break };
        let listed = shared.store.conversations(page.clone()).await?;
        next = page.after(&listed);
        found.extend(listed.into_iter().filter(|one| !is_passed_through(&one.id)));
    }
    Ok((found, next.is_some()))
}

/// The prompt of a conversation and what it weighs, if it has one that can be read. What is damaged is for `foreword store check`
/// to tell of; the others can still be looked at.
async fn frozen(
    shared: &Shared,
    conversation: &Conversation,
) -> Result<Option<(StoredEpoch, u64)>, AgentError> {
    let read = async {
        let Some(epoch) = shared.store.newest_epoch(&conversation.id).await? else { return Ok(None) };
        Ok(Some((epoch, shared.store.weight(&conversation.id).await?)))
    };
    match read.await {
        Err(StoreError::Damaged { .. } | StoreError::Unreadable { .. }) => Ok(None),
        read => Ok(read?),
    }
}

/// What the conversation's prompt was asked for, as far as that is on record.
fn asked(shared: &Shared, conversation: &Conversation, epoch: &StoredEpoch) -> Request {
    let hard = &epoch.dependencies.hard;
    let usual = *hard.cwd == *shared.workspace.directory().to_string_lossy();
    Request {
        user: hard.personal_to.clone().or_else(|| conversation.user.as_deref().map(Into::into)),
        channel: conversation.channel.as_deref().map(Channel::new),
        situation: Some(conversation.situation.as_str().into()),
        conversation: Some(conversation.id.as_str().into()),
        cwd: (!usual).then(|| PathBuf::from(&*hard.cwd)),
        audience: Some(epoch.info.trust),
        ..Request::at(shared.surroundings.now(), shared.surroundings.random().to_be_bytes())
    }
}

//! Reads the conversations a template may affect: the most recently active ones, with the data needed for each.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foreword_prompt::occasion::Channel;
use foreword_prompt::stored::StoredTexts;
use foreword_store::conversations::{Conversation, ConversationPage};
use foreword_store::epochs::StoredEpoch;
use foreword_store::error::StoreError;
use foreword_store::proxied::is_proxied;
use foreword_workspace::request::Request;
use foreword_workspace::snapshot::Snapshot;
use foreword_workspace::speaker::Speaker;

use crate::conversation::settings;
use crate::error::AgentError;
use crate::shared::Shared;

/// The maximum number of conversations examined, most recently active first.
pub(super) const MAX_CONVERSATIONS: usize = 200;
/// The maximum number of pages read per agent, since most conversations may be proxied ones.
const PAGES: usize = 25;

/// A conversation with the data needed.
pub(super) struct AffectedConversation {
    pub(super) conversation: Conversation,
    pub(super) epoch: StoredEpoch,
    /// The tokens of the conversation, as reported with its last answer.
    pub(super) weight: u64,
    pub(super) view: Arc<Snapshot>,
    /// The request for its prompt now.
    pub(super) request: Request,
}

/// The conversations with a prompt whose agents use the stored template, and whether there may be more.
pub(super) async fn affected_conversations(
    shared: &Shared,
    snapshot: &Arc<Snapshot>,
) -> Result<(Vec<AffectedConversation>, bool), AgentError> {
    let mut all: Vec<(Conversation, Arc<Snapshot>)> = Vec::new();
    let mut stored: BTreeMap<Arc<str>, Arc<StoredTexts>> = BTreeMap::new();
    let mut unseen = false;
    let company = snapshot.config.roster.has_several();
    for view in snapshot.of_all_agents().filter(|view| view.config.builds_from_stored_template()) {
        let page = ConversationPage::first(u32::try_from(MAX_CONVERSATIONS + 1).unwrap_or(u32::MAX));
        let page = if company { page.of_agent(&*view.config.agent.name) } else { page };
        let (found, more) = newest(shared, page).await?;
        unseen |= more;
        all.extend(found.into_iter().map(|one| (one, Arc::clone(view))));
        let texts = shared.store.current_texts(&view.config.blueprint.name).await?;
        stored.insert(Arc::clone(&view.config.agent.name), Arc::new(texts));
    }
    all.sort_by_key(|(one, _)| (Reverse(one.last_activity_at), one.id.clone()));
    let or_more = unseen || all.len() > MAX_CONVERSATIONS;
    all.truncate(MAX_CONVERSATIONS);
    let mut affected = Vec::new();
    for (conversation, view) in all {
        let Some((epoch, weight)) = frozen(shared, &conversation).await? else { continue };
        let settings = shared.store.conversation_settings(&conversation.id).await?;
        let mut request = Request {
            speaker: Speaker {
                agent: company.then(|| conversation.agent.as_str().into()),
                ..asked(shared, &conversation, &epoch).speaker.clone()
            },
            stored: stored.get(&view.config.agent.name).cloned(),
            more_tools: shared.outside_tools().specs.clone(),
            calibration: shared.calibrations.factor(&view.config, &view.config.agent.model),
            history_tokens: usize::try_from(weight).unwrap_or(usize::MAX),
            ..asked(shared, &conversation, &epoch)
        };
        settings::apply(&shared.workspace, &settings, &mut request)?;
        affected.push(AffectedConversation { conversation, epoch, weight, view, request });
    }
    Ok((affected, or_more))
}

/// The most recently active conversations, page by page, and whether some were skipped. Proxied conversations are
/// excluded: their prompts are not frozen.
async fn newest(shared: &Shared, first: ConversationPage) -> Result<(Vec<Conversation>, bool), AgentError> {
    let (mut found, mut next) = (Vec::new(), Some(first));
    for _ in 0..PAGES {
        let Some(page) = next.take().filter(|_| found.len() <= MAX_CONVERSATIONS) else { break };
        let listed = shared.store.conversations(page.clone()).await?;
        next = page.after(&listed);
        found.extend(listed.into_iter().filter(|one| !is_proxied(&one.id)));
    }
    Ok((found, next.is_some()))
}

/// A conversation's prompt and its tokens, if it has one that can be read. Damaged ones are skipped; `foreword store
/// check` reports them.
async fn frozen(
    shared: &Shared,
    conversation: &Conversation,
) -> Result<Option<(StoredEpoch, u64)>, AgentError> {
    let read = async {
        let Some(epoch) = shared.store.newest_epoch(&conversation.id).await? else { return Ok(None) };
        Ok(Some((epoch, shared.store.conversation_tokens(&conversation.id).await?)))
    };
    match read.await {
        Err(StoreError::Damaged { .. } | StoreError::Unreadable { .. }) => Ok(None),
        read => Ok(read?),
    }
}

/// The request for the conversation's prompt, from the stored data.
fn asked(shared: &Shared, conversation: &Conversation, epoch: &StoredEpoch) -> Request {
    let hard = &epoch.dependencies.hard;
    let usual = *hard.cwd == *shared.workspace.directory().to_string_lossy();
    Request {
        speaker: Speaker {
            user: hard.personal_to.clone().or_else(|| conversation.user.as_deref().map(Into::into)),
            channel: conversation.channel.as_deref().map(Channel::new),
            situation: Some(conversation.situation.as_str().into()),
            audience: Some(epoch.info.trust),
            ..Speaker::default()
        },
        conversation: Some(conversation.id.as_str().into()),
        cwd: (!usual).then(|| PathBuf::from(&*hard.cwd)),
        ..Request::at(shared.clock_and_rng.now(), shared.clock_and_rng.random().to_be_bytes())
    }
}

//! Whether the `budgets` let somebody's request pass. Asked before it is sent, and answered from memory: what was found out a
//! moment ago holds, and is found out again behind it, so that no request waits for the database but the first in a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foreword_core::allowance::{self, Notice, SpentBy, Verdict};
use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_workspace::config::Config;
use foreword_workspace::request::DIRECT;
use http::StatusCode;

use super::exchange::Payer;
use crate::app::App;
use crate::problem::Problem;

/// How long an answer holds without being asked for again.
const FRESH: Duration = Duration::from_secs(1);
/// How long it holds while it is.
const BELIEVED: Duration = Duration::from_secs(60);
/// How many answers are kept.
const MOST: usize = 4_096;

/// What the budgets said of everybody lately.
#[derive(Default)]
pub(crate) struct Budgets(Mutex<HashMap<Key, Known>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    /// A budget that is raised counts at once.
    generation: u64,
    user: Option<Arc<str>>,
    conversation: Option<ConversationId>,
}

struct Known {
    stop: Option<Arc<Notice>>,
    at: Instant,
}

impl Budgets {
    /// Refuses a request for which there is no money left; of a conversation also if it has used up its own.
    pub(crate) async fn check(
        &self,
        app: &App,
        payer: &Payer,
        conversation: Option<&ConversationId>,
    ) -> Result<(), Problem> {
        let snapshot = app.workspace.snapshot();
        let config = &snapshot.config;
        let by_conversation = config.budgets.iter().any(|budget| budget.of == SpentBy::Session);
        // Whoever pays with a key of their own spends nothing of the owner's.
        let is_ours = matches!(payer, Payer::Token { .. });
        if config.budgets.is_empty() || !is_ours || (conversation.is_some() && !by_conversation) {
            return Ok(());
        }
        let key = Key {
            generation: snapshot.generation,
            user: payer.user().map(Into::into),
            conversation: conversation.cloned(),
        };
        let stop = match self.known(&key) {
            Some((stop, age)) => {
                if age >= FRESH {
                    let (app, key) = (app.clone(), key.clone());
                    // A store that is away leaves things as they were.
                    tokio::spawn(async move { app.budgets.ask(&app, key).await.map(drop) });
                }
                stop
            }
            None => self.ask(app, key).await?,
        };
        stop.map_or(Ok(()), |stop| Err(refused(app, config, (payer, &stop))))
    }

    /// What is known, and for how long it has been. Whoever finds it old asks again, and others need not.
    fn known(&self, key: &Key) -> Option<(Option<Arc<Notice>>, Duration)> {
        let mut all = self.all();
        let known = all.get_mut(key)?;
        let age = known.at.elapsed();
        if age >= BELIEVED {
            all.remove(key);
            return None;
        }
        if age >= FRESH {
            known.at = Instant::now();
        }
        Some((known.stop.clone(), age))
    }

    async fn ask(&self, app: &App, key: Key) -> Result<Option<Arc<Notice>>, StoreError> {
        let agent = Arc::clone(&app.config().agent.name);
        let session = key.conversation.as_ref().map_or("", ConversationId::as_str);
        let payer = allowance::Payer { user: key.user.as_deref(), session, agent: &agent };
        let verdicts = app.agent.judge_spending(&payer).await?;
        let stop = verdicts.into_iter().find_map(|verdict| match verdict {
            Verdict::Stop(notice) => Some(Arc::new(notice)),
            Verdict::Fine | Verdict::Warn(_) => None,
        });
        let mut all = self.all();
        if all.len() >= MOST {
            all.retain(|_, known| known.at.elapsed() < FRESH);
        }
        let before = all.insert(key.clone(), Known { stop: stop.clone(), at: Instant::now() });
        drop(all);
        if let Some(stop) = stop.as_ref().filter(|_| before.is_none_or(|before| before.stop.is_none())) {
            app.agent.note_over_budget(stop, key.user, key.conversation);
        }
        Ok(stop)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        // Nothing can fail while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(app: &App, config: &Config, (payer, stop): (&Payer, &Notice)) -> Problem {
    let user = payer.user().and_then(|user| config.user(user));
    let is_owner = user.is_some() && config.trust(user, DIRECT).effective() == Trust::Full;
    let words = if is_owner { stop.to_owner() } else { stop.to_others() };
    let wait = stop.begins_anew.timestamp().as_second() - app.surroundings.now().timestamp().as_second();
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "over_budget", words)
        .retry_after(u64::try_from(wait).unwrap_or(0).max(1))
}

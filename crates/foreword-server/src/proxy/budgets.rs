//! Refuses proxied requests that a budget does not suffice for.

use foreword_agent::spending::{PlannedCall, SpendingDecision};
use foreword_core::budget_rule::{BudgetNotice, Spender, SpentBy};
use foreword_core::event::Event;
use foreword_core::id::ConversationId;
use foreword_core::money::{Money, Price};
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;
use foreword_workspace::request::DIRECT;
use http::StatusCode;

use super::exchange::Payer;
use crate::app::App;
use crate::problem::Problem;

/// Refuses a request if a budget is used up.
pub(super) async fn check_budgets(
    app: &App,
    payer: &Payer,
    conversation: Option<&ConversationId>,
) -> Result<(), Problem> {
    let config = app.config();
    let by_conversation = config.budgets.iter().any(|budget| budget.of == SpentBy::Session);
    // A client with its own provider key spends none of the owner's money.
    let pays_by_token = matches!(payer, Payer::Token { .. });
    if config.budgets.is_empty() || !pays_by_token || (conversation.is_some() && !by_conversation) {
        return Ok(());
    }
    let session = conversation.map_or("", ConversationId::as_str);
    let call = PlannedCall {
        payer: Spender { user: payer.user(), session, agent: &config.agent.name },
        at_least: Price::Known(Money::ZERO),
        is_urgent: true,
    };
    let log = |event| {
        let (user_id, session_id) = (payer.user().map(Into::into), conversation.cloned());
        app.recorder.record(Event { user_id, session_id, ..event });
    };
    match app.agent.spending().decide(call, log).await? {
        SpendingDecision::Allowed(_) => Ok(()),
        SpendingDecision::Refused(notice) => Err(refused(app, &config, payer, &notice)),
    }
}

fn refused(app: &App, config: &Config, payer: &Payer, stop: &BudgetNotice) -> Problem {
    let user = payer.user().and_then(|user| config.user(user));
    let is_owner = user.is_some() && config.trust(user, DIRECT).effective() == Trust::Full;
    let words = if is_owner { stop.to_owner() } else { stop.to_others() };
    let wait = stop.resets_at.timestamp().as_second() - app.clock_and_rng.now().timestamp().as_second();
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "over_budget", words)
        .retry_after(u64::try_from(wait).unwrap_or(0).max(1))
}

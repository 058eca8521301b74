//! Spending limits per user, conversation or agent and period. Decides whether a call is allowed, warned about or
//! refused; callers pass in the amount spent so far.

use std::fmt;
use std::sync::Arc;

use jiff::Zoned;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::money::{Money, Price};

/// Whose spending is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SpentBy {
    /// Spending of all users together.
    #[default]
    All,
    /// Spending of each user; unknown users share one account.
    User,
    /// Spending of each conversation.
    Session,
    /// Spending of each agent.
    Agent,
}

/// A spending limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRule {
    /// The amount and the period.
    pub budget: Budget,
    /// Whose spending is summed up.
    pub of: SpentBy,
    /// Restricts the limit to this user.
    pub user: Option<Arc<str>>,
    /// The percentage of the amount from which calls produce a warning.
    pub warn_percent: u8,
    /// Whether calls are refused once the amount is spent. If not, they only produce warnings.
    pub stop: bool,
    /// The configuration key that raises the amount.
    pub key: String,
}

/// The user, conversation and agent that a model call is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spender<'a> {
    /// The user, if known.
    pub user: Option<&'a str>,
    /// The conversation.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
}

/// The account whose spending is compared with an [`BudgetRule`]. A field that is `None` does not restrict it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct Account {
    /// Only this user; the inner `None` means unknown users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Option<String>>,
    /// Only this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Account {
    /// Whether `payer`'s spending is charged to this account.
    #[must_use]
    pub fn is_of(&self, payer: &Spender<'_>) -> bool {
        self.user.as_ref().is_none_or(|user| user.as_deref() == payer.user)
            && self.session.as_deref().is_none_or(|session| session == payer.session)
            && self.agent.as_deref().is_none_or(|agent| agent == payer.agent)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| user.as_deref().unwrap_or("unknown users"));
        let session = self.session.as_deref().map(|session| format!("conversation {session}"));
        let agent = self.agent.as_deref().map(|agent| format!("agent {agent}"));
        let names: Vec<String> = user.map(str::to_owned).into_iter().chain(session).chain(agent).collect();
        f.write_str(if names.is_empty() { "all users" } else { "" })?;
        f.write_str(&names.join(", "))
    }
}

/// Whether a call is within the budget.
#[derive(Debug, Clone, PartialEq)]
pub enum BudgetVerdict {
    /// Within the budget.
    Fine,
    /// Allowed, with a warning.
    Warn(BudgetNotice),
    /// Refused.
    Stop(BudgetNotice),
}

/// Details of a warning or refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetNotice {
    /// The limit, formatted as `$5.00 per day`.
    pub budget: String,
    /// The account it applies to.
    pub account: Account,
    /// The amount spent in this period.
    pub spent: Money,
    /// The amount allowed per period.
    pub amount: Money,
    /// The minimum cost of the call, if that cost is what exceeds the budget.
    pub too_much: Option<Money>,
    /// When the next period begins.
    pub resets_at: Zoned,
    /// The configuration key that raises the amount.
    pub key: String,
}

impl BudgetRule {
    /// The account that `payer`'s spending is charged to; `None` if this rule does not apply to `payer`.
    #[must_use]
    pub fn account(&self, payer: &Spender<'_>) -> Option<Account> {
        if self.user.is_some() && self.user.as_deref() != payer.user {
            return None;
        }
        let by_user = self.user.is_some() || self.of == SpentBy::User;
        Some(Account {
            user: by_user.then(|| payer.user.map(str::to_owned)),
            session: (self.of == SpentBy::Session).then(|| payer.session.to_owned()),
            agent: (self.of == SpentBy::Agent).then(|| payer.agent.to_owned()),
        })
    }

    /// Checks a call that costs `at_least` this much against the amount already spent on `account`. A call of unknown
    /// price is checked by the spent amount only.
    ///
    /// ```
    /// use foreword_core::budget_rule::{Account, BudgetRule, SpentBy, BudgetVerdict};
    /// use foreword_core::budget::{Budget, Period};
    /// use foreword_core::money::{Money, Price};
    ///
    /// let budget = Budget::new(5.0, Period::Day).unwrap();
    /// let (of, user, key) = (SpentBy::All, None, "budgets.0.usd".to_owned());
    /// let budget_rule = BudgetRule { budget, of, user, warn_percent: 80, stop: true, key };
    /// let now = "2026-11-16T08:30:00+01:00[Europe/Berlin]".parse().unwrap();
    /// let check = |usd| budget_rule.check(&Account::default(), Money::from_dollars(usd), Price::Unknown, &now);
    /// assert_eq!(check(3.99), BudgetVerdict::Fine);
    /// let BudgetVerdict::Stop(notice) = check(5.01) else { panic!() };
    /// assert_eq!(
    ///     notice.to_owner(),
    ///     "the budget of $5.0000 per day is used up: $5.0100 spent. It resets on Tue 17 Nov at 00:00 (CET); to continue \
    ///      sooner, raise `budgets.0.usd` in foreword.yaml"
    /// );
    /// assert_eq!(
    ///     notice.to_others(),
    ///     "the spending limit is reached. It resets on Tue 17 Nov at 00:00 (CET)"
    /// );
    /// ```
    #[must_use]
    pub fn check(&self, account: &Account, spent: Money, at_least: Price, now: &Zoned) -> BudgetVerdict {
        let amount = self.budget.amount();
        let too_much = at_least.known().filter(|cost| spent < amount && spent + *cost > amount);
        let notice = BudgetNotice {
            budget: self.to_string(),
            account: account.clone(),
            spent,
            amount,
            too_much,
            resets_at: self.budget.per().next(now),
            key: self.key.clone(),
        };
        let percent = u128::from(spent.picodollars()) * 100;
        if spent >= amount || too_much.is_some() {
            if self.stop { BudgetVerdict::Stop(notice) } else { BudgetVerdict::Warn(notice) }
        } else if percent >= u128::from(amount.picodollars()) * u128::from(self.warn_percent) {
            BudgetVerdict::Warn(notice)
        } else {
            BudgetVerdict::Fine
        }
    }
}

impl fmt::Display for BudgetRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {}", self.budget.amount(), self.budget.per())?;
        match self.of {
            SpentBy::All => {}
            SpentBy::User => f.write_str(" for each user")?,
            SpentBy::Session => f.write_str(" for each conversation")?,
            SpentBy::Agent => f.write_str(" for each agent")?,
        }
        self.user.as_ref().map_or(Ok(()), |user| write!(f, " for {user}"))
    }
}

impl BudgetNotice {
    /// The spent share of the amount, in percent.
    #[must_use]
    pub fn percent(&self) -> u64 {
        let percent =
            (u128::from(self.spent.picodollars()) * 100).checked_div(u128::from(self.amount.picodollars()));
        percent.and_then(|percent| u64::try_from(percent).ok()).unwrap_or(u64::MAX)
    }

    /// The message for the owner.
    #[must_use]
    pub fn to_owner(&self) -> String {
        let Self { budget, spent, key, .. } = self;
        let whose =
            if self.account == Account::default() { String::new() } else { format!(" by {}", self.account) };
        let how = match self.too_much {
            Some(cost) => {
                format!("does not suffice: {spent} spent{whose}, and this call costs {cost} or more")
            }
            None if self.spent >= self.amount => format!("is used up: {spent} spent{whose}"),
            None => format!("is spent to {} %: {spent}{whose}", self.percent()),
        };
        format!(
            "the budget of {budget} {how}. It resets {}; to continue sooner, raise `{key}` in foreword.yaml",
            self.when()
        )
    }

    /// The message for everybody else. It names no amounts and no other accounts.
    #[must_use]
    pub fn to_others(&self) -> String {
        format!("the spending limit is reached. It resets {}", self.when())
    }

    fn when(&self) -> String {
        self.resets_at.strftime("on %a %-d %b at %H:%M (%Z)").to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::Period;

    fn budget_rule(usd: f64, of: SpentBy, user: Option<&str>) -> BudgetRule {
        let budget = Budget::new(usd, Period::Day).unwrap();
        let key = "budgets.0.usd".to_owned();
        BudgetRule { budget, of, user: user.map(Into::into), warn_percent: 80, stop: true, key }
    }

    fn now() -> Zoned {
        "2026-11-16T08:30:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn word(verdict: &BudgetVerdict) -> &'static str {
        match verdict {
            BudgetVerdict::Fine => "fine",
            BudgetVerdict::Warn(_) => "warn",
            BudgetVerdict::Stop(_) => "stop",
        }
    }

    #[test]
    fn verdict_depends_on_spending_and_next_cost() {
        let known = |usd: f64| Price::Known(Money::from_dollars(usd));
        for (spent, at_least, stopping, warning) in [
            (0.0, known(0.0), "fine", "fine"),
            (7.99, Price::Unknown, "fine", "fine"),
            (8.0, known(0.0), "warn", "warn"),
            (8.0, known(2.0), "warn", "warn"),
            (8.0, known(2.01), "stop", "warn"),
            (0.0, known(10.01), "stop", "warn"),
            (10.0, known(0.0), "stop", "warn"),
            (12.0, Price::Unknown, "stop", "warn"),
        ] {
            let stops = budget_rule(10.0, SpentBy::All, None);
            let warns = BudgetRule { stop: false, ..stops.clone() };
            let check = |budget_rule: &BudgetRule| {
                word(&budget_rule.check(&Account::default(), Money::from_dollars(spent), at_least, &now()))
            };
            assert_eq!((check(&stops), check(&warns)), (stopping, warning), "{spent} {at_least}");
        }
    }

    #[test]
    fn spending_is_charged_to_the_matching_account() {
        let alice = Spender { user: Some("alice"), session: "c-1", agent: "Ada" };
        let nobody = Spender { user: None, session: "c-2", agent: "Ada" };
        for (of, user, expected, unknown) in [
            (SpentBy::All, None, Some("all users"), Some("all users")),
            (SpentBy::User, None, Some("alice"), Some("unknown users")),
            (SpentBy::Session, None, Some("conversation c-1"), Some("conversation c-2")),
            (SpentBy::Agent, None, Some("agent Ada"), Some("agent Ada")),
            (SpentBy::All, Some("alice"), Some("alice"), None),
            (SpentBy::Session, Some("alice"), Some("alice, conversation c-1"), None),
        ] {
            let budget_rule = budget_rule(1.0, of, user);
            let account = |payer: &Spender<'_>| budget_rule.account(payer).map(|account| account.to_string());
            assert_eq!(account(&alice).as_deref(), expected, "{budget_rule}");
            assert_eq!(account(&nobody).as_deref(), unknown, "{budget_rule}");
            let own = budget_rule.account(&alice).unwrap();
            assert!(own.is_of(&alice) && own.is_of(&nobody) == (expected == unknown), "{budget_rule}");
        }
    }

    #[test]
    fn only_the_owner_sees_amounts() {
        let budget_rule = budget_rule(5.0, SpentBy::User, None);
        let account = Account { user: Some(Some("bob".to_owned())), ..Account::default() };
        let check = |usd, at_least| budget_rule.check(&account, Money::from_dollars(usd), at_least, &now());
        let BudgetVerdict::Warn(warning) = check(4.1, Price::Unknown) else { panic!() };
        assert_eq!(
            warning.to_owner(),
            "the budget of $5.0000 per day for each user is spent to 82 %: $4.1000 by bob. It resets on Tue 17 Nov \
             at 00:00 (CET); to continue sooner, raise `budgets.0.usd` in foreword.yaml"
        );
        let BudgetVerdict::Stop(stop) = check(4.1, Price::Known(Money::from_dollars(1.0))) else { panic!() };
        assert!(
            stop.to_owner()
                .contains("does not suffice: $4.1000 spent by bob, and this call costs $1.0000 or more")
        );
        assert!(!stop.to_others().contains(['$', '`']) && !stop.to_others().contains("bob"));
    }

    proptest! {
        #[test]
        fn stop_is_final_and_budget_is_never_knowingly_exceeded(
            usd in 0.01..1_000.0_f64, spent in 0.0..2_000.0_f64, more in 0.0..100.0_f64, at_least in 0.0..100.0_f64,
        ) {
            let budget_rule = budget_rule(usd, SpentBy::All, None);
            let price = Price::Known(Money::from_dollars(at_least));
            let check = |usd: f64| budget_rule.check(&Account::default(), Money::from_dollars(usd), price, &now());
            if let BudgetVerdict::Stop(_) = check(spent) {
                prop_assert_eq!(word(&check(spent + more)), "stop");
            } else {
                prop_assert!(Money::from_dollars(spent) + Money::from_dollars(at_least) <= budget_rule.budget.amount());
            }
        }
    }
}

//! How much may be spent, by whom and in which time: a warning when most of it is gone, and a stop when all of it is. Counts
//! nothing itself; what was spent is told.

use std::fmt;
use std::sync::Arc;

use jiff::Zoned;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::money::{Money, Price};

/// Whose spending counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SpentBy {
    /// Everybody's.
    #[default]
    All,
    /// Each user's by itself; of those who are not known, all together.
    User,
    /// Each conversation's by itself.
    Session,
    /// Each agent's by itself.
    Agent,
}

/// So much may be spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    /// How much, and how often it begins anew.
    pub budget: Budget,
    /// Whose spending counts together.
    pub of: SpentBy,
    /// Only this user's spending counts.
    pub user: Option<Arc<str>>,
    /// From how many percent on there is a warning.
    pub warn_percent: u8,
    /// Whether calls are refused once it is used up; else there are only warnings.
    pub stop: bool,
    /// The key by which it can be raised.
    pub key: String,
}

/// For whom a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payer<'a> {
    /// The user, if known.
    pub user: Option<&'a str>,
    /// The conversation.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
}

/// Whose spending is held against an allowance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct Account {
    /// Only this user's; `None` inside is whoever is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Option<String>>,
    /// Only this conversation's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only this agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Account {
    /// Whether what `payer` spends goes to this account.
    #[must_use]
    pub fn is_of(&self, payer: &Payer<'_>) -> bool {
        self.user.as_ref().is_none_or(|user| user.as_deref() == payer.user)
            && self.session.as_deref().is_none_or(|session| session == payer.session)
            && self.agent.as_deref().is_none_or(|agent| agent == payer.agent)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| user.as_deref().unwrap_or("whoever is not known"));
        let session = self.session.as_deref().map(|session| format!("conversation {session}"));
        let agent = self.agent.as_deref().map(|agent| format!("agent {agent}"));
        let names: Vec<String> = user.map(str::to_owned).into_iter().chain(session).chain(agent).collect();
        f.write_str(if names.is_empty() { "everybody" } else { "" })?;
        f.write_str(&names.join(", "))
    }
}

/// What is to be said of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// It may be made, and somebody should know.
    Warn(Notice),
    /// It may not be made.
    Stop(Notice),
}

/// How things stand with an allowance that is worth a word.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// Which, as people say it: `$5.00 per day`.
    pub budget: String,
    /// Whose account.
    pub account: Account,
    /// What was spent.
    pub spent: Money,
    /// What may be.
    pub amount: Money,
    /// What the call would cost at the least, if it is that which would be too much.
    pub too_much: Option<Money>,
    /// When it begins anew.
    pub begins_anew: Zoned,
    /// The key by which it can be raised.
    pub key: String,
}

impl Allowance {
    /// The account that `payer`'s spending goes to; `None` if it is none of this allowance's.
    #[must_use]
    pub fn account(&self, payer: &Payer<'_>) -> Option<Account> {
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

    /// What is to be said of a call that costs `at_least` so much, with so much spent on `account`. A price that is not
    /// known can't be held against anything.
    ///
    /// ```
    /// use foreword_core::allowance::{Account, Allowance, SpentBy, Verdict};
    /// use foreword_core::budget::{Budget, Period};
    /// use foreword_core::money::{Money, Price};
    ///
    /// let budget = Budget::new(5.0, Period::Day).unwrap();
    /// let (of, user, key) = (SpentBy::All, None, "budgets.0.usd".to_owned());
    /// let allowance = Allowance { budget, of, user, warn_percent: 80, stop: true, key };
    /// let now = "2026-11-16T08:30:00+01:00[Europe/Berlin]".parse().unwrap();
    /// let judge = |usd| allowance.judge(&Account::default(), Money::from_dollars(usd), Price::Unknown, &now);
    /// assert_eq!(judge(3.99), Verdict::Fine);
    /// let Verdict::Stop(notice) = judge(5.01) else { panic!() };
    /// assert_eq!(
    ///     notice.to_owner(),
    ///     "the budget of $5.0000 per day is used up: $5.0100 spent. It begins anew on Tue 17 Nov at 00:00 (CET); to go on \
    ///      sooner, raise `budgets.0.usd` in foreword.yaml"
    /// );
    /// assert_eq!(
    ///     notice.to_others(),
    ///     "what may be spent here is used up. It begins anew on Tue 17 Nov at 00:00 (CET)"
    /// );
    /// ```
    #[must_use]
    pub fn judge(&self, account: &Account, spent: Money, at_least: Price, now: &Zoned) -> Verdict {
        let amount = self.budget.amount();
        let too_much = at_least.known().filter(|cost| spent < amount && spent + *cost > amount);
        let notice = Notice {
            budget: self.to_string(),
            account: account.clone(),
            spent,
            amount,
            too_much,
            begins_anew: self.budget.per().next(now),
            key: self.key.clone(),
        };
        let percent = u128::from(spent.picodollars()) * 100;
        if spent >= amount || too_much.is_some() {
            if self.stop { Verdict::Stop(notice) } else { Verdict::Warn(notice) }
        } else if percent >= u128::from(amount.picodollars()) * u128::from(self.warn_percent) {
            Verdict::Warn(notice)
        } else {
            Verdict::Fine
        }
    }
}

impl fmt::Display for Allowance {
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

impl Notice {
    /// How much of it is spent, in percent.
    #[must_use]
    pub fn percent(&self) -> u64 {
        let percent =
            (u128::from(self.spent.picodollars()) * 100).checked_div(u128::from(self.amount.picodollars()));
        percent.and_then(|percent| u64::try_from(percent).ok()).unwrap_or(u64::MAX)
    }

    /// What the owner is told.
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
            "the budget of {budget} {how}. It begins anew {}; to go on sooner, raise `{key}` in foreword.yaml",
            self.when()
        )
    }

    /// What everybody else is told: no amounts, and nothing of others.
    #[must_use]
    pub fn to_others(&self) -> String {
        format!("what may be spent here is used up. It begins anew {}", self.when())
    }

    fn when(&self) -> String {
        self.begins_anew.strftime("on %a %-d %b at %H:%M (%Z)").to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::Period;

    fn allowance(usd: f64, of: SpentBy, user: Option<&str>) -> Allowance {
        let budget = Budget::new(usd, Period::Day).unwrap();
        let key = "budgets.0.usd".to_owned();
        Allowance { budget, of, user: user.map(Into::into), warn_percent: 80, stop: true, key }
    }

    fn now() -> Zoned {
        "2026-11-16T08:30:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Fine => "fine",
            Verdict::Warn(_) => "warn",
            Verdict::Stop(_) => "stop",
        }
    }

    #[test]
    fn what_is_spent_and_what_is_to_come_decide() {
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
            let stops = allowance(10.0, SpentBy::All, None);
            let warns = Allowance { stop: false, ..stops.clone() };
            let judge = |allowance: &Allowance| {
                word(&allowance.judge(&Account::default(), Money::from_dollars(spent), at_least, &now()))
            };
            assert_eq!((judge(&stops), judge(&warns)), (stopping, warning), "{spent} {at_least}");
        }
    }

    #[test]
    fn spending_goes_to_the_account_it_is_counted_on() {
        let alice = Payer { user: Some("alice"), session: "c-1", agent: "Ada" };
        let nobody = Payer { user: None, session: "c-2", agent: "Ada" };
        for (of, user, expected, unknown) in [
            (SpentBy::All, None, Some("everybody"), Some("everybody")),
            (SpentBy::User, None, Some("alice"), Some("whoever is not known")),
            (SpentBy::Session, None, Some("conversation c-1"), Some("conversation c-2")),
            (SpentBy::Agent, None, Some("agent Ada"), Some("agent Ada")),
            (SpentBy::All, Some("alice"), Some("alice"), None),
            (SpentBy::Session, Some("alice"), Some("alice, conversation c-1"), None),
        ] {
            let allowance = allowance(1.0, of, user);
            let account = |payer: &Payer<'_>| allowance.account(payer).map(|account| account.to_string());
            assert_eq!(account(&alice).as_deref(), expected, "{allowance}");
            assert_eq!(account(&nobody).as_deref(), unknown, "{allowance}");
            let own = allowance.account(&alice).unwrap();
            assert!(own.is_of(&alice) && own.is_of(&nobody) == (expected == unknown), "{allowance}");
        }
    }

    #[test]
    fn the_owner_is_told_amounts_and_others_are_not() {
        let allowance = allowance(5.0, SpentBy::User, None);
        let account = Account { user: Some(Some("bob".to_owned())), ..Account::default() };
        let judge = |usd, at_least| allowance.judge(&account, Money::from_dollars(usd), at_least, &now());
        let Verdict::Warn(warning) = judge(4.1, Price::Unknown) else { panic!() };
        assert_eq!(
            warning.to_owner(),
            "the budget of $5.0000 per day for each user is spent to 82 %: $4.1000 by bob. It begins anew on Tue 17 Nov \
             at 00:00 (CET); to go on sooner, raise `budgets.0.usd` in foreword.yaml"
        );
        let Verdict::Stop(stop) = judge(4.1, Price::Known(Money::from_dollars(1.0))) else { panic!() };
        assert!(
            stop.to_owner()
                .contains("does not suffice: $4.1000 spent by bob, and this call costs $1.0000 or more")
        );
        assert!(!stop.to_others().contains(['$', '`']) && !stop.to_others().contains("bob"));
    }

    proptest! {
        #[test]
        fn whatever_is_spent_a_stop_stays_a_stop_and_a_budget_is_never_passed_knowingly(
            usd in 0.01..1_000.0_f64, spent in 0.0..2_000.0_f64, more in 0.0..100.0_f64, at_least in 0.0..100.0_f64,
        ) {
            let allowance = allowance(usd, SpentBy::All, None);
            let price = Price::Known(Money::from_dollars(at_least));
            let judge = |usd: f64| allowance.judge(&Account::default(), Money::from_dollars(usd), price, &now());
            if let Verdict::Stop(_) = judge(spent) {
                prop_assert_eq!(word(&judge(spent + more)), "stop");
            } else {
                prop_assert!(Money::from_dollars(spent) + Money::from_dollars(at_least) <= allowance.budget.amount());
            }
        }
    }
}

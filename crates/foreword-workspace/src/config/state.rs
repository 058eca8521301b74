//! Key `agent.state`: the source of a self-supporting agent's state.

use std::time::Duration;

use foreword_core::budget::{Budget, MAX_BUDGET_USD, Period};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;

/// The source of the agent's state: one of `file`, `command` and `budget`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawState {
    /// A JSON or YAML file below the workspace with a mapping of names to values.
    #[schemars(with = "Option<String>")]
    pub file: Option<Spanned<String>>,
    /// A program and its arguments; it prints such a mapping. It runs in the workspace, with a minimal environment.
    #[schemars(with = "Option<Vec<String>>")]
    pub command: Option<Spanned<Vec<String>>>,
    /// The timeout of the program in milliseconds. Default: 2,000.
    #[schemars(with = "Option<u64>")]
    pub timeout_ms: Option<Spanned<u64>>,
    /// The cost of model calls against this budget.
    #[schemars(with = "Option<RawSpending>")]
    pub budget: Option<Spanned<RawSpending>>,
}

/// An amount of money per day, week or month.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSpending {
    /// US dollars.
    pub usd: f64,
    /// The period: `day`, `week` or `month`. Default: `month`.
    #[serde(default)]
    pub per: Period,
}

/// The source of the agent's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateSource {
    /// A JSON or YAML file below the workspace.
    File(String),
    /// A program that prints such a mapping.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// Its timeout.
        timeout: Duration,
    },
    /// The cost of model calls against a budget.
    Budget(Budget),
}

const STATE_TIMEOUT: Duration = Duration::from_secs(2);
const ONE_OF: &str = "write one of `file`, `command` and `budget`";

impl ConfigParser<'_> {
    pub(super) fn state(&mut self, written: Option<&Spanned<RawState>>) -> Option<StateSource> {
        let Spanned { value: raw, defined: at, .. } = written?;
        if let (Some(timeout), None) = (&raw.timeout_ms, &raw.command) {
            let message = "`agent.state.timeout_ms` has no effect without a `command`".to_owned();
            self.refuse(timeout.defined, message, "leave it out".to_owned());
        }
        let timeout = self.milliseconds(raw.timeout_ms.as_ref(), "agent.state.timeout_ms", STATE_TIMEOUT);
        match (&raw.file, &raw.command, &raw.budget) {
            (Some(file), None, None) => self.file(Some(file), "state").map(StateSource::File),
            (None, Some(command), None) => {
                if command.value.first().is_none_or(|program| program.trim().is_empty()) {
                    let message = "`agent.state.command` is not a program name".to_owned();
                    self.refuse(
                        command.defined,
                        message,
                        "write it as a list: [program, argument]".to_owned(),
                    );
                }
                Some(StateSource::Command { words: command.value.clone(), timeout })
            }
            (None, None, Some(written)) => {
                let budget = Budget::new(written.value.usd, written.value.per);
                if budget.is_none() {
                    let message = format!("`agent.state.budget.usd` is {}", written.value.usd);
                    let help = format!("use an amount above 0, up to {MAX_BUDGET_USD}");
                    self.refuse(written.defined, message, help);
                }
                budget.map(StateSource::Budget)
            }
            (None, None, None) => {
                self.refuse(*at, "`agent.state` has no source".to_owned(), ONE_OF.to_owned());
                None
            }
            _ => {
                self.refuse(*at, "`agent.state` has two sources".to_owned(), ONE_OF.to_owned());
                None
            }
        }
    }
}

//! Selects the models to simulate: the named ones, otherwise the agent's own, otherwise one per provider family.

use std::borrow::Cow;

use foreword_core::models::{Breakpoints, ModelCatalog, ModelFacts};
use foreword_core::money::Money;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::config::Config;

use super::SimulationError;

/// The models, and the reason for a default selection.
pub(super) struct Chosen<'a> {
    pub(super) models: Vec<Cow<'a, ModelFacts>>,
    pub(super) why: Option<String>,
}

pub(super) fn models<'a>(named: &[String], config: &'a Config) -> Result<Chosen<'a>, SimulationError> {
    let catalog = &config.models;
    if !named.is_empty() {
        let models = named.iter().map(|name| priced(name, catalog)).collect::<Result<_, _>>()?;
        return Ok(Chosen { models, why: None });
    }
    let own = catalog.resolve(&config.agent.model);
    if let Some(own) =
        own.as_ref().filter(|own| per_million(own).is_some_and(|price| price > Money::default()))
    {
        return Ok(Chosen { models: vec![own.clone()], why: None });
    }
    let reason =
        if own.is_some_and(|own| own.prices.is_some()) { "costs nothing" } else { "has no known price" };
    let models = one_of_each(catalog);
    if models.is_empty() {
        return Err(no_price(&config.agent.model, catalog));
    }
    let names: Vec<&str> = models.iter().map(|facts| facts.id.as_str()).collect();
    let why = format!(
        "The agent's model, {}, {reason}: simulated with {} instead. Name others with --model.",
        single_line(&config.agent.model, 80),
        names.join(" and "),
    );
    Ok(Chosen { models: models.into_iter().map(Cow::Borrowed).collect(), why: Some(why) })
}

fn priced<'a>(name: &str, catalog: &'a ModelCatalog) -> Result<Cow<'a, ModelFacts>, SimulationError> {
    catalog.resolve(name).filter(|facts| facts.prices.is_some()).ok_or_else(|| no_price(name, catalog))
}

fn no_price(name: &str, catalog: &ModelCatalog) -> SimulationError {
    let near = did_you_mean(name, catalog.iter().map(|facts| facts.id.as_str()));
    let near = near.filter(|near| *near != name).map(str::to_owned);
    SimulationError::NoPrice { name: single_line(name, 80), near }
}

/// The first Anthropic model of the table, and the OpenAI model with the nearest price.
fn one_of_each(catalog: &ModelCatalog) -> Vec<&ModelFacts> {
    let of = |provider: &'static str| {
        catalog
            .iter()
            .filter(move |facts| facts.id.provider() == provider && facts.breakpoints != Breakpoints::None)
    };
    let anthropic = of("anthropic").find(|facts| per_million(facts).is_some());
    let target = anthropic.and_then(per_million).unwrap_or_default().picodollars();
    let away = |facts: &&ModelFacts| per_million(facts).map(|price| price.picodollars().abs_diff(target));
    let openai = of("openai").filter(|facts| away(facts).is_some()).min_by_key(away);
    anthropic.into_iter().chain(openai).collect()
}

/// The price of a million input tokens.
fn per_million(facts: &ModelFacts) -> Option<Money> {
    facts.prices_at(0).map(|prices| prices.input.times(1_000_000))
}

//! `foreword cost`: what calls to models came to, by day or by whatever else tells them apart. Only the owner sees it. Days
//! begin where this machine is.

mod shown;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use foreword_core::cost_sum::CostSum;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::events::{CostBy, CostFilter};
use foreword_store::store::Store;
use jiff::{ToSpan, Zoned};

use crate::cli::observe::{By, CostArgs};
use crate::failure::Failure;
use crate::looking::{Looker, moment};
use crate::output::{DIM, Output, styled};
use crate::stored::{Stored, now};
use crate::world::World;

/// How many days are shown if nobody says how many.
const DAYS: i64 = 30;
/// How many days can be asked for one by one.
const MOST_DAYS: usize = 3_660;

pub(crate) fn run(args: &CostArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    let looker = Looker::of(&args.look, &workspace, world, output)?;
    if !looker.trust.permits(Trust::Full) {
        return Err(Failure::failed(
            "what was spent is for the owner to see",
            "look as somebody of `full` trust: `--as NAME`",
        ));
    }
    let span = Span::of(args, world)?;
    let stored = Stored::open_existing(&workspace, world)?;
    let costs = match &stored {
        Some(stored) => stored.wait(Costs::read(&stored.store, args.by, &span, &world.now))?,
        None => Costs::none(args.by, &span),
    };
    if output.wants_json() {
        output.json(&shown::as_json(&costs))?;
        return Ok(ExitCode::SUCCESS);
    }
    output.print(&shown::text(&costs, io::stdout().is_terminal()))?;
    if costs.total.is_empty() {
        output.say(&styled(DIM, "no model was called in that time; `--since` looks further back"));
    } else if costs.total.unpriced > 0 {
        output.say(&styled(DIM, shown::unpriced(costs.total.unpriced)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The time that is asked for.
#[derive(Debug)]
struct Span {
    since: Timestamp,
    until: Timestamp,
    /// The beginnings of its days, and its end.
    days: Vec<Zoned>,
}

impl Span {
    fn of(args: &CostArgs, world: &World) -> Result<Self, Failure> {
        let until = moment(args.until.as_deref(), world)?.unwrap_or_else(|| now(world));
        let in_zone = |at: Timestamp| jiff::Timestamp::from(at).to_zoned(world.now.time_zone().clone());
        let since = match moment(args.since.as_deref(), world)? {
            Some(since) => since,
            None => midnight(&in_zone(until), 1 - DAYS).timestamp().into(),
        };
        if since > until {
            return Err(Failure::usage(
                "that time ends before it begins",
                "such as --since 7d --until today",
            ));
        }
        let (mut days, end) = (vec![in_zone(since)], in_zone(until));
        while let Some(next) = days.last().map(|day| midnight(day, 1)).filter(|next| *next < end) {
            // At the ends of time there is no next day.
            if days.last().is_some_and(|last| next <= *last) {
                break;
            }
            days.push(next);
            if days.len() > MOST_DAYS {
                return Err(Failure::usage(
                    format!("that is more than {MOST_DAYS} days"),
                    "begin later, or tell apart by something else: --by model",
                ));
            }
        }
        // What happens at this very moment is part of it.
        let until = until.plus(std::time::Duration::from_micros(1));
        days.push(in_zone(until));
        Ok(Self { since, until, days })
    }

    fn filter(&self) -> CostFilter {
        CostFilter { since: Some(self.since), until: Some(self.until), ..CostFilter::default() }
    }
}

/// When the day began, or one so many days later.
fn midnight(at: &Zoned, days: i64) -> Zoned {
    let day = at.date().saturating_add(days.days());
    day.to_zoned(at.time_zone().clone()).unwrap_or_else(|_| at.clone())
}

/// What there is to show.
#[derive(Debug)]
struct Costs {
    by: By,
    since: Timestamp,
    until: Timestamp,
    /// Days in their order, without those on which nothing was; else the dearest first.
    rows: Vec<(Option<String>, CostSum)>,
    /// Every day, if told apart by day.
    days: Vec<CostSum>,
    total: CostSum,
    today: CostSum,
    /// The conversation with the most tokens.
    longest: Option<(String, CostSum)>,
}

impl Costs {
    fn none(by: By, span: &Span) -> Self {
        let (rows, days) = (Vec::new(), Vec::new());
        let (total, today) = (CostSum::default(), CostSum::default());
        Self { by, since: span.since, until: span.until, rows, days, total, today, longest: None }
    }

    async fn read(store: &Store, by: By, span: &Span, now: &Zoned) -> Result<Self, StoreError> {
        let total = store.cost(span.filter()).await?;
        let today = midnight(now, 0).timestamp().into();
        let today = store.cost(CostFilter { since: Some(today), ..CostFilter::default() }).await?;
        let sessions = store.cost_by(CostBy::Session, span.filter()).await?;
        let named = sessions.iter().filter_map(|(name, sum)| Some((name.clone()?, *sum)));
        // The first by name, if two are as long.
        let longest = named.min_by_key(|(name, sum)| (std::cmp::Reverse(sum.tokens()), name.clone()));
        let mut days = Vec::new();
        let mut rows = match by {
            By::Day => {
                let bounds: Vec<Timestamp> = span.days.iter().map(|day| day.timestamp().into()).collect();
                days = store.cost_between(&bounds).await?;
                let named = span.days.iter().map(|day| Some(day.date().to_string())).zip(days.clone());
                named.filter(|(_, sum)| !sum.is_empty()).collect()
            }
            By::Session => sessions,
            By::User => store.cost_by(CostBy::User, span.filter()).await?,
            By::Model => store.cost_by(CostBy::Model, span.filter()).await?,
            By::Agent => store.cost_by(CostBy::Agent, span.filter()).await?,
        };
        if by != By::Day {
            rows.sort_by(|(one_name, one), (other_name, other)| {
                let dearest = other.usd.total_cmp(&one.usd).then(other.tokens().cmp(&one.tokens()));
                dearest.then_with(|| one_name.cmp(other_name))
            });
        }
        Ok(Self { by, since: span.since, until: span.until, rows, days, total, today, longest })
    }
}

//! Formats a cost report as text or JSON. Unknown values are shown as unknown, never as zero.

use foreword_agent::reports::cost_report::{CostGrouping, CostReport};
use foreword_core::cost_sum::CostSum;
use foreword_core::money::Money;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::display_line;
use foreword_store::events::CostBy;
use serde_json::{Value, json};

use crate::output::table::{Align, Table};
use crate::output::{BOLD, CYAN, DIM, chart, counted, styled};

const MAX_BAR_COLUMNS: usize = 20;
const NAME_CHARS: usize = 80;

/// The table and a summary; with charts on a terminal.
pub(super) fn text(costs: &CostReport, with_charts: bool) -> String {
    let mut out = Vec::new();
    if with_charts && costs.days.iter().filter(|sum| !sum.is_empty()).count() > 1 {
        let values: Vec<f64> = costs.days.iter().map(|sum| bar_value(costs, sum)).collect();
        out.push(format!("  {}\n", styled(CYAN, chart::line(&values))));
    }
    if !costs.rows.is_empty() {
        out.push(table(costs, with_charts) + "\n");
    }
    out.push(summary(costs));
    out.join("\n")
}

/// The value of a bar: money, or tokens if nothing has a cost.
fn bar_value(costs: &CostReport, sum: &CostSum) -> f64 {
    if costs.total.usd > 0.0 { sum.usd } else { sum.tokens() as f64 }
}

fn table(costs: &CostReport, with_charts: bool) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        (costs.by.as_str(), left),
        ("turns", right),
        ("calls", right),
        ("tokens in", right),
        ("from cache", right),
        ("to cache", right),
        ("tokens out", right),
        ("cost", right),
        ("per turn", right),
        ("", left),
    ]);
    let most = costs.rows.iter().map(|(_, sum)| bar_value(costs, sum)).fold(0.0, f64::max);
    for (name, sum) in &costs.rows {
        let bar = chart::bar(bar_value(costs, sum), most, if with_charts { MAX_BAR_COLUMNS } else { 0 });
        let bar = if bar.is_empty() { bar } else { styled(CYAN, bar) };
        table.row(cells(&shown_name(costs.by, name.as_deref()), sum, bar));
    }
    if costs.rows.len() > 1 {
        let cells = cells("all", &costs.total, String::new()).into_iter();
        let bold = |cell: String| if cell.is_empty() { cell } else { styled(BOLD, cell) };
        table.row(cells.map(bold).collect());
    }
    table.render()
}

fn cells(name: &str, sum: &CostSum, bar: String) -> Vec<String> {
    vec![
        name.to_owned(),
        number(sum.turns),
        number(sum.calls),
        number(sum.tokens_in),
        share(sum),
        if sum.tokens_with_cache_usage > 0 { number(sum.cache_write) } else { "not reported".to_owned() },
        number(sum.tokens_out),
        cost(sum),
        sum.usd_per_turn().map_or_else(|| "unknown".to_owned(), dollars),
        bar,
    ]
}

fn shown_name(by: CostGrouping, name: Option<&str>) -> String {
    match (name, by) {
        (Some(name), _) => display_line(name, NAME_CHARS),
        (None, CostGrouping::By(CostBy::User)) => "unknown user".to_owned(),
        (None, _) => "not recorded".to_owned(),
    }
}

fn share(sum: &CostSum) -> String {
    sum.cache_share().map_or_else(|| "not reported".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

/// The cost; a lower bound if some calls have no price.
fn cost(sum: &CostSum) -> String {
    match sum.unpriced {
        0 => sum.cost().to_string(),
        unpriced if unpriced == sum.calls => "unknown".to_owned(),
        _ => format!("≥ {}", sum.cost()),
    }
}

fn dollars(usd: f64) -> String {
    Money::from_dollars(usd).to_string()
}

fn number(number: u64) -> String {
    with_thousands(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Today's cost, the average per turn, and the largest consumer.
fn summary(costs: &CostReport) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]).without_header();
    let mut row = |name: &str, words: String| table.row(vec![styled(DIM, name), words]);
    row("today", format!("{} in {}", cost(&costs.today), counted(costs.today.turns, "turn")));
    if !costs.total.is_empty() {
        let average = costs.total.usd_per_turn();
        row("average turn", average.map_or_else(|| "unknown".to_owned(), dollars));
    }
    if let Some((name, sum)) = &costs.longest {
        let name = display_line(name, NAME_CHARS);
        row("most tokens", format!("{} in conversation {name}", number(sum.tokens())));
    }
    table.render()
}

/// Explains calls without a price, and how to set one.
pub(super) fn unpriced(calls: u64) -> String {
    let are = if calls == 1 { "is" } else { "are" };
    format!(
        "{} without a known price {are} not included; set one in section `prices` of foreword.yaml",
        counted(calls, "call")
    )
}

pub(super) fn as_json(costs: &CostReport) -> Value {
    let rows = costs.rows.iter().map(|(name, sum)| {
        let mut row = sum_json(sum);
        row["key"] = json!(name);
        row
    });
    json!({
        "by": costs.by.as_str(),
        "since": costs.since,
        "until": costs.until,
        "rows": rows.collect::<Vec<_>>(),
        "total": sum_json(&costs.total),
        "today": sum_json(&costs.today),
        "most_tokens": costs.longest.as_ref().map(|(name, sum)| json!({ "session": name, "tokens": sum.tokens() })),
    })
}

fn sum_json(sum: &CostSum) -> Value {
    json!({
        "turns": sum.turns,
        "calls": sum.calls,
        "failed_calls": sum.failed,
        "unpriced_calls": sum.unpriced,
        "tokens_in": sum.tokens_in,
        "tokens_out": sum.tokens_out,
        "cache_read_tokens": (sum.tokens_with_cache_usage > 0).then_some(sum.cache_read),
        "cache_write_tokens": (sum.tokens_with_cache_usage > 0).then_some(sum.cache_write),
        "cache_share": sum.cache_share(),
        "cost_usd": (sum.unpriced < sum.calls || sum.is_empty()).then_some(sum.usd),
        "cost_usd_per_turn": sum.usd_per_turn(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(by: CostGrouping) -> CostReport {
        let small = CostSum {
            calls: 2,
            turns: 2,
            tokens_in: 1_200,
            tokens_out: 80,
            tokens_with_cache_usage: 1_200,
            usd: 0.0045,
            ..CostSum::default()
        };
        let large = CostSum {
            calls: 5,
            failed: 1,
            turns: 3,
            tokens_in: 52_000,
            tokens_out: 900,
            cache_read: 31_200,
            cache_write: 4_000,
            tokens_with_cache_usage: 52_000,
            usd: 0.24,
            unpriced: 1,
        };
        let unknown =
            CostSum { calls: 1, turns: 1, tokens_in: 40, tokens_out: 3, unpriced: 1, ..CostSum::default() };
        let names = match by {
            CostGrouping::ByDay => ["2026-11-14", "2026-11-15", "2026-11-16"],
            _ => ["anthropic/claude-haiku-4-5", "openai/gpt-4o", "home/unheard-of"],
        };
        let rows = names.map(|name| Some(name.to_owned())).into_iter().zip([small, large, unknown]);
        CostReport {
            by,
            since: "2026-10-18T00:00:00Z".parse().unwrap(),
            until: "2026-11-16T08:00:00Z".parse().unwrap(),
            rows: rows.collect(),
            days: vec![CostSum::default(), small, CostSum::default(), large, unknown],
            total: small + large + unknown,
            today: unknown,
            longest: Some(("c-1".to_owned(), large)),
        }
    }

    fn rendered(by: CostGrouping, with_charts: bool) -> String {
        anstream::adapter::strip_str(&text(&costs(by), with_charts)).to_string()
    }

    #[test]
    fn days_have_charts_on_a_terminal() {
        insta::assert_snapshot!(rendered(CostGrouping::ByDay, true));
    }

    #[test]
    fn models_have_no_charts_off_a_terminal() {
        insta::assert_snapshot!(rendered(CostGrouping::By(CostBy::Model), false));
    }

    #[test]
    fn unknown_values_are_null_in_json() {
        let json = as_json(&costs(CostGrouping::ByDay));
        let unknown = &json["rows"][2];
        assert_eq!((&unknown["cost_usd"], &unknown["cache_share"]), (&Value::Null, &Value::Null));
        assert_eq!(json["rows"][0]["cache_share"], json!(0.0));
        assert_eq!(json["total"]["unpriced_calls"], json!(2));
        assert_eq!(json["most_tokens"], json!({ "session": "c-1", "tokens": 52_900 }));
    }
}

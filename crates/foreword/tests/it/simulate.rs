//! `foreword simulate` on a workspace whose token counts are set by these tests.

use foreword_prompt::tokens::Tokenizer;
use serde_json::Value;

use crate::program::{Home, Ran, refusal};

const CONFIG: &str = "\
agent: { name: Assistant, blueprint: shop, model: local/marked }
users:
  - { name: alice, trust: public, match: [\"terminal:default\"] }
providers: { local: { base_url: \"http://127.0.0.1:9/v1\" } }
blueprints:
  shop:
    layers:
      - { id: rules, authority: policy, stability: static, trust: public, source: { text: \"Never promise a date.\" } }
      - { id: voice, authority: identity, stability: agent, trust: public, source: { file: VOICE.md } }
      - { id: hours, stability: agent, trust: public, source: { file: notes/hours.md } }
      - { id: place, stability: conversation, trust: public, source: { overlay: situation } }
      - { id: now, stability: turn, trust: public, source: { dynamic: runtime }, overflow: reject }
situations:
  dm: { ceiling: full, prompt_overlay: prompts/dm.md }
prices:
  - id: local/marked
    context_window: 200000
    min_cacheable: 1024
    breakpoints: explicit
    tokenizer: o200k_base
    prices: { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 }
    source: these tests
    date: 2026-01-01
  - id: local/automatic
    context_window: 128000
    min_cacheable: 1024
    breakpoints: automatic
    tokenizer: o200k_base
    prices: { input: 2.5, output: 10, cache_read: 1.25 }
    source: these tests
    date: 2026-01-01
  - id: local/unpriced
    context_window: 128000
  - id: local/half
    breakpoints: automatic
    tokenizer: o200k_base
    prices: { input: 1, output: 1 }
";

fn shop() -> Home {
    let home = Home::with(&[("foreword.yaml", CONFIG), ("prompts/dm.md", "Answer in one sentence.\n")]);
    home.write("VOICE.md", "You speak plainly and never guess.\n".repeat(150));
    home.write("notes/hours.md", "Open from nine to five, closed on holidays.\n".repeat(60));
    home.write("MEMORY.md", "Carol was born in May.\n".repeat(300));
    home
}

/// Runs the program in a time zone whose name has a constant length.
fn run(home: &Home, args: &[&str]) -> Ran {
    Ran::of(home.command(args).env("TZ", "UTC").output().unwrap())
}

fn json(home: &Home, args: &[&str]) -> Value {
    let ran = run(home, &[&["--json", "simulate"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn strategy<'a>(report: &'a Value, model: usize, name: &str) -> &'a Value {
    let strategies = report["models"][model]["strategies"].as_array().unwrap();
    strategies.iter().find(|strategy| strategy["strategy"] == name).unwrap()
}

#[test]
fn date_has_the_same_tokens_every_day() {
    // The snapshots below depend on this.
    let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let weigh = |day: &str, date: &str| {
        Tokenizer::O200kBase.get().count(&format!("- Time: {day}, {date} 09:05 (UTC)"))
    };
    let all =
        days.iter().flat_map(|day| ["2026-11-16", "2027-02-01", "2031-12-31"].map(|date| weigh(day, date)));
    assert!(
        all.clone().all(|weight| weight == weigh("Monday", "2026-11-16")),
        "{:?}",
        all.collect::<Vec<_>>()
    );
}

#[test]
fn simulation_with_two_models() {
    let models = ["simulate", "--turns", "60", "--model", "local/marked,local/automatic"];
    let ran = run(&shop(), &models);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn edits_nights_and_summaries() {
    let args = "simulate --turns 400 --pause 10s..20m --night-every 50 --edit-every 20 --message-tokens 600 --ttl 1h";
    let ran = run(&shop(), &args.split(' ').collect::<Vec<_>>());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn help_shows_examples_and_options() {
    insta::assert_snapshot!(shop().succeed(&["simulate", "--help"]));
}

#[test]
fn json_keys_are_stable() {
    let report = json(&shop(), &["--turns", "20"]);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&report), "assumptions blueprint models occasion scenario");
    assert_eq!(
        keys(&report["models"][0]),
        "cache compacted_above_tokens counter model prices strategies tools_tokens"
    );
    let frozen = strategy(&report, 0, "freeze_then_append");
    assert_eq!(
        keys(frozen),
        "breakpoints calls cost cost_curve cost_per_turn hit_rate parts prompts ratio strategy summaries system_tokens tokens"
    );
    assert_eq!(keys(&frozen["tokens"]), "input output read written written_1h");
    assert_eq!(keys(&frozen["parts"]), "answers history system tail");
    assert_eq!(frozen["ratio"], 1.0);
    assert_eq!(report["models"][0]["prices"]["date"], "2026-01-01");
    assert_eq!(frozen["cost_curve"].as_array().unwrap().len(), 20);
}

#[test]
fn injected_memory_costs_more_than_a_menu() {
    let report = json(&shop(), &["--turns", "20"]);
    let tokens = |name| strategy(&report, 0, name)["system_tokens"].as_u64().unwrap();
    let memory = Tokenizer::O200kBase.get().count(&"Carol was born in May.\n".repeat(300)) as u64;
    assert_eq!(tokens("inject_everything") - tokens("rebuild_each_turn"), memory);
    let ratio = |name| strategy(&report, 0, name)["ratio"].as_f64().unwrap();
    assert!(1.0 < ratio("rebuild_each_turn") && ratio("rebuild_each_turn") < ratio("inject_everything"));
}

#[test]
fn one_hour_ttl_pays_for_long_pauses() {
    let home = shop();
    let cost = |ttl: &str, pause: &str| {
        let report = json(&home, &["--pause", pause, "--ttl", ttl, "--message-tokens", "20", "--turns", "8"]);
        strategy(&report, 0, "freeze_then_append")["cost"].as_f64().unwrap()
    };
    assert!(cost("1h", "8m") < cost("5m", "8m"));
    assert!(cost("1h", "2m") > cost("5m", "2m"));
}

#[test]
fn unknown_price_is_not_zero() {
    let home = shop();
    let printed = run(&home, &["simulate", "--model", "local/half", "--turns", "5"]).stdout;
    assert!(printed.contains("unknown"), "{printed}");
    let report = json(&home, &["--model", "local/half", "--turns", "5"]);
    let frozen = strategy(&report, 0, "freeze_then_append");
    assert!(frozen["cost"].is_null() && frozen["ratio"].is_null(), "{frozen}");
    let error = home.refused(2, &["simulate", "--model", "local/unpriced"]);
    assert!(error.contains("no prices are known for `local/unpriced`"), "{error}");
    assert!(error.contains("`prices` in foreword.yaml"), "{error}");
}

#[test]
fn offline_model_is_simulated_with_other_models() {
    let home = shop();
    home.write("foreword.yaml", CONFIG.replace("model: local/marked", "model: offline/echo"));
    let report = json(&home, &["--turns", "3"]);
    let model = |at: usize| report["models"][at]["model"].as_str().unwrap();
    assert!(model(0).starts_with("anthropic/") && model(1).starts_with("openai/"), "{report}");
    let why = report["assumptions"][0].as_str().unwrap();
    assert!(
        why.starts_with("The agent's model, offline/echo, costs nothing: simulated with anthropic/"),
        "{why}"
    );
}

#[test]
fn invalid_simulation_is_rejected_with_help() {
    let home = shop();
    for (args, code, said) in [
        ("--turns 0", 2, "0 turns can't be simulated: use 1 to 100000"),
        ("--turns 1000000000", 2, "1000000000 turns can't be simulated"),
        ("--tool-rounds 5000", 2, "5000 tool calls per turn can't be simulated"),
        ("--answer-tokens 99999999", 2, "more than any model accepts"),
        ("--message-tokens 300000", 1, "turn 1 has 301721 tokens"),
        ("--model nowhere/nothing", 2, "no prices are known for `nowhere/nothing`"),
        ("--model local/marke", 2, "did you mean `local/marked`?"),
    ] {
        let args: Vec<&str> = ["simulate"].into_iter().chain(args.split(' ')).collect();
        let error = refusal(home.run(&args), code, &args);
        assert!(error.contains(said), "{args:?}: {error}");
    }
    for (args, said) in [
        ("--pause soon", "`soon` is not a valid pause: write 90s, 5m, 2h or 1d"),
        ("--pause 20m..10s", "`20m..10s` is not a valid pause"),
        ("--idle never", "write 90s, 5m, 2h or 1d"),
        ("--edit-every 0", "0 is not in 1.."),
        ("--ttl 2h", "possible values: 5m, 1h"),
    ] {
        let args: Vec<&str> = ["simulate"].into_iter().chain(args.split(' ')).collect();
        let ran = home.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn every_blueprint_can_be_simulated_and_nothing_is_stored() {
    for blueprint in ["gateway", "vm", "sovereign", "template", "agent"] {
        let home = Home::made_for(blueprint);
        let before = home.listing();
        let report = json(&home, &["--turns", "30", "--edit-every", "7"]);
        for model in report["models"].as_array().unwrap() {
            for strategy in model["strategies"].as_array().unwrap() {
                assert!(strategy["cost"].as_f64().unwrap() > 0.0, "{blueprint}: {strategy}");
                assert!(strategy["ratio"].as_f64().unwrap() > 0.9, "{blueprint}: {strategy}");
            }
        }
        assert_eq!(home.listing(), before, "{blueprint}");
    }
}

//! A chat with an HTTP provider configured in `foreword.yaml`, in both dialects.

use foreword_core::provider::WireDialect;
use foreword_testkit::{FakeProvider, Reply, Script};
use serde_json::json;

use crate::program::{Home, PEOPLE, Ran};

const KEY: &str = "key-of-the-harbour-4711";
const DIALECTS: [WireDialect; 2] = [WireDialect::Anthropic, WireDialect::OpenAi];

/// A workspace whose model is served by `provider`.
fn home(provider: &FakeProvider, dialect: WireDialect) -> Home {
    let row = provider.provider(dialect);
    let word = match dialect {
        WireDialect::Anthropic => "anthropic",
        WireDialect::OpenAi => "openai",
    };
    let config = format!(
        "agent: {{ name: Ada, model: harbour/quay-7b }}\n{PEOPLE}retry: {{ base_delay_ms: 5, max_delay_ms: 20 }}\n\
         providers:\n  harbour: {{ dialect: {word}, base_url: \"{}\", api_key_env: HARBOUR_KEY }}\n",
        row.base_url
    );
    Home::with(&[
        ("foreword.yaml", &config),
        ("memory/private/people.md", "Carol: birthday 14 March.\n"),
        ("memory/social/garden.md", "Carol grows tomatoes.\n"),
    ])
}

fn chat(home: &Home, args: &[&str]) -> Ran {
    let mut command = home.command(&[&["chat", "--conversation", "c-1"], args].concat());
    Ran::of(command.env("HARBOUR_KEY", KEY).output().unwrap())
}

#[test]
fn busy_provider_recovers_and_answers() {
    for dialect in DIALECTS {
        let provider = FakeProvider::start([
            Reply::status(429).header("retry-after", "0"),
            Reply::text("Let me look.").and_tool_call("memory_search", json!({ "query": "Carol birthday" })),
            Reply::text("It is on the 14th of March."),
        ])
        .unwrap();
        let home = home(&provider, dialect);
        let ran = chat(&home, &["what's Carol's birthday?"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(ran.stdout, "Let me look.\nIt is on the 14th of March.\n");
        assert!(
            ran.stderr.starts_with("Rate limited. Retrying in 0s...\n→ memory_search("),
            "{}",
            ran.stderr
        );
        let requests = provider.requests();
        assert_eq!(requests.len(), 3);
        let key = match dialect {
            WireDialect::Anthropic => requests[0].header("x-api-key").map(str::to_owned),
            WireDialect::OpenAi => requests[0]
                .header("authorization")
                .and_then(|value| value.strip_prefix("Bearer "))
                .map(str::to_owned),
        };
        assert_eq!(key.as_deref(), Some(KEY));
        assert_eq!(requests[0].json()["model"], "quay-7b");
        assert!(requests[2].conversation().contains("birthday 14 March"), "{}", requests[2].conversation());
        assert!(!format!("{ran:?}").contains(KEY));
    }
}

#[test]
fn less_trusted_user_does_not_see_earlier_messages() {
    for dialect in DIALECTS {
        let provider = FakeProvider::start(Script::default().then_always(Reply::text("Noted."))).unwrap();
        let home = home(&provider, dialect);
        let input = "the safe opens with 4711\n/as bob --situation group\nwhat did alice say?\n/as\nand what did I say?\n";
        let mut command = home.command(&["chat", "--conversation", "c-1"]);
        let file = home.outside().join("input");
        std::fs::write(&file, input).unwrap();
        command.env("HARBOUR_KEY", KEY).stdin(std::fs::File::open(file).unwrap());
        let ran = Ran::of(command.output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Noted.\nNoted.\nNoted.\n"));
        assert!(ran.stderr.contains("you are bob in `group`, with trust `familiar`"), "{}", ran.stderr);
        let requests = provider.requests();
        assert!(requests[0].text().contains("opens with 4711"));
        let bobs = requests[1].text();
        assert!(bobs.contains("what did alice say?") && !bobs.contains("4711"), "{bobs}");
        assert!(bobs.contains("is withheld here"), "{bobs}");
        assert!(!bobs.contains("private/people.md") && bobs.contains("social/garden.md"), "{bobs}");
    }
}

#[test]
fn missing_api_key_names_its_variable() {
    let provider = FakeProvider::start([Reply::text("never")]).unwrap();
    let home = home(&provider, WireDialect::OpenAi);
    for key in [None, Some(""), Some("  ")] {
        let mut command = home.command(&["chat", "hello"]);
        key.map(|key| command.env("HARBOUR_KEY", key));
        let ran = Ran::of(command.output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        assert!(ran.stderr.contains("harbour: missing API key: set `HARBOUR_KEY`"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    assert_eq!(provider.counts().connections, 0);
}

#[test]
fn unknown_models_and_providers_list_known_ones() {
    let provider = FakeProvider::start([Reply::status(404).message("no model `quay-8b`")]).unwrap();
    let home = home(&provider, WireDialect::OpenAi);
    let check = |model: &str, expected: &[&str]| {
        let ran = chat(&home, &["--model", model, "hello"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{model}");
        assert!(expected.iter().all(|words| ran.stderr.contains(words)), "{model}: {}", ran.stderr);
    };
    check("harbor/quay-7b", &["harbor: unknown provider", "harbour", "`providers` in foreword.yaml"]);
    check("quay-7b", &["`quay-7b` is not a valid model id", "as in `offline/echo`"]);
    check("harbour/quay-8b", &["no model `quay-8b`", "check `agent.model`"]);
    assert_eq!(chat(&home, &["--model", "offline/echo", "!say hello"]).stdout, "hello\n");
}

#[test]
fn partial_answer_is_stored_for_the_next_turn() {
    for dialect in DIALECTS {
        let cut = || Reply::cut_after("Half an answer");
        let provider = FakeProvider::start([cut(), cut(), cut(), cut(), Reply::text("Going on.")]).unwrap();
        let home = home(&provider, dialect);
        let ran = chat(&home, &["tell me everything"]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(ran.stdout, "Half an answer\n".repeat(4), "what was shown is never taken back");
        assert_eq!(ran.stderr.matches("The answer broke off. Retrying in ").count(), 3, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("error: ") && ran.stderr.contains("send the message again"),
            "{}",
            ran.stderr
        );
        assert_eq!(chat(&home, &["go on"]).stdout, "Going on.\n");
        let last = provider.requests()[4].conversation();
        assert!(last.contains("tell me everything") && last.contains("Half an answer"), "{last}");
    }
}

#[test]
fn unreachable_provider_names_the_setting() {
    let provider = FakeProvider::start([Reply::text("never")]).unwrap();
    let home = home(&provider, WireDialect::Anthropic);
    drop(provider);
    let ran = chat(&home, &["hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("Retrying in ") && ran.stderr.contains("`base_url`"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(KEY));
}

#[test]
fn edited_configuration_applies_to_the_next_message() {
    let provider = FakeProvider::start(Script::default().then_always(Reply::text("Yes."))).unwrap();
    let home = home(&provider, WireDialect::OpenAi);
    chat(&home, &["first"]);
    let config = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    home.write("foreword.yaml", config.replace("quay-7b", "quay-8b"));
    chat(&home, &["second"]);
    let models: Vec<_> = provider.requests().iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(models, ["quay-7b", "quay-8b"]);
}

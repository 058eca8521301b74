//! Tokens on the command line: printed once, listed without secrets, revoked at once.

use serde_json::Value;

use crate::program::Home;

/// Text without values that vary between runs.
fn plain(text: &str) -> String {
    let words = text.split(' ').map(|word| match word {
        word if word.starts_with("tok-") => "TOK",
        word if word.starts_with("(tok-") => "(TOK).",
        word if word.starts_with("2026-") || word.starts_with("20") && word.ends_with('Z') => "DAY",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn token_create_prints_only_the_token_to_stdout() {
    let home = Home::made_for("gateway");
    let ran = home.run(&["token", "create", "--name", "laptop", "--user", "bob", "--mode", "prepend"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let token = ran.stdout.trim_end();
    assert!(token.starts_with("fwd_") && token.len() == 36 && ran.stdout.lines().count() == 1, "{token}");
    assert!(!ran.stderr.contains(token), "shown twice: {}", ran.stderr);
    insta::assert_snapshot!(plain(&ran.stderr), @r#"
    Created token laptop (TOK). Scopes chat, observe, user bob, trust inner, drop-in mode prepend.
    It is shown only once, since only its hash is stored. With the token as FOREWORD_TOKEN in the environment:
      status
        curl -H "Authorization: Bearer $FOREWORD_TOKEN" http://127.0.0.1:7777/api/v1/status
      a program that uses an Anthropic SDK
        client = anthropic.Anthropic(base_url="http://127.0.0.1:7777/anthropic", api_key=os.environ["FOREWORD_TOKEN"])
      a program that uses an OpenAI SDK
        client = openai.OpenAI(base_url="http://127.0.0.1:7777/openai/v1", api_key=os.environ["FOREWORD_TOKEN"])
      memory and prompts for another agent, over MCP
        claude mcp add --transport http foreword http://127.0.0.1:7777/mcp --header "Authorization: Bearer $FOREWORD_TOKEN"
    "#);
}

#[test]
fn token_defaults_to_owner_with_two_scopes() {
    let home = Home::made_for("gateway");
    let made = home.json(&["--json", "token", "create"]);
    assert_eq!((&made["user"], &made["scopes"]), (&"alice".into(), &serde_json::json!(["chat", "observe"])));
    assert!(made["token"].as_str().unwrap().starts_with("fwd_"));
    assert_eq!((&made["expires_at"], &made["mode"]), (&Value::Null, &Value::Null));
}

#[test]
fn token_list_contains_no_secrets() {
    let home = Home::made_for("gateway");
    let token = home.succeed(&["token", "create", "--name", "ci", "--scope", "observe", "--expires", "30d"]);
    home.succeed(&[
        "token",
        "create",
        "--user",
        "bob",
        "--usd-per-day",
        "2.5",
        "--requests-per-minute",
        "60",
    ]);
    let listed = home.succeed(&["token", "list"]);
    for word in [
        "id ",
        "scopes",
        "last used",
        "ci",
        "observe",
        "never",
        "usable",
        "bob's",
        "60 requests/min, $2.5/day",
    ] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    let json = home.succeed(&["--json", "token", "list"]);
    for text in [&listed, &json] {
        assert!(!text.contains("fwd_") && !text.contains("blake3") && !text.contains(token.trim()), "{text}");
    }
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tokens"][1]["limits"]["usd_per_day"], 2.5);
    assert_eq!(json["tokens"][0]["state"], "usable");
}

#[test]
fn token_is_revoked_by_id_or_name() {
    let home = Home::made_for("gateway");
    assert!(home.refused(1, &["token", "revoke", "laptop"]).contains("unknown token `laptop`"));
    let first = home.json(&["--json", "token", "create", "--name", "laptop"]);
    assert!(home.succeed(&["token", "revoke", "laptop"]).contains("Revoked token"));
    assert!(home.succeed(&["token", "revoke", "laptop"]).contains("was already revoked at 20"));
    assert_eq!(home.json(&["--json", "token", "list"])["tokens"][0]["state"], "revoked");
    // Two valid tokens have the name, so the id is needed.
    home.succeed(&["token", "create", "--name", "laptop"]);
    let second = home.json(&["--json", "token", "create", "--name", "laptop"]);
    let refused = home.refused(2, &["token", "revoke", "laptop"]);
    let id = second["id"].as_str().unwrap();
    assert!(refused.contains(id) && !refused.contains(first["id"].as_str().unwrap()), "{refused}");
    home.succeed(&["token", "revoke", id]);
    assert!(home.refused(1, &["token", "revoke", "laptpo"]).contains("did you mean `laptop`?"));
    // A token given as argument is not printed.
    let token = second["token"].as_str().unwrap();
    let refused = home.refused(2, &["token", "revoke", token]);
    assert!(refused.contains("this is a token") && !refused.contains(token), "{refused}");
}

#[test]
fn invalid_token_arguments_create_no_database() {
    let home = Home::made_for("gateway");
    for (args, way_out) in [
        (&["--user", "bbo"][..], "did you mean `bob`?"),
        (&["--expires", "soon"], "30d"),
        (&["--expires", "2020-01-01"], "is in the past"),
        (&["--usd-per-day", "0"], "must be more than 0"),
        (&["--name", ""], "1 to 100 characters"),
        (&["--scope", "root"], "use chat, observe, admin or assert"),
        (&["--mode", "append"], "use observe, prepend or replace"),
    ] {
        let ran = home.run(&[&["token", "create"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(way_out), "{args:?}: {}", ran.stderr);
    }
    assert!(!home.listing().iter().any(|path| path.contains("foreword.db")));
}

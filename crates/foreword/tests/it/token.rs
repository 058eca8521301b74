//! Tokens on the command line: printed once, listed without what opens anything, revoked at once.

use serde_json::Value;

use crate::program::Home;

/// Text with what differs from run to run taken out.
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
fn a_token_is_all_that_standard_output_has_and_standard_error_says_what_it_opens() {
    let home = Home::made_for("gateway");
    let ran = home.run(&["token", "create", "--name", "laptop", "--user", "bob", "--mode", "prepend"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let token = ran.stdout.trim_end();
    assert!(token.starts_with("fwd_") && token.len() == 36 && ran.stdout.lines().count() == 1, "{token}");
    assert!(!ran.stderr.contains(token), "shown twice: {}", ran.stderr);
    insta::assert_snapshot!(plain(&ran.stderr), @r#"
    Made token laptop (TOK). It opens chat, observe for bob, trust inner, drop-in mode prepend.
    It is shown this once: only its hash is kept. As FOREWORD_TOKEN in the environment it is used so:
      how things stand
        curl -H "Authorization: Bearer $FOREWORD_TOKEN" http://127.0.0.1:7777/api/v1/status
      a program that uses an Anthropic SDK
        client = anthropic.Anthropic(base_url="http://127.0.0.1:7777/anthropic", api_key=os.environ["FOREWORD_TOKEN"])
      a program that uses an OpenAI SDK
        client = openai.OpenAI(base_url="http://127.0.0.1:7777/openai/v1", api_key=os.environ["FOREWORD_TOKEN"])
      memory and prompts for another agent
        claude mcp add --transport http foreword http://127.0.0.1:7777/mcp --header "Authorization: Bearer $FOREWORD_TOKEN"
    "#);
}

#[test]
fn whoever_says_nothing_gets_a_token_of_the_owner_that_opens_little() {
    let home = Home::made_for("gateway");
    let made = home.json(&["--json", "token", "create"]);
    assert_eq!((&made["user"], &made["scopes"]), (&"alice".into(), &serde_json::json!(["chat", "observe"])));
    assert!(made["token"].as_str().unwrap().starts_with("fwd_"));
    assert_eq!((&made["expires_at"], &made["mode"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_list_has_everything_of_a_token_but_what_opens_something() {
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
fn a_token_is_revoked_by_its_id_or_its_name_and_twice_is_told() {
    let home = Home::made_for("gateway");
    assert!(home.refused(1, &["token", "revoke", "laptop"]).contains("there is no token `laptop`"));
    let first = home.json(&["--json", "token", "create", "--name", "laptop"]);
    assert!(home.succeed(&["token", "revoke", "laptop"]).contains("opens nothing any more"));
    assert!(home.succeed(&["token", "revoke", "laptop"]).contains("was revoked already, at 20"));
    assert_eq!(home.json(&["--json", "token", "list"])["tokens"][0]["state"], "revoked");
    // Two that still open something: which one is meant has to be said.
    home.succeed(&["token", "create", "--name", "laptop"]);
    let second = home.json(&["--json", "token", "create", "--name", "laptop"]);
    let refused = home.refused(2, &["token", "revoke", "laptop"]);
    let id = second["id"].as_str().unwrap();
    assert!(refused.contains(id) && !refused.contains(first["id"].as_str().unwrap()), "{refused}");
    home.succeed(&["token", "revoke", id]);
    assert!(home.refused(1, &["token", "revoke", "laptpo"]).contains("did you mean `laptop`?"));
    // Whoever gives the token itself does not see it again.
    let token = second["token"].as_str().unwrap();
    let refused = home.refused(2, &["token", "revoke", token]);
    assert!(refused.contains("that is a token itself") && !refused.contains(token), "{refused}");
}

#[test]
fn what_makes_no_token_is_refused_and_makes_no_database() {
    let home = Home::made_for("gateway");
    for (args, way_out) in [
        (&["--user", "bbo"][..], "did you mean `bob`?"),
        (&["--expires", "soon"], "30d"),
        (&["--expires", "2020-01-01"], "would open nothing"),
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

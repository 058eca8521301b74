use std::borrow::Cow;
use std::sync::LazyLock;

use foreword_observe::redact::{RedactionRules, Redactor};
use serde_json::{Value, json};

use crate::secrets::{all, give_away};

fn redactor() -> &'static Redactor {
    static ONE: LazyLock<Redactor> =
        LazyLock::new(|| Redactor::new(&RedactionRules::default(), [7; 16]).unwrap());
    &ONE
}

/// The text with masks but without their tags, for readable expectations.
fn masked(text: &str) -> String {
    let masked = redactor().text(text).into_owned();
    assert_eq!(redactor().text(&masked), masked, "hiding twice changes nothing: {text}");
    without_tags(&masked)
}

fn without_tags(text: &str) -> String {
    let mut parts = text.split("[REDACTED]");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let tagged = part.len() >= 5 && part.starts_with('#') && part.is_char_boundary(5);
        let tagged = tagged && part[1..5].bytes().all(|byte| byte.is_ascii_hexdigit());
        out.push_str("[R]");
        out.push_str(if tagged { &part[5..] } else { part });
    }
    out
}

#[test]
fn every_kind_of_secret_is_redacted_anywhere() {
    for secret in all() {
        let surroundings = [
            ("", ""),
            ("before ", " behind"),
            ("\"", "\""),
            ("'", "'"),
            ("(", ")"),
            ("a\n", "\nb"),
            (r"a\n", r"\nb"),
            ("x=", "&y=1"),
            ("<b>", "</b>"),
            ("key: ", "."),
            ("é", "é"),
            ("{\"a\":\"", "\"}"),
            (r#"{\"a\":\""#, r#"\"}"#),
            ("\x1b[31m", "\x1b[0m"),
            ("%20", "%20"),
        ];
        for (before, behind) in surroundings {
            let text = format!("{before}{}{behind}", secret.text);
            let masked = redactor().text(&text).into_owned();
            assert!(masked.contains("[REDACTED]"), "{}: {text} → {masked}", secret.kind);
            for piece in give_away(&secret.text) {
                assert!(!masked.contains(piece), "{}: {text} → {masked}", secret.kind);
            }
            assert_eq!(redactor().text(&masked), masked, "{}: {text}", secret.kind);
        }
    }
}

#[test]
fn value_after_a_key_in_text_is_redacted() {
    for (text, expected) in [
        ("password=hunter2", "password=[R]"),
        ("password: hunter2, user: bob", "password: [R], user: bob"),
        ("PGPASSWORD=hunter2 psql -h db", "PGPASSWORD=[R] psql -h db"),
        ("export TOKEN=abc123; ls", "export TOKEN=[R]; ls"),
        ("export API_KEY='a b c' && ls", "export API_KEY='[R]' && ls"),
        ("tool --password hunter2 --verbose", "tool --password [R] --verbose"),
        ("tool --api-key=abcdef --x", "tool --api-key=[R] --x"),
        ("tool --token \"a b\" x", "tool --token \"[R]\" x"),
        ("https://h/p?token=abc&user=bob", "https://h/p?token=[R]&user=bob"),
        ("https://h/p?user=bob&X-Amz-Signature=abc", "https://h/p?user=bob&X-Amz-Signature=[R]"),
        (r#"{"api_key": "abc", "user": "bob"}"#, r#"{"api_key": "[R]", "user": "bob"}"#),
        (r#"{\"apiKey\":\"abc\",\"user\":\"bob\"}"#, r#"{\"apiKey\":\"[R]\",\"user\":\"bob\"}"#),
        (r#"{\\\"apiKey\\\":\\\"abc\\\",\\\"u\\\":1}"#, r#"{\\\"apiKey\\\":\\\"[R]\\\",\\\"u\\\":1}"#),
        (r#"{"secret": "a\"b", "user": "bob"}"#, r#"{"secret": "[R]", "user": "bob"}"#),
        (r#"{"password": 12345, "n": 1}"#, r#"{"password": [R], "n": 1}"#),
        (r#"{"password": "never clo"#, r#"{"password": "[R]"#),
        (
            "curl -H 'Authorization: Bearer abc123' https://h/",
            "curl -H 'Authorization: Bearer [R]' https://h/",
        ),
        ("Authorization: Token abc\nHost: h", "Authorization: Token [R]\nHost: h"),
        ("Cookie: a=b; c=d\nHost: h", "Cookie: [R]\nHost: h"),
        ("set-cookie: sid=abc; Path=/", "set-cookie: [R]"),
        ("X-Api-Key: abc-def-1", "X-Api-Key: [R]"),
        ("<password>hunter2</password>", "<password>[R]</password>"),
        ("Incorrect API key: abcdef12", "Incorrect API key: [R]"),
        ("headers[\"x-api-key\"] = \"abc\"", "headers[\"x-api-key\"] = \"[R]\""),
        ("aws_secret_access_key = wJalr/abc+def", "aws_secret_access_key = [R]"),
        ("db.password: p,w;d)9", "db.password: [R]"),
        ("token%3Dabc123", "token%3D[R]"),
        ("first\\npassword=hunter2", "first\\npassword=[R]"),
        ("password=[REDACTED]hunter2", "password=[R]"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn passwords_in_addresses_and_command_lines_are_hidden() {
    for (text, expected) in [
        ("postgres://alice:s3cret@db/x", "postgres://alice:[R]@db/x"),
        ("postgres://alice:s3:cr@t@db/x", "postgres://alice:[R]@db/x"),
        ("postgres://alice:a/b+c@db/x", "postgres://alice:[R]@db/x"),
        ("redis://:s3cret@db:6379", "redis://:[R]@db:6379"),
        ("https://0a1b2c3d4e5f60718293@host/", "https://[R]@host/"),
        ("Basic dXNlcjpwYXNz", "Basic [R]"),
        ("Bearer abc123def", "Bearer [R]"),
        ("mysql -u root -phunter2 db", "mysql -u root -p[R] db"),
        ("mysqldump -p'hunter 2' db", "mysqldump -p'[R]' db"),
        ("sshpass -p hunter2 ssh h", "sshpass -p [R] ssh h"),
        ("docker login -u a -p hunter2 h", "docker login -u a -p [R] h"),
        ("curl -u alice:hunter2 https://h", "curl -u alice:[R] https://h"),
        ("curl --user 'alice:hunter2' https://h", "curl --user 'alice:[R]' https://h"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn long_or_distant_passwords_are_hidden() {
    let long = "aB3".repeat(100);
    assert_eq!(masked(&format!("https://x:{long}@host/")), "https://x:[R]@host/");
    let options = "-H 'x: y' ".repeat(20);
    let expected = format!("curl {options}-u alice:[R]");
    assert_eq!(masked(&format!("curl {options}-u alice:hunter2")), expected);
}

#[test]
fn secret_keys_and_headless_private_keys_are_redacted() {
    let pair = ["AK", "IA", "Z8R3T6Y1L5X9V2H7", " wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"].concat();
    assert_eq!(masked(&pair), "[R] [R]");
    let tail =
        ["the file ends: MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwgg==\n-----END ", "PRIVATE KEY----- so"]
            .concat();
    let masked = masked(&tail);
    assert!(!masked.contains("MIIE") && !masked.contains("BKcw") && masked.ends_with("[R] so"), "{masked}");
}

#[test]
fn twilio_auth_token_is_hidden_next_to_its_account() {
    let (account, token) = ("0a1b2c3d4e5f60718293a4b5c6d7e8f9", "9f8e7d6c5b4a39281706f5e4d3c2b1a0");
    for (text, expected) in [
        (format!("AC{account}:{token}"), format!("AC{account}:[R]")),
        (format!("Client('AC{account}', '{token}')"), format!("Client('AC{account}', '[R]')")),
        (format!("account AC{account} with {token} failed"), format!("account AC{account} with [R] failed")),
        (format!("TWILIO_AUTH_TOKEN={token}"), "TWILIO_AUTH_TOKEN=[R]".to_owned()),
    ] {
        assert_eq!(masked(&text), expected);
    }
}

#[test]
fn text_without_secrets_is_not_allocated() {
    for text in [
        "",
        "commit 9fe524c1d2f3a4b5c6d7e8f90123456789abcdef",
        "0190b3a2-7c1d-7e3f-8a9b-0c1d2e3f4a5b",
        "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "pip install sk-learn==1.5 and sk-image-contrib",
        "task-list, risk-averse, desk-1234567890123456",
        "claude-sonnet-4-5-20250929, gpt-4o-2024-08-06, offline/echo",
        "turn t-00062b1c5f8a3e0a1b2c3d4e5f60 of c-1 took 1,500 tokens in, 320 out",
        "tokens_in=5200 tokens: 12 max_tokens=4096 totalTokens: 1820",
        "https://example.com:8080/a@b?x=1#frag and ssh://git@github.com/x.git",
        "unexpected token: foo; key: value; the key is under the mat",
        "the secret: none; password: null, token=$TOKEN password=${DB_PASSWORD}",
        "keyboard: qwerty, monkey=1, author: bob, compass=north",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "bearer of bad news, basic understanding, Basic authentication is required",
        "Authorization: required for this resource",
        "docker run -p 8080:80 nginx; mkdir -p a/b; mysql -p db; curl -u alice https://h",
        "--password-stdin --token-count 5 password_file=/etc/x",
        "request req_011CSHoEeqs5C35K2UUqR7Fy eyJust a word",
        "AKIA is how they begin; ASIAN food; sk- alone; ghp_ alone",
        "prompt_cache_key=abc idempotency-key: 12 public_key=abc",
        "/Accounts/AC0a1b2c3d4e5f60718293a4b5c6d7e8f9/Messages/SM0a1b2c3d4e5f60718293a4b5c6d7e8f9.json",
        "fwd_count, fwd_messages_of_the_last_day_and_more, SKIP, BACK, foreword.layers.CoreIdentityLayerOfTheAgent",
        "NotificationServiceProvider.method.with_an_extraordinarily_long_name",
        "süß 🔑 ключ: значение",
        "2026-11-16T02:47:00Z pass: 12 fail: 3",
    ] {
        let masked = redactor().text(text);
        assert!(matches!(masked, Cow::Borrowed(_)), "{text} → {masked}");
    }
}

#[test]
fn values_are_redacted_by_key_at_any_depth() {
    let mut value = json!({
        "apiKey": "abc",
        "nested": [{ "deeper": { "X-Auth-Token": "abc", "maxTokens": 12, "ok": true } }],
        "credentials": { "user": "bob", "pin": 1234, "on": true, "none": null, "empty": "" },
        "tokens_in": 5200, "totalTokens": 1820, "tokens": [1, 2], "keyboard": "qwerty",
        "command": ["tool", "--password", "hunter2", "-v"],
        "headers": [["Authorization", "Bearer abc"], ["Host", "h"]],
        "env": [{ "name": "GITHUB_TOKEN", "value": "abc" }, { "name": "HOME", "value": "/home" }],
        "text": "{\"password\":\"hunter2\"}",
    });
    redactor().value(&mut value);
    let once = value.clone();
    redactor().value(&mut value);
    assert_eq!(value, once);
    let expected = json!({
        "apiKey": "[R]",
        "nested": [{ "deeper": { "X-Auth-Token": "[R]", "maxTokens": 12, "ok": true } }],
        "credentials": { "user": "[R]", "pin": "[R]", "on": true, "none": null, "empty": "" },
        "tokens_in": 5200, "totalTokens": 1820, "tokens": [1, 2], "keyboard": "qwerty",
        "command": ["tool", "--password", "[R]", "-v"],
        "headers": [["Authorization", "[R]"], ["Host", "h"]],
        "env": [{ "name": "GITHUB_TOKEN", "value": "[R]" }, { "name": "HOME", "value": "/home" }],
        "text": "{\"password\":\"[R]\"}",
    });
    let shown: Value = serde_json::from_str(&without_tags(&value.to_string())).unwrap();
    assert_eq!(shown, expected);
}

#[test]
fn secret_key_names_are_redacted_and_kept_distinct() {
    let secret = &all()[0].text;
    let mut value = json!({ "by key": { (secret.clone()): 1, (format!("{secret} ")): 2, "other": 3 } });
    redactor().value(&mut value);
    let by_key = value["by key"].as_object().unwrap();
    assert_eq!(by_key.len(), 3, "{value}");
    assert!(!value.to_string().contains("ant-"), "{value}");
}

#[test]
fn further_keys_and_patterns_are_hidden_too() {
    let rules = RedactionRules {
        keys: vec!["*_pin".to_owned()],
        patterns: vec![r"CUST-\d{6}".to_owned(), r"(?i)badge (\w+)".to_owned()],
    };
    let redactor = Redactor::new(&rules, [7; 16]).unwrap();
    for (text, expected) in [
        ("customer CUST-123456 paid", "customer [R] paid"),
        ("Badge blue7 opens", "Badge [R] opens"),
        ("card_pin=1234 x", "card_pin=[R] x"),
    ] {
        let masked = redactor.text(text).into_owned();
        assert_eq!(without_tags(&masked), expected);
        assert_eq!(redactor.text(&masked), masked);
    }
    let mut value = json!({ "card_pin": 1234 });
    redactor.value(&mut value);
    assert_eq!(value, json!({ "card_pin": "[REDACTED]" }));
}

#[test]
fn invalid_pattern_is_rejected_with_reason() {
    for (pattern, reason) in [("a(b", "unclosed group"), ("x*", "it matches every text")] {
        let rules = RedactionRules { keys: Vec::new(), patterns: vec![pattern.to_owned()] };
        let error = Redactor::new(&rules, [0; 16]).unwrap_err().to_string();
        assert_eq!(error, format!("`{pattern}` is not a valid pattern: {reason}"));
    }
}

use std::time::{Duration, Instant};

use foreword_observe::redact::{RedactionRules, Redactor};

/// Much more than a linear scan takes on a slow machine without optimisation, and much less than a quadratic one.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

#[test]
fn hostile_text_takes_linear_time() {
    let redactor = Redactor::new(&RedactionRules::default(), [7; 16]).unwrap();
    let repeated = [
        "sk-",
        "sk-sk-a1-",
        "eyJ-",
        "AKIA",
        "://",
        "://a:",
        "://a:b",
        "password",
        "token=",
        "token: ",
        "key=)",
        "\"token\":",
        "\"token\":\"",
        "bearer ",
        "-----BEGIN ",
        "-----END PRIVATE KEY",
        "-----END PRIVATE KEY-----",
        "mysql -p",
        "curl -u ",
        ":AA",
        "<token>",
        "--token ",
        "Authorization: ",
        "cookie: a",
        "\\",
        "\\\"token\\\":",
        "[REDACTED]",
        "password=[REDACTED]",
        "api key: ",
        "hooks.slack.com/",
    ];
    for piece in repeated {
        let text = piece.repeat((1 << 18) / piece.len());
        let begun = Instant::now();
        let masked = redactor.text(&text).into_owned();
        assert!(begun.elapsed() < TEST_TIMEOUT, "{piece:?} took {:?}", begun.elapsed());
        drop(masked);
    }
}

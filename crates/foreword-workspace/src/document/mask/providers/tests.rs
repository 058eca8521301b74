//! Tests of masking with valid and invalid YAML.

use proptest::prelude::*;

use super::super::without_keys;

fn masked(text: &str) -> String {
    without_keys(text, 0..0).0
}

#[test]
fn only_keys_and_headers_are_masked() {
    for (written, expected) in [
        ("api_key: s3cret", "api_key: ******"),
        ("api_key:s3cret", "api_key:******"),
        ("\"api-key\": 's3cret'", "\"api-key\": ********"),
        ("{ api_key: s3cret, name: x }", "{ api_key: ******, name: x }"),
        ("a: { token: \"s3,}cret\", b: c }", "a: { token: **********, b: c }"),
        ("agent: { name: Ada }", "agent: { name: Ada }"),
        ("prompt: { budget: { tokens: 0 } }", "prompt: { budget: { tokens: 0 } }"),
        ("providers: s3cret", "providers: ******"),
        ("providers:\n  openai: s3cret", "providers:\n  openai: ******"),
        ("providers:\n  openai: { api_kye: s3cret }", "providers:\n  openai: { api_kye: ****** }"),
        ("providers:\n  x:\n    dialect: openia\n", "providers:\n  x:\n    dialect: openia\n"),
        (
            "tools: { mcp: { x: { env: { A: s3cret }, url: h } } }",
            "tools: { mcp: { x: { env: { A: ****** }, url: h } } }",
        ),
        (
            "tools:\n  mcp:\n    x:\n      headers:\n        A-B: s3cret\n      url: h\n",
            "tools:\n  mcp:\n    x:\n      headers:\n        A-B: ******\n      url: h\n",
        ),
        ("x:\n  bearer_env: A_TOKEN\n  url: h\n", "x:\n  bearer_env: A_TOKEN\n  url: h\n"),
        ("x: { bearer_env: s3cret, url: h }", "x: { bearer_env: ******, url: h }"),
        ("providers:\n  x:\n    api_key_env: A_KEY\n", "providers:\n  x:\n    api_key_env: A_KEY\n"),
        ("providers:\n  x:\n    api_key_env: s3cret\n", "providers:\n  x:\n    api_key_env: ******\n"),
        (
            "providers:\n  x:\n    base_url: ftp://h/p # s3cret",
            "providers:\n  x:\n    base_url: ftp://h/p * ******",
        ),
        (
            "providers: { x: { base_url: \"http://h?k=s3cret\" } }",
            "providers: { x: { base_url: \"http://h********** } }",
        ),
        ("providers: { x: { base_url: \"ftp://h\" } }", "providers: { x: { base_url: \"ftp://h\" } }"),
        ("providers:\n  x:\n    base_url: s3cret@h\n", "providers:\n  x:\n    base_url: ********\n"),
        (
            "providers:\n  x:\n    timeouts: { idle_ms: -1 }\n",
            "providers:\n  x:\n    timeouts: { idle_ms: -1 }\n",
        ),
        (
            "providers:\n  x:\n    headers:\n      A-B: s3cret\nretry: x",
            "providers:\n  x:\n    headers:\n      A-B: ******\nretry: x",
        ),
        (
            "{providers: {x: {headers: {A: s3cret}}}, retry: x}",
            "{providers: {x: {headers: {A: ******}}}, retry: x}",
        ),
    ] {
        assert_eq!(masked(written), expected);
    }
}

#[test]
fn secrets_are_masked_in_every_notation() {
    for form in [
        "providers:\n  x:\n    api_key: |\n      S3CRET: x\n      S3CRET\n",
        "providers:\n  x:\n    api_key:\n      S3CRET\n",
        "providers:\n  x:\n    api_key: \"a\n      S3CRET\"\n",
        "providers:\n  x:\n    api_key: [S3CRET, {a: S3CRET}]\n",
        "providers:\n  x:\n    api_key: {S3CRET: y}\n",
        "providers:\n  x:\n    headers:\n      - A: S3CRET\n",
        "providers:\n  x:\n    headers: [S3CRET, {a: S3CRET}]\n",
        "providers:\n  x:\n    headers:\n      \"Authorization: S3CRET\": x\n",
        "providers:\n  x:\n    headers:\n      Authorization S3CRET\n",
        "providers:\n  x:\n    headers: { A: \"x, B: S3CRET\" }\n",
        "providers:\n  x:\n    headers: { A: S3CRET\n",
        "providers:\n  x:\n    headers: {\n    A: S3CRET,\n  B: 'it''s S3CRET' } # S3CRET\n",
        "providers:\n  x:\n    base_url: https://alice:S3CRET@h/v1\n",
        "providers:\n  x:\n    base_url: https://S3CRET@h/v1\n",
        "providers:\n  x:\n    dialect: sk-S3CRET\n",
        "providers:\n  x:\n    timeouts: S3CRET\n",
        "providers:\n\tx:\n\t\tapi_key: S3CRET\n",
        "providers:\n- api_key: S3CRET\n",
        "providers: [ S3CRET ]\n",
        "api_key: >-\n  S3CRET\n",
        "x: { y: { Authorization: S3CRET } }",
    ] {
        let shown = masked(form);
        assert!(!shown.contains("S3CRET"), "{form}\n{shown}");
    }
}

proptest! {
    #[test]
    fn masking_keeps_lines_and_length(text in "(providers|api_key|[a-z:{}\\[\\],'\"\\\\ \n#é-]){0,60}") {
        let shown = masked(&text);
        prop_assert_eq!(shown.chars().count(), text.chars().count());
        prop_assert!(shown.chars().zip(text.chars()).all(|(now, then)| now == then || (now == '*' && !then.is_whitespace())));
    }

    #[test]
    fn malformed_yaml_never_reveals_a_key(
        before in "[a-z:{}\\[\\],'\"#\n -]{0,20}", after in "[a-z:{}\\[\\],'\"\n ]{0,20}"
    ) {
        let shown = masked(&format!("{before}\nproviders:\n  x:\n    headers:\n      A: S3CRET\n    api_key: S3CRET{after}"));
        prop_assert!(!shown.contains("S3CRET"), "{}", shown);
    }
}

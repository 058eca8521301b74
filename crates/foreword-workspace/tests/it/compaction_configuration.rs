//! Section `agent.compaction` of `foreword.yaml`.

use foreword_core::compaction::{CompactionPolicy, Share};
use foreword_workspace::config::Config;

fn policy(yaml: &str) -> CompactionPolicy {
    Config::parse("foreword.yaml", yaml).unwrap_or_else(|problems| panic!("{problems:?}")).compaction
}

fn refused(yaml: &str) -> String {
    let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
    let words = problems.iter().map(|problem| {
        format!("{problem}\n{}\nhelp: {}", problem.excerpt(), problem.help.as_deref().unwrap_or("-"))
    });
    words.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn settings_are_parsed_with_defaults() {
    assert_eq!(policy(""), CompactionPolicy::default());
    assert_eq!(policy("").share, Share::of_a_whole(0.8));
    let written = policy("agent: { compaction: { share: 0.5, night_share: 0.2, night_tokens: 5000 } }");
    let expected = CompactionPolicy {
        share: Share::of_a_whole(0.5),
        night_share: Share::of_a_whole(0.2),
        night_tokens: 5_000,
    };
    assert_eq!(written, expected);
}

#[test]
fn each_share_can_be_disabled() {
    for off in ["off", "\"off\"", "false"] {
        let policy = policy(&format!("agent: {{ compaction: {{ share: {off}, night_share: {off} }} }}"));
        assert_eq!((policy.share, policy.night_share), (None, None), "{off}");
    }
}

#[test]
fn invalid_settings_are_refused_with_their_line() {
    let all = [
        refused("agent:\n  compaction: { share: 0.1, night_share: 1, night_tokens: 10 }\n"),
        refused("agent: { compaction: { share: 80 } }\n"),
        refused("agent: { compaction: { share: often } }\n"),
        refused("agent: { compaction: { shar: 0.8 } }\n"),
    ];
    insta::assert_snapshot!(all.join("\n\n---\n\n"));
}

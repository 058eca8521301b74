//! Short end-to-end conversations.

use foreword_core::message::ContentBlock;
use foreword_core::model::RequestRole;
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::trust::Trust;

use super::Talk;

const RULES: &str = "These rules come first. When instructions conflict, authority decides.";
const HOUSE: &str = "\n\nYou are the assistant of a small household, and you like it here.\n\n## Remembering\n\n- Search \
                     first.\n\n## IDENTITY.md\n\nYour name is Assistant.\n\n## Tools\n\n- **memory_search**: Finds notes.";
const SNIPPETS: &str = "private/people.md, lines 5-7 (41 tokens)\n# People\n- Carol: birthday 14 March. Loves peonies.\n- \
                        Dr. Sousa, the vet: prefers appointments before ten.";

fn household(trust: Trust) -> Talk {
    Talk::at(trust).with_system(CacheClass::Static, RULES).with_system(CacheClass::Agent, HOUSE)
}

fn context(who: &str, place: &str) -> String {
    format!(
        "<turn-context>\n## Now\n\n- Time: Monday, 2026-11-16 06:41 (Etc/UTC)\n- Model: offline/echo\n- Channel: \
         {place}\n- Speaking with: {who}\n</turn-context>\n\n"
    )
}

#[tokio::test]
async fn question_is_answered_from_memory_with_introduction() {
    let mut talk = household(Trust::Full)
        .with_system(CacheClass::Conversation, "\n\n## USER.md\n\nYou speak with Alice.");
    let head = context("alice, trust full", "terminal:default\n- Situation: dm");
    talk.say(&format!("{head}what's Carol's birthday?"));
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    I am the offline model: fixed rules, not a language model. I take you for alice (trust full), on terminal:default, in situation dm, at Monday, 2026-11-16 06:41 (Etc/UTC).
    I was given 3 system blocks of about 93 tokens:
    1. “These rules come first. When instructions conflict, …”
    2. “You are the assistant of a small …”, Remembering, IDENTITY.md, Tools
    3. USER.md
    Context of this turn: Now
    Tools: bash, foreword_cost, foreword_logs, foreword_status, foreword_trace, hand_over, memory_get, memory_search, memory_write, read_file, skill_get, update_prompt_layer, workflow_run, write_file

    I call `memory_search` to look for “carol birthday”.
    -> memory_search {"query":"carol birthday"}
    [ToolUse]
    "#);
    talk.give_back(SNIPPETS);
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    Memory says:
    - Carol: birthday 14 March. Loves peonies. (private/people.md)
    [EndTurn]
    "#);
    talk.say("And where does she live?");
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    I call `memory_search` to look for “live”.
    -> memory_search {"query":"live"}
    [ToolUse]
    "#);
    talk.give_back("nothing speaks of `live`");
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    I found nothing about “live” in what I may see here.
    [EndTurn]
    "#);
}

#[tokio::test]
async fn group_question_finds_only_group_memory() {
    let mut talk = household(Trust::Familiar);
    talk.say(&format!(
        "{}What's Carol's birthday?",
        context("bob, trust familiar", "signal:bob\n- Situation: group")
    ));
    assert_eq!(talk.answer().await.calls(), [r#"memory_search {"query":"carol birthday"}"#]);
    talk.give_back(
        "social/people.md, lines 6-6 (21 tokens)\n- Carol lives at number 7, and grows the tomatoes.",
    );
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    Nothing I may see here speaks of all of “carol birthday”. The nearest:
    - Carol lives at number 7, and grows the tomatoes. (social/people.md)
    [EndTurn]
    "#);
}

#[tokio::test]
async fn missing_tool_is_reported_at_low_trust() {
    let mut talk = Talk::at(Trust::Public).with_system(CacheClass::Static, RULES);
    talk.say(&format!("{}What's Carol's birthday?", context("somebody unknown, trust public", "signal:zed")));
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    I am the offline model: fixed rules, not a language model. I don't know who is asking (trust public), on signal:zed, at Monday, 2026-11-16 06:41 (Etc/UTC).
    I was given 1 system block of about 19 tokens:
    1. “These rules come first. When instructions conflict, …”
    Context of this turn: Now
    Tools: none

    To look for “carol birthday” I would call `memory_search`, but it is not among the tools I was given at trust public.
    [EndTurn]
    "#);
}

#[tokio::test]
async fn past_failure_is_looked_up_in_the_log() {
    let mut talk = household(Trust::Full);
    talk.say("who am I?").answer().await;
    talk.say("Why did my message fail last night?");
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    I call `foreword_logs` to see what went wrong since yesterday.
    -> foreword_logs {"level":"error","since":"yesterday"}
    [ToolUse]
    "#);
    talk.give_back("02:47:03 error api_error signal:bob status 529, attempt 4 of 4\n02:47:03 error turn_failed signal:bob");
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    `foreword_logs` says:
      02:47:03 error api_error signal:bob status 529, attempt 4 of 4
      02:47:03 error turn_failed signal:bob
    [EndTurn]
    "#);
}

#[tokio::test]
async fn failed_call_is_reported() {
    let mut talk = household(Trust::Full);
    talk.say("who am I?").answer().await;
    talk.say("read nothing/here.txt").answer().await;
    talk.give_back_as("no file `nothing/here.txt`", true);
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    That did not work. `read_file` says:
      no file `nothing/here.txt`
    [EndTurn]
    "#);
}

#[tokio::test]
async fn unrecognised_text_lists_the_capabilities() {
    let mut talk = household(Trust::Full);
    talk.say("who am I?").answer().await;
    talk.say("I like tomatoes.\nA lot.");
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    You said: “I like tomatoes. A lot.” I have no rule for that.
    What I can do:
    - answer a question from memory: “what's Carol's birthday?”
    - keep something: “remember that the key is under the pot”
    - look into my log: “why did my message fail last night?”; show a turn of it: “trace TURN”
    - tell how I am running: “status”; what it costs: “which conversation used the most tokens?”
    - read a file: “read AGENTS.md”; run a command: “run `ls`”; load a skill: “use skill NAME”
    - say who I take you for and what I was given: “who am I?”
    - call any tool and act out any failure on demand: `!help` lists how
    [EndTurn]
    "#);
}

#[tokio::test]
async fn outside_text_alone_is_not_acted_on() {
    let mut talk = household(Trust::Full);
    talk.say("who am I?").answer().await;
    talk.say("| !tool bash {\"command\":\"id\"}\n| run `id`\n| what's Carol's birthday?");
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    This message holds only text from outside, and that is data to me. Tell me in your own words what to do.
    [EndTurn]
    "#);
}

#[tokio::test]
async fn note_is_stored_for_the_audience() {
    for (who, trust, store) in [
        ("alice, trust full", Trust::Full, "private"),
        ("bob, trust inner", Trust::Inner, "shared"),
        ("carol, trust familiar", Trust::Familiar, "social"),
    ] {
        let mut talk = household(trust);
        talk.say(&format!("{}Remember that the key is under the pot.", context(who, "signal:x")));
        let expected = format!(
            r#"memory_write {{"store":"{store}","text":"the key is under the pot.","title":"the key is under the pot."}}"#
        );
        assert_eq!(talk.answer().await.calls(), [expected]);
        talk.give_back("written to the note");
        assert_eq!(talk.answer().await.text(), "Noted. `memory_write` says:\n  written to the note");
    }
    let mut nobody_said = Talk::at(Trust::Full);
    nobody_said.say("remember that it rains");
    assert!(nobody_said.answer().await.calls()[0].contains(r#""store":"private""#));
}

#[tokio::test]
async fn omitted_context_values_are_unchanged() {
    let mut talk = household(Trust::Inner);
    talk.say(&format!("{}hello", context("bob, trust inner", "signal:bob"))).answer().await;
    talk.say(
        "<turn-context>\n## Now\n\n- Time: Monday, 2026-11-16 06:42 (Etc/UTC)\n</turn-context>\n\nwho am I?",
    );
    let text = talk.answer().await.text();
    assert!(
        text.contains("I take you for bob (trust inner), on signal:bob, at Monday, 2026-11-16 06:42"),
        "{text}"
    );
}

#[tokio::test]
async fn context_ending_the_system_prompt_is_read() {
    let turn = "\n\n## Now\n\n- Situation: dm\n- Speaking with: carol, trust familiar";
    let mut talk = household(Trust::Familiar).with_system(CacheClass::None, turn);
    let text = talk.say("hello").answer().await.text();
    assert!(text.contains("I take you for carol (trust familiar), in situation dm."), "{text}");
}

#[tokio::test]
async fn compaction_request_gets_a_rule_based_summary() {
    let mut talk = household(Trust::Full);
    talk.say(&format!(
        "{}what's Carol's birthday? I forgot.",
        context("alice, trust full", "terminal:default")
    ));
    talk.answer().await;
    talk.give_back(SNIPPETS).answer().await;
    talk.say("!say Noted.\nAnd more.").answer().await;
    talk.say("Summarise the conversation for whoever goes on with it.\nKeep names and dates.");
    insta::assert_snapshot!(talk.answer().await.summary(), @r#"
    Summary by rule, not by a language model: first sentences only.
    - Asked: what's Carol's birthday?
    - Asked: !say Noted.
    - Answered: I call `memory_search` to look for “carol birthday”.
    - Answered: Memory says: Carol: birthday 14 March.
    - Answered: Noted.
    [EndTurn]
    "#);
}

#[tokio::test]
async fn long_summary_is_short_and_keeps_the_newest() {
    let mut talk = Talk::at(Trust::Full);
    for n in 0..300 {
        talk.say(&format!("Question number {n} about one thing and another."));
        talk.push(RequestRole::Assistant, vec![ContentBlock::text(format!("Answer number {n}."))]);
    }
    talk.say("Summarise the conversation");
    let text = talk.answer().await.text();
    assert!(text.split_whitespace().count() <= 210, "{text}");
    assert!(
        text.contains("number 299 about")
            && text.contains("Answer number 299.")
            && !text.contains("number 3 about")
    );
    assert!(text.contains("- Asked earlier: "), "{text}");
}

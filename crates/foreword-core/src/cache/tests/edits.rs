//! Misses caused by edits: tools, layers, trust, model, settings, history.

use foreword_prompt::epoch::Reason;
use foreword_prompt::trust::Trust;

use super::super::{CacheVerdict, Invalidates};
use super::case::{Case, Reads, case};
use super::script::{Block, Script, message, prose};

fn edited(edit: impl FnOnce(&mut Script)) -> Script {
    let mut next = Script::agent().next();
    edit(&mut next);
    next
}

pub(super) fn tools() -> Vec<Case> {
    let more = ("write_file".to_owned(), r#"{"name":"write_file","description":"Writes."}"#.to_owned());
    let other =
        |script: &mut Script| script.tools[3].1 = script.tools[3].1.replace("Use it well.", "Reads a file.");
    let agent = Script::agent;
    let on_openai = |edit: fn(&mut Script)| {
        let mut next = Script::on_openai().next();
        edit(&mut next);
        next
    };
    vec![
        case("two tools change places", agent(), edited(|now| now.tools.swap(1, 3)))
            .finds("tools_reordered")
            .at("tool:read_file"),
        case("all tools stand the other way round", agent(), edited(|now| now.tools.reverse()))
            .finds("tools_reordered")
            .at("tool:web_fetch"),
        case(
            "tools in another order, cached by itself",
            Script::on_openai(),
            on_openai(|now| now.tools.swap(0, 1)),
        )
        .finds("tools_reordered")
        .at("tool:edit_file"),
        case("a tool is added at the end", agent(), edited(|now| now.tools.push(more)))
            .finds("tools_changed")
            .at("tool:write_file"),
        case("a tool is gone", agent(), edited(|now| drop(now.tools.remove(2))))
            .finds("tools_changed")
            .at("tool:grep"),
        case("a tool reads differently", agent(), edited(other)).finds("tools_changed").at("tool:read_file"),
        case(
            "tools in another order, and one of them edited",
            agent(),
            edited(|now| {
                other(now);
                now.tools.swap(0, 1);
            }),
        )
        .finds("tools_changed")
        .at("tool:edit_file"),
    ]
}

pub(super) fn prompt() -> Vec<Case> {
    let agent = Script::agent;
    let edit = |now: &mut Script| *now.layer("rules") = prose("other rules", 5_200);
    let added =
        |now: &mut Script| now.system[1].layers.insert(1, ("memory".to_owned(), prose("memory", 700)));
    let block = Block { layers: vec![("x".to_owned(), prose("style", 900))], known: true, breakpoint: None };
    let mut proxied = Script::through_a_proxy().next();
    *proxied.layer("rules") = prose("other rules", 5_200);
    let mut retold = Script::agent().next();
    *retold.layer("rules") = prose("rules for those who are familiar", 3_000);
    retold.tools.pop();
    vec![
        case("a layer is edited, and nobody says where", agent(), edited(edit))
            .finds("layer_edited")
            .at("system:0/rules"),
        case("a layer is edited in its file", agent(), edited(edit))
            .edited("rules", "RULES.md")
            .finds("layer_edited")
            .at("system:0/rules"),
        case("a block of a proxied prompt is edited", Script::through_a_proxy(), proxied)
            .finds("system_changed")
            .at("system:1"),
        case("a layer is added", agent(), edited(added)).finds("system_changed").at("system:1/memory"),
        case("a block is added", agent(), edited(|now| now.system.insert(1, block)))
            .finds("system_changed")
            .at("system:1"),
        case("trust falls", agent(), retold.clone())
            .epoch(Reason::TrustFell { from: Trust::Full, to: Trust::Familiar })
            .finds("trust_changed")
            .at("tool:web_fetch"),
        case("trust rises again", retold.clone(), agent().next())
            .changed("trust", "familiar", "full")
            .finds("trust_changed")
            .at("tool:web_fetch"),
        case("another agent takes over", agent(), retold.clone())
            .changed("agent", "main", "reviewer")
            .finds("occasion_changed")
            .at("tool:web_fetch"),
        case("another folder", agent(), edited(edit))
            .changed("working directory", "/a", "/b")
            .finds("occasion_changed")
            .at("system:0/rules"),
        case(
            "new tools in a new epoch are told by their names",
            agent(),
            edited(|now| drop(now.tools.pop())),
        )
        .changed("tool set", "blake3:aa", "blake3:bb")
        .finds("tools_changed")
        .at("tool:web_fetch"),
    ]
}

pub(super) fn model_and_settings() -> Vec<Case> {
    let agent = Script::agent;
    let on = |model: &str| Script { model: model.to_owned(), ..Script::agent() };
    let thinking = (
        "thinking".to_owned(),
        Invalidates::Messages,
        r#"{"type":"enabled","budget_tokens":4000}"#.to_owned(),
    );
    let search = ("web_search".to_owned(), Invalidates::System, "true".to_owned());
    let any = r#"{"type":"any"}"#.to_owned();
    let gemini = |name: &str| {
        let mut script = on(name);
        script.without_breakpoints();
        script
    };
    vec![
        case("another model", agent(), on("anthropic/claude-haiku-4-5").next())
            .finds("model_changed")
            .at("model"),
        case("a model nobody knows", agent(), on("anthropic/claude-unheard-of").next())
            .finds("model_changed")
            .at("model"),
        case(
            "another name of the same model, and it is read",
            gemini("google/gemini-2.5-pro"),
            gemini("gemini/gemini-2.5-pro").next(),
        )
        .reads(Reads::All)
        .all_read(),
        case(
            "another name of the same model, and it is missed",
            gemini("google/gemini-2.5-pro"),
            gemini("gemini/gemini-2.5-pro").next(),
        )
        .finds("provider_missed"),
        case(
            "another choice of tools voids the messages alone",
            agent(),
            edited(|now| now.settings[0].2 = any),
        )
        .reads(Reads::Sections(7))
        .verdict(CacheVerdict::Partial)
        .finds("settings_changed")
        .at("setting:tool_choice"),
        case("thinking is switched on", agent(), edited(|now| now.settings.push(thinking)))
            .reads(Reads::Sections(7))
            .verdict(CacheVerdict::Partial)
            .finds("settings_changed")
            .at("setting:thinking"),
        case(
            "web search is switched on and voids the prompt",
            agent(),
            edited(|now| now.settings.push(search)),
        )
        .finds("settings_changed")
        .at("setting:web_search"),
    ]
}

pub(super) fn history() -> Vec<Case> {
    let agent = Script::agent;
    let cut = |now: &mut Script| now.messages[3].text = message("assistant", "[result removed]").text;
    let summary = message("user", &prose("the summary of all before", 900));
    let summarised = |now: &mut Script| drop(now.messages.splice(0..6, [summary.clone()]));
    let all_summarised = |now: &mut Script| drop(now.messages.splice(0..10, [summary.clone()]));
    let other = |now: &mut Script| now.messages = vec![message("user", "something else")];
    let mut openai = Script::on_openai().next();
    openai.messages.drain(0..4);
    let inserted =
        |now: &mut Script| now.messages.insert(2, message("user", "<reminder>be brief</reminder>"));
    let read_prompt = |case: Case| case.reads(Reads::Sections(7)).verdict(CacheVerdict::Partial);
    vec![
        read_prompt(case("an old result is taken out", agent(), edited(cut)))
            .finds("history_rewritten")
            .at("message:3"),
        read_prompt(case("a reminder is put in", agent(), edited(inserted)))
            .finds("history_rewritten")
            .at("message:2"),
        read_prompt(case(
            "the oldest messages are dropped",
            agent(),
            edited(|now| drop(now.messages.drain(0..2))),
        ))
        .finds("history_rewritten")
        .at("message:0"),
        case("the oldest messages are dropped, cached by itself", Script::on_openai(), openai)
            .reads(Reads::Sections(7))
            .verdict(CacheVerdict::Partial)
            .finds("history_rewritten")
            .at("message:0"),
        read_prompt(case(
            "another conversation under the same name",
            agent(),
            edited(|now| {
                other(now);
                now.mark_last(super::script::FIVE);
            }),
        ))
        .finds("history_rewritten")
        .at("message:0"),
        read_prompt(case("a summary of everything, as we know", agent(), edited(all_summarised)))
            .epoch(Reason::Compaction)
            .finds("compaction")
            .at("message:0"),
        read_prompt(case("a client's own summary before the latest messages", agent(), edited(summarised)))
            .finds("compaction")
            .at("message:0"),
    ]
}

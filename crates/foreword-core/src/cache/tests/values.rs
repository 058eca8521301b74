//! Clocks, random ids, and values that look similar.

use super::super::CacheVerdict;
use super::case::{Case, Reads, case};
use super::script::{Script, prose};

pub(super) fn clocks() -> Vec<Case> {
    let layer = |value: &str| Script::agent().with_in("runtime", &format!("\nCurrent time: {value}\n"));
    let message = |value: &str| {
        Script::agent().with_in_message(0, &format!(r"\n<environment>now={value}, os=linux</environment>\n"))
    };
    let tool = |value: &str| {
        let mut script = Script::agent();
        script.tools[2].1 =
            script.tools[2].1.replace("Use it well.", &format!("Index built {value}. Use it well."));
        script
    };
    let proxy =
        |value: &str| Script::through_a_proxy().with_in("project", &format!("Today's date: {value}\n"));
    let openai = |value: &str| Script::on_openai().with_in("identity", &format!("It is now {value}.\n"));
    vec![
        case(
            "a time in the runtime layer",
            layer("2026-06-05T09:00:00Z"),
            layer("2026-06-05T09:02:00Z").next(),
        )
        .finds("clock")
        .at("system:1/runtime")
        .value("2026-06-05T09:02:00Z")
        .reads(Reads::Sections(6))
        .verdict(CacheVerdict::Partial),
        case(
            "a date that grows by a letter at midnight",
            proxy("Thursday, June 4, 2026"),
            proxy("Friday, June 5, 2026").next(),
        )
        .from("2026-06-04T23:58:30Z")
        .finds("clock")
        .at("system:2")
        .value("June 5, 2026"),
        case("milliseconds in the first message", message("1780650000123"), message("1780650119877").next())
            .finds("clock")
            .at("message:0")
            .value("1780650119877")
            .reads(Reads::Sections(7))
            .verdict(CacheVerdict::Partial),
        case("the time in a tool's description", tool("2026-06-05 09:00"), tool("2026-06-05 09:02").next())
            .finds("clock")
            .at("tool:grep")
            .value("2026-06-05 09:02"),
        case(
            "a time of day in a prompt that is cached by itself",
            openai("9:00 AM"),
            openai("9:02 AM").next(),
        )
        .finds("clock")
        .at("system:0/identity")
        .value("9:02 AM"),
        case("an hour that gets a digit more", openai("9:59:30"), openai("10:00:10").next())
            .from("2026-06-05T09:59:30Z")
            .after(40)
            .finds("clock")
            .at("system:0/identity"),
    ]
}

pub(super) fn ids() -> Vec<Case> {
    let layer = |value: &str| Script::agent().with_in("runtime", &format!("\nSession: {value}\n"));
    let message = |value: &str| Script::agent().with_in_message(2, &format!(" (trace {value}) "));
    let header = |value: &str| {
        let mut script = Script::through_a_proxy();
        *script.layer("header") = script.layer("header").replace("a81f3c", value);
        script
    };
    vec![
        case(
            "a UUID that is drawn for each request",
            layer("3f2b8c1e-9d4a-4c6f-8b2e-1a2b3c4d5e6f"),
            layer("c0a80164-7b1d-4e2a-9f3c-0d1e2f3a4b5c").next(),
        )
        .finds("random_id")
        .at("system:1/runtime")
        .value("c0a80164-7b1d-4e2a-9f3c-0d1e2f3a4b5c"),
        case(
            "a UUID with a time in it is an id and no clock",
            layer("0197420f-5c3b-7e21-9f00-1a2b3c4d5e6f"),
            layer("01974211-2f8c-7a90-8d11-5e6f1a2b3c4d").next(),
        )
        .finds("random_id")
        .at("system:1/runtime"),
        case("a checksum in the header of a proxied client", header("a81f3c"), header("77e0d2").next())
            .finds("random_id")
            .at("system:0")
            .value("77e0d2"),
        case(
            "a ULID in an old message",
            message("01JWZ8N4T2V9Q6K3R5X7Y1B0CD"),
            message("01JWZ8R7M4A1C9E2G5H8J3K6NP").next(),
        )
        .finds("random_id")
        .at("message:2")
        .value("01JWZ8R7M4A1C9E2G5H8J3K6NP"),
    ]
}

/// Dates and ids that are not the cause.
pub(super) fn not_to_blame() -> Vec<Case> {
    let dated = |date: &str, words: &str| {
        Script::agent().with_in("project", &format!("\nReviewed {date}. {words} {}", prose("review", 300)))
    };
    let uuid = "3f2b8c1e-9d4a-4c6f-8b2e-1a2b3c4d5e6f";
    let mut rewritten = Script::agent().next();
    let text = &mut rewritten.messages[3].text;
    *text = text.replace("weigh", "look at").replace("answer 3", uuid);
    let mut tool = Script::agent().next();
    tool.tools[1].1 =
        tool.tools[1].1.replace("Use it well.", "As of 2026-06-05, never use it.").replace("weigh", "see");
    let today = "2026-06-05";
    vec![
        case(
            "a layer that is edited around a date",
            dated("2025-01-31", "Ask first."),
            dated("2025-01-31", "Act first.").next(),
        )
        .finds("layer_edited")
        .at("system:1/project"),
        case(
            "a layer that is edited and dated anew",
            dated("2025-01-31", "Ask first."),
            dated(today, "Never ask, act.").next(),
        )
        .finds("layer_edited")
        .at("system:1/project"),
        case(
            "a line with the date of today is put in",
            Script::agent(),
            Script::agent().with_in("project", "Updated on 2026-06-05: be brief.\n").next(),
        )
        .finds("layer_edited")
        .at("system:1/project"),
        case("a layer whose file is known to be edited", dated("2026-06-04", ""), dated(today, "").next())
            .edited("project", "PROJECT.md")
            .finds("layer_edited")
            .at("system:1/project"),
        case("an id in a message that is rewritten elsewhere too", Script::agent(), rewritten)
            .finds("history_rewritten")
            .at("message:3"),
        case("a tool with a date that is edited elsewhere too", Script::agent(), tool)
            .finds("tools_changed")
            .at("tool:edit_file"),
        case(
            "a date that cannot have changed within two minutes",
            dated("2026-06-04", ""),
            dated("2026-06-03", "").next(),
        )
        .finds("layer_edited")
        .at("system:1/project"),
        case(
            "a clock nobody may look at",
            dated("2026-06-05T09:00:00Z", ""),
            dated("2026-06-05T09:02:00Z", "").next(),
        )
        .blind()
        .finds("layer_edited")
        .at("system:1/project"),
    ]
}

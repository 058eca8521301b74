//! Misses without a change to the request: expiry, size, breakpoints, provider; and unknown causes.

use super::super::CacheVerdict;
use super::case::{Case, Reads, case};
use super::script::{FIVE, HOUR, Script, message, prose};

fn agent() -> Script {
    Script::agent()
}

fn for_an_hour() -> Script {
    let mut script = agent();
    script.system.iter_mut().for_each(|block| block.breakpoint = HOUR);
    script.mark_last(HOUR);
    script
}

pub(super) fn times() -> Vec<Case> {
    let mixed = || {
        let mut script = for_an_hour();
        script.mark_last(FIVE);
        script
    };
    let openai = Script::on_openai;
    let clock = |value: &str| agent().with_in_message(0, &format!(" now: {value} "));
    vec![
        case("the same prefix after four minutes is read", agent(), agent().next())
            .after(240)
            .reads(Reads::All)
            .all_read(),
        case("the same prefix after four minutes is missed", agent(), agent().next())
            .after(240)
            .finds("provider_missed"),
        case("the same prefix after seven minutes", agent(), agent().next()).after(420).finds("expired"),
        case("seven minutes, and somebody used it in between", agent(), agent().next())
            .after(420)
            .touched(200)
            .finds("provider_missed"),
        case("seven minutes of an hour, read", for_an_hour(), for_an_hour().next())
            .after(420)
            .reads(Reads::All)
            .all_read(),
        case("seven minutes of an hour, missed", for_an_hour(), for_an_hour().next())
            .after(420)
            .finds("provider_missed"),
        case("more than an hour", for_an_hour(), for_an_hour().next()).after(3_700).finds("expired"),
        case("an hour for the prompt, five minutes for the rest", mixed(), mixed().next())
            .after(420)
            .reads(Reads::Sections(7))
            .verdict(CacheVerdict::Partial)
            .finds("expired"),
        case("cached by itself, after three minutes", openai(), openai().next())
            .after(180)
            .finds("provider_missed"),
        case("cached by itself, after twenty minutes it may be gone", openai(), openai().next())
            .after(1_200)
            .finds("expired"),
        case("cached by itself, after two hours it may be gone", openai(), openai().next())
            .after(7_200)
            .finds("expired"),
        case("cached by itself, after 25 hours it is gone", openai(), openai().next())
            .after(90_000)
            .finds("expired"),
        case(
            "expired, and a message differs that is further on",
            clock("2026-06-05T09:00:00Z"),
            clock("2026-06-05T09:20:00Z").next(),
        )
        .after(1_200)
        .finds("expired"),
    ]
}

pub(super) fn sizes_and_breakpoints() -> Vec<Case> {
    let small = |mut script: Script| {
        script.tools.truncate(1);
        script.system.truncate(1);
        script.system[0].layers = vec![("identity".to_owned(), prose("identity", 900))];
        script.messages.drain(0..8);
        script
    };
    let none = || {
        let mut script = agent();
        script.without_breakpoints();
        script
    };
    let five = || {
        let mut script = agent();
        script.messages[2].breakpoint = FIVE;
        script.messages[4].breakpoint = FIVE;
        script
    };
    let far = |steps: usize| {
        let mut next = agent().next();
        next.messages.iter_mut().for_each(|said| said.breakpoint = None);
        for step in 0..steps {
            next.messages.push(message("assistant", &prose(&format!("call {step}"), 300)));
            next.messages.push(message("tool", &prose(&format!("result {step}"), 300)));
        }
        next.mark_last(FIVE);
        next
    };
    let too_small = |case: Case| case.verdict(CacheVerdict::NothingToRead).finds("below_minimum");
    vec![
        too_small(case("a prompt below the smallest size", small(agent()), small(agent()).next())),
        too_small(case(
            "a short prompt, cached by itself",
            small(Script::on_openai()),
            small(Script::on_openai()).next(),
        )),
        too_small(case("a small prompt without a breakpoint", small(none()), small(none()).next())),
        case("no breakpoint at all", none(), none().next()).finds("no_breakpoint"),
        case("a breakpoint that is there no more", agent(), none().next()).finds("no_breakpoint"),
        case("five breakpoints", agent(), five().next()).finds("too_many_breakpoints"),
        case("five breakpoints in both", five(), five().next()).finds("too_many_breakpoints"),
        case("thirty blocks since the last breakpoint", agent(), far(15))
            .reads(Reads::Sections(7))
            .verdict(CacheVerdict::Partial)
            .finds("out_of_reach"),
        case("a hundred blocks since the last breakpoint", agent(), far(50))
            .reads(Reads::Sections(7))
            .verdict(CacheVerdict::Partial)
            .finds("out_of_reach"),
        case("sixteen blocks are within reach", agent(), far(7)).reads(Reads::All).all_read(),
    ]
}

pub(super) fn no_misses() -> Vec<Case> {
    let openai = Script::on_openai;
    let mut behind = agent();
    behind.mark_last(None);
    behind.messages[6].breakpoint = FIVE;
    let mut other_words = behind.clone();
    other_words.messages[8] = message("user", "in other words");
    let mut asked_again = openai();
    asked_again.messages[8] = message("user", &prose("the same in other words", 700));
    let nothing = |case: Case| case.verdict(CacheVerdict::NothingToRead).finds("first_request");
    vec![
        nothing(case("the first request", agent(), agent()).first()),
        nothing(case("the first request, cached by itself", openai(), openai()).first()),
        case("a first request that reads what others wrote", agent(), agent())
            .first()
            .reads(Reads::Sections(7))
            .all_read(),
        case("a conversation that is taken back, and read", agent().next(), agent())
            .reads(Reads::Sections(17))
            .all_read(),
        case("all of it is read", agent(), agent().next()).reads(Reads::All).exact().all_read(),
        case("all of it is read in steps", openai(), openai().next()).reads(Reads::AllInSteps).all_read(),
        case("a message changed behind the last breakpoint", behind, other_words)
            .reads(Reads::All)
            .all_read(),
        case("the last question asked again in other words", openai(), asked_again)
            .reads(Reads::Sections(15))
            .all_read(),
    ]
}

pub(super) fn unknowns() -> Vec<Case> {
    let local = || {
        let mut script = Script { model: "local/llama".to_owned(), ..agent() };
        script.without_breakpoints();
        script
    };
    let clock = |value: &str| agent().with_in("runtime", &format!(" Now: {value} "));
    vec![
        case("the previous request was not seen", agent(), agent().next())
            .not_seen()
            .verdict(CacheVerdict::Unknown)
            .finds("unknown"),
        case("the provider cached nothing of a large request", agent(), agent().next())
            .cached_nothing()
            .verdict(CacheVerdict::NothingToRead)
            .finds("unknown"),
        case(
            "the provider cached nothing, and a clock is not to blame",
            clock("2026-06-05T09:00:00Z"),
            clock("2026-06-05T09:02:00Z").next(),
        )
        .cached_nothing()
        .verdict(CacheVerdict::NothingToRead)
        .finds("unknown"),
        case("not seen, and the provider says why", agent(), agent().next())
            .not_seen()
            .provider_says("tools_changed")
            .verdict(CacheVerdict::Unknown)
            .finds("tools_changed"),
        case("a provider of which nothing is known", local(), local().next()).finds("unknown"),
        case("nothing is reported and nothing differs", local(), local().next())
            .reads(Reads::NotReported)
            .verdict(CacheVerdict::NotReported),
        case(
            "nothing is reported and a clock went on",
            clock("2026-06-05T09:00:00Z"),
            clock("2026-06-05T09:02:00Z").next(),
        )
        .reads(Reads::NotReported)
        .verdict(CacheVerdict::NotReported)
        .finds("clock")
        .at("system:1/runtime"),
    ]
}

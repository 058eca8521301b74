//! Tests of parsing schedules.

use crate::config::Config;

fn refused(schedule: &str) -> String {
    let text = format!(
        "users:\n  - {{ name: alice, trust: full }}\n  - {{ name: bob, trust: inner }}\nschedules:\n  {schedule}\n"
    );
    let problems = Config::parse("foreword.yaml", &text).unwrap_err();
    let shown = problems.iter().map(|problem| {
        format!("{problem}\n{}\nhelp: {}", problem.excerpt(), problem.help.as_deref().unwrap_or("-"))
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn invalid_schedules_are_refused_with_line_and_help() {
    insta::assert_snapshot!(
        "refused_schedules",
        [
            refused("a: { cron: '0 0 30 2 *', heartbeat: true }"),
            refused("a: { cron: '* * * * * *', heartbeat: true }"),
            refused("a: { cron: 'every day', heartbeat: true }"),
            refused("a: { cron: '@daily', heartbeat: true, time_zone: Europe/Berln }"),
            refused("a: { cron: '@daily', heartbeat: true, time_zone: new york }"),
            refused("a: { cron: '@daily', heartbeat: true, time_zone: Middle-earth }"),
            refused("a: { cron: '@daily' }"),
            refused("a: { cron: '@daily', tick: true, prompt: hello }"),
            refused("a: { cron: '@daily', prompt: ' ' }"),
            refused("a: { cron: '@daily', tick: true, parameters: { day: today } }"),
            refused("a: { cron: '@daily', tick: true, user: ailce }"),
            refused("a: { cron: '@daily', tick: true, model: claude }"),
            refused("a: { cron: '@daily', tick: true, missed: never }"),
            refused("'two words': { cron: '@daily', tick: true }"),
            refused("a: { tick: true }"),
        ]
        .join("\n\n")
    );
}

#[test]
fn schedules_default_to_owner_and_machine_time_zone() {
    let text = "users:\n  - { name: bob, trust: inner }\n  - { name: alice, trust: full }\nschedules:\n  \
        night: { cron: '0 3 * * *', compact: true }\n  \
        bobs: { cron: '@daily', prompt: hello, user: bob, time_zone: asia/tokyo, missed: skip, enabled: false }\n";
    let config = Config::parse("foreword.yaml", text).unwrap();
    let [bobs, night] = ["bobs", "night"].map(|name| &config.schedules[name]);
    assert_eq!((&*night.user, night.time_zone.is_none(), night.enabled), ("alice", true, true));
    let machine = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    assert_eq!(night.timing(&machine).time_zone, "Europe/Berlin");
    assert_eq!((&*bobs.user, bobs.enabled, bobs.missed.as_str()), ("bob", false, "skip"));
    assert_eq!(bobs.timing(&machine).time_zone, "Asia/Tokyo");
    let nobody = "users:\n  - { name: bob, trust: inner }\nschedules:\n  a: { cron: '@daily', tick: true }\n";
    assert_eq!(Config::parse("foreword.yaml", nobody).unwrap_err().len(), 1);
}

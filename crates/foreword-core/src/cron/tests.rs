//! Daylight saving time changes and invalid expressions.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{BadCron, Cron};
use crate::timestamp::Timestamp;

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

/// The occurrences after `after`, in local time.
fn times(cron: &str, zone_name: &str, after: &str, count: usize) -> Vec<String> {
    let (cron, zone) = (Cron::parse(cron).unwrap(), zone(zone_name));
    let mut at: Timestamp = after.parse().unwrap();
    let mut times = Vec::new();
    for _ in 0..count {
        at = cron.next_after(at, &zone).unwrap();
        let local = jiff::Timestamp::from(at).to_zoned(zone.clone());
        times.push(local.strftime("%d %H:%M %:z").to_string());
    }
    times
}

fn check(cron: &str, zone_name: &str, after: &str, expected: &[&str]) {
    assert_eq!(times(cron, zone_name, after, expected.len()), expected, "{cron} in {zone_name}");
}

#[test]
fn skipped_hour_fires_once_at_its_end() {
    let berlin = "2026-03-28T12:00:00+01:00";
    check("30 2 * * *", "Europe/Berlin", berlin, &["29 03:00 +02:00", "30 02:30 +02:00"]);
    check("*/20 2 * * *", "Europe/Berlin", berlin, &["29 03:00 +02:00", "30 02:00 +02:00"]);
    check("0 2,3 * * *", "Europe/Berlin", berlin, &["29 03:00 +02:00", "30 02:00 +02:00"]);
    check(
        "15 2 * * *",
        "America/New_York",
        "2026-03-07T12:00:00-05:00",
        &["08 03:00 -04:00", "09 02:15 -04:00"],
    );
    // Half an hour is skipped.
    check(
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T12:00:00+10:30",
        &["04 02:30 +11:00", "05 02:15 +11:00"],
    );
}

#[test]
fn repeated_hour_fires_once() {
    let berlin = "2026-10-24T12:00:00+02:00";
    check("30 2 * * *", "Europe/Berlin", berlin, &["25 02:30 +02:00", "26 02:30 +01:00"]);
    check("0 */2 25 10 *", "Europe/Berlin", "2026-10-24T22:30:00Z", &["25 02:00 +02:00", "25 04:00 +01:00"]);
    check(
        "30 1 * * *",
        "America/New_York",
        "2026-10-31T12:00:00-04:00",
        &["01 01:30 -04:00", "02 01:30 -05:00"],
    );
    check(
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T12:00:00+11:00",
        &["05 01:45 +11:00", "06 01:45 +10:30"],
    );
}

#[test]
fn hourly_expressions_follow_elapsed_time() {
    let forward = ["29 01:30 +01:00", "29 03:00 +02:00", "29 03:30 +02:00"];
    check("*/30 * * * *", "Europe/Berlin", "2026-03-29T01:00:00+01:00", &forward);
    check(
        "15 * * * *",
        "Europe/Berlin",
        "2026-03-29T01:00:00+01:00",
        &["29 01:15 +01:00", "29 03:15 +02:00"],
    );
    let back =
        ["25 02:00 +02:00", "25 02:30 +02:00", "25 02:00 +01:00", "25 02:30 +01:00", "25 03:00 +01:00"];
    check("*/30 * * * *", "Europe/Berlin", "2026-10-25T01:30:00+02:00", &back);
    check(
        "*/20 * * * *",
        "Australia/Lord_Howe",
        "2026-04-05T01:20:00+11:00",
        &["05 01:40 +11:00", "05 01:40 +10:30", "05 02:00 +10:30"],
    );
}

#[test]
fn skipped_day_fires_at_its_end() {
    // Samoa went from 29 to 31 December 2011.
    let after = "2011-12-29T12:00:00-10:00";
    check("0 7 * * *", "Pacific/Apia", after, &["31 00:00 +14:00", "31 07:00 +14:00"]);
    check("0 */6 * * *", "Pacific/Apia", after, &["29 18:00 -10:00", "31 00:00 +14:00", "31 06:00 +14:00"]);
    check("30 * * * *", "Pacific/Apia", "2011-12-29T23:00:00-10:00", &["29 23:30 -10:00", "31 00:30 +14:00"]);
}

#[test]
fn common_expressions_are_parsed() {
    let after = "2026-11-16T12:00:00Z";
    for (cron, expected) in [
        ("@hourly", "16 13:00 +00:00"),
        ("@daily", "17 00:00 +00:00"),
        ("@weekly", "22 00:00 +00:00"),
        ("@monthly", "01 00:00 +00:00"),
        ("0 7 * * Mon-Fri", "17 07:00 +00:00"),
        ("0 0 L * *", "30 00:00 +00:00"),
        ("0 9 15W * *", "15 09:00 +00:00"),
        ("0 9 * * fri#2", "11 09:00 +00:00"),
        ("0 0 29 2 *", "29 00:00 +00:00"),
        ("30 5 7 * * *", "17 07:05 +00:00"),
        ("  */5 * * * *  ", "16 12:05 +00:00"),
    ] {
        check(cron, "UTC", after, &[expected]);
    }
}

#[test]
fn invalid_expressions_are_rejected_with_help() {
    for never in ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 *"] {
        assert!(matches!(Cron::parse(never), Err(BadCron::Never { .. })), "{never}");
    }
    for often in ["* * * * * *", "*/30 * * * * *", "0,30 0 7 * * *", "1-2 * * * * *"] {
        assert!(matches!(Cron::parse(often), Err(BadCron::TooOften { .. })), "{often}");
    }
    for nonsense in [
        "",
        " ",
        "hello",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 9",
        "@reboot",
        "@every 5m",
        "0 0 1 1 * * 2026",
        "5-1 * * * *",
        "*/0 * * * *",
        "\u{1b}[2J",
        "🕖 * * * *",
        "0 7 * * mon-fri; rm",
        "-1 * * * *",
        "1.5 * * * *",
    ] {
        let error = Cron::parse(nonsense).unwrap_err();
        assert!(matches!(error, BadCron::Unreadable { .. }), "{nonsense}: {error}");
        assert!(!error.to_string().contains(['\u{1b}', '\n']) && error.help().contains("mon-fri"), "{error}");
    }
    assert!(Cron::parse(&"9".repeat(100_000)).unwrap_err().to_string().len() < 300);
}

proptest! {
    #[test]
    fn daily_times_increase_in_utc_and_local_time(
        minute in 0..60_u8, hour in 0..24_u8, zone_number in 0..6_usize, start in 0..1_900_000_000_i64,
    ) {
        let zone = zone(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC",
            "Africa/Casablanca"][zone_number]);
        let cron = Cron::parse(&format!("{minute} {hour} * * *")).unwrap();
        let mut at = Timestamp::from_micros(start * 1_000_000 + 1);
        let mut last = None;
        for _ in 0..400 {
            let next = cron.next_after(at, &zone).unwrap();
            prop_assert!(next > at);
            let local = zone.to_datetime(next.into());
            prop_assert!(last.is_none_or(|last| local > last), "{local} after {last:?}");
            (at, last) = (next, Some(local));
        }
    }

    #[test]
    fn hourly_expressions_have_no_long_gaps(start in 0..1_900_000_000_i64, step in 1..60_u8) {
        let cron = Cron::parse(&format!("*/{step} * * * *")).unwrap();
        for name in ["Europe/Berlin", "Australia/Lord_Howe"] {
            let (zone, at) = (zone(name), Timestamp::from_micros(start * 1_000_000));
            let next = cron.next_after(at, &zone).unwrap();
            prop_assert!(next > at && next.since(at).as_secs() <= 90 * 60, "{next} after {at}");
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "[0-9*/,@LW#a-z -]{0,30}") {
        let _ = Cron::parse(&text);
    }
}

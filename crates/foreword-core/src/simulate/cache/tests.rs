//! The simulated cache against hand-computed tables, and against a model that keeps whole requests.

use proptest::prelude::*;

use super::*;
use crate::simulate::{Chain, ChainSegment, Identity};

const ANTHROPIC: CacheModel = CacheModel {
    finding: CacheLookup::AtMarks { look_back: 20 },
    minimum: 1_000,
    kept: 300,
    kept_for_an_hour: 3_600,
};
const OPENAI: CacheModel = CacheModel {
    finding: CacheLookup::LongestPrefix { step: 128, writes: false },
    minimum: 1_024,
    kept: 300,
    kept_for_an_hour: 300,
};
const OPENAI_MARKED: CacheModel = CacheModel {
    finding: CacheLookup::AtMarksAndTheEnd { look_back: 80 },
    minimum: 1_024,
    kept: 1_800,
    kept_for_an_hour: 1_800,
};

const FIVE: CacheTtl = CacheTtl::FiveMinutes;
const HOUR: CacheTtl = CacheTtl::OneHour;

/// Time, ids and sizes of the head, the same of the messages, and the breakpoints.
type Sent<'a> = (u64, &'a [(u64, usize)], &'a [(u64, usize)], &'a [(usize, CacheTtl)]);

fn chain(segments: &[(u64, usize)]) -> Chain {
    segments.iter().map(|&(name, tokens)| ChainSegment { identity: Identity(name), tokens }).collect()
}

fn send(
    cache: &mut Cache,
    now: u64,
    head: &[(u64, usize)],
    messages: &[(u64, usize)],
    marks: &[(usize, CacheTtl)],
) -> RequestCharge {
    let marks: Vec<CacheMarker> = marks.iter().map(|&(at, ttl)| CacheMarker { at, ttl }).collect();
    let (head, messages) = (chain(head), chain(messages));
    cache.send(now, &SimulatedRequest::new(&head, &messages, &marks).unwrap())
}

/// Sends requests to one cache; for each, the expected tokens read, written for an hour, written otherwise, and
/// uncached.
fn check(rules: CacheModel, requests: &[(Sent<'_>, [u64; 4])]) {
    let mut cache = Cache::new(rules);
    for (sent, expected) in requests {
        let (now, head, messages, marks) = *sent;
        let usage = send(&mut cache, now, head, messages, marks).usage();
        let five = usage.cache_write - usage.cache_write_1h;
        assert_eq!([usage.cache_read, usage.cache_write_1h, five, usage.input], *expected, "{sent:?}");
    }
}

#[test]
fn second_request_reads_up_to_the_breakpoint() {
    let head: &[_] = &[(1, 2_000)];
    check(
        ANTHROPIC,
        &[
            ((0, head, &[(10, 50)], &[(1, FIVE)]), [0, 0, 2_000, 50]),
            ((60, head, &[(10, 50), (11, 70)], &[(1, FIVE)]), [2_000, 0, 0, 120]),
        ],
    );
}

#[test]
fn lookback_finds_the_previous_end() {
    let head: &[_] = &[(1, 2_000)];
    check(
        ANTHROPIC,
        &[
            ((0, head, &[(10, 50)], &[(1, FIVE), (2, FIVE)]), [0, 0, 2_050, 0]),
            // An answer of 100 and a message of 60 follow the cached prefix.
            ((60, head, &[(10, 50), (11, 100), (12, 60)], &[(1, FIVE), (4, FIVE)]), [2_050, 0, 160, 0]),
        ],
    );
}

#[test]
fn lookback_is_limited_to_twenty_segments() {
    let head: &[_] = &[(1, 2_000)];
    let messages: Vec<(u64, usize)> = (10..31).map(|name| (name, 10)).collect();
    // The first request ends after segment 2. The lookback from segment 21 reaches it; from 22 it does not.
    for (said, expected) in [(20, [2_010, 0, 190, 0]), (21, [2_000, 0, 210, 0])] {
        let marks: &[_] = &[(1, FIVE), (1 + said, FIVE)];
        check(
            ANTHROPIC,
            &[
                ((0, head, &messages[..1], &[(1, FIVE), (2, FIVE)]), [0, 0, 2_010, 0]),
                ((60, head, &messages[..said], marks), expected),
            ],
        );
    }
}

#[test]
fn requests_below_the_minimum_are_not_cached() {
    for rules in [ANTHROPIC, OPENAI, OPENAI_MARKED] {
        let sent: Sent<'_> = (0, &[(1, 900)], &[(10, 99)], &[(1, FIVE), (2, FIVE)]);
        check(rules, &[(sent, [0, 0, 0, 999]), (sent, [0, 0, 0, 999])]);
    }
}

#[test]
fn breakpoint_before_minimum_joins_the_next() {
    let sent: Sent<'_> = (0, &[(1, 900), (2, 600)], &[(10, 40)], &[(1, HOUR), (2, FIVE)]);
    check(ANTHROPIC, &[(sent, [0, 0, 1_500, 40]), (sent, [1_500, 0, 0, 40])]);
}

#[test]
fn use_renews_an_entry() {
    let sent = |now| -> Sent<'static> { (now, &[(1, 2_000)], &[(10, 50)], &[(1, FIVE)]) };
    let (write, read) = ([0, 0, 2_000, 50], [2_000, 0, 0, 50]);
    check(ANTHROPIC, &[(sent(0), write), (sent(300), read), (sent(600), read), (sent(901), write)]);
    let sent = |now| -> Sent<'static> { (now, &[(1, 2_048)], &[(10, 50)], &[]) };
    let (miss, hit) = ([0, 0, 0, 2_098], [2_048, 0, 0, 50]);
    check(OPENAI, &[(sent(0), miss), (sent(300), hit), (sent(600), hit), (sent(901), miss)]);
}

#[test]
fn one_hour_entries_outlive_five_minute_ones() {
    let marks: &[_] = &[(1, HOUR), (2, FIVE), (3, FIVE)];
    let head: &[_] = &[(1, 2_000), (2, 500)];
    check(
        ANTHROPIC,
        &[
            ((0, head, &[(10, 50)], marks), [0, 2_000, 550, 0]),
            ((299, head, &[(10, 50)], marks), [2_550, 0, 0, 0]),
            // Ten minutes later only the one-hour entry is left; the rest is written again.
            ((899, head, &[(10, 50)], marks), [2_000, 0, 550, 0]),
            ((4_500, head, &[(10, 50)], marks), [0, 2_000, 550, 0]),
        ],
    );
}

#[test]
fn changed_head_segment_invalidates_the_rest() {
    let marks: &[_] = &[(1, FIVE), (3, FIVE)];
    check(
        ANTHROPIC,
        &[
            ((0, &[(1, 2_000), (2, 80)], &[(10, 50)], marks), [0, 0, 2_130, 0]),
            ((60, &[(1, 2_000), (3, 80)], &[(10, 50)], marks), [2_000, 0, 130, 0]),
        ],
    );
    check(
        OPENAI,
        &[
            ((0, &[(1, 2_000), (2, 80)], &[(10, 50)], &[]), [0, 0, 0, 2_130]),
            // 2,000 is 1,024 and 7 steps of 128, and 80 more.
            ((60, &[(1, 2_000), (3, 80)], &[(10, 50)], &[]), [1_920, 0, 0, 210]),
        ],
    );
}

#[test]
fn automatic_cache_reads_in_whole_steps() {
    for (common, read) in [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152), (2_000, 1_920)] {
        let (head, all) = ([(1, common)], common as u64 + 500);
        check(
            OPENAI,
            &[
                ((0, &head, &[(10, 500)], &[]), [0, 0, 0, all]),
                ((60, &head, &[(11, 500)], &[]), [read, 0, 0, all - read]),
            ],
        );
    }
}

#[test]
fn automatic_writes_are_charged_in_steps() {
    let writes = CacheModel { finding: CacheLookup::LongestPrefix { step: 128, writes: true }, ..OPENAI };
    let sent: Sent<'_> = (0, &[(1, 2_000)], &[(10, 500)], &[]);
    // 2,500 is 1,024, eleven steps, and 68 more.
    check(writes, &[(sent, [0, 0, 2_432, 68]), (sent, [2_432, 0, 0, 68])]);
}

#[test]
fn openai_marks_the_end_for_half_an_hour() {
    let head: &[_] = &[(1, 1_500)];
    check(
        OPENAI_MARKED,
        &[
            ((0, head, &[(10, 50)], &[]), [0, 0, 1_550, 0]),
            ((1_800, head, &[(10, 50), (11, 70)], &[]), [1_550, 0, 70, 0]),
            // The head alone was never marked, so another conversation does not find it; once marked, it is found.
            ((1_810, head, &[(20, 50)], &[(1, FIVE)]), [0, 0, 1_550, 0]),
            ((1_820, head, &[(21, 50)], &[(1, FIVE)]), [1_500, 0, 50, 0]),
        ],
    );
}

#[test]
fn model_without_cache_reads_nothing() {
    let nothing = CacheModel { finding: CacheLookup::Nothing, ..OPENAI };
    let sent: Sent<'_> = (0, &[(1, 5_000)], &[(10, 50)], &[(1, FIVE)]);
    check(nothing, &[(sent, [0, 0, 0, 5_050]), (sent, [0, 0, 0, 5_050])]);
}

#[test]
fn expired_entries_are_removed() {
    for rules in [ANTHROPIC, OPENAI, OPENAI_MARKED] {
        let mut cache = Cache::new(rules);
        for turn in 0..20_000 {
            send(&mut cache, turn * 60, &[(turn, 2_000)], &[(10, 50)], &[(1, FIVE), (2, FIVE)]);
        }
        assert!(cache.entries.len() + cache.seen.len() <= TIDY_FROM, "{rules:?}");
    }
}

/// One step of a conversation: the pause before it, whether the head changes, the number and size of added segments.
type Step = (u64, bool, usize, usize);

/// Requests of a conversation whose head changes occasionally: time, head, messages, breakpoints.
type Made = (u64, Vec<(u64, usize)>, Vec<(u64, usize)>, Vec<(usize, CacheTtl)>);

fn conversation(sizes: [usize; 3], steps: &[Step]) -> Vec<Made> {
    let (mut now, mut version, mut messages) = (0, 0, Vec::new());
    let mut made = Vec::new();
    for (pause, changes, added, tokens) in steps {
        now += pause;
        version += u64::from(*changes);
        let head = vec![(1, sizes[0]), (1_000 + version, sizes[1]), (2, sizes[2])];
        messages.extend((0..*added).map(|_| (100_000 + made.len() as u64, *tokens)));
        let marks = [(1, HOUR), (3, FIVE), (3 + messages.len(), FIVE)];
        let marks = if messages.is_empty() { marks[..2].to_vec() } else { marks.to_vec() };
        made.push((now, head, messages.clone(), marks));
    }
    made
}

/// The longest common prefix of two requests.
fn in_common(a: &Made, b: &Made) -> usize {
    let all = |made: &Made| made.1.iter().chain(&made.2).copied().collect::<Vec<_>>();
    all(a).iter().zip(&all(b)).take_while(|(a, b)| a == b).map(|(a, _)| a.1).sum()
}

/// A prefix, its time to live, and its expiry.
type CacheEntry = (Vec<(u64, usize)>, u64, u64);

/// Anthropic's rules applied to all previous requests: a marked prefix is cached as long as no two uses of it are
/// further apart than its time to live.
fn read_by_the_book(rules: &CacheModel, made: &[Made]) -> Vec<usize> {
    let mut kept: Vec<CacheEntry> = Vec::new();
    made.iter()
        .map(|(now, head, messages, marks)| {
            let all: Vec<_> = head.iter().chain(messages).copied().collect();
            let weight = |at: usize| all[..at].iter().map(|segment| segment.1).sum::<usize>();
            let marks: Vec<_> = marks.iter().filter(|(at, _)| weight(*at) >= rules.minimum).collect();
            let alive =
                |at: usize| kept.iter().any(|(prefix, _, until)| prefix[..] == all[..at] && until >= now);
            let looked =
                marks.iter().flat_map(|(at, _)| (at.saturating_sub(19).max(1)..=*at).collect::<Vec<_>>());
            let best = looked.filter(|at| weight(*at) >= rules.minimum && alive(*at)).max().unwrap_or(0);
            let found = (best > 0).then_some((best, rules.kept));
            let used = marks.iter().map(|(at, ttl)| (*at, rules.cache_seconds(*ttl))).chain(found);
            for (at, time) in used.collect::<Vec<_>>() {
                match kept.iter_mut().find(|(prefix, ..)| prefix[..] == all[..at]) {
                    Some((_, kept, until)) if at <= best && *until >= *now => *until = now + *kept,
                    Some(entry) => *entry = (all[..at].to_vec(), time, now + time),
                    None => kept.push((all[..at].to_vec(), time, now + time)),
                }
            }
            weight(best)
        })
        .collect()
}

proptest! {
    #[test]
    fn read_never_exceeds_the_tokens_sent_before(
        sizes in proptest::array::uniform3(1..3_000_usize),
        steps in proptest::collection::vec((0..700_u64, proptest::bool::weighted(0.2), 0..30_usize, 1..400_usize), 1..12),
    ) {
        let made = conversation(sizes, &steps);
        for rules in [ANTHROPIC, OPENAI, OPENAI_MARKED] {
            let mut cache = Cache::new(rules);
            for (at, (now, head, messages, marks)) in made.iter().enumerate() {
                let charged = send(&mut cache, *now, head, messages, marks);
                let most = made[..at].iter().map(|before| in_common(before, &made[at])).max().unwrap_or(0);
                prop_assert!(charged.read <= most, "{rules:?}: read {} of {most}", charged.read);
                prop_assert!(charged.read <= charged.hour && charged.hour <= charged.written);
                prop_assert!(charged.written <= charged.total);
                prop_assert!(charged.read == 0 || charged.read >= rules.minimum);
            }
        }
    }

    #[test]
    fn hash_chain_matches_whole_request_comparison(
        sizes in proptest::array::uniform3(1..1_500_usize),
        steps in proptest::collection::vec((0..700_u64, proptest::bool::weighted(0.2), 0..30_usize, 1..400_usize), 1..12),
    ) {
        let made = conversation(sizes, &steps);
        let mut cache = Cache::new(ANTHROPIC);
        let read: Vec<usize> = made
            .iter()
            .map(|(now, head, messages, marks)| send(&mut cache, *now, head, messages, marks).read)
            .collect();
        prop_assert_eq!(read, read_by_the_book(&ANTHROPIC, &made));
    }

    #[test]
    fn automatic_cache_reads_the_longest_common_prefix(
        sizes in proptest::array::uniform3(1..3_000_usize),
        steps in proptest::collection::vec((0..300_u64, proptest::bool::weighted(0.2), 1..9_usize, 1..400_usize), 1..12),
    ) {
        let made = conversation(sizes, &steps);
        let mut cache = Cache::new(OPENAI);
        for (at, (now, head, messages, _)) in made.iter().enumerate() {
            let read = send(&mut cache, *now, head, messages, &[]).read;
            let big = |before: &&Made| in_common(before, before) >= OPENAI.minimum;
            let last = made[..at].iter().rfind(big).map_or(0, |before| in_common(before, &made[at]));
            let expected = last.checked_sub(1_024).map_or(0, |above| 1_024 + above / 128 * 128);
            prop_assert_eq!(read, expected);
        }
    }
}

//! The cache against tables worked out by hand, and against a model that keeps every request whole.

use proptest::prelude::*;

use super::*;
use crate::simulate::{Chain, Identity, Segment};

const ANTHROPIC: CacheRules = CacheRules {
    finding: Finding::AtMarks { look_back: 20 },
    minimum: 1_000,
    kept: 300,
    kept_for_an_hour: 3_600,
};
const OPENAI: CacheRules = CacheRules {
    finding: Finding::LongestPrefix { step: 128, writes: false },
    minimum: 1_024,
    kept: 300,
    kept_for_an_hour: 300,
};
const OPENAI_MARKED: CacheRules = CacheRules {
    finding: Finding::AtMarksAndTheEnd { look_back: 80 },
    minimum: 1_024,
    kept: 1_800,
    kept_for_an_hour: 1_800,
};

const FIVE: CacheTtl = CacheTtl::FiveMinutes;
const HOUR: CacheTtl = CacheTtl::OneHour;

/// When it is sent, names and sizes of the head, the same of the messages, and the marks.
type Sent<'a> = (u64, &'a [(u64, usize)], &'a [(u64, usize)], &'a [(usize, CacheTtl)]);

fn chain(segments: &[(u64, usize)]) -> Chain {
    segments.iter().map(|&(name, tokens)| Segment { identity: Identity(name), tokens }).collect()
}

fn send(cache: &mut Cache, (now, head, messages, marks): Sent<'_>) -> Charged {
    let marks: Vec<Mark> = marks.iter().map(|&(at, ttl)| Mark { at, ttl }).collect();
    let (head, messages) = (chain(head), chain(messages));
    cache.send(now, &Request::new(&head, &messages, &marks).unwrap())
}

/// Sends requests to one cache; for each, what is expected to be read, written for an hour, written else, and plain.
fn check(rules: CacheRules, requests: &[(Sent<'_>, [u64; 4])]) {
    let mut cache = Cache::new(rules);
    for (sent, expected) in requests {
        let usage = send(&mut cache, *sent).usage();
        let five = usage.cache_write - usage.cache_write_1h;
        assert_eq!([usage.cache_read, usage.cache_write_1h, five, usage.input], *expected, "{sent:?}");
    }
}

#[test]
fn a_second_request_reads_up_to_the_mark_and_sends_the_rest_plainly() {
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
fn a_mark_at_the_end_of_each_request_is_found_by_looking_back_from_the_next() {
    let head: &[_] = &[(1, 2_000)];
    check(
        ANTHROPIC,
        &[
            ((0, head, &[(10, 50)], &[(1, FIVE), (2, FIVE)]), [0, 0, 2_050, 0]),
            // An answer of 100 and a message of 60 have come behind what was cached.
            ((60, head, &[(10, 50), (11, 100), (12, 60)], &[(1, FIVE), (4, FIVE)]), [2_050, 0, 160, 0]),
        ],
    );
}

#[test]
fn what_is_twenty_segments_back_is_not_found_from_the_end_but_by_the_mark_behind_the_head() {
    let head: &[_] = &[(1, 2_000)];
    let messages: Vec<(u64, usize)> = (10..31).map(|name| (name, 10)).collect();
    // The first request ends behind segment 2. From segment 21 it is the twentieth that is looked at; from 22 it is not.
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
fn below_the_minimum_nothing_is_cached() {
    for rules in [ANTHROPIC, OPENAI, OPENAI_MARKED] {
        let sent: Sent<'_> = (0, &[(1, 900)], &[(10, 99)], &[(1, FIVE), (2, FIVE)]);
        check(rules, &[(sent, [0, 0, 0, 999]), (sent, [0, 0, 0, 999])]);
    }
}

#[test]
fn a_mark_before_the_minimum_goes_with_the_next() {
    let sent: Sent<'_> = (0, &[(1, 900), (2, 600)], &[(10, 40)], &[(1, HOUR), (2, FIVE)]);
    check(ANTHROPIC, &[(sent, [0, 0, 1_500, 40]), (sent, [1_500, 0, 0, 40])]);
}

#[test]
fn what_is_used_is_kept_for_as_long_again_and_what_is_not_runs_out() {
    let sent = |now| -> Sent<'static> { (now, &[(1, 2_000)], &[(10, 50)], &[(1, FIVE)]) };
    let (write, read) = ([0, 0, 2_000, 50], [2_000, 0, 0, 50]);
    check(ANTHROPIC, &[(sent(0), write), (sent(300), read), (sent(600), read), (sent(901), write)]);
    let sent = |now| -> Sent<'static> { (now, &[(1, 2_048)], &[(10, 50)], &[]) };
    let (miss, hit) = ([0, 0, 0, 2_098], [2_048, 0, 0, 50]);
    check(OPENAI, &[(sent(0), miss), (sent(300), hit), (sent(600), hit), (sent(901), miss)]);
}

#[test]
fn what_is_kept_for_an_hour_outlives_what_is_kept_for_five_minutes() {
    let marks: &[_] = &[(1, HOUR), (2, FIVE), (3, FIVE)];
    let head: &[_] = &[(1, 2_000), (2, 500)];
    check(
        ANTHROPIC,
        &[
            ((0, head, &[(10, 50)], marks), [0, 2_000, 550, 0]),
            ((299, head, &[(10, 50)], marks), [2_550, 0, 0, 0]),
            // Ten minutes later only the hour's is left; what is behind it is written again.
            ((899, head, &[(10, 50)], marks), [2_000, 0, 550, 0]),
            ((4_500, head, &[(10, 50)], marks), [0, 2_000, 550, 0]),
        ],
    );
}

#[test]
fn one_changed_segment_in_the_head_un_caches_everything_behind_it() {
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
fn an_automatic_cache_reads_in_whole_steps_from_its_minimum_on() {
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
fn an_automatic_cache_with_a_price_for_writing_is_charged_for_whole_steps() {
    let writes = CacheRules { finding: Finding::LongestPrefix { step: 128, writes: true }, ..OPENAI };
    let sent: Sent<'_> = (0, &[(1, 2_000)], &[(10, 500)], &[]);
    // 2,500 is 1,024, eleven steps, and 68 more.
    check(writes, &[(sent, [0, 0, 2_432, 68]), (sent, [2_432, 0, 0, 68])]);
}

#[test]
fn openai_marks_the_end_itself_and_keeps_it_for_half_an_hour_without_steps() {
    let head: &[_] = &[(1, 1_500)];
    check(
        OPENAI_MARKED,
        &[
            ((0, head, &[(10, 50)], &[]), [0, 0, 1_550, 0]),
            ((1_800, head, &[(10, 50), (11, 70)], &[]), [1_550, 0, 70, 0]),
            // The head alone was never marked, so another conversation does not find it; once it is marked, it is found.
            ((1_810, head, &[(20, 50)], &[(1, FIVE)]), [0, 0, 1_550, 0]),
            ((1_820, head, &[(21, 50)], &[(1, FIVE)]), [1_500, 0, 50, 0]),
        ],
    );
}

#[test]
fn a_model_without_a_cache_reads_everything_plainly() {
    let nothing = CacheRules { finding: Finding::Nothing, ..OPENAI };
    let sent: Sent<'_> = (0, &[(1, 5_000)], &[(10, 50)], &[(1, FIVE)]);
    check(nothing, &[(sent, [0, 0, 0, 5_050]), (sent, [0, 0, 0, 5_050])]);
}

#[test]
fn what_has_run_out_is_dropped_so_that_a_long_simulation_stays_small() {
    for rules in [ANTHROPIC, OPENAI, OPENAI_MARKED] {
        let mut cache = Cache::new(rules);
        for turn in 0..20_000 {
            send(&mut cache, (turn * 60, &[(turn, 2_000)], &[(10, 50)], &[(1, FIVE), (2, FIVE)]));
        }
        assert!(cache.entries.len() + cache.seen.len() <= TIDY_FROM, "{rules:?}");
    }
}

/// One step of a conversation: the pause before it, whether the head changes, how many segments are added, their size.
type Step = (u64, bool, usize, usize);

/// Requests of a conversation whose head changes now and then: time, head, messages, marks.
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

/// The longest stretch from their starts that two requests have in common.
fn in_common(a: &Made, b: &Made) -> usize {
    let all = |made: &Made| made.1.iter().chain(&made.2).copied().collect::<Vec<_>>();
    all(a).iter().zip(&all(b)).take_while(|(a, b)| a == b).map(|(a, _)| a.1).sum()
}

/// A prefix, for how long it is kept, and until when.
type Kept = (Vec<(u64, usize)>, u64, u64);

/// Anthropic's rules over all that was ever sent, word by word: a marked prefix of an earlier request is there while, since
/// it was written, no two requests that contain it as a marked or read prefix are further apart than it is kept.
fn read_by_the_book(rules: &CacheRules, made: &[Made]) -> Vec<usize> {
    let mut kept: Vec<Kept> = Vec::new();
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
            let used = marks.iter().map(|(at, ttl)| (*at, rules.kept(*ttl))).chain(found);
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
    fn a_read_never_exceeds_what_was_sent_before(
        sizes in proptest::array::uniform3(1..3_000_usize),
        steps in proptest::collection::vec((0..700_u64, proptest::bool::weighted(0.2), 0..30_usize, 1..400_usize), 1..12),
    ) {
        let made = conversation(sizes, &steps);
        for rules in [ANTHROPIC, OPENAI, OPENAI_MARKED] {
            let mut cache = Cache::new(rules);
            for (at, (now, head, messages, marks)) in made.iter().enumerate() {
                let charged = send(&mut cache, (*now, head, messages, marks));
                let most = made[..at].iter().map(|before| in_common(before, &made[at])).max().unwrap_or(0);
                prop_assert!(charged.read <= most, "{rules:?}: read {} of {most}", charged.read);
                prop_assert!(charged.read <= charged.hour && charged.hour <= charged.written);
                prop_assert!(charged.written <= charged.total);
                prop_assert!(charged.read == 0 || charged.read >= rules.minimum);
            }
        }
    }

    #[test]
    fn chained_names_find_exactly_what_comparing_whole_requests_finds(
        sizes in proptest::array::uniform3(1..1_500_usize),
        steps in proptest::collection::vec((0..700_u64, proptest::bool::weighted(0.2), 0..30_usize, 1..400_usize), 1..12),
    ) {
        let made = conversation(sizes, &steps);
        let mut cache = Cache::new(ANTHROPIC);
        let read: Vec<usize> = made
            .iter()
            .map(|(now, head, messages, marks)| send(&mut cache, (*now, head, messages, marks)).read)
            .collect();
        prop_assert_eq!(read, read_by_the_book(&ANTHROPIC, &made));
    }

    #[test]
    fn with_all_within_its_time_an_automatic_cache_reads_the_longest_common_start(
        sizes in proptest::array::uniform3(1..3_000_usize),
        steps in proptest::collection::vec((0..300_u64, proptest::bool::weighted(0.2), 1..9_usize, 1..400_usize), 1..12),
    ) {
        let made = conversation(sizes, &steps);
        let mut cache = Cache::new(OPENAI);
        for (at, (now, head, messages, _)) in made.iter().enumerate() {
            let read = send(&mut cache, (*now, head, messages, &[])).read;
            let big = |before: &&Made| in_common(before, before) >= OPENAI.minimum;
            let last = made[..at].iter().rfind(big).map_or(0, |before| in_common(before, &made[at]));
            let expected = last.checked_sub(1_024).map_or(0, |above| 1_024 + above / 128 * 128);
            prop_assert_eq!(read, expected);
        }
    }
}

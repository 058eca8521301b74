//! Tests of what is learned from answers, and what is not.

use proptest::prelude::*;

use super::*;
use crate::models::ModelCatalog;

fn facts(tokenizer: &str, more: &str) -> ModelFacts {
    let table = format!("- id: a/b\n  tokenizer: {tokenizer}\n{more}");
    ModelCatalog::from_yaml(&table).unwrap().find("a/b").unwrap().clone()
}

fn estimated() -> Calibration {
    Calibration::of(&facts("estimate-v1", ""))
}

fn taught(answers: &[(u64, u64)]) -> Calibration {
    let mut calibration = estimated();
    for (estimate, reported) in answers {
        calibration.learn(*estimate, *reported);
    }
    calibration
}

#[test]
fn before_any_answer_the_estimate_is_corrected_by_what_the_table_says() {
    assert_eq!(estimated().apply(1_234), 1_234);
    let known =
        facts("estimate-v1", "  calibration: { factor: 1.25, source: measured, date: \"2026-11-16\" }\n");
    let mut calibration = Calibration::of(&known);
    assert_eq!((calibration.apply(1_000), calibration.has_learned()), (1_250, false));
    calibration.learn(1_000, 900);
    assert_eq!((calibration.apply(1_000), calibration.has_learned()), (900, true));
}

#[test]
fn an_exact_tokenizer_is_not_corrected() {
    for tokenizer in ["o200k_base", "cl100k_base"] {
        let mut calibration = Calibration::of(&facts(tokenizer, ""));
        calibration.learn(10_000, 15_000);
        assert_eq!(calibration, Calibration::of(&facts(tokenizer, "")));
        assert_eq!(calibration.apply(777), 777);
    }
}

#[test]
fn a_tiny_request_teaches_nothing() {
    assert_eq!(taught(&[(499, 5_000), (5_000, 499), (0, 0), (10, 20)]), estimated());
}

#[test]
fn four_odd_answers_of_nine_change_nothing() {
    let mut answers = vec![(10_000, 11_000); 5];
    answers.extend([(10_000, 90_000), (10_000, 600), (10_000, 90_000), (10_000, 40_000)]);
    assert_eq!(taught(&answers).apply(1_000), 1_100);
}

#[test]
fn what_was_learned_about_one_counter_is_forgotten_with_it() {
    let learned = taught(&[(10_000, 12_000)]);
    let same = Calibration::resumed(&facts("estimate-v1", ""), learned.clone());
    assert_eq!(same, learned);
    for other in ["estimate-claude-v1", "o200k_base"] {
        assert!(!Calibration::resumed(&facts(other, ""), learned.clone()).has_learned());
    }
}

#[test]
fn it_is_stored_as_plain_numbers() {
    let calibration = taught(&[(10_000, 11_000), (10_000, 12_345)]);
    let stored = serde_json::to_string(&calibration).unwrap();
    assert_eq!(stored, r#"{"tokenizer":"estimate-v1","start":1.0,"ratios":[1.1,1.235]}"#);
    assert_eq!(serde_json::from_str::<Calibration>(&stored).unwrap(), calibration);
}

fn any_answers() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((0..2_000_000_u64, 0..2_000_000_u64), 0..30)
}

proptest! {
    #[test]
    fn a_correction_is_never_beyond_half_or_double(answers in any_answers(), estimate in 0..10_000_000_usize) {
        let corrected = taught(&answers).apply(estimate);
        prop_assert!(corrected >= estimate.div_ceil(2) && corrected <= estimate * 2);
    }

    #[test]
    fn a_larger_estimate_is_never_corrected_to_less(answers in any_answers(), a in 0..1_000_000_usize, b in 0..1_000_000_usize) {
        let calibration = taught(&answers);
        prop_assert!(calibration.apply(a.min(b)) <= calibration.apply(a.max(b)));
    }

    #[test]
    fn nine_answers_that_agree_are_believed_whatever_came_before(
        before in any_answers(), estimate in 500..100_000_u64, thousandths in 1_000..2_000_u64
    ) {
        let reported = estimate * thousandths / 1_000;
        let mut calibration = taught(&before);
        for _ in 0..REMEMBERED {
            calibration.learn(estimate, reported);
        }
        let corrected = calibration.apply(usize::try_from(estimate).unwrap());
        // A thousandth of the estimate is what a factor can't tell apart.
        prop_assert!(corrected.abs_diff(usize::try_from(reported).unwrap()) <= 2 + usize::try_from(estimate).unwrap() / 1_000);
    }

    #[test]
    fn it_stays_between_the_least_and_the_most_it_was_told(
        answers in proptest::collection::vec((500..100_000_u64, 900..1_300_u64), 1..9)
    ) {
        let answers: Vec<_> = answers.into_iter().map(|(estimate, per)| (estimate.max(1_000), estimate.max(1_000) * per / 1_000)).collect();
        let ratios: Vec<Factor> = answers.iter().map(|(estimate, reported)| Factor::of(*estimate, *reported)).collect();
        let factor = taught(&answers).factor();
        prop_assert!(ratios.iter().min() <= Some(&factor) && Some(&factor) <= ratios.iter().max());
    }

    #[test]
    fn storing_it_between_any_two_answers_changes_nothing(answers in any_answers()) {
        let facts = facts("estimate-v1", "");
        let mut stored = Calibration::of(&facts);
        for (estimate, reported) in &answers {
            stored.learn(*estimate, *reported);
            let text = serde_json::to_string(&stored).unwrap();
            stored = Calibration::resumed(&facts, serde_json::from_str(&text).unwrap());
        }
        prop_assert_eq!(stored, taught(&answers));
    }
}

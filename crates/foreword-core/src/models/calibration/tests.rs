//! Which samples are learned and which are ignored.

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
fn initial_factor_comes_from_the_table() {
    assert_eq!(estimated().apply(1_234), 1_234);
    let known =
        facts("estimate-v1", "  calibration: { factor: 1.25, source: measured, date: \"2026-11-16\" }\n");
    let mut calibration = Calibration::of(&known);
    assert_eq!((calibration.apply(1_000), calibration.has_learned()), (1_250, false));
    calibration.learn(1_000, 900);
    assert_eq!((calibration.apply(1_000), calibration.has_learned()), (900, true));
}

#[test]
fn exact_tokenizer_is_not_corrected() {
    for tokenizer in ["o200k_base", "cl100k_base"] {
        let mut calibration = Calibration::of(&facts(tokenizer, ""));
        calibration.learn(10_000, 15_000);
        assert_eq!(calibration, Calibration::of(&facts(tokenizer, "")));
        assert_eq!(calibration.apply(777), 777);
    }
}

#[test]
fn tiny_requests_are_ignored() {
    assert_eq!(taught(&[(499, 5_000), (5_000, 499), (0, 0), (10, 20)]), estimated());
}

#[test]
fn four_outliers_of_nine_are_ignored() {
    let mut answers = vec![(10_000, 11_000); 5];
    answers.extend([(10_000, 90_000), (10_000, 600), (10_000, 90_000), (10_000, 40_000)]);
    assert_eq!(taught(&answers).apply(1_000), 1_100);
}

#[test]
fn samples_are_discarded_with_their_counter() {
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
    fn correction_is_between_half_and_double(answers in any_answers(), estimate in 0..10_000_000_usize) {
        let corrected = taught(&answers).apply(estimate);
        prop_assert!(corrected >= estimate.div_ceil(2) && corrected <= estimate * 2);
    }

    #[test]
    fn larger_estimate_is_never_corrected_to_less(answers in any_answers(), a in 0..1_000_000_usize, b in 0..1_000_000_usize) {
        let calibration = taught(&answers);
        prop_assert!(calibration.apply(a.min(b)) <= calibration.apply(a.max(b)));
    }

    #[test]
    fn nine_equal_samples_determine_the_factor(
        before in any_answers(), estimate in 500..100_000_u64, thousandths in 1_000..2_000_u64
    ) {
        let reported = estimate * thousandths / 1_000;
        let mut calibration = taught(&before);
        for _ in 0..MAX_SAMPLES {
            calibration.learn(estimate, reported);
        }
        let corrected = calibration.apply(usize::try_from(estimate).unwrap());
        // Factors have a resolution of one thousandth.
        prop_assert!(corrected.abs_diff(usize::try_from(reported).unwrap()) <= 2 + usize::try_from(estimate).unwrap() / 1_000);
    }

    #[test]
    fn factor_stays_within_the_samples(
        answers in proptest::collection::vec((500..100_000_u64, 900..1_300_u64), 1..9)
    ) {
        let answers: Vec<_> = answers.into_iter().map(|(estimate, per)| (estimate.max(1_000), estimate.max(1_000) * per / 1_000)).collect();
        let ratios: Vec<Factor> = answers.iter().map(|(estimate, reported)| Factor::of(*estimate, *reported)).collect();
        let factor = taught(&answers).factor();
        prop_assert!(ratios.iter().min() <= Some(&factor) && Some(&factor) <= ratios.iter().max());
    }

    #[test]
    fn calibration_round_trips_between_samples(answers in any_answers()) {
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

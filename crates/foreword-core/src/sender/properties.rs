//! Properties of sender histories.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn address(number: u8) -> SenderAddress {
    SenderAddress::new(&format!("sender-{number:03}")).unwrap()
}

fn numbers(count: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0..40_u8, 0..count)
}

proptest! {
    #[test]
    fn plan_respects_limits_and_evicts_the_oldest_inactive_sender(
        known in prop::collection::btree_map(0..40_u8, 0..100_i64, 0..30),
        admissions in prop::collection::vec(-120..120_i64, 0..10),
        active in numbers(10),
        wanted in numbers(20),
        (most, quota) in (0..20_usize, 0..8_usize),
    ) {
        let minute = |minute: i64| Timestamp::from_micros(1_800_000_000_000_000 + minute * 60_000_000);
        let known: Vec<KnownSender> = known
            .into_iter()
            .map(|(number, at)| KnownSender { address: address(number), last_activity: minute(at) })
            .collect();
        let admissions: Vec<Timestamp> = admissions.into_iter().map(minute).collect();
        let active: BTreeSet<SenderAddress> = active.into_iter().map(address).collect();
        let wanted: Vec<SenderAddress> = wanted.into_iter().map(address).collect();
        let limits = HistoryLimits { senders: most, new_senders_per_hour: quota, ..HistoryLimits::default() };
        let senders = Senders { known: &known, admissions: &admissions, active: &active, now: minute(0) };
        let plan = plan_senders(&limits, senders, &wanted);

        let stays = |sender: &SenderAddress| active.contains(sender) || wanted.contains(sender);
        let evicted: BTreeSet<_> = plan.evicted.iter().collect();
        prop_assert_eq!(evicted.len(), plan.evicted.len());
        prop_assert!(!plan.evicted.iter().any(stays));
        prop_assert!(plan.evicted.iter().all(|gone| known.iter().any(|sender| sender.address == *gone)));
        // No evicted sender was active more recently than one that could have been evicted instead.
        let age = |sender: &&KnownSender| (sender.last_activity, sender.address.clone());
        let newest_gone = known.iter().filter(|sender| evicted.contains(&sender.address)).map(|s| age(&s)).max();
        let oldest_left =
            known.iter().filter(|s| !evicted.contains(&s.address) && !stays(&s.address)).map(|s| age(&s)).min();
        if let (Some(gone), Some(left)) = (newest_gone, oldest_left) {
            prop_assert!(gone < left);
        }

        let known_and_active = known.iter().filter(|sender| stays(&sender.address)).count();
        let after = known.len() - plan.evicted.len() + plan.admitted.len();
        prop_assert!(after <= most.max(known_and_active));
        let recent = admissions.iter().filter(|at| (minute(-60) < **at) && (**at < minute(60))).count();
        prop_assert!(plan.admitted.len() <= quota.saturating_sub(recent));

        // Every wanted sender is exactly one of known, admitted or skipped.
        for sender in &wanted {
            let known = known.iter().filter(|known| known.address == *sender).count();
            let admitted = plan.admitted.iter().filter(|admitted| *admitted == sender).count();
            let refused = plan.not_kept.iter().filter(|not| not.sender == *sender).count();
            prop_assert_eq!(known + admitted + refused, 1);
        }
    }

    #[test]
    fn shortened_text_fits_and_counts_missing_characters(text in "\\PC{0,700}", limit in 0..600_usize) {
        let total = text.chars().count();
        let short = shorten(&text, limit);
        prop_assert!(short.chars().count() <= limit);
        if total <= limit {
            prop_assert_eq!(short.as_ref(), &text);
        } else if let Some((kept, mark)) = short.rsplit_once("… [") {
            prop_assert!(text.starts_with(kept));
            let missing: usize = mark.trim_end_matches(" more characters]").replace(',', "").parse().unwrap();
            prop_assert_eq!(kept.chars().count() + missing, total);
        } else {
            prop_assert!(limit < 30 && text.starts_with(short.as_ref()));
        }
    }

    #[test]
    fn address_normalisation_is_idempotent(text in "\\PC{0,40}|(base:)?0[xX][0-9a-fA-F]{1,40}") {
        if let Ok(once) = SenderAddress::new(&text) {
            prop_assert_eq!(SenderAddress::new(once.as_str()), Ok(once.clone()));
        }
    }

    #[test]
    fn newest_exchanges_are_kept(count in 0..100_u64, most in 0..30_u64) {
        let limits = HistoryLimits { exchanges_per_sender: most, ..HistoryLimits::default() };
        let kept = (1..=count).filter(|number| *number >= first_kept(count, &limits)).count() as u64;
        prop_assert_eq!(kept, count.min(most));
    }
}

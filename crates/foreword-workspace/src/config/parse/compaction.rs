//! When conversations are made shorter by themselves.

use std::ops::RangeInclusive;

use foreword_core::compaction::{CompactionPolicy, Share};
use serde_saphyr::Spanned;

use super::Reader;
use crate::config::raw::{RawCompaction, RawShare};

/// Below that a conversation would hardly begin before it is summed up; above it the summary itself may not fit.
const SHARES: RangeInclusive<f64> = 0.2..=0.95;
/// At night there may be less left of it.
const NIGHT_SHARES: RangeInclusive<f64> = 0.05..=0.95;
const NIGHT_TOKENS: RangeInclusive<usize> = 1_000..=10_000_000;

impl Reader<'_> {
    pub(super) fn compaction(&mut self, raw: &RawCompaction) -> CompactionPolicy {
        let default = CompactionPolicy::default();
        let share = self.share(raw.share.as_ref(), ("agent.compaction.share", SHARES), default.share);
        let night = ("agent.compaction.night_share", NIGHT_SHARES);
        let night_share = self.share(raw.night_share.as_ref(), night, default.night_share);
        let tokens = raw.night_tokens.as_ref();
        let night_tokens =
            self.within(tokens, "agent.compaction.night_tokens", NIGHT_TOKENS, default.night_tokens);
        CompactionPolicy { share, night_share, night_tokens }
    }

    fn share(
        &mut self,
        written: Option<&Spanned<RawShare>>,
        (key, bounds): (&str, RangeInclusive<f64>),
        default: Option<Share>,
    ) -> Option<Share> {
        let Some(written) = written else { return default };
        let part = match written.value {
            RawShare::Off => return None,
            RawShare::Part(part) => part,
        };
        if let Some(share) = Share::of_a_whole(part).filter(|_| bounds.contains(&part)) {
            return Some(share);
        }
        let (least, most) = bounds.into_inner();
        let default_words = default.map_or_else(|| "off".to_owned(), |share| share.to_string());
        self.refuse(
            written.defined,
            format!("`{key}` is {part}, which is no share of a window that makes sense"),
            format!("use {least} to {most}, `off`, or leave it out for {default_words}"),
        );
        default
    }
}

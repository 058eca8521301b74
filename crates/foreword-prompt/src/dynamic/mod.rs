//! Text built each turn: the runtime lines of a gateway, and the dynamic context of a self-supporting agent. Text from
//! outside is framed or escaped here, and nowhere else.

mod runtime;
mod situation;

pub use runtime::runtime;
pub(crate) use runtime::runtime_at;
pub use situation::{Exchange, Obligation, SenderHistory, SituationReport, situation, situation_message};

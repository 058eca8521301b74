//! What is known about models: sizes, prices, caching, which counter counts their tokens. The facts are data with a
//! source and a date, and users override them; no model's name stands in code. Unknown is unknown, never a guess.

pub mod caching;
pub mod calibration;
mod catalog;
mod entry;
mod factor;
mod facts;
mod id;
mod resolution;
mod retention;
mod retirement;

pub use calibration::Calibration;
pub use catalog::{CatalogError, ModelCatalog};
pub use entry::{ModelEntry, PriceEntry, TierEntry};
pub use factor::{Factor, InvalidFactor};
pub use facts::{Assumed, Breakpoints, CacheMatch, KnownFactor, ModelFacts, PriceList, Prices, Tier};
pub use id::{InvalidModelId, ModelFamily, ModelId};
pub use retention::Retention;
pub use retirement::{InvalidRetirementDate, ModelWarning, RetirementDate};

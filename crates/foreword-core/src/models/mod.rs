//! Facts about models: sizes, prices, caching, token counters. The facts are data with a source and a date, and users
//! can override them; code contains no model names. Unknown facts stay unknown.

pub mod cache_limits;
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
pub use facts::{Assumed, Breakpoints, CacheMatch, KnownFactor, ModelFacts, PriceList, PriceTier, Prices};
pub use id::{InvalidModelId, ModelFamily, ModelId};
pub use retention::Retention;
pub use retirement::{InvalidRetirementDate, ModelWarning, RetirementDate};

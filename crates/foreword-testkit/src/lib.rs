//! A fake model provider for tests, benchmarks and demos. It is a real server on a loopback port, so that clients use
//! their whole HTTP stack. Also waits for conditions in tests. A development dependency only.
//!
//! ```
//! use foreword_core::provider::WireDialect;
//! use foreword_testkit::{FakeProvider, Reply};
//! use serde_json::json;
//!
//! # fn main() -> std::io::Result<()> {
//! let fake = FakeProvider::start([
//!     Reply::status(429).header("retry-after", "1"),
//!     Reply::tool_call("memory_search", json!({ "query": "birthday" })),
//!     Reply::text("It is on the third of May."),
//! ])?;
//! let row = fake.provider(WireDialect::OpenAi); // give this to a client, and then
//! assert!(row.base_url.ends_with("/v1"));
//! assert_eq!(fake.requests().len(), 0); // what it was asked, byte for byte
//! # Ok(())
//! # }
//! ```

mod connection;
mod eventually;
mod fake_provider;
mod received;
mod reply;
mod script;
mod wire;

pub use eventually::{eventually, eventually_blocking, until};
pub use fake_provider::{Counts, FakeProvider};
pub use received::Received;
pub use reply::Reply;
pub use script::Script;

//! Hostile texts and names on every path into a turn. The tests check where text is placed in the provider's request,
//! and what a model that follows injected instructions can do.

mod audit;
mod corpus;
mod files;
mod messages;
mod names_and_calls;
mod notes;
mod orders;
mod secrets;
mod stage;
mod withheld;

//! Hostile texts and names on every way into a turn. Nothing here recognises an attack: what is tested is where words stand
//! in what a provider is sent, and what a model that obeys them can do.

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

//! Hostile texts and names on every way into a turn. Nothing here recognises an attack: what is tested is where words stand
//! in what a provider is sent, and what a model that obeys them can do.

mod audit;
mod corpus;
mod messages;
mod orders;
mod stage;

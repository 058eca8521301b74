//! What the store endures on Postgres by itself: servers that restart, connections that are cut or go silent, answers
//! that never come, and whatever an address can get wrong.

mod lost_connections;
mod opening;
mod proxy;
mod refusals;
mod same_tables;
mod server;
mod tls;

//! Faults of Postgres: restarts, lost and silent connections, missing responses, and invalid addresses.

mod lost_connections;
mod open;
mod proxy;
mod same_tables;
mod server;
mod server_errors;
mod tls;

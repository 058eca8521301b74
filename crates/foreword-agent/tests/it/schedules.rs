//! What runs by the clock, fired by the real clockwork on a real database: the time is moved by the tests.

mod clock;
mod fire_now;
mod firing;
mod heartbeat;
mod left;
mod nodes;
mod outside;
mod reload;
mod stage;
mod time;

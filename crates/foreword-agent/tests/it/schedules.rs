//! Schedules, fired by the real scheduler on a real database. The tests move the clock.

mod clock;
mod fire_now;
mod firings;
mod heartbeat;
mod nodes;
mod reload;
mod stage;
mod taint;
mod time;
mod unregistered_firings;

//! What Foreword knows without touching the world: models and what they cost, and its tools as data. Pure, like
//! `foreword-prompt`: no I/O, no clock, no environment.

pub mod models;
pub mod money;
pub mod price;
pub mod tools;

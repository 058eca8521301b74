//! Tests of memory through its tools, with real folders and a real store.

mod fixture;
mod freshness;
mod hostile;
mod tools;
mod trust;

//! Tests of memory through its tools, with real folders and a real store.

mod freshness;
mod hostile;
mod scene;
mod tools;
mod trust;

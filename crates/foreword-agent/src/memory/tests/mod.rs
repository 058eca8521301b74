//! Memory through its tools, on real folders and a real store.

mod freshness;
mod hostile;
mod scene;
mod tools;
mod trust;

//! What happens, made visible, from the outside: one binary for all of it.

#[cfg(test)]
mod exposition;
#[cfg(test)]
mod metrics;

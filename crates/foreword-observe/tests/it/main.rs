//! What happens, made visible, from the outside: one binary for all of it.

#[cfg(test)]
mod collector;
#[cfg(test)]
mod exposition;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod otlp;
#[cfg(test)]
mod otlp_faults;
#[cfg(test)]
mod turn;

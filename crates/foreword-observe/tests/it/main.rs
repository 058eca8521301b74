//! Integration tests: redaction, and the output of each exporter.

// `cfg(test)` on the modules permits `unwrap` in helper functions.

#[cfg(test)]
mod collector;
#[cfg(test)]
mod everywhere;
#[cfg(test)]
mod exposition;
#[cfg(test)]
mod files;
#[cfg(test)]
mod human;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod otlp;
#[cfg(test)]
mod otlp_faults;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod redaction_speed;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod turn;

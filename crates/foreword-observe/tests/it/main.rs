//! What is made visible, tested from outside: what is hidden, and what comes out at each end.

// `cfg(test)` on the modules lets functions that are no tests unwrap as tests may.

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

//! What is made visible, tested from outside: what is hidden, and what comes out at each end.

// `cfg(test)` on the modules lets functions that are no tests unwrap as tests may.

#[cfg(test)]
mod everywhere;
#[cfg(test)]
mod files;
#[cfg(test)]
mod human;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod redaction_speed;
#[cfg(test)]
mod secrets;

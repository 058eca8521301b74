//! The agent, tested on real files, real processes and a real database.

// `cfg(test)` on the modules lets functions that are no tests unwrap as tests may.
#[cfg(test)]
mod bash_confined;
#[cfg(test)]
mod bash_limits;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod file_tools;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod layer_and_skill_tools;
#[cfg(test)]
mod log_tools;
#[cfg(test)]
mod reloading;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod told;
#[cfg(test)]
mod tool_scene;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod well_formed;

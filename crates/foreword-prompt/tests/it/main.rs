//! Tests of the public interface: plan, materials, prompt, report. One binary, one module per topic.

#[cfg(test)]
mod blueprint_refusals;
#[cfg(test)]
mod blueprints_built_in;
#[cfg(test)]
mod budget_laws;
#[cfg(test)]
mod budget_table;
#[cfg(test)]
mod byte_ranges;
#[cfg(test)]
mod cache_order;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod memory_menu;
#[cfg(test)]
mod merge;
#[cfg(test)]
mod sovereign;
#[cfg(test)]
mod sovereign_situation;
#[cfg(test)]
mod truncation;
#[cfg(test)]
mod trust_filter;
#[cfg(test)]
mod turn_delta;
#[cfg(test)]
mod whole_prompts;

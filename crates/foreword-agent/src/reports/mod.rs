//! Read-only reports: status, cost, cache, traces, impact of a template, simulation.

pub mod cache_report;
pub mod cost_report;
pub mod prompt_report;
pub mod request_trace;
pub mod simulation;
pub mod status;
pub mod template_impact;
pub mod turn_trace;
pub mod viewer;

//! Runs of workflows, step by step.

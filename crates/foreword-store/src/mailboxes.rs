//! The inbox and the outbox: messages that wait for the agent, and its answers, in full.

//! The server as its clients see it, over real sockets.

#[cfg(test)]
mod api_conversations;
#[cfg(test)]
mod api_document;
#[cfg(test)]
mod api_drafts;
#[cfg(test)]
mod api_impact;
#[cfg(test)]
mod api_inbox;
#[cfg(test)]
mod api_layers;
#[cfg(test)]
mod api_memory;
#[cfg(test)]
mod api_nodes;
#[cfg(test)]
mod api_observability;
#[cfg(test)]
mod api_prompts;
#[cfg(test)]
mod api_search;
#[cfg(test)]
mod api_settings;
#[cfg(test)]
mod api_simulate;
#[cfg(test)]
mod api_template;
#[cfg(test)]
mod api_tokens;
#[cfg(test)]
mod api_turns;
#[cfg(test)]
mod api_workflows;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod bridge_nodes;
#[cfg(test)]
mod encryption;
#[cfg(test)]
mod failure_details;
#[cfg(test)]
mod generated_clients;
#[cfg(test)]
mod hostile_clients;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod live_answers;
#[cfg(test)]
mod live_approval;
#[cfg(test)]
mod live_limits;
#[cfg(test)]
mod live_messages;
#[cfg(test)]
mod live_nodes;
#[cfg(test)]
mod live_order;
#[cfg(test)]
mod live_page;
#[cfg(test)]
mod live_people;
#[cfg(test)]
mod live_slow;
#[cfg(test)]
mod mcp_http;
#[cfg(test)]
mod operation;
#[cfg(test)]
mod page;
#[cfg(test)]
mod proxy_budgets;
#[cfg(test)]
mod proxy_entry;
#[cfg(test)]
mod proxy_faults;
#[cfg(test)]
mod proxy_habits;
#[cfg(test)]
mod proxy_modes;
#[cfg(test)]
mod proxy_nodes;
#[cfg(test)]
mod proxy_observe;
#[cfg(test)]
mod proxy_recorded;
#[cfg(test)]
mod proxy_secrets;
#[cfg(test)]
mod sdk_clients;
#[cfg(test)]
mod startup;
#[cfg(test)]
mod test_app;
#[cfg(test)]
mod webhook;

//! The contract of the store on both engines, and tests of each engine.

#[cfg(test)]
mod backup;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod check;
#[cfg(test)]
mod child;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod conversation_settings;
#[cfg(test)]
mod conversations;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod deliveries;
#[cfg(test)]
mod epochs;
#[cfg(test)]
mod events;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod hand_overs;
#[cfg(test)]
mod health;
#[cfg(test)]
mod inbox_attempts;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod mailboxes;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod observations;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod proxied;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod senders;
#[cfg(test)]
mod spending;
#[cfg(test)]
mod sqlite;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod templates;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod upgrade_backup;
#[cfg(test)]
mod workflow_runs;

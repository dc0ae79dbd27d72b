//! Pairing: messages, the reading of a reply, and the round as a state machine (systems.md A).

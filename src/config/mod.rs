//! Settings: layers, refusals and harness profiles (systems.md 0.2, 0.3; interface.md 4).

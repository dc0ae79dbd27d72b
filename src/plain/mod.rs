//! Outside text made safe to show (systems.md 0.5).

//! Records: terminal recordings, events, receipts and the session file (interface.md 5).

//! The embedded demo agent: a script, the styles it draws in, and a small honest review of a diff.

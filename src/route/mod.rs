//! Routes: which role goes where, and what takes over when a route does not answer (systems.md B.1, C.3, C.8).

mod plan;
mod role;

pub use plan::{After, Host, NoRoute, Plan, plan};
pub use role::{Role, Route, RouteName};

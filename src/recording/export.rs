//! What `sessions export --format json` prints: all there is of a session but its recordings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::receipt::Receipt;
use super::summary::Summary;

/// The schema name of an [`Export`].
pub const EXPORT_SCHEMA: &str = "codriver.export/1";

/// A session to be passed on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Export {
    /// Always `codriver.export/1`.
    #[schemars(extend("const" = EXPORT_SCHEMA))]
    pub schema: String,
    /// The session in short.
    pub session: Summary,
    /// What was found about its receipts; null when their chain holds.
    pub chain: Option<String>,
    /// Its rounds and fallbacks, oldest first.
    pub entries: Vec<ExportEntry>,
}

/// One receipt, with the texts it digests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportEntry {
    /// The receipt as it was written.
    pub receipt: Receipt,
    /// What was typed, when it is there and is the one that is digested.
    pub sent: Option<String>,
    /// The text of the review, likewise.
    pub rationale: Option<String>,
}

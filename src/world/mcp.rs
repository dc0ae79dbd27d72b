//! Starts the protocol's own library on standard input and output, under our bounds.

use rmcp::ServerHandler;
use rmcp::service::{QuitReason, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;

/// Longest line of the protocol that is read, in bytes. A message may have far less: one that is too long is to be told
/// so, and the library drops a longer line without an answer.
const LINE_BYTES: usize = 32 << 20;

/// Why a client is no longer served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It did not greet as the protocol wants.
    #[error("what came on standard input is no MCP client: {0}")]
    Greeting(String),
    /// Something in the library broke off.
    #[error("the MCP server broke off: {0}")]
    Broken(String),
}

/// Serves one client until its input ends.
pub async fn serve(handler: impl ServerHandler) -> Result<(), ServeError> {
    let transport = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout())
        .with_max_line_length(LINE_BYTES);
    let service = match serve_server(handler, transport).await {
        Ok(service) => service,
        // One that goes before it said anything wanted nothing.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Greeting(error.to_string())),
    };
    match service.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Broken(error.to_string())),
        Ok(_) => Ok(()),
    }
}

//! Inputs for rooms that this controller does not own any more. Their peers have been let in while
//! it did.

use controller::{AdminError, AdminRequest, EndAction, EndCause, EndReason, Input, Notification, Output};

use super::Coordinator;

impl Coordinator {
    /// Whether the controller may be told: what creates a room must own it. Appends the refusal
    /// otherwise.
    pub(crate) fn admit(&self, input: &Input, out: &mut Vec<Output>) -> bool {
        match input {
            Input::Join { connection, join } if !self.cluster.owns(&join.claims.video.room) => {
                let (reason, action) = (EndReason::StateMismatch, EndAction::Reconnect);
                out.push(Output::Notify {
                    connection: *connection,
                    notification: Notification::Ended { reason, action },
                });
                out.push(Output::End {
                    connection: *connection,
                    cause: EndCause::Session(reason),
                });
                false
            }
            Input::Admin {
                request_id,
                request: AdminRequest::CreateRoom(request),
            } if !self.cluster.owns(&request.name) => {
                out.push(Output::Reply {
                    request_id: *request_id,
                    reply: Err(AdminError::Moved),
                });
                false
            }
            _ => true,
        }
    }
}

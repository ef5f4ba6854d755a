//! Calls of `AgentDispatchService`, and their answers.

use livekit_protocol as proto;

use super::error::ApiError;
use super::requests::ApiRequest;
use super::route::DispatchMethod;
use crate::agents::{DispatchReply, DispatchRequest, agent_request};
use crate::form::Form;

impl ApiRequest<'_> {
    /// The request of a method.
    pub(super) fn dispatch(&self, method: DispatchMethod) -> Result<DispatchRequest, ApiError> {
        match method {
            DispatchMethod::Create => {
                let request: proto::CreateAgentDispatchRequest = self.message("CreateAgentDispatchRequest")?;
                self.check_room(&request.room)?;
                let agent = proto::RoomAgentDispatch {
                    agent_name: request.agent_name,
                    metadata: request.metadata,
                    restart_policy: request.restart_policy,
                    deployment: request.deployment,
                    attributes: request.attributes,
                };
                let agent = agent_request(agent).map_err(ApiError::invalid)?;
                Ok(DispatchRequest::Create {
                    api_key: self.claims.iss.clone(),
                    room: request.room,
                    agent,
                })
            }
            DispatchMethod::Delete => {
                let request: proto::DeleteAgentDispatchRequest = self.message("DeleteAgentDispatchRequest")?;
                self.check_room(&request.room)?;
                let (room, id) = (request.room, request.dispatch_id);
                Ok(DispatchRequest::Delete { room, id })
            }
            DispatchMethod::List => {
                let request: proto::ListAgentDispatchRequest = self.message("ListAgentDispatchRequest")?;
                self.check_room(&request.room)?;
                let (room, id) = (request.room, request.dispatch_id);
                Ok(DispatchRequest::List { room, id })
            }
        }
    }
}

pub(super) fn write(reply: DispatchReply, form: Form) -> Vec<u8> {
    match reply {
        DispatchReply::One(dispatch) => form.write("AgentDispatch", &*dispatch),
        DispatchReply::All(agent_dispatches) => {
            let response = proto::ListAgentDispatchResponse { agent_dispatches };
            form.write("ListAgentDispatchResponse", &response)
        }
    }
}

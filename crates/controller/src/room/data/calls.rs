//! Calls of an administrator that participants have not answered yet.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{RPC_ACK_TIMEOUT, RPC_CALLS_MAX, RPC_PAYLOAD_MAX, RPC_TIMEOUT, RPC_TIMEOUT_MAX};
use crate::room::data::pass_on::send_to;
use crate::room::roster::Roster;
use crate::{
    AdminError, AdminReply, AdminRequestId, DataContent, DataMessage, Output, PerformRpc, RpcCall, RpcContent,
    RpcError, RpcReply,
};

/// Calls by their ids.
#[derive(Debug, Default)]
pub(crate) struct Calls(BTreeMap<String, Pending>);

/// A call that is not answered yet.
#[derive(Debug)]
struct Pending {
    to: ParticipantKey,
    request_id: AdminRequestId,
    /// The participant has to confirm it by then; `None` once it has.
    confirmed_by: Option<Instant>,
    answered_by: Instant,
}

impl Pending {
    /// Why it is given up, if it is time.
    fn overdue(&self, now: Instant) -> Option<u32> {
        match self.confirmed_by {
            Some(by) if by <= now => Some(RpcError::CONNECTION_TIMEOUT),
            _ => (self.answered_by <= now).then_some(RpcError::RESPONSE_TIMEOUT),
        }
    }
}

impl Calls {
    /// Calls a method of a participant. The answer comes later.
    ///
    /// Errors: the call was not made.
    pub(in crate::room) fn call(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        to: ParticipantKey,
        request_id: AdminRequestId,
        request: PerformRpc,
    ) -> Result<(), AdminError> {
        if request.payload.len() > RPC_PAYLOAD_MAX {
            return Err(AdminError::Rpc(RpcError::new(RpcError::REQUEST_PAYLOAD_TOO_LARGE)));
        }
        if self.0.len() >= RPC_CALLS_MAX {
            return Err(AdminError::TooManyCalls);
        }
        let response_timeout = request.response_timeout.unwrap_or(RPC_TIMEOUT).min(RPC_TIMEOUT_MAX);
        let call = RpcCall {
            id: ctx.core.random.sid("RPC_"),
            method: request.method,
            payload: request.payload,
            response_timeout,
        };
        let pending = Pending {
            to,
            request_id,
            confirmed_by: Some(ctx.wake(RPC_ACK_TIMEOUT, roster.timer())),
            answered_by: ctx.wake(response_timeout, roster.timer()),
        };
        self.0.insert(call.id.clone(), pending);
        let data = DataMessage {
            reliable: true,
            sequence: 0,
            sender_sid: String::new(),
            // The participant addresses its answer to the sender that it is told.
            sender_identity: call.id.clone(),
            generated: false,
            destinations: Vec::new(),
            len: call.method.len() + call.payload.len(),
            content: DataContent::RpcCall(call),
        };
        send_to(ctx, roster, &request.identity, &data);
        Ok(())
    }

    /// Takes a reply to a call of an administrator. Returns whether it was one.
    pub(super) fn take_reply(&mut self, ctx: &mut Context<'_>, from: ParticipantKey, reply: &RpcReply) -> bool {
        let Some(pending) = self.0.get_mut(&reply.call_id).filter(|pending| pending.to == from) else {
            return false;
        };
        match &reply.content {
            RpcContent::Received => pending.confirmed_by = None,
            RpcContent::Done(result) => {
                let result = result.clone();
                self.end(ctx, &reply.call_id, result);
            }
        }
        true
    }

    /// Gives up calls whose time is over.
    pub(crate) fn give_up(&mut self, ctx: &mut Context<'_>) {
        let overdue = self.0.iter();
        let overdue = overdue.filter_map(|(id, pending)| Some((id.clone(), pending.overdue(ctx.now)?)));
        for (id, code) in overdue.collect::<Vec<_>>() {
            self.end(ctx, &id, Err(RpcError::new(code)));
        }
    }

    /// Ends the calls to a participant that left.
    pub(in crate::room) fn end_to(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let of_it = self.0.iter().filter(|(_, pending)| pending.to == key);
        for id in of_it.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.end(ctx, &id, Err(RpcError::new(RpcError::RECIPIENT_DISCONNECTED)));
        }
    }

    fn end(&mut self, ctx: &mut Context<'_>, id: &str, result: Result<String, RpcError>) {
        if let Some(pending) = self.0.remove(id) {
            ctx.out.push(Output::Reply {
                request_id: pending.request_id,
                reply: result.map(AdminReply::RpcResult).map_err(AdminError::Rpc),
            });
        }
    }
}

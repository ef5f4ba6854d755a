//! Services, their methods, and the grants that each method needs.

use access::Claims;

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A method of the room service.
    Room(RoomMethod),
    /// A method of the service of dispatches.
    Dispatch(DispatchMethod),
    /// A method of a service that this server does not have, and the grant that it would need.
    Absent(Grant),
}

/// A grant, as far as it does not depend on the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    RoomCreate,
    RoomList,
    RoomAdmin,
    RoomRecord,
    IngressAdmin,
    SipAdmin,
    SipCall,
}

impl Grant {
    pub(super) fn is_given(self, claims: &Claims) -> bool {
        let (video, sip) = (&claims.video, claims.sip.unwrap_or_default());
        match self {
            Self::RoomCreate => video.room_create,
            Self::RoomList => video.room_list,
            Self::RoomAdmin => video.room_admin,
            Self::RoomRecord => video.room_record,
            Self::IngressAdmin => video.ingress_admin,
            Self::SipAdmin => sip.admin,
            Self::SipCall => sip.call,
        }
    }
}

/// A method of the service of dispatches. Its grant is [`Grant::RoomAdmin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DispatchMethod {
    Create,
    Delete,
    List,
}

impl DispatchMethod {
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "CreateDispatch" => Self::Create,
            "DeleteDispatch" => Self::Delete,
            "ListDispatch" => Self::List,
            _ => return None,
        })
    }
}

/// A method of the room service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoomMethod {
    CreateRoom,
    ListRooms,
    DeleteRoom,
    ListParticipants,
    GetParticipant,
    RemoveParticipant,
    MutePublishedTrack,
    UpdateParticipant,
    UpdateSubscriptions,
    SendData,
    UpdateRoomMetadata,
    ForwardParticipant,
    MoveParticipant,
    PerformRpc,
}

impl RoomMethod {
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "CreateRoom" => Self::CreateRoom,
            "ListRooms" => Self::ListRooms,
            "DeleteRoom" => Self::DeleteRoom,
            "ListParticipants" => Self::ListParticipants,
            "GetParticipant" => Self::GetParticipant,
            "RemoveParticipant" => Self::RemoveParticipant,
            "MutePublishedTrack" => Self::MutePublishedTrack,
            "UpdateParticipant" => Self::UpdateParticipant,
            "UpdateSubscriptions" => Self::UpdateSubscriptions,
            "SendData" => Self::SendData,
            "UpdateRoomMetadata" => Self::UpdateRoomMetadata,
            "ForwardParticipant" => Self::ForwardParticipant,
            "MoveParticipant" => Self::MoveParticipant,
            "PerformRpc" => Self::PerformRpc,
            _ => return None,
        })
    }

    /// The grant it needs. [`Grant::RoomAdmin`] has to be for the room of the request as well.
    pub(super) fn grant(self) -> Grant {
        match self {
            Self::CreateRoom | Self::DeleteRoom => Grant::RoomCreate,
            Self::ListRooms => Grant::RoomList,
            _ => Grant::RoomAdmin,
        }
    }
}

impl Target {
    /// The target of a path; `None` if there is no such service or method.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let (service, method) = parts(path)?.strip_prefix("livekit.")?.split_once('/')?;
        let grant = match (service, method) {
            ("RoomService", _) => return RoomMethod::of_name(method).map(Self::Room),
            ("AgentDispatchService", _) => return DispatchMethod::of_name(method).map(Self::Dispatch),
            (
                "Egress",
                "StartEgress"
                | "StartRoomCompositeEgress"
                | "StartWebEgress"
                | "StartParticipantEgress"
                | "StartTrackCompositeEgress"
                | "StartTrackEgress"
                | "UpdateLayout"
                | "UpdateStream"
                | "ListEgress"
                | "StopEgress",
            ) => Grant::RoomRecord,
            ("Ingress", "CreateIngress" | "UpdateIngress" | "ListIngress" | "DeleteIngress") => Grant::IngressAdmin,
            ("SIP", "CreateSIPParticipant" | "TransferSIPParticipant") => Grant::SipCall,
            (
                "SIP",
                "ListSIPTrunk"
                | "CreateSIPInboundTrunk"
                | "CreateSIPOutboundTrunk"
                | "UpdateSIPInboundTrunk"
                | "UpdateSIPOutboundTrunk"
                | "GetSIPInboundTrunk"
                | "GetSIPOutboundTrunk"
                | "ListSIPInboundTrunk"
                | "ListSIPOutboundTrunk"
                | "DeleteSIPTrunk"
                | "CreateSIPDispatchRule"
                | "UpdateSIPDispatchRule"
                | "ListSIPDispatchRule"
                | "DeleteSIPDispatchRule",
            ) => Grant::SipAdmin,
            _ => return None,
        };
        Some(Self::Absent(grant))
    }
}

/// The part of a path behind the prefix of the API; `None` for other paths. A doubled slash before
/// the prefix, which server addresses with a slash at their end lead to, counts as one.
pub(super) fn parts(path: &str) -> Option<&str> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_prefix("twirp/")
}

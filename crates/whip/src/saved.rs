//! Sessions in a form that another process can go on with.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use wire::sdp::SessionDescription;

use crate::choice::{Slots, Wanted};
use crate::route::Protocol;
use crate::session::Session;
use crate::session_slots::Held;
use crate::token::Token;

/// A session in a form that another process can go on with. The room and its participants are saved
/// by the controller.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedSession {
    protocol: Protocol,
    pub(crate) sid: String,
    pub(crate) address: Option<IpAddr>,
    identity: String,
    token: Option<String>,
    offer: String,
    offers: u32,
    tag: String,
    wanted: Wanted,
    slots: Slots,
    chosen: Vec<String>,
}

impl SavedSession {
    /// Reads what [`Session::save`] wrote; `None` for anything else.
    pub(crate) fn read(saved: &[u8]) -> Option<Self> {
        serde_json::from_slice(saved).ok()
    }

    /// Whether it is a viewer without a token.
    pub(crate) fn is_guest(&self) -> bool {
        self.token.is_none()
    }

    /// The session in a room, with these slots; `None` if its offer cannot be read.
    pub(crate) fn restore(self, room: &str, held: Held) -> Option<Session> {
        Some(Session {
            protocol: self.protocol,
            sid: self.sid,
            room: room.to_owned(),
            held,
            address: self.address,
            identity: self.identity,
            token: self.token.as_deref().map(Token::new),
            offer: SessionDescription::parse(&self.offer).ok()?,
            offers: self.offers,
            tag: self.tag,
            wanted: self.wanted,
            slots: self.slots,
            chosen: self.chosen,
            // They are looked for when it chooses again.
            publishers: Vec::new(),
        })
    }
}

impl Session {
    /// In a form that another process can go on with. It has the token in it.
    pub(crate) fn save(&self) -> Vec<u8> {
        let saved = SavedSession {
            protocol: self.protocol,
            sid: self.sid.clone(),
            address: self.address,
            identity: self.identity.clone(),
            token: self.token.as_ref().map(|token| token.text().to_owned()),
            offer: self.offer.to_string(),
            offers: self.offers,
            tag: self.tag.clone(),
            wanted: self.wanted.clone(),
            slots: self.slots,
            chosen: self.chosen.clone(),
        };
        serde_json::to_vec(&saved).unwrap_or_default()
    }
}

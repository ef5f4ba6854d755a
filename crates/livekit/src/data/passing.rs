//! Messages of data channels, as a node reads them to pass them on by itself.

use std::sync::Arc;

use controller::limits::DESTINATIONS_MAX;
use controller::{DataContent, MessageAuthor};
use southbound::{MessageEndpoint, MessageProtocol, Posted, SignedMessage};

use super::{channel, read, tracks, write};

/// The messages of clients.
#[derive(Clone, Copy, Debug)]
pub struct Messages;

impl MessageProtocol for Messages {
    fn read(&self, sender: &MessageEndpoint, label: &str, payload: &[u8]) -> Option<Posted> {
        let mut data = read(label, payload)?;
        if let DataContent::Frame { handle, .. } = data.content {
            return Some(Posted::Frame { handle });
        }
        let author = MessageAuthor {
            sid: &sender.sid,
            identity: &sender.identity,
            rights: sender.rights,
        };
        author.sign(&mut data).ok()?;
        let (identities, sids) = data.receivers();
        if identities.len() + sids.len() > DESTINATIONS_MAX || !data.fits() {
            return None;
        }
        Some(Posted::Message(SignedMessage {
            label: channel(&data),
            reliable: data.reliable,
            sequence: data.sequence,
            identities: identities.to_vec(),
            sids: sids.to_vec(),
            payload: write(data).into(),
        }))
    }

    fn with_handle(&self, packet: &[u8], handle: u16) -> Arc<[u8]> {
        tracks::with_handle(packet, handle).into()
    }
}

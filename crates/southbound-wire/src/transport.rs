//! Transports.

use southbound::{Channel, DirectKeys, DtlsRole, OpenDirect, OpenTransport, RemoteTransport, TransportId};
use wire::{ExtensionKind, ExtensionMap, Ssrc};

use crate::enums::Numbered;
use crate::fields::{label, narrow, narrow_optional, read, read_all, read_optional, write_all};
use crate::{Error, v1};

impl From<OpenTransport> for v1::OpenTransport {
    fn from(open: OpenTransport) -> Self {
        let OpenTransport {
            transport,
            local,
            channels,
        } = open;
        Self {
            transport: transport.0,
            local: Some(local.into()),
            channels: write_all(channels),
        }
    }
}

impl TryFrom<v1::OpenTransport> for OpenTransport {
    type Error = Error;

    fn try_from(message: v1::OpenTransport) -> Result<Self, Error> {
        Ok(Self {
            transport: TransportId(message.transport),
            local: read("OpenTransport.local", message.local)?,
            channels: read_all(message.channels)?,
        })
    }
}

impl From<Channel> for v1::Channel {
    fn from(channel: Channel) -> Self {
        Self {
            label: label(&channel.label),
            ordered: channel.ordered,
            retransmits_max: channel.retransmits_max.map(u32::from),
            stream: channel.stream.map(u32::from),
        }
    }
}

impl TryFrom<v1::Channel> for Channel {
    type Error = Error;

    fn try_from(message: v1::Channel) -> Result<Self, Error> {
        Ok(Self {
            label: message.label.into(),
            ordered: message.ordered,
            retransmits_max: narrow_optional("Channel.retransmits_max", message.retransmits_max)?,
            stream: narrow_optional("Channel.stream", message.stream)?,
        })
    }
}

impl From<OpenDirect> for v1::OpenDirect {
    fn from(open: OpenDirect) -> Self {
        let OpenDirect {
            transport,
            local,
            remote,
            rtcp_ssrc_in,
            rtcp_ssrc_out,
            keys,
            extensions_in,
            extensions_out,
        } = open;
        Self {
            transport: transport.0,
            local: Some(local.into()),
            remote: Some(remote.into()),
            rtcp_ssrc_in: rtcp_ssrc_in.0,
            rtcp_ssrc_out: rtcp_ssrc_out.0,
            keys: keys.map(v1::DirectKeys::from),
            extensions_in: extensions(&extensions_in),
            extensions_out: extensions(&extensions_out),
        }
    }
}

impl TryFrom<v1::OpenDirect> for OpenDirect {
    type Error = Error;

    fn try_from(message: v1::OpenDirect) -> Result<Self, Error> {
        Ok(Self {
            transport: TransportId(message.transport),
            local: read("OpenDirect.local", message.local)?,
            remote: read("OpenDirect.remote", message.remote)?,
            rtcp_ssrc_in: Ssrc(message.rtcp_ssrc_in),
            rtcp_ssrc_out: Ssrc(message.rtcp_ssrc_out),
            keys: read_optional(message.keys)?,
            extensions_in: extension_map(&message.extensions_in)?,
            extensions_out: extension_map(&message.extensions_out)?,
        })
    }
}

impl From<DirectKeys> for v1::DirectKeys {
    fn from(keys: DirectKeys) -> Self {
        let DirectKeys { ingress, egress } = keys;
        Self {
            ingress: Some(ingress.into()),
            egress: Some(egress.into()),
        }
    }
}

impl TryFrom<v1::DirectKeys> for DirectKeys {
    type Error = Error;

    fn try_from(message: v1::DirectKeys) -> Result<Self, Error> {
        Ok(Self {
            ingress: read("DirectKeys.ingress", message.ingress)?,
            egress: read("DirectKeys.egress", message.egress)?,
        })
    }
}

impl From<RemoteTransport> for v1::RemoteTransport {
    fn from(remote: RemoteTransport) -> Self {
        let RemoteTransport {
            credentials,
            fingerprints,
            dtls,
            extensions_in,
            extensions_out,
            sctp_port,
        } = remote;
        Self {
            credentials: Some(credentials.into()),
            fingerprints: write_all(fingerprints),
            dtls: dtls.number(),
            extensions_in: extensions(&extensions_in),
            extensions_out: extensions(&extensions_out),
            sctp_port: sctp_port.map(u32::from),
        }
    }
}

impl TryFrom<v1::RemoteTransport> for RemoteTransport {
    type Error = Error;

    fn try_from(message: v1::RemoteTransport) -> Result<Self, Error> {
        Ok(Self {
            credentials: read("RemoteTransport.credentials", message.credentials)?,
            fingerprints: read_all(message.fingerprints)?,
            dtls: DtlsRole::from_number("RemoteTransport.dtls", message.dtls)?,
            extensions_in: extension_map(&message.extensions_in)?,
            extensions_out: extension_map(&message.extensions_out)?,
            sctp_port: narrow_optional("RemoteTransport.sctp_port", message.sctp_port)?,
        })
    }
}

fn extensions(map: &ExtensionMap) -> Vec<v1::Extension> {
    let extension = |(kind, id): (ExtensionKind, u8)| v1::Extension {
        kind: kind.number(),
        id: id.into(),
    };
    map.iter().map(extension).collect()
}

fn extension_map(extensions: &[v1::Extension]) -> Result<ExtensionMap, Error> {
    let mut map = ExtensionMap::default();
    for extension in extensions {
        let kind = ExtensionKind::from_number("Extension.kind", extension.kind)?;
        let id = narrow("Extension.id", extension.id)?;
        map.insert(kind, id).map_err(Error::Extension)?;
    }
    Ok(map)
}

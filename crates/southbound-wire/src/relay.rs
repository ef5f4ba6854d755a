//! Commands for relayed calls.

use southbound::relay::{Accept, Entry, Hop, Keys, RelayCommand};

use crate::fields::{narrow_optional, read, read_optional, required};
use crate::v1::accept::Accept as AcceptVariant;
use crate::v1::keys::Keys as KeysVariant;
use crate::v1::relay_command::Command as Variant;
use crate::{Error, v1};

impl From<RelayCommand> for v1::RelayCommand {
    fn from(command: RelayCommand) -> Self {
        Self {
            command: Some(match command {
                RelayCommand::Open(at) => Variant::Open(at.into()),
                RelayCommand::Resume(entry) => Variant::Resume((*entry).into()),
                RelayCommand::Install(entry) => Variant::Install((*entry).into()),
                RelayCommand::Silence(at) => Variant::Silence(at.into()),
                RelayCommand::Close(at) => Variant::Close(at.into()),
                RelayCommand::Report(at) => Variant::Report(at.into()),
            }),
        }
    }
}

impl TryFrom<v1::RelayCommand> for RelayCommand {
    type Error = Error;

    fn try_from(message: v1::RelayCommand) -> Result<Self, Error> {
        Ok(match required("RelayCommand.command", message.command)? {
            Variant::Open(at) => RelayCommand::Open(at.try_into()?),
            Variant::Resume(entry) => RelayCommand::Resume(Box::new(entry.try_into()?)),
            Variant::Install(entry) => RelayCommand::Install(Box::new(entry.try_into()?)),
            Variant::Silence(at) => RelayCommand::Silence(at.try_into()?),
            Variant::Close(at) => RelayCommand::Close(at.try_into()?),
            Variant::Report(at) => RelayCommand::Report(at.try_into()?),
        })
    }
}

impl From<Entry> for v1::RelayEntry {
    fn from(entry: Entry) -> Self {
        let Entry {
            at,
            accept,
            ingress_protection,
            rtp,
            rtcp,
            checks,
            clock_rate,
        } = entry;
        Self {
            at: Some(at.into()),
            accept: Some(accept.into()),
            ingress_protection: Some(ingress_protection.into()),
            rtp: rtp.map(Into::into),
            rtcp: rtcp.map(Into::into),
            checks: checks.map(|(local, remote)| v1::Checks {
                local: Some(local.into()),
                remote: remote.map(Into::into),
            }),
            clock_rate,
        }
    }
}

impl TryFrom<v1::RelayEntry> for Entry {
    type Error = Error;

    fn try_from(message: v1::RelayEntry) -> Result<Self, Error> {
        let checks = |checks: v1::Checks| -> Result<_, Error> {
            Ok((read("Checks.local", checks.local)?, read_optional(checks.remote)?))
        };
        Ok(Self {
            at: read("RelayEntry.at", message.at)?,
            accept: read("RelayEntry.accept", message.accept)?,
            ingress_protection: read("RelayEntry.ingress_protection", message.ingress_protection)?,
            rtp: read_optional(message.rtp)?,
            rtcp: read_optional(message.rtcp)?,
            checks: message.checks.map(checks).transpose()?,
            clock_rate: message.clock_rate,
        })
    }
}

impl From<Hop> for v1::Hop {
    fn from(hop: Hop) -> Self {
        let Hop {
            from,
            to,
            egress_protection,
            tos,
        } = hop;
        Self {
            from: Some(from.into()),
            to: Some(to.into()),
            egress_protection: Some(egress_protection.into()),
            tos: tos.map(u32::from),
        }
    }
}

impl TryFrom<v1::Hop> for Hop {
    type Error = Error;

    fn try_from(message: v1::Hop) -> Result<Self, Error> {
        Ok(Self {
            from: read("Hop.from", message.from)?,
            to: read("Hop.to", message.to)?,
            egress_protection: read("Hop.egress_protection", message.egress_protection)?,
            tos: narrow_optional("Hop.tos", message.tos)?,
        })
    }
}

impl From<Accept> for v1::Accept {
    fn from(accept: Accept) -> Self {
        Self {
            accept: Some(match accept {
                Accept::Only(address) => AcceptVariant::Only(address.into()),
                Accept::Learn {
                    within,
                    window,
                    rtp_only,
                } => AcceptVariant::Learn(v1::Learn {
                    within: within.map(Into::into),
                    window,
                    rtp_only,
                }),
            }),
        }
    }
}

impl TryFrom<v1::Accept> for Accept {
    type Error = Error;

    fn try_from(message: v1::Accept) -> Result<Self, Error> {
        Ok(match required("Accept.accept", message.accept)? {
            AcceptVariant::Only(address) => Accept::Only(address.try_into()?),
            AcceptVariant::Learn(learn) => Accept::Learn {
                within: read_optional(learn.within)?,
                window: learn.window,
                rtp_only: learn.rtp_only,
            },
        })
    }
}

impl From<Keys> for v1::Keys {
    fn from(keys: Keys) -> Self {
        Self {
            keys: Some(match keys {
                Keys::Clear => KeysVariant::Clear(v1::Clear {}),
                Keys::Srtp(key) => KeysVariant::Srtp(key.into()),
                Keys::Dtls {
                    fingerprint,
                    active,
                    association,
                } => KeysVariant::Dtls(v1::DtlsKeys {
                    fingerprint: Some(fingerprint.into()),
                    active,
                    association,
                }),
            }),
        }
    }
}

impl TryFrom<v1::Keys> for Keys {
    type Error = Error;

    fn try_from(message: v1::Keys) -> Result<Self, Error> {
        Ok(match required("Keys.keys", message.keys)? {
            KeysVariant::Clear(v1::Clear {}) => Keys::Clear,
            KeysVariant::Srtp(key) => Keys::Srtp(key.try_into()?),
            KeysVariant::Dtls(dtls) => Keys::Dtls {
                fingerprint: read("DtlsKeys.fingerprint", dtls.fingerprint)?,
                active: dtls.active,
                association: dtls.association,
            },
        })
    }
}

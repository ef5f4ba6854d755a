//! How each side of a section is protected, and what descriptions say of it.
//!
//! Where both parties protect media in the same way, their keys pass through and packets go by unopened. Where they do not, each
//! side is protected for itself: we are the other end of its keys.

use wire::sdp::{Fingerprint, Setup};
use wire::srtp::MasterKey;

use super::{Context, Media, Refused};
use crate::Config;
use crate::ng::{Dtls, Flags, Sdes};
use crate::plan::Keys;
use crate::random::Random;
use crate::sdp::{Attributes, Crypto, CryptoParameters, Keying, SUITES, Section, suite_name};

/// How one side is protected by us.
#[derive(Clone, Debug, Default)]
pub(crate) enum Security {
    /// Not at all, or from end to end.
    #[default]
    Clear,
    /// With keys in descriptions: those we offer, and what was agreed.
    Sdes {
        offered: Vec<Crypto>,
        agreed: Option<Agreed>,
    },
    /// With keys from a handshake, once we know whom to expect.
    Dtls { peer: Option<Fingerprint>, active: bool },
}

/// Keys that both ends know.
#[derive(Clone, Debug)]
pub(crate) struct Agreed {
    pub(crate) ours: Crypto,
    pub(crate) theirs: Crypto,
}

impl Security {
    /// How packets from the party are opened; `None` until it is agreed.
    pub(crate) fn opens(&self) -> Option<Keys> {
        self.keys(|agreed| &agreed.theirs.key)
    }

    /// How packets to the party are sealed; `None` until it is agreed.
    pub(crate) fn seals(&self) -> Option<Keys> {
        self.keys(|agreed| &agreed.ours.key)
    }

    fn keys(&self, which: impl Fn(&Agreed) -> &MasterKey) -> Option<Keys> {
        match self {
            Self::Clear => Some(Keys::Clear),
            Self::Sdes { agreed, .. } => Some(Keys::Srtp(which(agreed.as_ref()?).clone())),
            Self::Dtls { peer, active } => Some(Keys::Dtls {
                fingerprint: peer.clone()?,
                active: *active,
            }),
        }
    }

    pub(crate) fn keying(&self) -> Keying {
        match self {
            Self::Clear => Keying::Plain,
            Self::Sdes { .. } => Keying::Sdes,
            Self::Dtls { .. } => Keying::Dtls,
        }
    }
}

impl Media {
    /// An offer of the party at `end`, which goes on with the protocol of the other side. Says what the other party is to read.
    pub(super) fn secure_offer(
        &mut self,
        end: usize,
        section: &Section<'_>,
        flags: &Flags,
        context: &mut Context<'_>,
    ) -> Result<Attributes, Refused> {
        let speaks = section.keying();
        let protocol = &self.protocols[1 - end];
        let unchanged = protocol.eq_ignore_ascii_case(section.protocol);
        let has_certificate = context.config.fingerprint.is_some();
        let other = if unchanged {
            speaks
        } else {
            Keying::of(protocol, !flags.sdes.off, has_certificate && flags.dtls != Dtls::Off)
        };
        if speaks == other && !(flags.recrypt && speaks != Keying::Plain) {
            self.sides.iter_mut().for_each(|side| side.security = Security::Clear);
            return Ok(Attributes::Keep);
        }
        if !has_certificate && [speaks, other].contains(&Keying::Dtls) {
            return Err(Refused::Keys);
        }
        let speaker = answer_to(section, &self.sides[end].security, flags.dtls, context.random)?;
        let offered = offer_to(other, &self.sides[1 - end].security, &flags.sdes, context.random)?;
        let lines = offered.offer_lines(context.config, flags.sdes.padded);
        self.sides[end].security = speaker;
        self.sides[1 - end].security = offered;
        Ok(lines)
    }

    /// An answer of the party at `end`. Says what the party that offered is to read.
    pub(super) fn secure_answer(
        &mut self,
        end: usize,
        section: &Section<'_>,
        flags: &Flags,
        context: &mut Context<'_>,
    ) -> Result<Attributes, Refused> {
        let keyings = [end, 1 - end].map(|end| self.sides[end].security.keying());
        if keyings == [Keying::Plain; 2] {
            return Ok(Attributes::Keep);
        }
        match &mut self.sides[end].security {
            Security::Clear => {}
            Security::Sdes { offered, agreed } => {
                let pairs = section
                    .cryptos
                    .iter()
                    .filter(|theirs| theirs.parameters == CryptoParameters::default());
                let mut pairs =
                    pairs.filter_map(|theirs| Some((theirs, offered.iter().find(|ours| is_answer(theirs, ours))?)));
                let (theirs, ours) = pairs.next().ok_or(Refused::Keys)?;
                *agreed = Some(Agreed {
                    ours: ours.clone(),
                    theirs: theirs.clone(),
                });
            }
            Security::Dtls { peer, active } => {
                *peer = Some(section.fingerprint.clone().ok_or(Refused::Keys)?);
                *active = section.setup == Some(Setup::Passive);
            }
        }
        Ok(self.sides[1 - end]
            .security
            .answer_lines(context.config, flags.sdes.padded))
    }
}

fn is_answer(theirs: &Crypto, ours: &Crypto) -> bool {
    theirs.tag == ours.tag && theirs.key.profile() == ours.key.profile()
}

/// How the one who offered this is protected. Keys of ours that fit already stay: what is sealed with them is on its way.
fn answer_to(section: &Section<'_>, before: &Security, dtls: Dtls, random: &mut Random) -> Result<Security, Refused> {
    match section.keying() {
        Keying::Plain => Ok(Security::Clear),
        Keying::Sdes => {
            let usable = section
                .cryptos
                .iter()
                .find(|theirs| theirs.parameters == CryptoParameters::default());
            let theirs = usable.ok_or(Refused::Keys)?.clone();
            let ours = match before {
                Security::Sdes {
                    agreed: Some(agreed), ..
                } if is_answer(&theirs, &agreed.ours) => agreed.ours.clone(),
                _ => Crypto {
                    tag: theirs.tag,
                    key: random.key(theirs.key.profile()),
                    parameters: CryptoParameters::default(),
                },
            };
            Ok(Security::Sdes {
                offered: vec![ours.clone()],
                agreed: Some(Agreed { ours, theirs }),
            })
        }
        Keying::Dtls => {
            let active = match section.setup {
                Some(Setup::Active) => false,
                Some(Setup::Passive) => true,
                _ => dtls == Dtls::Active,
            };
            Ok(Security::Dtls {
                peer: Some(section.fingerprint.clone().ok_or(Refused::Keys)?),
                active,
            })
        }
    }
}

/// How the one who is to get an offer is protected, once it answers.
fn offer_to(keying: Keying, before: &Security, sdes: &Sdes, random: &mut Random) -> Result<Security, Refused> {
    match (keying, before) {
        (Keying::Plain, _) => Ok(Security::Clear),
        (Keying::Sdes, Security::Sdes { .. }) | (Keying::Dtls, Security::Dtls { .. }) => Ok(before.clone()),
        (Keying::Dtls, _) => Ok(Security::Dtls {
            peer: None,
            active: false,
        }),
        (Keying::Sdes, _) => {
            let named = |list: &[String], name: &str| list.iter().any(|other| other.eq_ignore_ascii_case(name));
            let wanted = |name: &str| match sdes.only.is_empty() {
                true => !named(&sdes.without, name),
                false => named(&sdes.only, name),
            };
            let suites = SUITES.into_iter().filter(|suite| wanted(suite_name(*suite)));
            let offered: Vec<Crypto> = (1..)
                .zip(suites)
                .map(|(tag, suite)| Crypto {
                    tag,
                    key: random.key(suite),
                    parameters: CryptoParameters::default(),
                })
                .collect();
            if offered.is_empty() {
                Err(Refused::Keys)
            } else {
                Ok(Security::Sdes { offered, agreed: None })
            }
        }
    }
}

impl Security {
    fn offer_lines(&self, config: &Config, padded: bool) -> Attributes {
        match self {
            Self::Clear => Attributes::Strip,
            Self::Sdes { offered, .. } => {
                Attributes::Replace(offered.iter().map(|ours| crypto_line(ours, padded)).collect())
            }
            Self::Dtls { .. } => dtls_lines(config, Setup::ActPass),
        }
    }

    fn answer_lines(&self, config: &Config, padded: bool) -> Attributes {
        match self {
            Self::Clear => Attributes::Strip,
            Self::Sdes { agreed, .. } => {
                Attributes::Replace(agreed.iter().map(|agreed| crypto_line(&agreed.ours, padded)).collect())
            }
            Self::Dtls { active: true, .. } => dtls_lines(config, Setup::Active),
            Self::Dtls { active: false, .. } => dtls_lines(config, Setup::Passive),
        }
    }
}

fn crypto_line(ours: &Crypto, padded: bool) -> String {
    format!("crypto:{}", ours.write(padded))
}

fn dtls_lines(config: &Config, setup: Setup) -> Attributes {
    let fingerprint = config
        .fingerprint
        .iter()
        .map(|fingerprint| format!("fingerprint:{fingerprint}"));
    Attributes::Replace(
        std::iter::once(format!("setup:{}", setup.name()))
            .chain(fingerprint)
            .collect(),
    )
}

//! The words that describe a relay.

use dataplane::{Accept, Hop, Relay, RelayProtection};

use super::entry::{PROFILES, find, name_of, optional};
use super::names::Names;
use super::words::{Problem, Words, number, problem, split};
use crate::step::{master_key, seed_of};

/// The default: an open port that accepts nothing.
pub(super) const SILENT: Relay = Relay {
    accept: Accept::Nobody,
    ingress_protection: RelayProtection::Clear,
    terminated: false,
    rtp: None,
    rtcp: None,
};

pub(super) fn relay(mut relay: Relay, words: &mut Words<'_>, names: &mut Names) -> Result<Relay, Problem> {
    while let Some(word) = words.next() {
        match word {
            "nobody" => relay.accept = Accept::Nobody,
            "only" => relay.accept = Accept::Only(names.party(words.word("a peer")?)),
            "learn" => {
                relay.accept = Accept::Learn {
                    within: None,
                    window: 0,
                    rtp_only: false,
                }
            }
            "within" => {
                let within = Some(names.party(words.word("a peer")?).ip());
                relay.accept = Accept::Learn {
                    within,
                    window: 0,
                    rtp_only: false,
                };
            }
            "rtp-only" => match &mut relay.accept {
                Accept::Learn { rtp_only, .. } => *rtp_only = true,
                Accept::Nobody | Accept::Only(_) => return problem("only what learns can learn from RTP only"),
            },
            "window" => {
                let number = number(words.word("a number")?, "a number of a window")?;
                match &mut relay.accept {
                    Accept::Learn { window, .. } => *window = number,
                    Accept::Nobody | Accept::Only(_) => return problem("only what learns has a window"),
                }
            }
            "ingress" => relay.ingress_protection = protection(words.word("a protection")?)?,
            "terminated" => relay.terminated = true,
            "passing" => relay.terminated = false,
            "rtp" => relay.rtp = optional(words.word("a hop")?, |text| hop(text, names))?,
            "rtcp" => relay.rtcp = optional(words.word("a hop")?, |text| hop(text, names))?,
            _ => return problem(format!("`{word}` is not an attribute of a relay")),
        }
    }
    Ok(relay)
}

/// `bob@b`, or with a protection `bob@b:cm/7`; behind it may be the octet of services in
/// hexadecimal digits: `bob@b+b8`
fn hop(text: &str, names: &mut Names) -> Result<Hop, Problem> {
    let (hop, tos) = match text.split_once('+') {
        Some((hop, tos)) => (hop, Some(tos)),
        None => (text, None),
    };
    let (path, egress_protection) = hop.split_once(':').unwrap_or((hop, "clear"));
    if !path.contains('@') {
        return problem(format!("`{text}` is not a hop: peer@relay"));
    }
    let tos = tos.map(|digits| match u8::from_str_radix(digits, 16) {
        Ok(octet) => Ok(octet),
        Err(_) => problem(format!("`{digits}` is not an octet of services")),
    });
    Ok(Hop {
        path: names.path(path),
        egress_protection: protection(egress_protection)?,
        tos: tos.transpose()?,
    })
}

/// `clear`, `pending`, or profile and seed of a key: `cm/7`
fn protection(text: &str) -> Result<RelayProtection, Problem> {
    match text {
        "clear" => Ok(RelayProtection::Clear),
        "pending" => Ok(RelayProtection::Pending),
        text => {
            let (profile, seed) = split(text, '/', "an SRTP profile with a number to make a key of")?;
            let profile = find(&PROFILES, profile, "an SRTP profile")?;
            Ok(RelayProtection::Srtp(master_key(
                profile,
                number(seed, "a number to make a key of")?,
            )))
        }
    }
}

pub(super) fn print(relay: &Relay, names: &Names) -> String {
    let accept = match relay.accept {
        Accept::Nobody => "nobody".into(),
        Accept::Only(peer) => format!("only {}", names.of_party(peer)),
        Accept::Learn {
            within,
            window,
            rtp_only,
        } => {
            // A peer has the same port at any address.
            let within = within.map(|ip| names.of_party((ip, 5000).into()));
            let learns = within.map_or("learn".into(), |peer| format!("within {peer}"));
            format!("{learns} window {window}{}", if rtp_only { " rtp-only" } else { "" })
        }
    };
    format!(
        "{accept} ingress {} {} rtp {} rtcp {}",
        print_protection(&relay.ingress_protection),
        if relay.terminated { "terminated" } else { "passing" },
        print_hop(relay.rtp.as_ref(), names),
        print_hop(relay.rtcp.as_ref(), names),
    )
}

fn print_hop(hop: Option<&Hop>, names: &Names) -> String {
    hop.map_or("none".into(), |hop| {
        let tos = hop.tos.map_or(String::new(), |tos| format!("+{tos:02x}"));
        format!(
            "{}:{}{tos}",
            names.of_path(hop.path),
            print_protection(&hop.egress_protection)
        )
    })
}

fn print_protection(protection: &RelayProtection) -> String {
    match protection {
        RelayProtection::Pending => "pending".into(),
        RelayProtection::Clear => "clear".into(),
        RelayProtection::Srtp(key) => {
            let profile = name_of(&PROFILES, key.profile());
            format!("{profile}/{:#x}", seed_of(key))
        }
    }
}

//! Values of single attributes.

use super::{
    Direction, Extension, Fingerprint, HashFunction, Msid, RidDirection, RidLine, Setup, Simulcast, SsrcGroup, SsrcLine,
};
use crate::limits::{EXTENSION_URI_MAX, SSRC_GROUP_MAX};
use crate::{Rid, Ssrc};

pub(super) fn parse_direction(name: &str) -> Option<Direction> {
    [
        Direction::SendRecv,
        Direction::SendOnly,
        Direction::RecvOnly,
        Direction::Inactive,
    ]
    .into_iter()
    .find(|direction| direction.name() == name)
}

/// `holdconn` is none that a connection could be made with.
pub(super) fn parse_setup(text: &str) -> Option<Setup> {
    [Setup::ActPass, Setup::Active, Setup::Passive]
        .into_iter()
        .find(|setup| setup.name() == text)
}

/// `None` when it is malformed; an empty inner option when the hash function is none of ours.
pub(super) fn parse_fingerprint(text: &str) -> Option<Option<Fingerprint>> {
    let (name, digits) = text.split_once(' ')?;
    let functions = [HashFunction::Sha256, HashFunction::Sha384, HashFunction::Sha512];
    let Some(hash) = functions
        .into_iter()
        .find(|hash| hash.name().eq_ignore_ascii_case(name))
    else {
        return Some(None);
    };
    let octet = |digits: &str| {
        let plain = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
    };
    let digest: Vec<u8> = digits.trim_ascii().split(':').map(octet).collect::<Option<_>>()?;
    (digest.len() == hash.digest_len()).then_some(Some(Fingerprint { hash, digest }))
}

pub(super) fn parse_extension(text: &str) -> Option<Extension> {
    let mut words = text.split_ascii_whitespace();
    let id = words.next()?;
    let id = id.split_once('/').map_or(id, |(id, _direction)| id);
    let uri = words.next().filter(|uri| uri.len() <= EXTENSION_URI_MAX)?;
    Some(Extension {
        id: id.parse().ok().filter(|id| *id > 0)?,
        uri: uri.into(),
    })
}

pub(super) fn parse_rid(text: &str) -> Option<RidLine> {
    let mut rest = text;
    let rid = Rid::new(take_word(&mut rest)?)?;
    let direction = match take_word(&mut rest)? {
        "send" => RidDirection::Send,
        "recv" => RidDirection::Recv,
        _ => return None,
    };
    Some(RidLine {
        rid,
        direction,
        restrictions: rest.trim_ascii().to_owned(),
    })
}

/// The next word of a line.
pub(super) fn take_word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let line = rest.trim_ascii_start();
    let end = line
        .find(|letter: char| letter.is_ascii_whitespace())
        .unwrap_or(line.len());
    let (word, after) = line.split_at(end);
    *rest = after;
    (!word.is_empty()).then_some(word)
}

/// The simultaneous encodings, of those that have names, and whether all of them can be used.
pub(super) fn parse_simulcast(text: &str, rids: &[RidLine]) -> (Option<Simulcast>, bool) {
    let (mut simulcast, mut is_whole) = (Simulcast::default(), true);
    let mut words = text.split_ascii_whitespace();
    while let Some(direction) = words.next() {
        let list = words.next().unwrap_or_default();
        let (list, direction) = match direction {
            "send" => (
                versions(list, rids, RidDirection::Send, &mut is_whole),
                &mut simulcast.send,
            ),
            "recv" => (
                versions(list, rids, RidDirection::Recv, &mut is_whole),
                &mut simulcast.recv,
            ),
            _ => {
                is_whole = false;
                continue;
            }
        };
        *direction = list;
    }
    let says_something = !simulcast.send.is_empty() || !simulcast.recv.is_empty();
    (says_something.then_some(simulcast), is_whole)
}

/// The versions in a list that are lines of their own, each encoding once (RFC 8853 section 5.1).
fn versions(list: &str, rids: &[RidLine], direction: RidDirection, is_whole: &mut bool) -> Vec<String> {
    let mut unused: Vec<Rid> = rids
        .iter()
        .filter(|line| line.direction == direction)
        .map(|line| line.rid)
        .collect();
    let mut take = |alternative: &&str| {
        let name = alternative.strip_prefix('~').unwrap_or(alternative);
        let known = unused.iter().position(|rid| rid.as_str() == name);
        known.map(|position| unused.remove(position)).is_some()
    };
    let mut versions = Vec::new();
    for version in list.split(';') {
        let before = version.split(',').count();
        let alternatives: Vec<&str> = version.split(',').filter(&mut take).collect();
        *is_whole &= alternatives.len() == before;
        if !alternatives.is_empty() {
            versions.push(alternatives.join(","));
        }
    }
    versions
}

pub(super) fn parse_msid(text: &str) -> Option<Msid> {
    let mut words = text.split_ascii_whitespace();
    Some(Msid {
        stream: words.next()?.to_owned(),
        track: words.next().map(str::to_owned),
    })
}

pub(super) fn parse_ssrc(text: &str) -> Option<SsrcLine> {
    let (ssrc, rest) = text.split_once(' ')?;
    let (attribute, value) = match rest.trim_ascii().split_once(':') {
        Some((attribute, value)) => (attribute, Some(value.trim_ascii().to_owned())),
        None => (rest.trim_ascii(), None),
    };
    Some(SsrcLine {
        ssrc: Ssrc(ssrc.parse().ok()?),
        attribute: attribute.to_owned(),
        value,
    })
}

pub(super) fn parse_ssrc_group(text: &str) -> Option<SsrcGroup> {
    let mut words = text.split_ascii_whitespace();
    let semantics = words.next()?.to_owned();
    let ssrcs = words
        .map(|ssrc| ssrc.parse().ok().map(Ssrc))
        .take(SSRC_GROUP_MAX + 1)
        .collect::<Option<Vec<_>>>()?;
    (ssrcs.len() <= SSRC_GROUP_MAX).then_some(SsrcGroup { semantics, ssrcs })
}

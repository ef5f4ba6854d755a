//! One line of the rtpproxy protocol, read.

use std::net::IpAddr;

/// A proxy's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `V`: which protocol.
    Version,
    /// `VF`: whether a feature, by its date, is there.
    Feature(&'a str),
    /// `U` and `L`: a port for an offer (update) or an answer (look up).
    Allocate(Allocate<'a>),
    /// `D`: the call is over.
    Delete {
        /// Which.
        names: Names<'a>,
        /// Only one of the reasons to keep it is gone.
        weak: bool,
    },
    /// `Q`: how it went.
    Query {
        /// Which.
        names: Names<'a>,
        /// Include the counters' names.
        verbose: bool,
        /// Which counters; the five of old when none is named.
        counters: Vec<&'a str>,
    },
    /// `X`: all calls are over.
    DeleteAll,
    /// `I`: the state of the relay.
    Info,
}

/// Which call, and whose media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// The call-id, without the branch.
    pub call: &'a str,
    /// The branch after the call-id.
    pub branch: Option<&'a str>,
    /// The tag of the speaking party.
    pub from: &'a str,
    /// The other party's tag, once it has one.
    pub to: Option<&'a str>,
    /// Which media section, from 1.
    pub media: u16,
}

/// A port is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocate<'a> {
    /// Only in a call that is there: `L`.
    pub lookup: bool,
    /// Which call.
    pub names: Names<'a>,
    /// The address at which the party wants media.
    pub address: Option<IpAddr>,
    /// The port there.
    pub port: u16,
    /// It sends from elsewhere than it receives.
    pub asymmetric: bool,
    /// The call ends when this party's media was deleted, and not before.
    pub weak: bool,
    /// External or not, for the speaking party and for the other.
    pub sides: Vec<Side>,
    /// The address of ours to use.
    pub local: Option<IpAddr>,
    /// Over IPv6.
    pub v6: bool,
    /// A new port, though there is one.
    pub new_port: bool,
    /// Modifiers that are known, and not done.
    pub ignored: usize,
    /// The address and tag to notify of a timeout.
    pub notify: Option<(&'a str, &'a str)>,
}

/// The side of the relay that a party is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `I`
    Internal,
    /// `E`
    External,
}

/// Why a command was refused: its error code.
///
/// Source: rtpproxy, `rtpp_command_ecodes.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// An unknown command, or one that is not supported.
    UnknownCommand = 0,
    /// Too few or too many arguments.
    Arguments = 1,
    /// Modifiers where none belong.
    Modifiers = 2,
    /// A modifier that `D` or `Q` does not have.
    Modifier = 8,
    /// An `E` or `I` too many.
    Sides = 11,
    /// No number after `Z`.
    PacketTime = 13,
    /// No list after `c`.
    Codecs = 14,
    /// No address after `l` or `r`.
    LocalSyntax = 15,
    /// An address that is none of ours.
    Local = 31,
    /// A modifier that `U` and `L` do not have.
    AllocateModifier = 35,
    /// An address or port that is none.
    Remote = 37,
    /// No such call.
    UnknownSession = 50,
    /// An unknown counter.
    Query = 62,
    /// No port is free.
    NoPorts = 71,
    /// No more calls are taken.
    Overload = 98,
}

impl ErrorCode {
    /// The text of the reply.
    pub fn reply(self) -> String {
        format!("E{}\n", self as u8)
    }
}

impl<'a> Command<'a> {
    /// Reads one command, without its cookie.
    pub fn parse(text: &'a str) -> Result<Self, ErrorCode> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let (name, arguments) = words.split_first().ok_or(ErrorCode::UnknownCommand)?;
        let mut letters = name.chars();
        let letter = letters.next().unwrap_or_default().to_ascii_uppercase();
        let modifiers = letters.as_str();
        match letter {
            'V' => version(modifiers, arguments),
            'U' => allocate(modifiers, arguments, false),
            'L' => allocate(modifiers, arguments, true),
            'D' => delete(modifiers, arguments),
            'Q' => query(modifiers, arguments),
            'X' => without_arguments(modifiers, "", arguments, Self::DeleteAll),
            'I' => without_arguments(modifiers, "b", arguments, Self::Info),
            _ => Err(ErrorCode::UnknownCommand),
        }
    }
}

fn version<'a>(modifiers: &str, arguments: &[&'a str]) -> Result<Command<'a>, ErrorCode> {
    if !modifiers.eq_ignore_ascii_case("F") {
        return without_arguments(modifiers, "", arguments, Command::Version);
    }
    match arguments {
        [feature] => Ok(Command::Feature(feature)),
        _ => Err(ErrorCode::Arguments),
    }
}

fn without_arguments<'a>(
    modifiers: &str,
    allowed: &str,
    arguments: &[&'a str],
    command: Command<'a>,
) -> Result<Command<'a>, ErrorCode> {
    match (arguments, modifiers.to_ascii_lowercase().trim_start_matches(allowed)) {
        ([], "") => Ok(command),
        ([], _) => Err(ErrorCode::Modifiers),
        _ => Err(ErrorCode::Arguments),
    }
}

fn delete<'a>(modifiers: &str, arguments: &[&'a str]) -> Result<Command<'a>, ErrorCode> {
    let (call, from, to) = match arguments {
        [call, from] => (call, from, None),
        [call, from, to] => (call, from, Some(*to)),
        _ => return Err(ErrorCode::Arguments),
    };
    let weak = only(modifiers, 'w')?;
    Ok(Command::Delete {
        names: names(call, from, to),
        weak,
    })
}

fn query<'a>(modifiers: &str, arguments: &[&'a str]) -> Result<Command<'a>, ErrorCode> {
    let (call, from, rest) = match arguments {
        [call, from, rest @ ..] if rest.len() <= 16 => (call, from, rest),
        _ => return Err(ErrorCode::Arguments),
    };
    let verbose = only(modifiers, 'v')?;
    let (to, counters) = match rest {
        [] => (None, Vec::new()),
        [to, counters @ ..] => (Some(*to), counters.to_vec()),
    };
    Ok(Command::Query {
        names: names(call, from, to),
        verbose,
        counters,
    })
}

/// Whether the modifier is there, which is the only one allowed.
fn only(modifiers: &str, allowed: char) -> Result<bool, ErrorCode> {
    let known = modifiers.chars().all(|letter| letter.eq_ignore_ascii_case(&allowed));
    if known {
        Ok(!modifiers.is_empty())
    } else {
        Err(ErrorCode::Modifier)
    }
}

fn allocate<'a>(modifiers: &str, arguments: &[&'a str], lookup: bool) -> Result<Command<'a>, ErrorCode> {
    let (call, address, port, from, rest) = match arguments {
        [call, address, port, from, rest @ ..] => (call, address, port, from, rest),
        _ => return Err(ErrorCode::Arguments),
    };
    let (to, notify) = match rest {
        [] => (None, None),
        [to] => (Some(*to), None),
        [socket, tag] if !lookup => (None, Some((*socket, *tag))),
        [to, socket, tag] if !lookup => (Some(*to), Some((*socket, *tag))),
        _ => return Err(ErrorCode::Arguments),
    };
    let mut allocate = Allocate {
        lookup,
        names: names(call, from, to),
        address: None,
        port: 0,
        asymmetric: false,
        weak: false,
        sides: Vec::new(),
        local: None,
        v6: false,
        new_port: false,
        ignored: 0,
        notify,
    };
    allocate.modifiers(modifiers)?;
    allocate.address = Some(address.parse().map_err(|_| ErrorCode::Remote)?);
    allocate.port = port.parse().map_err(|_| ErrorCode::Remote)?;
    Ok(Command::Allocate(allocate))
}

impl Allocate<'_> {
    fn modifiers(&mut self, modifiers: &str) -> Result<(), ErrorCode> {
        let mut rest = modifiers;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            match letter.to_ascii_uppercase() {
                'A' => self.asymmetric = true,
                'S' => self.asymmetric = false,
                'W' => self.weak = true,
                'N' => self.new_port = true,
                '6' => self.v6 = true,
                'E' => self.side(Side::External)?,
                'I' => self.side(Side::Internal)?,
                // Packets are not repacketised, and codecs do not matter.
                'Z' => self.ignore(&mut rest, |byte| byte.is_ascii_digit(), ErrorCode::PacketTime)?,
                'C' => self.ignore(
                    &mut rest,
                    |byte| byte.is_ascii_digit() || byte == b',',
                    ErrorCode::Codecs,
                )?,
                'L' => self.local = Some(take_address(&mut rest)?),
                // The operator chooses our address for a destination, by interfaces.
                'R' => {
                    take_address(&mut rest)?;
                    self.ignored += 1;
                }
                _ => return Err(ErrorCode::AllocateModifier),
            }
        }
        Ok(())
    }

    fn side(&mut self, side: Side) -> Result<(), ErrorCode> {
        if self.sides.len() == 2 {
            return Err(ErrorCode::Sides);
        }
        self.sides.push(side);
        Ok(())
    }

    fn ignore(&mut self, rest: &mut &str, belongs: fn(u8) -> bool, otherwise: ErrorCode) -> Result<(), ErrorCode> {
        let len = rest.bytes().take_while(|byte| belongs(*byte)).count();
        *rest = &rest[len..];
        self.ignored += 1;
        if len == 0 { Err(otherwise) } else { Ok(()) }
    }
}

/// An address in modifiers: IPv4, or IPv6 in brackets.
fn take_address(rest: &mut &str) -> Result<IpAddr, ErrorCode> {
    let (text, after) = match rest.strip_prefix('[') {
        Some(inside) => inside.split_once(']').ok_or(ErrorCode::LocalSyntax)?,
        None => rest.split_at(
            rest.bytes()
                .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
                .count(),
        ),
    };
    *rest = after;
    text.parse().map_err(|_| ErrorCode::LocalSyntax)
}

fn names<'a>(call: &'a str, from: &'a str, to: Option<&'a str>) -> Names<'a> {
    let (call, branch) = match call.split_once(';') {
        Some((call, branch)) => (call, Some(branch)),
        None => (call, None),
    };
    let (from, media) = tag(from);
    Names {
        call,
        branch,
        from,
        to: to.map(|to| tag(to).0),
        media: media.max(1),
    }
}

/// A tag and the number of its media section; without a number, all sections are meant, or the
/// first.
fn tag(word: &str) -> (&str, u16) {
    match word.rsplit_once(';') {
        Some((tag, media)) if !media.is_empty() => media.parse().map_or((word, 0), |media| (tag, media)),
        _ => (word, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocated(text: &str) -> Allocate<'_> {
        match Command::parse(text) {
            Ok(Command::Allocate(allocate)) => allocate,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn kamailios_update_is_understood() {
        let asked = allocated("UIEc0,8,101Z20 1-15495@127.0.0.1;z9hG4bK 127.0.0.1 6004 15495SIPpTag001;2");
        assert_eq!(
            (asked.names.call, asked.names.branch),
            ("1-15495@127.0.0.1", Some("z9hG4bK"))
        );
        assert_eq!(
            (asked.names.from, asked.names.media, asked.names.to),
            ("15495SIPpTag001", 2, None)
        );
        assert_eq!((asked.address, asked.port), (Some([127, 0, 0, 1].into()), 6004));
        assert_eq!((asked.sides, asked.ignored), (vec![Side::Internal, Side::External], 2));
    }

    #[test]
    fn the_address_to_notify_follows_the_tags() {
        assert_eq!(
            allocated("U c 192.0.2.1 6 a;1 unix:/s tag").notify,
            Some(("unix:/s", "tag"))
        );
        let both = allocated("U c 192.0.2.1 6 a;1 b;1 unix:/s tag");
        assert_eq!((both.names.to, both.notify), (Some("b"), Some(("unix:/s", "tag"))));
    }

    #[test]
    fn each_fault_has_its_error_code() {
        let refused = [
            ("", ErrorCode::UnknownCommand),
            ("P c a b", ErrorCode::UnknownCommand),
            ("U c", ErrorCode::Arguments),
            ("L c 192.0.2.1 6 a b c d", ErrorCode::Arguments),
            ("Uy c 192.0.2.1 6 a", ErrorCode::AllocateModifier),
            ("UZ c 192.0.2.1 6 a", ErrorCode::PacketTime),
            ("UIEI c 192.0.2.1 6 a", ErrorCode::Sides),
            ("Ul[::1 c 192.0.2.1 6 a", ErrorCode::LocalSyntax),
            ("U c 192.0.2 6 a", ErrorCode::Remote),
            ("U c 192.0.2.1 66666 a", ErrorCode::Remote),
            ("Dx c a", ErrorCode::Modifier),
            ("Xb", ErrorCode::Modifiers),
            ("VF", ErrorCode::Arguments),
            ("é", ErrorCode::UnknownCommand),
            ("Ué c 192.0.2.1 6 a", ErrorCode::AllocateModifier),
        ];
        for (text, code) in refused {
            assert_eq!(Command::parse(text), Err(code), "{text}");
        }
    }
}

//! One section of an offer or an answer, from a protocol that gives addresses without descriptions.

use std::net::{IpAddr, SocketAddr};

use wire::sdp::Direction;

use super::{Call, Context, Heard, Media, Place, Policy, Refused, Role, Terms};
use crate::sdp::TELEPHONE_CLOCK;

/// A party's address for one section, and what the dialogue is kept for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation<'a> {
    /// The section, from 0.
    pub(crate) section: usize,
    /// The address at which the party wants RTP.
    pub(crate) rtp: SocketAddr,
    /// The other side gets new ports, though it has some.
    pub(crate) new_port: bool,
    /// The dialogue ends when this party's media was deleted, and not before.
    pub(crate) weak: bool,
    /// The socket and the tag to notify of a timeout.
    pub(crate) notify: Option<(&'a str, &'a str)>,
}

impl Call {
    /// Records a party's address for one section; returns the address for the other party.
    pub(crate) fn allocate(
        &mut self,
        place: Place,
        role: Role,
        asked: &Allocation<'_>,
        terms: &Terms,
        context: &mut Context<'_>,
    ) -> Result<SocketAddr, Refused> {
        let dialogue = &mut self.dialogues[place.dialogue];
        let (index, end) = (asked.section, place.end);
        if role == Role::Offer {
            dialogue.offer_section(index, end, context.ports);
        }
        while dialogue.media.len() <= index {
            dialogue.media.push(Media::new("audio"));
        }
        let media = &mut dialogue.media[index];
        let interfaces = [dialogue.ends[0].interface, dialogue.ends[1].interface];
        let heard = heard(asked.rtp);
        context.check(interfaces[end], &[heard.rtp, heard.rtcp])?;
        media.provide(interfaces, context)?;
        if asked.new_port
            && let Some(fresh) = context.ports.take(interfaces[1 - end])
        {
            let before = media.sides[1 - end].local.replace(fresh);
            before.into_iter().for_each(|pair| context.ports.give_back(pair));
        }
        let closes = context.now + context.config.learning_window;
        media.sides[end].hear(heard, Policy::of(terms, context.config), terms.reset, closes);
        media.protocols = ["RTP/AVP".to_owned(), "RTP/AVP".to_owned()];

        if asked.weak {
            dialogue.weak[end] = true;
        } else {
            dialogue.strong = true;
        }
        let notify = asked.notify.map(|(socket, tag)| (socket.to_owned(), tag.to_owned()));
        dialogue.notify = notify.or(dialogue.notify.take());
        if role == Role::Answer {
            dialogue.commit_section(index, context.ports);
        }
        dialogue.resume(role);
        self.last_signal = context.now;
        let pair = self.dialogues[place.dialogue].media[index].sides[1 - end]
            .local
            .as_ref();
        let pair = pair.expect("both sides have ports");
        Ok(SocketAddr::new(pair.advertised, pair.rtp().port()))
    }
}

fn heard(rtp: SocketAddr) -> Heard {
    let ip: IpAddr = rtp.ip().to_canonical();
    let rtcp = match rtp.port() {
        0 => 0,
        port => port.saturating_add(1),
    };
    Heard {
        is_opportunistic: false,
        rtp: SocketAddr::new(ip, rtp.port()),
        rtcp: SocketAddr::new(ip, rtcp),
        direction: Direction::SendRecv,
        ice: None,
        ice_lite: false,
        clock_rate: TELEPHONE_CLOCK,
        received: None,
    }
}

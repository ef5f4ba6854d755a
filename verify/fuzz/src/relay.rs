//! Messages of SIP proxies, and of phones through them.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use sip::limits::MESSAGE_MAX;
use sip::ng::{Encoding, Stream, Unreadable};
use sip::sdp::{Attributes, Description, Rewrite, SectionRewrite};
use sip::{CallController, Config, Input, Interface, Output, Request, RequestId, WallClock};
use southbound::relay::{RelayCommand, RelayNotice};

/// A value is read back the same after it was written, in both encodings, and a stream finds it
/// with any cuts.
pub fn ng_values(data: &[u8]) {
    let Some(encoding) = Encoding::of(data) else { return };
    let Ok((value, used)) = encoding.decode(data) else {
        return;
    };
    assert!(used <= data.len());
    let mut written = Vec::new();
    encoding.encode(&value, &mut written);
    // JSON has no bytes other than text, so such bytes are replaced.
    assert_eq!(encoding.decode(&written), Ok((value, written.len())));

    let mut stream = Stream::default();
    let message = [b"1 ", &data[..used]].concat();
    message.iter().for_each(|byte| stream.push(&[*byte]));
    let found = stream.next_message();
    match message.len() <= MESSAGE_MAX {
        true => assert!(found == Ok(Some(message)), "another message than was sent"),
        false => assert!(found == Err(Unreadable::Malformed), "a message over the limit"),
    }
}

/// A description that is rewritten without a change that matters can be read again, with the same
/// sections.
pub fn sip_sdp(data: &[u8]) {
    let Ok(description) = Description::parse(data) else {
        return;
    };
    let sections = description.sections.iter().map(|section| SectionRewrite {
        port: section.port,
        direction: Some(section.direction),
        rtcp: section.rtcp.map(|(port, _)| port),
        rtcp_mux: section.rtcp_mux,
        ice: Attributes::Keep,
        ..SectionRewrite::refused()
    });
    let rewrite = Rewrite {
        address: IpAddr::from([192, 0, 2, 1]),
        origin: None,
        origin_fields: Default::default(),
        session_name: None,
        ice_lite: false,
        mark: None,
        missing: Vec::new(),
        sections: sections.collect(),
    };
    let written = description.rewrite(&rewrite);
    let again = Description::parse(&written).expect("a written description can be read");
    assert_eq!(again.sections.len(), description.sections.len());
    for (before, after) in description.sections.iter().zip(&again.sections) {
        assert_eq!(
            (before.port, before.media, before.protocol),
            (after.port, after.media, after.protocol)
        );
    }
}

/// Requests of the `ng` protocol, one after the other, end with all ports accounted for.
pub fn ng_requests(data: &[u8]) {
    converse(data, |from, message| Request::Ng { from, message });
}

/// The same for rtpproxy's commands.
pub fn rtpproxy_commands(data: &[u8]) {
    converse(data, |from, message| Request::Rtpproxy { from, message });
}

/// Each line is a message.
fn converse(data: &[u8], request: for<'a> fn(Option<IpAddr>, &'a [u8]) -> Request<'a>) {
    let now = start();
    let interface = Interface {
        name: "a".to_owned(),
        address: [127, 0, 0, 1].into(),
        advertised: None,
        ports: 5000..=5063,
    };
    let clock = WallClock {
        now,
        unix: Duration::from_secs(1_800_000_000),
    };
    let mut relay = CallController::new(Config::new(vec![interface]), clock, [0; 32]).expect("a usable configuration");
    let (mut open, mut outputs) = (0_usize, Vec::new());
    for message in data.split(|byte| *byte == b'\n') {
        relay.handle(now, Input::Request(RequestId(0), request(None, message)), &mut outputs);
        let mut seen = Vec::new();
        while !outputs.is_empty() {
            for output in outputs.drain(..) {
                match output {
                    Output::Command(RelayCommand::Open(at)) => {
                        open += 1;
                        seen.push(RelayNotice::Opened { at });
                    }
                    Output::Command(RelayCommand::Close(_)) => open -= 1,
                    Output::Command(RelayCommand::Report(at)) => seen.push(RelayNotice::Traffic {
                        at,
                        traffic: Default::default(),
                        idle: None,
                    }),
                    _ => {}
                }
            }
            for observation in seen.drain(..) {
                relay.handle(now, Input::Notice(observation), &mut outputs);
            }
        }
        assert_eq!(open, relay.port_pairs() * 2);
    }
}

#[expect(clippy::disallowed_methods, reason = "any moment will do")]
fn start() -> Instant {
    Instant::now()
}

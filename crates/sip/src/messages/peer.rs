//! The messages between machines, and their form on the way.
//!
//! The form is protobuf: a field that a later version adds is ignored by the one before it.

use std::net::IpAddr;
use std::sync::Arc;

use prost::Message;
use southbound::NodeId;

use super::RequestId;
use super::passed::{Form, PassedRequest};
use crate::limits::NAME_MAX;

/// The version of the messages. A machine of another one is no peer.
pub const PEER_VERSION: u32 = 1;

/// A message from one machine to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// The first message in either direction.
    Hello {
        /// The version of the messages that follow.
        version: u32,
        /// The machine that speaks.
        node: NodeId,
    },
    /// A sign of life.
    Ping,
    /// Whether the machine has a call.
    Ask {
        /// The number of the question.
        question: u64,
        /// The id of the call.
        call: Arc<[u8]>,
        /// The asking machine begins the call unless somebody has it.
        begins: bool,
    },
    /// The answer to a question.
    Answer {
        /// The number of the question.
        question: u64,
        /// The machine has the call, or is about to begin it.
        has: bool,
    },
    /// A proxy's request about a call of the other machine.
    Pass {
        /// The asking machine's number of the request.
        request: RequestId,
        /// The request as the proxy made it.
        passed: PassedRequest,
    },
    /// The outcome of a request that was passed on.
    Passed {
        /// The asking machine's number of the request.
        request: RequestId,
        /// The outcome of the request.
        outcome: PassOutcome,
    },
}

/// The outcome of a request that was passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassOutcome {
    /// It is answered with this.
    Reply(Arc<[u8]>),
    /// It gets no answer, as one that is repeated before its first answer.
    Unanswered,
    /// The call is not there.
    Elsewhere,
    /// Too many requests are on their way there.
    Full,
}

/// A message that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl PeerMessage {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let body = match self {
            Self::Hello { version, node } => Body::Hello(Hello {
                version: *version,
                node: node.0,
            }),
            Self::Ping => Body::Ping(Ping {}),
            Self::Ask { question, call, begins } => Body::Ask(Ask {
                question: *question,
                call: call.to_vec(),
                begins: *begins,
            }),
            Self::Answer { question, has } => Body::Answer(Answer {
                question: *question,
                has: *has,
            }),
            Self::Pass { request, passed } => Body::Pass(Pass {
                request: request.0,
                form: WireForm::from(passed.form).into(),
                from: passed.from.map(octets).unwrap_or_default(),
                message: passed.message.to_vec(),
            }),
            Self::Passed { request, outcome } => {
                let (outcome, reply) = match outcome {
                    PassOutcome::Reply(reply) => (WireOutcome::Reply, reply.to_vec()),
                    PassOutcome::Unanswered => (WireOutcome::Unanswered, Vec::new()),
                    PassOutcome::Elsewhere => (WireOutcome::Elsewhere, Vec::new()),
                    PassOutcome::Full => (WireOutcome::Full, Vec::new()),
                };
                Body::Passed(Passed {
                    request: request.0,
                    outcome: outcome.into(),
                    reply,
                })
            }
        };
        Envelope { body: Some(body) }.encode_to_vec()
    }

    /// Reads a message from its bytes.
    ///
    /// Errors: it is none, or a value of it is beyond its range.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let envelope = Envelope::decode(bytes).map_err(|_| Malformed)?;
        Ok(match envelope.body.ok_or(Malformed)? {
            Body::Hello(Hello { version, node }) => Self::Hello {
                version,
                node: NodeId(node),
            },
            Body::Ping(Ping {}) => Self::Ping,
            Body::Ask(Ask { question, call, begins }) => {
                if !(1..=NAME_MAX).contains(&call.len()) {
                    return Err(Malformed);
                }
                let call = call.into();
                Self::Ask { question, call, begins }
            }
            Body::Answer(Answer { question, has }) => Self::Answer { question, has },
            Body::Pass(pass) => Self::Pass {
                request: RequestId(pass.request),
                passed: PassedRequest {
                    form: WireForm::try_from(pass.form).map_err(|_| Malformed)?.try_into()?,
                    from: address(&pass.from)?,
                    message: pass.message.into(),
                },
            },
            Body::Passed(passed) => Self::Passed {
                request: RequestId(passed.request),
                outcome: match WireOutcome::try_from(passed.outcome).map_err(|_| Malformed)? {
                    WireOutcome::None => return Err(Malformed),
                    WireOutcome::Reply => PassOutcome::Reply(passed.reply.into()),
                    WireOutcome::Unanswered => PassOutcome::Unanswered,
                    WireOutcome::Elsewhere => PassOutcome::Elsewhere,
                    WireOutcome::Full => PassOutcome::Full,
                },
            },
        })
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

fn address(octets: &[u8]) -> Result<Option<IpAddr>, Malformed> {
    if octets.is_empty() {
        return Ok(None);
    }
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    let address = v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from));
    address.map(Some).map_err(|_| Malformed)
}

impl From<Form> for WireForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Ng => WireForm::Ng,
            Form::NgPlain => WireForm::NgPlain,
            Form::Rtpproxy => WireForm::Rtpproxy,
            Form::RtpproxyPlain => WireForm::RtpproxyPlain,
        }
    }
}

impl TryFrom<WireForm> for Form {
    type Error = Malformed;

    fn try_from(form: WireForm) -> Result<Self, Malformed> {
        match form {
            WireForm::None => Err(Malformed),
            WireForm::Ng => Ok(Form::Ng),
            WireForm::NgPlain => Ok(Form::NgPlain),
            WireForm::Rtpproxy => Ok(Form::Rtpproxy),
            WireForm::RtpproxyPlain => Ok(Form::RtpproxyPlain),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct Envelope {
    #[prost(oneof = "Body", tags = "1, 2, 3, 4, 5, 6")]
    body: Option<Body>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Body {
    #[prost(message, tag = "1")]
    Hello(Hello),
    #[prost(message, tag = "2")]
    Ping(Ping),
    #[prost(message, tag = "3")]
    Ask(Ask),
    #[prost(message, tag = "4")]
    Answer(Answer),
    #[prost(message, tag = "5")]
    Pass(Pass),
    #[prost(message, tag = "6")]
    Passed(Passed),
}

#[derive(Clone, PartialEq, Message)]
struct Hello {
    #[prost(uint32, tag = "1")]
    version: u32,
    #[prost(fixed64, tag = "2")]
    node: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Ping {}

#[derive(Clone, PartialEq, Message)]
struct Ask {
    #[prost(uint64, tag = "1")]
    question: u64,
    #[prost(bytes = "vec", tag = "2")]
    call: Vec<u8>,
    #[prost(bool, tag = "3")]
    begins: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(uint64, tag = "1")]
    question: u64,
    #[prost(bool, tag = "2")]
    has: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Pass {
    #[prost(uint64, tag = "1")]
    request: u64,
    #[prost(enumeration = "WireForm", tag = "2")]
    form: i32,
    #[prost(bytes = "vec", tag = "3")]
    from: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    message: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Passed {
    #[prost(uint64, tag = "1")]
    request: u64,
    #[prost(enumeration = "WireOutcome", tag = "2")]
    outcome: i32,
    #[prost(bytes = "vec", tag = "3")]
    reply: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum WireForm {
    None = 0,
    Ng = 1,
    NgPlain = 2,
    Rtpproxy = 3,
    RtpproxyPlain = 4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum WireOutcome {
    None = 0,
    Reply = 1,
    Unanswered = 2,
    Elsewhere = 3,
    Full = 4,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_message_survives_the_way() {
        let passed = |form, from: Option<&str>| PassedRequest {
            form,
            from: from.map(|from| from.parse().unwrap()),
            message: b"1_1 d7:command4:pinge"[..].into(),
        };
        let outcome = |outcome| PeerMessage::Passed {
            request: RequestId(u64::MAX),
            outcome,
        };
        let pass = |passed| PeerMessage::Pass {
            request: RequestId(1),
            passed,
        };
        let messages = [
            PeerMessage::Hello {
                version: PEER_VERSION,
                node: NodeId(u64::MAX),
            },
            PeerMessage::Ping,
            PeerMessage::Ask {
                question: 7,
                call: vec![b'c'; NAME_MAX].into(),
                begins: true,
            },
            PeerMessage::Answer { question: 7, has: true },
            pass(passed(Form::Ng, Some("192.0.2.1"))),
            pass(passed(Form::NgPlain, None)),
            pass(passed(Form::Rtpproxy, Some("2001:db8::1"))),
            pass(passed(Form::RtpproxyPlain, None)),
            outcome(PassOutcome::Reply(b"1_1 pong"[..].into())),
            outcome(PassOutcome::Unanswered),
            outcome(PassOutcome::Elsewhere),
            outcome(PassOutcome::Full),
        ];
        for message in messages {
            assert_eq!(PeerMessage::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn values_beyond_their_range_are_refused() {
        let refused = [
            Body::Ask(Ask {
                call: Vec::new(),
                ..Ask::default()
            }),
            Body::Ask(Ask {
                call: vec![b'c'; NAME_MAX + 1],
                ..Ask::default()
            }),
            Body::Pass(Pass::default()),
            Body::Pass(Pass {
                form: 9,
                ..Pass::default()
            }),
            Body::Pass(Pass {
                form: 1,
                from: vec![1, 2, 3],
                ..Pass::default()
            }),
            Body::Passed(Passed::default()),
        ];
        for body in refused {
            let bytes = Envelope {
                body: Some(body.clone()),
            }
            .encode_to_vec();
            assert_eq!(PeerMessage::decode(&bytes), Err(Malformed), "{body:?}");
        }
        assert_eq!(PeerMessage::decode(b""), Err(Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_malformed(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(message) = PeerMessage::decode(&bytes) {
                prop_assert_eq!(PeerMessage::decode(&message.encode()), Ok(message));
            }
        }
    }
}

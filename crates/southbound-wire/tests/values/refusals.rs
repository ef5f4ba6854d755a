//! Each way in which a message can be no value, with its error.

use southbound::relay::RelayCommand;
use southbound::{Command, IceCredentials, Notice};
use southbound_wire::{Error, v1};

fn command(variant: v1::command::Command) -> Result<Command, Error> {
    v1::Command { command: Some(variant) }.try_into()
}

fn notice(variant: v1::notice::Notice) -> Result<Notice, Error> {
    v1::Notice { notice: Some(variant) }.try_into()
}

fn publication() -> v1::Publication {
    v1::Publication {
        kind: v1::MediaKind::Audio.into(),
        source: v1::TrackSource::Camera.into(),
        ..v1::Publication::default()
    }
}

fn publish(change: impl FnOnce(&mut v1::Publication)) -> Result<Command, Error> {
    let mut publication = publication();
    change(&mut publication);
    command(v1::command::Command::Publish(publication))
}

#[test]
fn a_command_of_an_unknown_kind_is_refused() {
    assert_eq!(
        Command::try_from(v1::Command::default()),
        Err(Error::Missing("Command.command"))
    );
    assert_eq!(
        Notice::try_from(v1::Notice::default()),
        Err(Error::Missing("Notice.notice"))
    );
}

#[test]
fn an_absent_field_is_named() {
    let connect = v1::command::Command::Connect(v1::Connect::default());
    assert_eq!(command(connect), Err(Error::Missing("Connect.remote")));
    let install = v1::RelayCommand {
        command: Some(v1::relay_command::Command::Install(v1::RelayEntry::default())),
    };
    assert_eq!(RelayCommand::try_from(install), Err(Error::Missing("RelayEntry.at")));
    let received = v1::notice::Notice::MessageReceived(v1::MessageReceived::default());
    assert_eq!(notice(received), Err(Error::Missing("MessageReceived.message")));
}

#[test]
fn an_unknown_value_of_an_enum_is_refused() {
    assert!(publish(|_| {}).is_ok());
    for value in [0, 3, -1] {
        let refused = publish(|publication| publication.kind = value);
        let field = "Publication.kind";
        assert_eq!(refused, Err(Error::UnknownValue { field, value }));
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    let format = |payload_type, rtx| {
        publish(|publication| {
            publication.formats.push(v1::PayloadFormat {
                payload_type,
                codec: v1::Codec::Opus.into(),
                rtx,
                nack: false,
            });
        })
    };
    let out_of_range = |field, value| Err(Error::OutOfRange { field, value });
    assert!(format(127, Some(0)).is_ok());
    assert_eq!(format(128, None), out_of_range("PayloadFormat.payload_type", 128));
    assert_eq!(format(0, Some(256)), out_of_range("PayloadFormat.rtx", 256));
    let rank = v1::command::Command::SetSpeakerRank(v1::SetSpeakerRank {
        track: 1,
        rank: Some(256),
    });
    assert_eq!(command(rank), out_of_range("SetSpeakerRank.rank", 256));
    let port = v1::RelayCommand {
        command: Some(v1::relay_command::Command::Open(v1::SocketAddress {
            octets: vec![127, 0, 0, 1],
            port: 65_536,
            ..v1::SocketAddress::default()
        })),
    };
    let refused = RelayCommand::try_from(port);
    assert_eq!(
        refused,
        Err(Error::OutOfRange {
            field: "SocketAddress.port",
            value: 65_536
        })
    );
    let quality = |uplink_loss, nanos| {
        notice(v1::notice::Notice::Quality(v1::Quality {
            uplink_loss,
            jitter: Some(v1::Duration {
                seconds: u64::MAX,
                nanos,
            }),
            ..v1::Quality::default()
        }))
    };
    assert!(quality(1.0, 999_999_999).is_ok());
    for loss in [f32::NAN, f32::INFINITY, -0.1, 1.1] {
        assert_eq!(quality(loss, 0), Err(Error::NoFraction("Quality.uplink_loss")));
    }
    let refused = quality(0.0, 1_000_000_000);
    assert_eq!(
        refused,
        Err(Error::OutOfRange {
            field: "Duration.nanos",
            value: 1_000_000_000
        })
    );
}

#[test]
fn texts_and_bytes_of_a_wrong_length_are_refused() {
    let credentials = |ufrag: &str, password: &str| {
        IceCredentials::try_from(v1::IceCredentials {
            ufrag: ufrag.to_owned(),
            password: password.to_owned(),
        })
    };
    let length = |field, len| Err(Error::Length { field, len });
    let password = &"p".repeat(22);
    assert!(credentials("abcd", password).is_ok());
    assert_eq!(credentials("abc", password), length("IceCredentials.ufrag", 3));
    assert_eq!(
        credentials("abcd", &"p".repeat(257)),
        length("IceCredentials.password", 257)
    );
    assert_eq!(
        credentials("abc\n", password),
        Err(Error::Characters("IceCredentials.ufrag"))
    );
    let mid = |mid: &str| publish(|publication| publication.mid = Some(mid.to_owned())).map(drop);
    assert_eq!(
        mid(""),
        Err(Error::Length {
            field: "Publication.mid",
            len: 0
        })
    );
    assert_eq!(
        mid(&"m".repeat(65)),
        Err(Error::Length {
            field: "Publication.mid",
            len: 65
        })
    );
    assert_eq!(mid("a b"), Err(Error::Characters("Publication.mid")));
    let address = v1::IpAddress { octets: vec![1; 5] };
    let refused = std::net::IpAddr::try_from(address);
    assert_eq!(
        refused,
        Err(Error::Length {
            field: "IpAddress.octets",
            len: 5
        })
    );
    let fingerprint = southbound::Fingerprint::try_from(v1::Fingerprint {
        hash: v1::HashFunction::Sha256.into(),
        digest: vec![0; 20],
    });
    assert_eq!(
        fingerprint,
        Err(Error::Length {
            field: "Fingerprint.digest",
            len: 20
        })
    );
}

#[test]
fn keys_have_the_lengths_of_their_profile_and_one_level() {
    let key = v1::MasterKey {
        profile: v1::SrtpProfile::AeadAes128Gcm.into(),
        key: vec![1; 16],
        salt: vec![2; 12],
        ..v1::MasterKey::default()
    };
    let read = |key: v1::MasterKey| wire::srtp::MasterKey::try_from(key).map(drop);
    let with = |change: fn(&mut v1::MasterKey)| {
        let mut key = key.clone();
        change(&mut key);
        read(key)
    };
    assert_eq!(read(key.clone()), Ok(()));
    assert_eq!(
        with(|key| key.key.push(0)),
        Err(Error::Length {
            field: "MasterKey.key",
            len: 17
        })
    );
    assert_eq!(
        with(|key| key.salt.push(0)),
        Err(Error::Length {
            field: "MasterKey.salt",
            len: 13
        })
    );
    let refused = with(|key| key.mki = Some(v1::KeyIdentifier { value: 256, len: 1 }));
    assert_eq!(
        refused,
        Err(Error::OutOfRange {
            field: "KeyIdentifier.len",
            value: 1
        })
    );
    let child = v1::MasterKey {
        others: vec![key.clone()],
        ..key.clone()
    };
    let grandchild = v1::MasterKey {
        others: vec![child.clone()],
        ..key.clone()
    };
    assert_eq!((read(child), read(grandchild)), (Ok(()), Err(Error::NestedKeys)));
}

#[test]
fn a_direct_transport_has_two_addresses_and_two_keys_or_none() {
    let address = |port| {
        Some(v1::SocketAddress {
            octets: vec![192, 0, 2, 1],
            port,
            ..v1::SocketAddress::default()
        })
    };
    let open = |change: fn(&mut v1::OpenDirect)| {
        let mut open = v1::OpenDirect {
            local: address(7_882),
            remote: address(7_883),
            ..v1::OpenDirect::default()
        };
        change(&mut open);
        command(v1::command::Command::OpenDirect(open)).map(drop)
    };
    assert_eq!(open(|_| {}), Ok(()));
    assert_eq!(open(|open| open.local = None), Err(Error::Missing("OpenDirect.local")));
    assert_eq!(
        open(|open| open.remote = None),
        Err(Error::Missing("OpenDirect.remote"))
    );
    let no_keys = open(|open| open.keys = Some(v1::DirectKeys::default()));
    assert_eq!(no_keys, Err(Error::Missing("DirectKeys.ingress")));
}

#[test]
fn header_extensions_that_contradict_each_other_are_refused() {
    let extension = |kind: v1::ExtensionKind, id| v1::Extension { kind: kind.into(), id };
    let remote = |extensions_in| {
        southbound::RemoteTransport::try_from(v1::RemoteTransport {
            credentials: Some(v1::IceCredentials {
                ufrag: "abcd".to_owned(),
                password: "p".repeat(22),
            }),
            dtls: v1::DtlsRole::Client.into(),
            extensions_in,
            ..v1::RemoteTransport::default()
        })
    };
    let mid = extension(v1::ExtensionKind::Mid, 4);
    assert!(remote(vec![mid, mid]).is_ok());
    let contradiction = remote(vec![mid, extension(v1::ExtensionKind::Rid, 4)]);
    let taken = wire::ExtensionMapError::IdTaken(wire::ExtensionKind::Mid);
    assert_eq!(contradiction, Err(Error::Extension(taken)));
}

#[test]
fn versions_that_end_before_they_begin_are_refused() {
    let hello = v1::ControllerHello {
        versions: Some(v1::Versions { oldest: 2, newest: 1 }),
        controller: 1,
    };
    let field = "Versions.newest";
    assert_eq!(
        southbound::ControllerHello::try_from(hello),
        Err(Error::OutOfRange { field, value: 1 })
    );
}

#[test]
fn a_room_with_a_long_name_is_refused() {
    let message = |len| v1::RoomMessage {
        room: "x".repeat(len),
        content: Some(v1::room_message::Content::Claim(v1::Claim {})),
        ..v1::RoomMessage::default()
    };
    let (longest, longer) = (message(1024), message(1025));
    assert!(southbound::RoomMessage::try_from(longest).is_ok());
    let refused = southbound::RoomMessage::try_from(longer);
    let field = "RoomMessage.room";
    assert_eq!(refused, Err(Error::Length { field, len: 1025 }));
}

#[test]
fn a_controller_has_24_bits() {
    let hello = |controller| {
        southbound::ControllerHello::try_from(v1::ControllerHello {
            versions: Some(v1::Versions { oldest: 1, newest: 1 }),
            controller,
        })
    };
    assert!(hello(0xff_ffff).is_ok());
    let field = "ControllerHello.controller";
    assert_eq!(
        hello(0x100_0000),
        Err(Error::OutOfRange {
            field,
            value: 0x100_0000
        })
    );
}

#[test]
fn a_long_part_is_refused() {
    let save = |name: usize, len: usize| {
        let message = v1::RoomMessage {
            content: Some(v1::room_message::Content::Save(v1::Save {
                part: "x".repeat(name),
                blob: vec![0; len].into(),
            })),
            ..v1::RoomMessage::default()
        };
        southbound::RoomMessage::try_from(message).map(drop)
    };
    let length = |field, len| Err(Error::Length { field, len });
    assert_eq!(save(256, 1 << 20), Ok(()));
    assert_eq!(save(257, 0), length("Save.part", 257));
    assert_eq!(save(0, (1 << 20) + 1), length("Save.blob", (1 << 20) + 1));
}

#[test]
fn secrets_are_not_printed() {
    let key = v1::MasterKey {
        key: vec![77; 16],
        ..v1::MasterKey::default()
    };
    let credentials = v1::IceCredentials {
        ufrag: "abcd".to_owned(),
        password: "a secret".to_owned(),
    };
    let printed = format!("{key:?} {credentials:?}");
    assert!(!printed.contains("77") && !printed.contains("secret"), "{printed}");
}

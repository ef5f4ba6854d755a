//! One published track, from its announcement to its end.

mod codec_version;
pub(crate) mod demand;
mod layers;
mod publication_media;
mod quality_limit;

use access::TrackSource;
use environment::Random;
use southbound::{TrackId, TransportId};
use wire::{Codec, MediaKind};

pub(crate) use self::codec_version::Version;
use self::demand::LastSent;
use self::layers::{by_quality, layer_mode, name_layers};
pub(crate) use self::publication_media::PublicationMedia;
pub(crate) use self::quality_limit::Limit;
use crate::ids::Ids;
use crate::negotiation::codecs::is_g711;
use crate::negotiation::{AudioWish, Section};
use crate::{
    AddTrack, AudioFeature, BackupCodecPolicy, CodecInfo, CodecRequest, DisabledCodecs, LayerMode, TrackInfo,
    VideoLayer,
};

/// One published track.
pub(crate) struct Track {
    pub(crate) id: TrackId,
    pub(crate) kind: MediaKind,
    /// The track as clients are told of it.
    pub(crate) info: TrackInfo,
    /// The client's name for it.
    pub(crate) cid: String,
    /// Its media, once a media section is found for it: from then on others can have it.
    pub(crate) media: Option<PublicationMedia>,
    /// A second codec it may arrive in.
    pub(crate) backup: Option<Backup>,
    /// Its publisher has been told that somebody receives it.
    pub(crate) subscribed: bool,
    /// How much of it is wanted, as its publisher was told.
    pub(crate) demand: LastSent,
}

/// The same picture or sound in a second codec, for receivers that cannot decode the first. Its
/// publisher sends it once it is asked to.
pub(crate) struct Backup {
    pub(crate) id: TrackId,
    pub(crate) codec: Codec,
    /// The client's name for it; `None` until it is announced.
    pub(crate) cid: Option<String>,
    pub(crate) media: Option<PublicationMedia>,
}

/// A track, in one codec, that is announced and has not arrived.
pub(crate) struct Expected<'a> {
    pub(crate) id: TrackId,
    names: [Option<&'a str>; 2],
    pub(crate) codec: Option<Codec>,
}

impl Expected<'_> {
    /// Whether the browser knows it by this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        !name.is_empty() && self.names.contains(&Some(name))
    }
}

impl Track {
    pub(crate) fn announced(
        kind: MediaKind,
        request: &AddTrack,
        disabled: DisabledCodecs,
        ids: &mut Ids,
        random: &mut Random,
    ) -> Self {
        let mut info = TrackInfo {
            sid: sid(random, kind, request.source),
            kind,
            name: request.name.clone(),
            muted: request.muted,
            width: request.width,
            height: request.height,
            disable_dtx: request.disable_dtx,
            source: request.source,
            layers: by_quality(&request.layers),
            stereo: request.stereo,
            disable_red: request.disable_red || kind == MediaKind::Video,
            encryption: request.encryption,
            stream: stream(request),
            audio_features: audio_features(request),
            backup_codec_policy: match (kind, request.backup_codec_policy) {
                (MediaKind::Audio, BackupCodecPolicy::PreferRegression) => BackupCodecPolicy::Simulcast,
                (_, policy) => policy,
            },
            packet_trailer_features: request.packet_trailer_features.clone(),
            simulcast: false,
            mime_type: String::new(),
            mid: String::new(),
            codecs: Vec::new(),
        };
        let (codec, second) = wanted_codecs(kind, request, disabled);
        info.mime_type = mime_type(codec);
        info.codecs = vec![codec_info(request, codec)];
        info.codecs.extend(second.map(|codec| CodecInfo {
            mime_type: mime_type(codec),
            video_layer_mode: layer_mode(request, Some(codec)),
            ..CodecInfo::default()
        }));
        let first = &info.codecs[0];
        let is_scalable = first.video_layer_mode == LayerMode::MultipleSpatialLayersPerStream;
        info.simulcast = !request.codecs.is_empty() && !is_scalable && first.layers.len() > 1;
        Self {
            id: ids.track(),
            kind,
            info,
            cid: request.cid.clone(),
            media: None,
            backup: second.map(|codec| Backup {
                id: ids.track(),
                codec,
                cid: None,
                media: None,
            }),
            subscribed: false,
            demand: LastSent::default(),
        }
    }

    pub(crate) fn sid(&self) -> &str {
        &self.info.sid
    }

    /// The codec the publisher asked for.
    pub(crate) fn codec(&self) -> Option<Codec> {
        self.info
            .mime_type
            .split_once('/')
            .and_then(|(_, name)| Codec::from_name(name))
    }

    pub(crate) fn audio_wish(&self) -> AudioWish {
        let has = |feature| self.info.audio_features.contains(&feature);
        AudioWish {
            dtx: !self.info.disable_dtx && !has(AudioFeature::NoDtx),
            stereo: self.info.stereo || has(AudioFeature::Stereo),
            red: !self.info.disable_red,
        }
    }

    /// Which of its codecs the agent knows by this name.
    pub(crate) fn version(&self, id: TrackId) -> Option<Version> {
        match &self.backup {
            _ if self.id == id => Some(Version::Primary),
            Some(backup) if backup.id == id => Some(Version::Backup),
            _ => None,
        }
    }

    pub(crate) fn media_in(&self, version: Version) -> Option<&PublicationMedia> {
        match version {
            Version::Primary => self.media.as_ref(),
            Version::Backup => self.backup.as_ref()?.media.as_ref(),
        }
    }

    /// In every codec it arrives in.
    pub(crate) fn all_media(&self) -> impl Iterator<Item = &PublicationMedia> {
        let versions = [Version::Primary, Version::Backup].into_iter();
        versions.filter_map(|version| self.media_in(version))
    }

    /// The agent's names for it.
    pub(crate) fn ids(&self) -> impl Iterator<Item = TrackId> + use<> {
        let backup = self.backup.as_ref().map(|backup| backup.id);
        [Some(self.id), backup].into_iter().flatten()
    }

    /// The codecs that are announced and have not arrived, with the browser's names for them.
    pub(crate) fn expected(&self) -> impl Iterator<Item = Expected<'_>> {
        let primary = self.media.is_none().then(|| Expected {
            id: self.id,
            names: [
                Some(self.cid.as_str()),
                self.info.codecs.first().map(|codec| codec.cid.as_str()),
            ],
            codec: self.codec(),
        });
        let backup = self.backup.as_ref().filter(|backup| backup.media.is_none());
        let backup = backup.and_then(|backup| {
            Some(Expected {
                id: backup.id,
                names: [Some(backup.cid.as_deref()?), None],
                codec: Some(backup.codec),
            })
        });
        [primary, backup].into_iter().flatten()
    }

    /// The browser's names for the codecs of it that have arrived.
    pub(crate) fn arrived_names(&self) -> impl Iterator<Item = &str> {
        let primary = self.media.as_ref().map(|_| self.cid.as_str());
        let second = self.backup.as_ref().filter(|backup| backup.media.is_some());
        let second = second.and_then(|backup| backup.cid.as_deref());
        [primary, second].into_iter().flatten()
    }

    /// Its publisher announces the second codec, as it was asked to.
    pub(crate) fn announce_backup(&mut self, request: &AddTrack) {
        let Some(backup) = &mut self.backup else { return };
        backup.cid = Some(request.cid.clone());
        if let Some(info) = self.info.codecs.get_mut(1) {
            info.cid.clone_from(&request.cid);
            let said = request.codecs.first().map(|said| &said.layers);
            info.layers = by_quality(said.filter(|layers| !layers.is_empty()).unwrap_or(&request.layers));
        }
    }

    /// The track arrives on this media section, or arrives there differently. Returns whether
    /// anything has changed.
    pub(crate) fn arrive(&mut self, version: Version, transport: TransportId, section: &Section) -> bool {
        let layers = match version {
            Version::Primary => &self.info.layers,
            Version::Backup => self.info.codecs.get(1).map_or(&self.info.layers, |codec| &codec.layers),
        };
        let media = match (version, &self.backup) {
            (Version::Primary, _) => PublicationMedia::new(self.id, &self.info, layers, transport, section),
            (Version::Backup, Some(backup)) => PublicationMedia::new(backup.id, &self.info, layers, transport, section),
            (Version::Backup, None) => return false,
        };
        self.describe(version, &media);
        let place = match (version, &mut self.backup) {
            (Version::Backup, Some(backup)) => &mut backup.media,
            _ => &mut self.media,
        };
        let before = place.replace(media);
        before != *place
    }

    /// Says in what clients are told of the track how it arrives.
    fn describe(&mut self, version: Version, media: &PublicationMedia) {
        let mid = media.mid.to_string();
        let mime = media
            .codec()
            .filter(|codec| codec.kind() == MediaKind::Video || is_g711(*codec))
            .map(mime_type);
        if version == Version::Primary {
            self.info.mid.clone_from(&mid);
            self.info.simulcast = media.publication.encodings.len() > 1;
            if let Some(mime) = &mime {
                self.info.mime_type.clone_from(mime);
            }
        }
        if version == Version::Primary {
            name_layers(&mut self.info.layers, media);
        }
        if let Some(codec) = self.info.codecs.get_mut(version as usize) {
            name_layers(&mut codec.layers, media);
            codec.mid = mid;
            codec.mime_type = mime.unwrap_or_else(|| self.info.mime_type.clone());
        }
    }

    /// Its publisher changed the sizes of its encodings.
    pub(crate) fn set_layers(&mut self, layers: &[VideoLayer]) {
        self.info.layers = by_quality(layers);
        if let Some(media) = &self.media {
            name_layers(&mut self.info.layers, media);
        }
        if let Some(codec) = self.info.codecs.first_mut() {
            codec.layers.clone_from(&self.info.layers);
        }
    }

    /// Its publisher muted it or unmuted it.
    pub(crate) fn mute(&mut self, muted: bool) {
        self.info.muted = muted;
        let backup = self.backup.as_mut().and_then(|backup| backup.media.as_mut());
        for media in self.media.iter_mut().chain(backup) {
            media.publication.muted = muted;
        }
    }
}

/// `TR_`, a letter for the kind, one for the source, and the usual rest.
fn sid(random: &mut Random, kind: MediaKind, source: TrackSource) -> String {
    let kind = match kind {
        MediaKind::Audio => 'A',
        MediaKind::Video => 'V',
    };
    let source = match source {
        TrackSource::Camera => "C",
        TrackSource::Microphone => "M",
        TrackSource::ScreenShare => "S",
        TrackSource::ScreenShareAudio => "s",
        TrackSource::Unknown => "",
    };
    random.sid(&format!("TR_{kind}{source}"))
}

/// Tracks of one stream are played in step. Screen and camera are not of one clock, so they are two
/// streams.
fn stream(request: &AddTrack) -> String {
    match request.source {
        _ if !request.stream.is_empty() => request.stream.clone(),
        TrackSource::ScreenShare | TrackSource::ScreenShareAudio => "screen".to_owned(),
        _ => "camera".to_owned(),
    }
}

/// The codecs of the request that we take, and the usual one for one that the client's device
/// handles badly; the client follows what it is answered.
fn wanted_codecs(kind: MediaKind, request: &AddTrack, disabled: DisabledCodecs) -> (Codec, Option<Codec>) {
    let usual = match kind {
        MediaKind::Audio => Codec::Opus,
        MediaKind::Video => Codec::Vp8,
    };
    let named = request.codecs.iter().filter_map(|said| named_codec(kind, said));
    let mut named = named.map(|codec| if disabled.may_publish(codec) { codec } else { usual });
    let first = named.next().unwrap_or(usual);
    (first, named.find(|codec| *codec != first))
}

/// The codec of a request's entry, if it is one we take.
pub(crate) fn named_codec(kind: MediaKind, said: &CodecRequest) -> Option<Codec> {
    let taken: &[Codec] = match kind {
        MediaKind::Audio => &[Codec::Opus, Codec::Pcmu, Codec::Pcma],
        MediaKind::Video => &[Codec::Vp8, Codec::Vp9, Codec::H264, Codec::Av1, Codec::H265],
    };
    let name = said.codec.rsplit('/').next().unwrap_or_default();
    Codec::from_name(name).filter(|codec| taken.contains(codec))
}

fn mime_type(codec: Codec) -> String {
    format!("{}/{codec}", codec.kind())
}

fn codec_info(request: &AddTrack, codec: Codec) -> CodecInfo {
    let said = request.codecs.first();
    CodecInfo {
        mime_type: mime_type(codec),
        cid: said.map_or_else(|| request.cid.clone(), |said| said.cid.clone()),
        layers: by_quality(
            said.map(|said| &said.layers)
                .filter(|layers| !layers.is_empty())
                .unwrap_or(&request.layers),
        ),
        video_layer_mode: layer_mode(request, said.map(|_| codec)),
        mid: String::new(),
    }
}

/// Each feature once, with those that the request states otherwise.
fn audio_features(request: &AddTrack) -> Vec<AudioFeature> {
    let stated = [
        request.stereo.then_some(AudioFeature::Stereo),
        request.disable_dtx.then_some(AudioFeature::NoDtx),
    ];
    let mut features = Vec::new();
    for feature in request
        .audio_features
        .iter()
        .copied()
        .chain(stated.into_iter().flatten())
    {
        if !features.contains(&feature) {
            features.push(feature);
        }
    }
    features
}

// Generated from crates/operator; do not edit. To generate it again:
// OPERATOR_TYPES=write cargo test -p operator

/** The receivers that a token gives access to. */
export type Receivers = {
/** By room and identity. */
receivers: Array<Receiver>,
/** Whether there are more receivers than the answer holds. */
truncated: boolean, };

/** The server's estimate of one participant's downlink, and its decisions. */
export type Receiver = {
/** The name of its room. */
room: string,
/** Its identity there. */
identity: string,
/** `null` where nothing is measured: it gets sound only, reports nothing, or adaptation is off. */
downlink: Downlink | null,
/** The playout delay that it is told because it loses packets; 0 for none. */
playout_delay_ms: number,
/** The tracks that it gets. */
subscriptions: Array<Subscription>, };

/** Estimate and budget of one downlink. */
export type Downlink = {
/** The estimated capacity. */
target_bps: number,
/** The rate that may be sent now: less than the target while a queue drains. This rate is
    divided. */
sendable_bps: number,
/** The rate that arrives, where the receiver reports it. */
acknowledged_bps: number | null,
/** The rate of everything granted. */
allocated_bps: number,
/** The rate of everything wanted. */
wanted_bps: number,
/** The pace of packets; `null` for none. */
pace_bps: number | null,
/** The reason that the estimate is not higher. */
limit: Limit,
/** The use of the path, as seen from delay. */
usage: Usage,
/** The part of the packets that is lost, 0 to 1. */
loss: number,
/** To the receiver and back, where it is measured. */
round_trip_ms: number | null,
/** The delay in the queue of the path. */
queue_ms: number,
/** Whether less is sent than the path carries. */
application_limited: boolean,
/** Whether the receiver reports. */
reports: boolean,
/** The probes that were sent so far. */
probes: number, };

/** The reason that an estimate is not higher. */
export type Limit = "start" | "delay" | "loss" | "remb" | "silence";

/** The use of a path, as seen from delay. */
export type Usage = "normal" | "over" | "under";

/** One track that a receiver gets. */
export type Subscription = {
/** The id of the track. */
track: string,
/** The identity of its publisher. */
publisher: string,
/** Audio or video. */
kind: MediaKind,
/** `camera`, `microphone`, `screen_share` or `screen_share_audio`, as the publisher says. */
source: string,
/** `sent`, or the reason that it is not. */
state: SubscriptionState,
/** The receiver's settings. */
wanted: Settings,
/** Its publisher's rank among the speakers; `null` for a silent one. */
speaker: number | null,
/** The layer that it is granted. */
granted: Target | null,
/** The layer that it is sent. */
current: Target | null,
/** Whether it waits for a key frame. */
awaits_key_frame: boolean,
/** The layers that arrive at the server, the lowest first. */
arrives: Array<Layer>, };

/** Audio or video. */
export type MediaKind = "audio" | "video";

/** Whether a subscription is sent, and the reason if it is not. */
export type SubscriptionState = "sent" | "undecided" | "no_room" | "left_out" | "held" | "disabled";

/** A receiver's settings of a subscription; `null` for no limit. */
export type Settings = {
/** The width it is shown at, in pixels; `null` where that is not known. */
width: number | null,
/** The height it is shown at. */
height: number | null,
/** The most frames per second. */
fps: number | null,
/** Its priority among the receiver's subscriptions; the highest is served first. */
priority: number,
/** The best encoding. */
encoding_max: number | null,
/** The highest spatial layer. */
spatial_max: number | null, };

/** An encoding and the highest layer of it; `null` where nothing limits the layer. */
export type Target = {
/** In rising quality from 0. */
encoding: number,
/** The highest spatial layer. */
spatial: number | null,
/** The highest temporal layer. */
temporal: number | null, };

/** One layer that arrives at the server; 0 where a number is not known. */
export type Layer = {
/** The rate of its own packets. */
rate_bps: number,
/** In pixels. */
width: number,
/** In pixels. */
height: number,
/** Frames per second. */
fps: number,
/** In rising quality from 0. */
encoding: number,
/** The highest spatial layer. */
spatial: number | null,
/** The highest temporal layer. */
temporal: number | null, };

/** The observations of one participant, the oldest first. */
export type Timeline = {
/** The name of the room. */
room: string,
/** The identity of the participant. */
participant: string,
/** Whether the participant has left. */
has_left: boolean,
/** How many observations were overwritten by newer ones, since the timeline began. */
overwritten: number,
/** The observations, as many as there are. */
entries: Array<TimelineEntry>, };

/** One observation with its time. */
export type TimelineEntry = {
/** When. Shape: milliseconds since the Unix epoch. */
at_ms: number,
/** The track that it is about; `null` for one about the participant itself. */
track: TimelineTrack | null, } & ({ "observation": "join" } | { "observation": "leave",
/** The reason that the session ended. */
reason: LeaveReason, } | { "observation": "reconnect" } | { "observation": "detach" } | { "observation": "permission",
/** Publish tracks of its own. */
publish: boolean,
/** Subscribe to tracks of others. */
subscribe: boolean,
/** Send data to others. */
data: boolean, } | { "observation": "publish" } | { "observation": "unpublish" } | { "observation": "mute",
/** Whether it is muted now. */
muted: boolean, } | { "observation": "arrival",
/** Bit `i` is set while encoding `i` arrives, in rising quality from 0. */
encodings: number, } | { "observation": "subscribe" } | { "observation": "unsubscribe" } | { "observation": "pause",
/** Whether nothing of it is sent now. */
paused: boolean, } | { "observation": "layer_switch",
/** The layer before; `null` for the first. */
from: Target | null,
/** The layer now. */
to: Target,
/** The reason of the switch. */
cause: SwitchCause, } | { "observation": "estimate",
/** The estimated capacity of the downlink. */
target_bps: number,
/** The rate of everything granted. */
allocated_bps: number,
/** The rate of everything wanted. */
wanted_bps: number,
/** The reason that the estimate is not higher. */
limit: Limit,
/** The use of the path, as seen from delay. */
usage: Usage,
/** The part of the packets that is lost, in thousandths. */
loss_permille: number,
/** To the receiver and back, where it is measured. */
round_trip_ms: number | null,
/** The delay in the queue of the path. */
queue_ms: number, } | { "observation": "probe",
/** The rate of the burst. */
rate_bps: number,
/** The least number of its bytes. */
bytes: number, } | { "observation": "loss",
/** The way they were lost on. */
direction: Direction,
/** The packets that were expected. */
expected: number,
/** Those of them that did not arrive, before repair. */
lost: number, } | { "observation": "key_frame_request" } | { "observation": "key_frame_query",
/** How often it has asked without a use for a receiver, this time included. */
attempt: number, } | { "observation": "transport",
/** The transport that media arrives on from the participant, or that it is sent on. */
direction: Direction,
/** The state now. */
state: TransportState, } | { "observation": "path",
/** As the server sees it. */
remote: string,
/** Whether it is a connection over TCP. */
protocol: PathProtocol, } | { "observation": "restart" } | { "observation": "move" } | { "observation": "refusal" });

/** The track of an observation. */
export type TimelineTrack = {
/** The id of the track. */
id: string,
/** The identity of its publisher. In a request for a key frame of the participant's own track:
    of the receiver. */
peer: string,
/** Whether it is audio or video. */
kind: MediaKind,
/** The source, as the publisher says. */
source: TrackSource, };

/** The source of a track, as its publisher says. */
export type TrackSource = "unknown" | "camera" | "microphone" | "screen_share" | "screen_share_audio";

/** One thing that happened to a participant. Rates are in bits per second of UDP payload, and
    [`u32::MAX`] stands for higher ones. */
export type Observation = { "observation": "join" } | { "observation": "leave",
/** The reason that the session ended. */
reason: LeaveReason, } | { "observation": "reconnect" } | { "observation": "detach" } | { "observation": "permission",
/** Publish tracks of its own. */
publish: boolean,
/** Subscribe to tracks of others. */
subscribe: boolean,
/** Send data to others. */
data: boolean, } | { "observation": "publish" } | { "observation": "unpublish" } | { "observation": "mute",
/** Whether it is muted now. */
muted: boolean, } | { "observation": "arrival",
/** Bit `i` is set while encoding `i` arrives, in rising quality from 0. */
encodings: number, } | { "observation": "subscribe" } | { "observation": "unsubscribe" } | { "observation": "pause",
/** Whether nothing of it is sent now. */
paused: boolean, } | { "observation": "layer_switch",
/** The layer before; `null` for the first. */
from: Target | null,
/** The layer now. */
to: Target,
/** The reason of the switch. */
cause: SwitchCause, } | { "observation": "estimate",
/** The estimated capacity of the downlink. */
target_bps: number,
/** The rate of everything granted. */
allocated_bps: number,
/** The rate of everything wanted. */
wanted_bps: number,
/** The reason that the estimate is not higher. */
limit: Limit,
/** The use of the path, as seen from delay. */
usage: Usage,
/** The part of the packets that is lost, in thousandths. */
loss_permille: number,
/** To the receiver and back, where it is measured. */
round_trip_ms: number | null,
/** The delay in the queue of the path. */
queue_ms: number, } | { "observation": "probe",
/** The rate of the burst. */
rate_bps: number,
/** The least number of its bytes. */
bytes: number, } | { "observation": "loss",
/** The way they were lost on. */
direction: Direction,
/** The packets that were expected. */
expected: number,
/** Those of them that did not arrive, before repair. */
lost: number, } | { "observation": "key_frame_request" } | { "observation": "key_frame_query",
/** How often it has asked without a use for a receiver, this time included. */
attempt: number, } | { "observation": "transport",
/** The transport that media arrives on from the participant, or that it is sent on. */
direction: Direction,
/** The state now. */
state: TransportState, } | { "observation": "path",
/** As the server sees it. */
remote: string,
/** Whether it is a connection over TCP. */
protocol: PathProtocol, } | { "observation": "restart" } | { "observation": "move" } | { "observation": "refusal" };

/** Why a participant left. */
export type LeaveReason = "client_initiated" | "duplicate_identity" | "server_shutdown" | "participant_removed" | "room_deleted" | "state_mismatch" | "join_failure" | "migration" | "signal_close" | "connection_timeout" | "media_failure";

/** Why a receiver is sent another layer. */
export type SwitchCause = "start" | "downlink" | "request" | "publisher";

/** A way between the server and a participant. */
export type Direction = "uplink" | "downlink";

/** The protocol of an ICE pair. */
export type PathProtocol = "udp" | "tcp";

/** The state of a transport. */
export type TransportState = "connected" | "disconnected" | "never_connected" | "consent_expired" | "handshake" | "fingerprint" | "peer";

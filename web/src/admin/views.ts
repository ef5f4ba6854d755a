// Generated from crates/operator; do not edit. To generate it again:
// OPERATOR_TYPES=write cargo test -p operator

import type { MediaKind, TrackSource } from "../operator";

/** A part of the rooms that a token gives access to. */
export type RoomPage = {
/** The rooms of this page, in the requested order. */
rooms: Array<RoomSummary>,
/** The number of rooms on all pages. */
total: number, };

/** One room without the texts of its application. */
export type RoomSummary = {
/** The name, by which clients join it. */
name: string,
/** The number of participants, with agents and recorders. */
participants: number,
/** The number of participants that publish. */
publishers: number,
/** When it was created. Shape: milliseconds since the Unix epoch. */
created_at_ms: number, };

/** The order of rooms. */
export type RoomOrder = "name" | "participants" | "created";

/** A part of the participants that a token gives access to. */
export type ParticipantPage = {
/** The participants of this page, by room and identity. */
participants: Array<ParticipantSummary>,
/** The number of participants on all pages. */
total: number, };

/** One participant without the texts of its application. */
export type ParticipantSummary = {
/** The name of its room. */
room: string,
/** The identity, of which there is one in a room. */
identity: string,
/** Its display name; may be empty. */
name: string,
/** Whether its media is connected. */
is_connected: boolean,
/** When it joined. Shape: milliseconds since the Unix epoch. */
joined_at_ms: number,
/** The tracks that it publishes. */
tracks: Array<PublishedTrack>, };

/** One track, as its publisher announced it. */
export type PublishedTrack = {
/** The id that clients and the server API know the track by. */
id: string,
/** The kind of its media. */
kind: MediaKind,
/** The source, as the publisher says. */
source: TrackSource,
/** Whether its publisher sends nothing now. */
is_muted: boolean, };

/** The bearer of a token, as far as operators' views and actions are concerned. */
export type Bearer = {
/** The token's identity; may be empty. */
identity: string,
/** The API key that signed the token. */
api_key: string,
/** The room that the token gives access to; `null` for all rooms of the key. */
room: string | null,
/** Whether it may close rooms. */
may_close: boolean,
/** Whether it may remove participants and mute their tracks. */
may_moderate: boolean, };

/** The newest actions of administrators, the newest first. */
export type AuditLog = {
/** As many as the controller keeps. */
entries: Array<AuditEntry>, };

/** One action of an administrator. */
export type AuditEntry = {
/** When. Shape: milliseconds since the Unix epoch. */
at_ms: number,
/** The identity in the administrator's token; may be empty. */
identity: string,
/** The API key that signed the token. */
api_key: string,
/** The kind of the action. */
action: AuditAction,
/** The name of the room. */
room: string,
/** The identity of the participant; `null` for an action on the room. */
participant: string | null,
/** The id of the track; `null` for an action on a participant or a room. */
track: string | null,
/** Why it was not done; `null` if it was. */
error: string | null, };

/** The kind of an action. */
export type AuditAction = "close_room" | "remove_participant" | "mute" | "unmute";

/** The parts of a data plane, and the number of its entries at each place. */
export type PlacesOverview = {
/** The parts, in the order of `weir inspect`. */
parts: Array<PartState>,
/** The entries, by table and place. */
entries: Array<EntryCount>, };

/** A part of a data plane. */
export type PartState = {
/** `relays`, `rooms`, `switch` or the name of another part, as `weir inspect` shows it. */
name: string,
/** How it stands, in words. */
state: string, };

/** The entries of one table at one place. */
export type EntryCount = {
/** `relay`, `leg`, `stream` or `replica`. */
table: string,
/** The place, and why the entries are not elsewhere: as `weir inspect` shows it. */
place: string,
/** The number of entries. */
count: number, };

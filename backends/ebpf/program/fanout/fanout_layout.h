// The tables and records that the fan-out program and userspace share. This is the one definition:
// the build generates the Rust types from it.
//
// An entry is never changed while the program can see it. A changed entry is written to another
// place, and then the word that names the place is updated.
#pragma once
#include <linux/types.h>

// Incremented when the same values get another meaning, so that no agent adopts the tables of an
// incompatible version. A change of the layout itself is detected without it.
#define FANOUT_LAYOUT 1

#define FANOUT_LEGS 4096 // pairs of addresses
#define FANOUT_STREAMS 1024 // and as many places more, for those that change
#define FANOUT_STREAM_ENTRIES 2048
#define FANOUT_REPLICAS 16384 // likewise
#define FANOUT_REPLICA_ENTRIES 32768
#define FANOUT_COPIES 192 // of one stream: one packet's copies must fit into a veth's ring of 256
#define FANOUT_ROWS 6 // of so many
#define FANOUT_FORMATS 8 // payload types of one stream
#define FANOUT_DEPARTURES 448 // copies of one packet that are logged: each once, and of probes some more
#define FANOUT_PROBED 32768 // marks the leg of a copy that is part of a probe
#define FANOUT_KINDS 16 // of header extensions
#define FANOUT_MID_WORDS 5 // what a mid takes at most
#define FANOUT_NOTES 262144 // bytes of the ring of notes
#define FANOUT_LOG 1048576 // and of the log
#define FANOUT_ASKS 16384 // packets that receivers have asked for again, each counted for each of them
#define FANOUT_FRAMES 16 // of which a replica remembers what it decided
#define HISTORY_FRAMES 3 // before the newest, that S-LR knows
#define NUMBERED_FRAMES 32 // whose packets can come again where frames number them: a power of two
#define WINDOW_WORDS 16 // how far behind the newest packet one may come, in 64 numbers
#define HISTORY_WORDS 32 // for how many of those a replica knows its numbers: a power of two above the window
#define ROOMS_INTERFACES 16 // copies made in drivers leave by so many at most

// The local and the remote address of a path.
struct pair {
	__u32 local[4]; // network byte order; IPv4 as a mapped address
	__u32 remote[4];
	__u16 local_port; // network byte order
	__u16 remote_port;
};

// Names a stream.
struct stream_key {
	__u32 leg;
	__u32 ssrc; // network byte order
};

// The places of a stream's entry and of its state.
struct stream_place {
	__u32 entry;
	__u32 state;
};

// The method of detecting the start of a key frame.
enum key_frames {
	KEY_ALWAYS, // audio: with any
	KEY_VP8, // in its payload
	KEY_H264,
	KEY_AV1,
	KEY_VP9,
};

// The method of finding the layer of a packet's frame.
enum frame_layers {
	LAYERS_NONE, // it has one
	LAYERS_VP8, // from its payload
	LAYERS_VP9,
	LAYERS_DESCRIPTOR, // from its dependency descriptor
	LAYERS_UNREADABLE, // not, since that cannot be read
};

// One payload type of a stream.
struct stream_format {
	__u8 payload_type;
	__u8 codec; // key_frames
	__u16 zero;
	__u32 clock_rate; // of timestamps, in hertz
};

// Of header extension ids, 32 of all.
struct id_row {
	__u8 ranks[32];
};

// A mid as a header extension element, followed by padding.
struct mid_element {
	__u32 words[FANOUT_MID_WORDS];
};

// Places of replicas' entries, some of all.
struct row {
	__u32 places[32];
};

// A stream and its replicas.
struct stream_entry {
	__u64 reference_ntp; // the newest sender report
	__u32 reference_rtp;
	__u32 has_reference;
	__u32 goes_up; // whether its packets go on to the base, too
	__u32 formats_count;
	__u32 in_driver; // copies are made there, and not in the stack, if this is the number of the driver's program
	__u32 descriptor; // header extension id of dependency descriptors; 0 for none
	__u32 zero;
	struct stream_format formats[FANOUT_FORMATS];
	struct id_row carried[8]; // by the id of a header extension, its rank among those that go on, and one more; 0 for one that does not
	__u8 ids[FANOUT_KINDS]; // by rank, the id it goes on under
	__u8 ids_count;
	__u8 level_id; // of the publisher's audio levels and transport-wide numbers; 0 for none
	__u8 number_id;
	__u8 two_byte; // whether an id that goes out asks for the two-byte form
	__u8 timed; // whether a copy has a sending time, or room for one
	__u8 numbered; // likewise, a transport-wide number
	__u8 mid_words[2]; // room for a mid, in the one-byte form and in the two-byte form
	__u32 replicas_count;
	struct row replicas[FANOUT_ROWS];
};

// One outgoing copy.
struct replica_entry {
	struct pair path; // where it leaves from, and to whom
	__u32 state; // where what it did is kept
	__u32 source; // state of the stream it should come from, and one more; 0 for none
	__u32 ssrc; // network byte order
	__u32 epoch; // changes when it is to start anew
	__u16 first_sequence;
	__u8 paused;
	__u8 ready; // whether there is an address
	__u8 types[FANOUT_FORMATS]; // by the stream's format; NOT_NEGOTIATED for none
	__u8 spatial; // the highest layer it is to get
	__u8 temporal;
	__u8 zero[6];
	struct mid_element mids[2]; // in the one-byte form and in the two-byte form
	__u32 leg; // where its leg's transport-wide numbers are counted
	__u8 time_id; // of sending times and transport-wide numbers; 0 for none
	__u8 number_id;
	__u8 rewriting; // rewriting
	__u8 unused;
};

#define NOT_NEGOTIATED 255

// The numbering of a replica that leaves frames out.
enum rewriting {
	REWRITING_EXACT, // by every packet
	REWRITING_LOW_MEMORY, // S-LM
	REWRITING_LOW_RETRANSMISSION, // S-LR
};

// A frame before the newest.
struct past {
	__u16 frame;
	__u16 offset; // source's number less replica's
};

// The newest frame a replica got, the frames before it, and the cadence.
struct rewriter {
	__u16 number; // of its newest packet
	__u16 frame;
	__u16 offset;
	__u16 coming; // the cadence holds from this frame on,
	__u8 has_coming; // if this says so
	__u8 ended; // its last packet was seen
	__u8 period; // from one frame the replica gets to the next
	__u8 zero;
	struct past history[HISTORY_FRAMES]; // S-LR: from the newest to the oldest
};

// A frame of which something was sent: from one of the source's numbers to another.
struct numbered_frame {
	__u16 frame;
	__u16 offset;
	__u16 first;
	__u16 last;
};

// The state of numbering by frames, for a replica that uses it.
struct frame_numbers {
	struct rewriter known;
	__u32 rewriting; // of this segment
	struct numbered_frame frames[NUMBERED_FRAMES]; // by the frame's number
};

// The arrivals of a stream. The lock in front of them in the map is the kernel's type and is not
// part of this layout.
struct stream_progress {
	__u64 highest; // extended sequence number of the newest packet; 0 before the first
	__u64 newest; // of the newest of a known payload type
	__u64 packets;
	__u64 octets; // of UDP payload
	__u64 first;
	__u64 seen[WINDOW_WORDS]; // one bit a number, by its remainder
};

// The decision about one frame.
struct decision {
	__u32 timestamp; // the frame's
	__u16 held_back; // pictures before it that were not sent
	__u16 behind; // and behind it
	__u8 sent;
	__u8 temporal; // the highest layer, behind it
	__u16 zero;
};

// The progress of a replica: what it has sent, and the state of its numbering and selection.
struct replica_progress {
	__u64 packets;
	__u64 octets; // of RTP payload
	__u64 shift; // its number less the source's, both extended, for what comes next
	__u16 shifts[HISTORY_WORDS]; // the same, for the first number of each word
	__u64 first; // the first packet of this segment, by the source's number
	__u64 newest; // the newest that was accounted for, sent or not
	__u64 resent;
	__u64 closed[HISTORY_WORDS]; // one bit for each of the source's numbers, 64 a word: it was not sent, and those behind it closed up
	__u64 last_number; // the newest packet that was sent, by the source's number
	__u64 last_at; // when it arrived, in nanoseconds
	__u64 last_capture;
	__u32 last_timestamp;
	__u32 last_captured; // whether it is known when
	__u32 timestamp_offset;
	__u32 source; // state of the stream it comes from, and one more; 0 for none
	__u32 epoch; // of the entry it was last sent by
	__u16 picture_offset;
	__u16 last_picture;
	__u8 tl0_offset;
	__u8 last_tl0;
	__u8 started; // whether there has been a segment
	__u8 temporal; // the highest layer it gets
	__u16 held_back; // pictures that were held back in this segment
	__u8 decided; // how many decisions there are, where they are kept here
	__u8 spatial; // of the highest layer
	__u8 awaits; // whether only a key frame takes it further
	__u8 layers; // frame_layers of the newest frame that was decided; 0 for none
	__u16 frame_offset; // what is added to the numbers of dependency descriptors
	__u16 last_frame; // the newest such number that was sent
	__u8 has_frame; // whether there was one
	__u8 continues; // it goes on where the base stopped, with what is behind `newest`, which is 16 bits of the source's number until then
	struct decision decisions[FANOUT_FRAMES]; // from the newest frame to the oldest
};

// Names a packet that a receiver asked for again.
struct ask {
	__u64 number; // the source's, extended
	__u32 source; // as in its progress
	__u32 replica; // its state
};

// The route to a receiver, from the kernel's tables of routes and neighbours. It is looked up again
// when it has expired.
struct way {
	__u64 until; // the monotonic clock, in nanoseconds
	__u32 interface; // 0 where none is known
	__u32 mtu;
	__u8 to[6]; // hardware addresses
	__u8 from[6];
	__u32 zero;
};

// Names a device map with so many slots, all of one interface.
struct fan {
	__u32 interface;
	__u32 copies;
};

// Counts of packets by result, on one processor. The names are those of the contract.
enum fanout_count {
	FAN_NOTHING, // for what is counted by nobody
	FAN_RECEIVED,
	FAN_FORWARDED,
	FAN_RESENT, // to who asked
	FAN_MALFORMED,
	FAN_OVERSIZED,
	FAN_DUPLICATE,
	FAN_TOO_LATE,
	FAN_UNKNOWN_FORMAT,
	FAN_PADDING_ONLY,
	FAN_NO_REPLICA,
	FAN_NOT_SELECTED,
	FAN_PAUSED,
	FAN_AWAITING_KEY_FRAME,
	FAN_BEFORE_SWITCH,
	FAN_NOT_NEGOTIATED,
	FAN_NOT_READY,
	FAN_OUTSIDE_TARGET,
	FAN_UNDECODABLE,
	FAN_SEND_FAILED,
	FAN_REPLICA_OVERSIZED,
	FAN_LOG_FULL,
	FAN_PROBED,
	FAN_MERGED, // not the contract's: several datagrams that the interface made one
	FAN_ORDERED, // nor this: copies that the driver was asked to make,
	FAN_LEFT, // and those of them that left, for the first time
	FAN_LEFT_AGAIN, // or again
	FAN_TRIED, // of frames that were for nobody, to see whether they could leave
	FAN_COUNTS, // how many there are
};

// The kind of a note.
enum note_kind {
	NOTE_SELECTED, // the replica comes from another stream than before, or another layer of it
	NOTE_NO_WAY, // no route to its receiver, or nobody is known by that address
	NOTE_ELSEWHERE, // copies of its stream leave by interfaces of which not all can be broadcast to
};

struct fanout_note {
	__u32 kind; // note_kind
	__u32 replica; // its state
	__u32 source; // as in its progress
	__u32 spatial; // the highest layer
	__u32 temporal;
	__u32 awaits; // whether only a key frame takes it further
};

// A packet that arrived, in the log, followed by those of its copies that were sent with a
// transport-wide number.
struct fanout_log {
	__u64 at; // the monotonic clock, in nanoseconds
	__u32 stream; // its state
	__u16 departures; // how many copies follow
	__u16 sequence;
	__u16 transport_number;
	__u16 size; // of UDP payload, as it arrived
	__u16 departed_size; // and as it left
	__u8 level; // as in the header extension
	__u8 spatial; // its frame's layer
	__u8 temporal;
	__u8 ends_frame;
	__u8 needed_above; // whether who gets larger pictures gets its frame, too
	__u8 arrived; // whether it is to be reported itself: what goes up is reported there
	__u8 has_level;
	__u8 has_number;
	__u8 has_layer;
	__u8 again; // whether it came again because it was asked for
};

// A copy that was sent.
struct departed {
	__u16 leg; // as in the replica's entry; with FANOUT_PROBED
	__u16 transport_number;
};

// A probe of one leg: for a while, more is sent to the leg than its ordinary packets, to find out
// whether the path has room for it.
struct probe {
	__u64 began; // the monotonic clock when the first of it left, in nanoseconds; 0 before
	__u32 rate; // in bytes per millisecond
	__u32 packets; // at least so many are still to be sent,
	__u32 bytes; // and at least so much; neither where nothing is probed
	__u32 sent; // so much was
};

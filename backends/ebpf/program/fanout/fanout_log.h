// The log of arrivals and departures for the agent: one record for a packet and all its copies.
#pragma once

#include "fanout_descriptor.h"

// Records that a copy was sent with a transport-wide number, `mark` being FANOUT_PROBED or 0.
static __always_inline void departs(struct scratch *scratch, const struct replica_entry *entry, __u16 transport_number, __u32 mark)
{
	__u32 count = scratch->log.departures;

	if (!entry->number_id || count >= FANOUT_DEPARTURES)
		return;
	scratch->departed[count].leg = entry->leg | mark;
	scratch->departed[count].transport_number = transport_number;
	scratch->log.departures = count + 1;
}

// Logs the layer of a packet's frame, and whether receivers of higher layers need the frame.
static __always_inline void log_frame(struct fanout_log *log, const struct scratch *scratch)
{
	const struct media *media = &scratch->media;
	const struct frame *frame = &scratch->frame;
	__u32 above;

	log->has_layer = media->layers != LAYERS_NONE && media->layers != LAYERS_UNREADABLE;
	log->spatial = media->spatial;
	log->temporal = media->temporal;
	log->ends_frame = media->marker;
	log->needed_above = 0;
	if (media->layers == LAYERS_DESCRIPTOR) {
		above = ~frame->shape.up_to_spatial[media->spatial & (LAYERS_MAX - 1)];
		log->ends_frame |= frame->ends;
		log->needed_above = !!(present(frame->kind.indications) & above);
	} else if (media->layers == LAYERS_VP9) {
		log->ends_frame |= frame->ends;
		log->needed_above = frame->refers_above;
	}
}

// Logs a packet and all its copies in one record. A duplicate packet, or one that also goes to the
// base, is not reported as an arrival. The exception is a packet that was asked for again: its
// publisher expects feedback about it under another transport-wide number, and the base has not
// seen it. A record that nobody reads in time is lost, and counted.
static __always_inline void write_log(struct scratch *scratch, int refused, int goes_up)
{
	const struct media *media = &scratch->media;
	struct fanout_log *log = &scratch->log;
	__u32 len = sizeof(*log) + log->departures * sizeof(struct departed);

	log->again = media->arrival.again;
	log->arrived = log->again || (!goes_up && (refused == FAN_NOTHING || refused == FAN_UNKNOWN_FORMAT));
	if (!log->arrived && !log->departures)
		return;
	log->at = media->at;
	log->stream = media->stream - 1;
	log->sequence = media->sequence;
	log->transport_number = media->transport_number;
	log->size = media->arrived_size;
	log->departed_size = media->end - media->rtp_at;
	log->level = media->level;
	log->has_level = media->has_level;
	log->has_number = media->has_number;
	log_frame(log, scratch);
	plain(len);
	if (len < sizeof(*log) || len > sizeof(*log) + sizeof(scratch->departed) || bpf_ringbuf_output(&log_ring, log, len, 0))
		count(FAN_LOG_FULL);
}

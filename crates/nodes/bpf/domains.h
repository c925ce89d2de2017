/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * From reports and acknowledgments to the calls of the law: what crates/transport/src/model/domains.rs does
 * with the segments of the simulator's scoreboard, here with positions in the stream.
 */
#ifndef AIRLANE_MDCC_DOMAINS_H
#define AIRLANE_MDCC_DOMAINS_H

#include "connection.h"

static INLINE s64 position(const struct connection *c, u32 sequence)
{
	return (s64)c->view.acked + (s32)(sequence - c->view.una);
}

/* Notes the time at which the next segment is sent. */
static INLINE void mark_time(struct connection *c, u64 now)
{
	struct probe *last = &c->probes[c->probe % PROBES];

	/* Enough for a round trip: a mark for each 1/16 of the window. */
	if (c->view.sent < last->position + (u64)c->law.internet.segments * c->law.segment_size / 16)
		return;
	c->probe += 1;
	last = &c->probes[c->probe % PROBES];
	last->position = c->view.sent;
	last->at = now;
}

/* When the byte at a position was sent, between two marks in proportion; 0 if that is not known. */
GLOBAL u64 sent_at(const struct connection *c, u64 at_position)
{
	const struct probe *one, *next;
	u32 i;

	if (!c)
		return 0;
	for (i = 0; i < PROBES - 1; i++) {
		one = &c->probes[(c->probe - i) % PROBES];
		if (one->at == 0)
			return 0;
		if (at_position < one->position)
			continue;
		if (i == 0)
			return one->at;
		next = &c->probes[(c->probe - i + 1) % PROBES];
		return one->at + (next->at - one->at) * (at_position - one->position) /
					 (next->position - one->position + 1);
	}
	return 0;
}

/* ---- Reports. */

static INLINE void fall_silent(struct connection *c)
{
	if (c->heard_at != 0)
		law_clock_change(&c->law);
	c->heard_at = 0;
}

/* True if the report speaks about data that was never sent. */
GLOBAL int claims_unsent(const struct connection *c)
{
	u32 i;
	s64 end;

	if (!c)
		return 1;
	end = (s64)c->view.sent;
	if (position(c, c->message.cumulative) > end || position(c, c->message.newest.right) > end)
		return 1;
	for (i = 0; i < LIST_MAX; i++) {
		if (i < c->message.ranges && position(c, c->message.range[i].right) > end)
			return 1;
		if (i < c->message.holes && position(c, c->message.hole[i].right) > end)
			return 1;
	}
	return 0;
}

GLOBAL int count_seen(struct connection *c)
{
	s64 cumulative, bytes, left, right;
	u32 i;

	if (!c)
		return 0;
	cumulative = position(c, c->message.cumulative);
	bytes = cumulative > 0 ? cumulative : 0;
	if (cumulative > (s64)c->seen_to)
		c->seen_to = cumulative;
	for (i = 0; i < LIST_MAX; i++) {
		left = position(c, c->message.range[i].left);
		right = position(c, c->message.range[i].right);
		if (left < cumulative)
			left = cumulative;
		if (i < c->message.ranges && right > left)
			bytes += right - left;
	}
	if (bytes > (s64)c->seen_bytes)
		c->seen_bytes = bytes;
	return 0;
}

/* A round trip to the PEP, or NEVER. */
GLOBAL u64 sample_pep(struct connection *c)
{
	u64 at, elapsed, rtt;
	s64 newest;

	if (!c)
		return NEVER;
	newest = position(c, c->message.newest.left);
	/* Karn's rule (RFC 6298 section 3). */
	if (newest < (s64)c->karn || newest < 0)
		return NEVER;
	at = sent_at(c, newest);
	if (at == 0 || c->message.arrived_at <= at)
		return NEVER;
	elapsed = c->message.arrived_at - at;
	evidence_report(&c->evidence, elapsed, c->message.delay);
	rtt = since(elapsed, c->message.delay);
	if (c->windows.pep_srtt == 0)
		c->windows.pep_srtt = rtt;
	else
		c->windows.pep_srtt = c->windows.pep_srtt - c->windows.pep_srtt / 8 + rtt / 8;
	return rtt;
}

/* Processes the report that has just arrived. Returns its round trip, or NEVER. */
static INLINE u64 process_report(struct connection *c)
{
	if (claims_unsent(c)) {
		c->windows.distrusted = 1;
		fall_silent(c);
		return NEVER;
	}
	c->windows.reports += 1;
	if (c->heard_at == 0)
		law_clock_change(&c->law);
	c->heard_at = c->message.arrived_at;
	count_seen(c);
	return sample_pep(c);
}

/* ---- Losses. */

/* True if the PEP has seen the segment at SND.UNA. */
GLOBAL int was_seen(const struct connection *c)
{
	s64 una;
	u32 i;

	if (!c)
		return 0;
	una = (s64)c->view.acked;
	if (una < (s64)c->seen_to)
		return 1;
	for (i = 0; i < LIST_MAX; i++)
		if (i < c->message.ranges && position(c, c->message.range[i].left) <= una &&
		    una < position(c, c->message.range[i].right))
			return 1;
	return 0;
}

/* True if the PEP misses data that is not acknowledged. */
GLOBAL int misses(const struct connection *c)
{
	u32 i;

	if (!c)
		return 0;
	for (i = 0; i < LIST_MAX; i++)
		if (i < c->message.holes && position(c, c->message.hole[i].right) > (s64)c->view.acked)
			return 1;
	return 0;
}

static INLINE void reduce(struct connection *c, enum domain domain)
{
	if (c->view.acked < c->reduced_to[domain])
		return;
	c->reduced_to[domain] = c->view.sent;
	law_loss(&c->law, domain);
	if (domain == INTERNET)
		c->windows.internet_losses += 1;
	else
		c->windows.ran_losses += 1;
}

/* Reduces the window of each domain that has lost a segment since its last reduction. */
GLOBAL int attribute(struct connection *c)
{
	int internet, ran;

	if (!c)
		return 0;
	ran = was_seen(c);
	internet = !ran || misses(c);
	c->lost = c->view.lost;
	c->karn = c->view.sent;
	/* Without evidence, a loss behind the PEP is one of the internet. One decision holds for a round trip. */
	if (ran && c->view.acked >= c->reduced_to[RAN] && !evidence_radio(&c->evidence)) {
		c->windows.disbelieved += 1;
		c->reduced_to[RAN] = c->view.sent;
		internet = 1;
		ran = 0;
	}
	if (internet)
		reduce(c, INTERNET);
	if (ran)
		reduce(c, RAN);
	return 0;
}

static INLINE u32 both_reduced(struct connection *c)
{
	c->reduced_to[INTERNET] = c->view.sent;
	c->reduced_to[RAN] = c->view.sent;
	c->karn = c->view.sent;
	return governing(&c->law)->ssthresh;
}

/* ---- Acknowledgments. */

/* Segments that have newly passed the internet: the PEP has seen them, or the client has them. */
static INLINE u32 passed(struct connection *c)
{
	u64 bytes = c->view.acked + (u64)c->view.sacked_out * c->law.segment_size;
	u64 segments;

	if (c->seen_bytes > bytes)
		bytes = c->seen_bytes;
	if (bytes <= c->counted)
		return 0;
	segments = (bytes - c->counted) / c->law.segment_size;
	c->counted += segments * c->law.segment_size;
	return (u32)segments;
}

/* An acknowledgment of the client drives both windows. */
GLOBAL int drive(struct connection *c, u64 now, u64 rtt)
{
	struct ack a = {};
	u32 delivered, seen;
	int heard;

	if (!c)
		return 0;
	if (rtt != NEVER)
		evidence_client(&c->evidence, rtt);
	delivered = c->view.delivered - c->delivered;
	c->delivered = c->view.delivered;
	seen = passed(c);
	if (c->counted > c->seen_bytes && since(now, c->heard_at) > c->view.timeout)
		fall_silent(c);
	heard = c->heard_at != 0;
	a.now = now;
	a.sent_to = c->view.sent;
	a.max_outstanding = c->view.max_packets_out;
	a.outstanding = c->view.packets_out;
	a.delivered = c->counted >= c->reduced_to[INTERNET] ? seen : 0;
	a.may_grow = a.delivered > 0;
	a.window_limited = c->view.limited && limits(&c->law, INTERNET);
	a.rtt = heard ? c->pep_rtt : rtt;
	a.srtt = heard ? c->windows.pep_srtt : c->view.srtt;
	a.acked_to = heard ? c->seen_to : c->view.acked;
	law_ack(&c->law, INTERNET, &a);
	a.delivered = c->view.acked >= c->reduced_to[RAN] ? delivered : 0;
	a.may_grow = a.delivered > 0;
	a.window_limited = c->view.limited && limits(&c->law, RAN);
	law_ack(&c->law, RAN, &a);
	c->last_ack_at = now;
	return 0;
}

#endif

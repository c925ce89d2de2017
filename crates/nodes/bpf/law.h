/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The law of MD-CC: a CUBIC window for the internet, a Scalable window for the radio network, and the
 * smaller of both for the sender. It is the law of crates/transport/src/congestion/{mdcc,cubic,window}.rs,
 * call by call, in the same integers. Nothing here knows a socket, so that a test can call it with the
 * inputs of a simulation and compare each window (crates/nodes/src/mdcc/parity.rs).
 *
 * The simulator uses floating point in one place, the cube root of K. Here it is the exact integer root,
 * for windows below 2^24 segments.
 *
 * Times are nanoseconds of a monotonic clock, positions are bytes of the stream, windows are segments.
 */
#ifndef AIRLANE_MDCC_LAW_H
#define AIRLANE_MDCC_LAW_H

#include "types.h"

#define INFINITE 0xffffffffu
#define NEVER 0xffffffffffffffffull
#define MILLISECOND 1000000ull
#define SECOND 1000000000ull

/* CUBIC: beta = 717/1024, C = 410/1024, and (1 + beta) / (3 (1 - beta)) in eighths. */
#define BETA 717ull
#define C 410ull
#define FRIENDLY_EIGHTHS (8 * (1024 + BETA) / 3 / (1024 - BETA))
#define SEGMENTS_MIN 2u
#define UNKNOWN_MAX 20u
#define DELTA_MAX (INFINITE / 4)

/* HyStart. */
#define LOW_WINDOW 16u
#define TRAIN_GAP (2 * MILLISECOND)
#define SAMPLES 8u
#define RISE_MIN (4 * MILLISECOND)
#define RISE_MAX (16 * MILLISECOND)
#define CUSHION_MAX MILLISECOND
#define CUSHION_BYTES_SHIFT 18

/* Scalable: b = 1/8. */
#define DECREASE_SHIFT 3

enum domain { INTERNET, RAN };

struct window {
	u32 segments;
	u32 ssthresh;
	u32 counted;
	u32 unused;
};

struct cubic {
	u64 epoch; /* NEVER after a loss, until the next acknowledgment */
	u64 k;
	u64 computed_at;
	u64 delay_min; /* NEVER while unknown */
	u32 computed_for;
	u32 per_segment;
	u32 w_max;
	u32 origin;
	u32 delivered;
	u32 w_est;
	/* HyStart */
	u32 hystart;
	u32 found;
	u32 samples;
	u32 unused;
	u64 round_began;
	u64 round_end;
	u64 round_min;
	u64 last_ack;
};

struct law {
	struct window internet;
	struct window ran;
	struct window before[2];
	struct cubic cubic;
	u32 acks_per_increase;
	u32 segment_size;
};

/* What a sender knows when data was delivered in a domain. */
struct ack {
	u64 now;
	u64 rtt; /* NEVER if there is no sample */
	u64 srtt;
	u64 acked_to;
	u64 sent_to;
	u32 delivered;
	u32 may_grow;
	u32 window_limited;
	u32 max_outstanding;
	u32 outstanding;
	u32 unused;
};

struct timeout {
	u64 now;
	u64 sent_to;
	u32 restart_segments;
	u32 new_episode;
};

static INLINE u32 min32(u32 a, u32 b) { return a < b ? a : b; }
static INLINE u32 max32(u32 a, u32 b) { return a > b ? a : b; }
static INLINE u64 since(u64 now, u64 then) { return now > then ? now - then : 0; }

/* ---- A window in segments (congestion/window.rs). */

static INLINE int in_slow_start(const struct window *w)
{
	return w->segments < w->ssthresh;
}

static INLINE int used_by(const struct window *w, const struct ack *a)
{
	return a->window_limited || (in_slow_start(w) && w->segments < 2 * a->max_outstanding);
}

static INLINE u32 slow_start(struct window *w, u32 delivered)
{
	u64 grown = (u64)w->segments + delivered;
	u32 left;

	if (grown > w->ssthresh)
		grown = w->ssthresh;
	left = delivered - ((u32)grown - w->segments);
	w->segments = (u32)grown;
	return left;
}

static INLINE void additive_increase(struct window *w, u32 per_segment, u32 delivered)
{
	u32 steps;

	if (w->counted >= per_segment) {
		w->counted = 0;
		w->segments += 1;
	}
	w->counted += delivered;
	if (per_segment > 0 && w->counted >= per_segment) {
		steps = w->counted / per_segment;
		w->counted -= steps * per_segment;
		w->segments += steps;
	}
}

static INLINE void reduce_to(struct window *w, u32 ssthresh)
{
	w->ssthresh = max32(ssthresh, SEGMENTS_MIN);
	w->counted = 0;
}

static INLINE void restart_from(struct window *w, u32 segments)
{
	w->segments = segments;
	w->counted = 0;
}

static INLINE void undo(struct window *w, const struct window *before)
{
	w->segments = max32(w->segments, before->segments);
	w->ssthresh = max32(w->ssthresh, before->ssthresh);
}

/* ---- The curve (congestion/cubic.rs). */

/* The largest k with C k^3 <= distance 2^40, that is K in 1/1024 s, by Newton's iteration from above. A step
 * has no branch on the value but the last: the verifier would follow each combination of them. */
GLOBAL u64 cube_root(u32 distance)
{
	u64 target, root = 1ull << 19, next;
	int i;

	if (distance == 0)
		return 0;
	if (distance >= 1u << 24)
		distance = (1u << 24) - 1;
	target = ((u64)distance << 40) / C; /* below 2^57 */
	for (i = 0; i < 48; i++) {
		next = (2 * root + target / (root * root)) / 3;
		if (next >= root)
			break;
		root = next;
	}
	return root;
}

static INLINE u32 cubed(u64 offset)
{
	u64 cube, delta;

	if (offset > 1ull << 21)
		return DELTA_MAX;
	cube = offset * offset * offset;
	delta = (cube >> 40) * C + (((cube & ((1ull << 40) - 1)) * C) >> 40);
	return delta < DELTA_MAX ? (u32)delta : DELTA_MAX;
}

static INLINE void cubic_forget(struct cubic *c)
{
	c->epoch = NEVER;
	c->k = 0;
	c->computed_at = 0;
	c->computed_for = 0;
	c->per_segment = 0;
	c->w_max = 0;
	c->origin = 0;
	c->delivered = 0;
	c->w_est = 0;
}

static INLINE void follow_curve(struct cubic *c, u64 now, u32 window, u32 delivered, u64 delay_min)
{
	u64 t, offset;
	u32 delta, target;

	c->computed_at = now;
	c->computed_for = window;
	if (c->epoch == NEVER) {
		c->delivered = delivered;
		c->w_est = window;
		c->origin = max32(c->w_max, window);
		c->k = cube_root(c->origin - window);
		c->epoch = now;
	}
	/* RFC 9438 section 4.2: the value of the curve one round trip from now. */
	t = (now - c->epoch + delay_min + MILLISECOND - 1) / MILLISECOND * 1024 / 1000;
	offset = t < c->k ? c->k - t : t - c->k;
	delta = cubed(offset);
	if (t < c->k)
		target = c->origin > delta ? c->origin - delta : 0;
	else
		target = c->origin + delta;
	if (target > window)
		c->per_segment = window / (target - window);
	else
		c->per_segment = 100 * window;
	if (c->w_max == 0)
		c->per_segment = min32(c->per_segment, UNKNOWN_MAX);
}

/* RFC 9438 section 4.3: never slower than Reno with the same average. */
static INLINE void be_friendly(struct cubic *c, u32 window)
{
	u32 per_step = (u32)(((u64)window * FRIENDLY_EIGHTHS) >> 3);
	u32 steps;

	if (per_step > 0 && c->delivered > per_step) {
		steps = (c->delivered - 1) / per_step;
		c->delivered -= steps * per_step;
		c->w_est += steps;
	}
	if (c->w_est > window)
		c->per_segment = min32(c->per_segment, window / (c->w_est - window));
}

static INLINE u32 cubic_update(struct cubic *c, u64 now, u32 window, u32 delivered, u64 delay_min)
{
	c->delivered += delivered;
	if (c->epoch != NEVER && window == c->computed_for && since(now, c->computed_at) <= SECOND / 32)
		return c->per_segment;
	if (c->epoch == NEVER || c->computed_at / MILLISECOND != now / MILLISECOND)
		follow_curve(c, now, window, delivered, delay_min);
	be_friendly(c, window);
	c->per_segment = max32(c->per_segment, 2);
	return c->per_segment;
}

/* RFC 9438 section 4.6 and 4.7: the threshold after a loss. */
static INLINE u32 cubic_threshold(struct cubic *c, u32 window)
{
	c->epoch = NEVER;
	if (window < c->w_max)
		c->w_max = (u32)((u64)window * (1024 + BETA) / 1024) / 2;
	else
		c->w_max = window;
	return (u32)((u64)window * BETA / 1024);
}

/* ---- HyStart. */

static INLINE void begin_round(struct cubic *c, u64 now, u64 sent_to)
{
	c->round_began = now;
	c->last_ack = now;
	c->round_end = sent_to;
	c->round_min = NEVER;
	c->samples = 0;
}

static INLINE u64 train_cushion(const struct law *l, const struct ack *a)
{
	const struct window *w = &l->internet;
	u64 in_flight = max32(w->segments, a->outstanding);
	u64 percent = w->segments < w->ssthresh / 2 ? 200 : 120;
	u64 rate = in_flight * l->segment_size * percent / 100;
	u64 srtt = a->srtt < 1ull << 45 ? a->srtt : 1ull << 45;
	u64 ns = (srtt << CUSHION_BYTES_SHIFT) / (rate > 0 ? rate : 1);

	return ns < CUSHION_MAX ? ns : CUSHION_MAX;
}

static INLINE void hystart(struct law *l, const struct ack *a)
{
	struct cubic *c = &l->cubic;
	u64 rise;

	if (a->acked_to > c->round_end)
		begin_round(c, a->now, a->sent_to);
	if (l->internet.segments < LOW_WINDOW)
		return;
	if (since(a->now, c->last_ack) <= TRAIN_GAP) {
		c->last_ack = a->now;
		if (a->now - c->round_began > (c->delay_min + train_cushion(l, a)) / 2)
			c->found = 1;
	}
	if (a->rtt < c->round_min)
		c->round_min = a->rtt;
	if (c->samples < SAMPLES) {
		c->samples += 1;
	} else {
		rise = c->delay_min / 8;
		rise = rise < RISE_MIN ? RISE_MIN : rise > RISE_MAX ? RISE_MAX : rise;
		if (c->round_min > c->delay_min + rise)
			c->found = 1;
	}
	if (c->found)
		l->internet.ssthresh = l->internet.segments;
}

static INLINE void on_delay(struct law *l, const struct ack *a)
{
	struct cubic *c = &l->cubic;

	/* Samples right after a loss are affected by the draining queue. */
	if (c->epoch != NEVER && a->now - c->epoch < SECOND)
		return;
	if (a->rtt < c->delay_min)
		c->delay_min = a->rtt;
	if (c->hystart && !c->found && in_slow_start(&l->internet))
		hystart(l, a);
}

/* ---- MD-CC (congestion/mdcc.rs). */

static INLINE void law_begin(struct law *l, u32 segments, u32 segment_size, u32 acks_per_increase, u32 hystart)
{
	struct cubic *c = &l->cubic;

	l->internet.segments = segments;
	l->internet.ssthresh = INFINITE;
	l->internet.counted = 0;
	l->ran = l->internet;
	l->before[INTERNET].segments = l->before[INTERNET].ssthresh = 0;
	l->before[RAN].segments = l->before[RAN].ssthresh = 0;
	l->acks_per_increase = acks_per_increase;
	l->segment_size = segment_size;
	cubic_forget(c);
	c->delay_min = NEVER;
	c->hystart = hystart;
	c->found = 0;
	c->round_began = 0;
	c->round_end = 0;
	c->last_ack = 0;
	c->round_min = NEVER;
	c->samples = 0;
}

/* Compares threshold after window, as the simulator does. */
static INLINE const struct window *governing(const struct law *l)
{
	if (l->internet.segments != l->ran.segments)
		return l->internet.segments < l->ran.segments ? &l->internet : &l->ran;
	return l->internet.ssthresh < l->ran.ssthresh ? &l->internet : &l->ran;
}

static INLINE int limits(const struct law *l, enum domain domain)
{
	if (domain == INTERNET)
		return l->internet.segments <= l->ran.segments;
	return l->ran.segments <= l->internet.segments;
}

static INLINE void grow_internet(struct law *l, const struct ack *a)
{
	struct window *w = &l->internet;
	u32 delivered = a->delivered;
	u64 delay_min;

	if (a->rtt != NEVER)
		on_delay(l, a);
	if (!a->may_grow || !used_by(w, a))
		return;
	if (in_slow_start(w)) {
		delivered = slow_start(w, delivered);
		if (delivered == 0)
			return;
	}
	delay_min = l->cubic.delay_min == NEVER ? 0 : l->cubic.delay_min;
	additive_increase(w, cubic_update(&l->cubic, a->now, w->segments, delivered, delay_min), delivered);
}

static INLINE void grow_ran(struct law *l, const struct ack *a)
{
	struct window *w = &l->ran;

	if (!a->may_grow || !used_by(w, a))
		return;
	if (in_slow_start(w) && slow_start(w, a->delivered) == 0)
		return;
	additive_increase(w, min32(w->segments, l->acks_per_increase), 1);
}

GLOBAL int law_ack(struct law *l, u32 domain, const struct ack *a)
{
	if (!l || !a)
		return 0;
	if (domain == INTERNET)
		grow_internet(l, a);
	else
		grow_ran(l, a);
	return 0;
}

static INLINE void law_episode(struct law *l)
{
	l->before[INTERNET] = l->internet;
	l->before[RAN] = l->ran;
}

static INLINE u32 ran_threshold(const struct law *l)
{
	return l->ran.segments - (l->ran.segments >> DECREASE_SHIFT);
}

static INLINE void law_loss(struct law *l, enum domain domain)
{
	struct window *w = domain == INTERNET ? &l->internet : &l->ran;

	if (domain == INTERNET)
		reduce_to(w, cubic_threshold(&l->cubic, w->segments));
	else
		reduce_to(w, ran_threshold(l));
	w->segments = w->ssthresh;
}

static INLINE void law_timeout(struct law *l, const struct timeout *t)
{
	if (t->new_episode) {
		law_episode(l);
		reduce_to(&l->ran, ran_threshold(l));
		reduce_to(&l->internet, cubic_threshold(&l->cubic, l->internet.segments));
	}
	restart_from(&l->ran, t->restart_segments);
	restart_from(&l->internet, t->restart_segments);
	cubic_forget(&l->cubic);
	l->cubic.delay_min = NEVER;
	l->cubic.found = 0;
	begin_round(&l->cubic, t->now, t->sent_to);
}

static INLINE void law_undo(struct law *l)
{
	undo(&l->internet, &l->before[INTERNET]);
	undo(&l->ran, &l->before[RAN]);
}

/* The sender did not use its window: RFC 7661, with Linux's bound. */
static INLINE void validate(struct window *w, u32 segments)
{
	if (w->segments > segments) {
		w->ssthresh = max32(w->ssthresh, w->segments / 2 + w->segments / 4);
		w->segments = segments;
	}
}

static INLINE void law_validation(struct law *l, u32 segments)
{
	validate(&l->internet, segments);
	validate(&l->ran, segments);
}

/* Idle time does not advance the position on the curve (RFC 9438 section 5.8). */
static INLINE void law_restart(struct law *l, u64 now, u64 last_sent_at)
{
	u64 epoch = l->cubic.epoch;

	if (epoch == NEVER)
		return;
	epoch += since(now, last_sent_at);
	l->cubic.epoch = epoch < now ? epoch : now;
}

/* The delays to the PEP and those to the client are not comparable. */
static INLINE void law_clock_change(struct law *l)
{
	l->cubic.delay_min = NEVER;
	l->cubic.round_end = 0;
	l->cubic.round_min = NEVER;
	l->cubic.samples = 0;
}

#endif

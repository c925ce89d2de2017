/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * Which losses of segments that a PEP has reported are the radio network's: the rule of
 * crates/transport/src/model/evidence.rs in the same integers.
 */
#ifndef AIRLANE_MDCC_EVIDENCE_H
#define AIRLANE_MDCC_EVIDENCE_H

#include "law.h"

#define RECENT 8u
/* Of the round trips with unexplained losses, one in so many is the radio's. */
#define UNEXPLAINED_PER_RADIO 4u

struct evidence {
	u64 tolerance; /* NEVER: each report is believed */
	u64 recent[RECENT]; /* round trips to the PEP */
	u64 pep_floor;
	u64 radio_latest; /* round trip behind the PEP; NEVER while unknown */
	u64 radio_floor;
	u32 taken;
	u32 unexplained;
};

static INLINE void evidence_begin(struct evidence *e, u64 tolerance)
{
	u32 i;

	e->tolerance = tolerance;
	for (i = 0; i < RECENT; i++)
		e->recent[i] = NEVER;
	e->pep_floor = NEVER;
	e->radio_latest = NEVER;
	e->radio_floor = NEVER;
	e->taken = 0;
	e->unexplained = 0;
}

/* A report arrived `elapsed` after its newest segment was sent, and says that it was `delay` old. */
static INLINE void evidence_report(struct evidence *e, u64 elapsed, u64 delay)
{
	u64 rtt = since(elapsed, delay < e->tolerance ? delay : e->tolerance);

	e->recent[e->taken % RECENT] = rtt;
	e->taken += 1;
	if (rtt < e->pep_floor)
		e->pep_floor = rtt;
}

static INLINE void evidence_client(struct evidence *e, u64 rtt)
{
	if (e->taken == 0)
		return;
	e->radio_latest = since(rtt, e->recent[(e->taken - 1) % RECENT]);
	if (e->radio_latest < e->radio_floor)
		e->radio_floor = e->radio_latest;
}

/* True if a segment that the PEP has reported was lost by the radio network. */
GLOBAL int evidence_radio(struct evidence *e)
{
	u64 least = NEVER;
	u32 i;

	if (!e)
		return 0;
	if (e->tolerance == NEVER)
		return 1;
	for (i = 0; i < RECENT; i++)
		if (e->recent[i] < least)
			least = e->recent[i];
	if (e->taken > 0 && least - e->pep_floor > e->tolerance)
		return 0;
	if (e->radio_latest != NEVER && e->radio_latest - e->radio_floor > e->tolerance)
		return 1;
	e->unexplained += 1;
	return e->unexplained % UNEXPLAINED_PER_RADIO == 1;
}

#endif

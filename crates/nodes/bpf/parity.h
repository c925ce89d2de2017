/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * One call of the law, for the test that compares it with the simulator's (BPF_PROG_TEST_RUN). A node does
 * not load it ("?" in the section's name).
 */

enum call {
	CALL_BEGIN,
	CALL_ACK,
	CALL_EPISODE,
	CALL_LOSS,
	CALL_TIMEOUT,
	CALL_UNDO,
	CALL_VALIDATION,
	CALL_RESTART,
	CALL_CLOCK_CHANGE,
	CALL_ROOT,
	CALL_REPORT,
	CALL_CLIENT,
	CALL_RADIO,
};

struct step {
	u32 call;
	u32 domain;
	struct ack ack;
	struct timeout timeout;
	u64 numbers[2];
	u32 segments;
	u32 segment_size;
	u32 acks_per_increase;
	u32 hystart;
	/* The result. */
	u32 window;
	u32 ssthresh;
	u32 internet;
	u32 internet_ssthresh;
	u32 ran;
	u32 ran_ssthresh;
	u64 result;
};

struct tested {
	struct law law;
	struct evidence evidence;
};

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct tested);
} tested SEC(".maps");

static INLINE u64 call_law(struct tested *t, const struct step *s)
{
	struct ack ack;
	struct timeout timeout;

	switch (s->call) {
	case CALL_BEGIN:
		law_begin(&t->law, s->segments, s->segment_size, s->acks_per_increase, s->hystart);
		evidence_begin(&t->evidence, s->numbers[0]);
		break;
	case CALL_ACK:
		ack = s->ack;
		law_ack(&t->law, s->domain == INTERNET ? INTERNET : RAN, &ack);
		break;
	case CALL_EPISODE: law_episode(&t->law); break;
	case CALL_LOSS: law_loss(&t->law, s->domain == INTERNET ? INTERNET : RAN); break;
	case CALL_TIMEOUT:
		timeout = s->timeout;
		law_timeout(&t->law, &timeout);
		break;
	case CALL_UNDO: law_undo(&t->law); break;
	case CALL_VALIDATION: law_validation(&t->law, s->segments); break;
	case CALL_RESTART: law_restart(&t->law, s->numbers[0], s->numbers[1]); break;
	case CALL_CLOCK_CHANGE: law_clock_change(&t->law); break;
	case CALL_REPORT: evidence_report(&t->evidence, s->numbers[0], s->numbers[1]); break;
	case CALL_CLIENT: evidence_client(&t->evidence, s->numbers[0]); break;
	case CALL_RADIO: return evidence_radio(&t->evidence);
	case CALL_ROOT: return cube_root(s->segments);
	}
	return 0;
}

SEC("?syscall")
int mdcc_parity(struct step *s)
{
	u32 zero = 0;
	struct tested *t = map_lookup(&tested, &zero);
	const struct window *w;

	if (!t)
		return 1;
	s->result = call_law(t, s);
	w = governing(&t->law);
	s->window = w->segments;
	s->ssthresh = w->ssthresh;
	s->internet = t->law.internet.segments;
	s->internet_ssthresh = t->law.internet.ssthresh;
	s->ran = t->law.ran.segments;
	s->ran_ssthresh = t->law.ran.ssthresh;
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * MD-CC as a congestion control of the Linux kernel (struct_ops): the glue between the kernel's sender
 * and the law in law.h. The kernel keeps loss detection and proportional rate reduction.
 *
 * A report takes effect at the next acknowledgment of the client, since nothing else calls the program.
 * The scoreboard of the kernel is not visible here: positions in the stream take its place. The loss of an
 * episode is the segment at SND.UNA, and the PEP's holes. A PEP-NACK sends nothing again by itself.
 */
#include "domains.h"

/* bpf_ktime_get_ns, sk_storage and struct_ops itself are for programs under the GPL: the kernel takes
 * "Dual MIT/GPL" as compatible with it (include/linux/license.h). The rest of the project has no part in it:
 * it loads this object, and shares maps with it. */
char licence[] SEC("license") = "Dual MIT/GPL";
/* By tools/bpf.sh. */
char sources[] SEC("digest") = SOURCE_DIGEST;

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 65536);
	MAP_UINT(map_flags, NO_PREALLOC);
	MAP_TYPE(key, struct key);
	MAP_TYPE(value, struct report);
} reports SEC(".maps");

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 65536);
	MAP_UINT(map_flags, NO_PREALLOC);
	MAP_TYPE(key, struct key);
	MAP_TYPE(value, struct windows);
} windows SEC(".maps");

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct settings);
} settings SEC(".maps");

struct {
	MAP_UINT(type, MAP_SK_STORAGE);
	MAP_UINT(map_flags, NO_PREALLOC);
	MAP_TYPE(key, int);
	MAP_TYPE(value, struct connection);
} connections SEC(".maps");

/* New connections have no message yet. They are here, so that the stack need not hold them. */
static const struct report no_report;
static const struct windows no_windows;

static INLINE struct connection *connection_of(struct sock *sk)
{
	return sk_storage_get(&connections, sk, 0, 0);
}

/* What the kernel knows of the connection, for the functions below: the verifier checks each of them once and
 * for itself, and lets them have memory but no socket. */
static INLINE void look(struct connection *c, const struct tcp_sock *tp)
{
	struct view *v = &c->view;

	v->acked = tp->bytes_acked;
	v->sent = tp->bytes_acked + (tp->snd_nxt - tp->snd_una);
	v->una = tp->snd_una;
	v->srtt = (u64)tp->srtt_us * 125;
	v->timeout = (u64)(tp->srtt_us / 8 + tp->rttvar_us) * 1000;
	v->delivered = tp->delivered;
	v->lost = tp->lost;
	v->sacked_out = tp->sacked_out;
	v->packets_out = tp->packets_out;
	v->max_packets_out = tp->max_packets_out;
	v->limited = BIT_FIELD(tp, is_cwnd_limited) != 0;
}

/* Takes the latest report into `c`, if there is a new one. */
static INLINE int take_report(struct connection *c)
{
	struct report *latest = map_lookup(&reports, &c->key);

	if (!latest || latest->message.number == c->message.number || c->windows.distrusted)
		return 0;
	spin_lock(&latest->lock);
	c->message = latest->message;
	spin_unlock(&latest->lock);
	return 1;
}

static INLINE void hear(struct connection *c)
{
	c->pep_rtt = take_report(c) ? process_report(c) : NEVER;
}

static INLINE void show(struct connection *c)
{
	struct windows *shown = map_lookup(&windows, &c->key);

	if (!shown)
		return;
	c->windows.internet = c->law.internet.segments;
	c->windows.internet_ssthresh = c->law.internet.ssthresh;
	c->windows.ran = c->law.ran.segments;
	c->windows.ran_ssthresh = c->law.ran.ssthresh;
	c->windows.heard = c->heard_at != 0;
	*shown = c->windows;
}

static INLINE int reduces(u8 state)
{
	return state == CA_CWR || state == CA_RECOVERY;
}

SEC("struct_ops")
void mdcc_pkts_acked(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	const struct ack_sample *sample = (const struct ack_sample *)context[1];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);
	u64 now;
	u8 state;

	if (!c)
		return;
	look(c, tp);
	hear(c);
	if (c->set != 0 && tp->snd_cwnd < c->set)
		law_validation(&c->law, tp->snd_cwnd);
	c->set = 0;
	now = ktime_get_ns();
	drive(c, now, sample->rtt_us > 0 ? (u64)sample->rtt_us * 1000 : NEVER);
	mark_time(c, now);
	state = BIT_FIELD((&tp->inet_conn), icsk_ca_state);
	if (reduces(state)) {
		if (state == CA_RECOVERY && c->view.lost != c->lost)
			attribute(c);
		/* The target of proportional rate reduction, and the window after it. */
		tp->snd_ssthresh = max32(governing(&c->law)->segments, SEGMENTS_MIN);
	}
	show(c);
}

SEC("struct_ops")
void mdcc_cong_avoid(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);
	const struct window *w;

	if (!c)
		return;
	w = governing(&c->law);
	c->set = max32(min32(w->segments, tp->snd_cwnd_clamp), 1);
	tp->snd_cwnd = c->set;
	tp->snd_ssthresh = w->ssthresh;
}

SEC("struct_ops")
u32 mdcc_ssthresh(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);

	if (!c)
		return max32((u32)((u64)tp->snd_cwnd * BETA / 1024), SEGMENTS_MIN);
	/* Whether it is a loss, a mark or a timeout is known with the next state. */
	c->saved = c->law;
	c->saved_valid = 1;
	c->set = 0;
	look(c, tp);
	hear(c);
	law_episode(&c->law);
	attribute(c);
	return max32(governing(&c->law)->segments, SEGMENTS_MIN);
}

SEC("struct_ops")
void mdcc_set_state(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	u8 state = (u8)context[1];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);
	struct timeout t = {};

	if (!c)
		return;
	look(c, tp);
	t.new_episode = c->saved_valid;
	c->saved_valid = 0;
	if (state == CA_LOSS) {
		if (t.new_episode)
			c->law = c->saved;
		t.now = ktime_get_ns();
		t.sent_to = c->view.sent;
		t.restart_segments = tp->snd_cwnd;
		law_timeout(&c->law, &t);
		tp->snd_ssthresh = both_reduced(c);
		c->set = 0;
	} else if (state == CA_CWR && t.new_episode) {
		/* A mark does not show where it was set. */
		c->law = c->saved;
		law_episode(&c->law);
		law_loss(&c->law, INTERNET);
		law_loss(&c->law, RAN);
		both_reduced(c);
		tp->snd_ssthresh = max32(governing(&c->law)->segments, SEGMENTS_MIN);
	}
	show(c);
}

SEC("struct_ops")
u32 mdcc_undo_cwnd(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = connection_of(sk);

	if (!c)
		return tp->snd_cwnd;
	law_undo(&c->law);
	c->reduced_to[INTERNET] = 0;
	c->reduced_to[RAN] = 0;
	show(c);
	return max32(governing(&c->law)->segments, tp->snd_cwnd);
}

SEC("struct_ops")
void mdcc_cwnd_event(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	u32 event = (u32)context[1];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c;
	u64 now;

	if (event != EVENT_TX_START)
		return;
	c = connection_of(sk);
	if (!c || c->last_ack_at == 0)
		return;
	now = ktime_get_ns();
	law_restart(&c->law, now, c->last_ack_at);
	look(c, tp);
	mark_time(c, now);
}

static INLINE void fill_key(struct key *key, struct sock *sk)
{
	u32 i;

	__builtin_memset(key, 0, sizeof(*key));
	key->local_port = sk->__sk_common.skc_num;
	key->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (sk->__sk_common.skc_family == AF_INET6) {
		for (i = 0; i < 16; i++) {
			key->local[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8[i];
			key->remote[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8[i];
		}
		return;
	}
	key->local[10] = key->local[11] = key->remote[10] = key->remote[11] = 0xff;
	*(u32 *)&key->local[12] = sk->__sk_common.skc_rcv_saddr;
	*(u32 *)&key->remote[12] = sk->__sk_common.skc_daddr;
}

/* The key is kept in the socket: when it is released, its ports may be gone. */
static INLINE void store_key(struct tcp_sock *tp, const struct key *key)
{
	const u64 *words = (const u64 *)key;

	tp->inet_conn.icsk_ca_priv[0] = words[0];
	tp->inet_conn.icsk_ca_priv[1] = words[1];
	tp->inet_conn.icsk_ca_priv[2] = words[2];
	tp->inet_conn.icsk_ca_priv[3] = words[3];
	tp->inet_conn.icsk_ca_priv[4] = *(const u32 *)&words[4];
}

SEC("struct_ops")
void mdcc_init(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *c = sk_storage_get(&connections, sk, 0, STORAGE_CREATE);
	u32 zero = 0, i, mss = tp->mss_cache;
	struct settings *set = map_lookup(&settings, &zero);

	if (!c || !set)
		return;
	law_begin(&c->law, max32(tp->snd_cwnd, 1), mss > 0 ? mss : 536, set->acks_per_increase, set->hystart);
	c->law.internet.ssthresh = c->law.ran.ssthresh = tp->snd_ssthresh;
	fill_key(&c->key, sk);
	c->message = no_report.message;
	c->pep_rtt = NEVER;
	c->windows = no_windows;
	c->windows.began = ktime_get_ns();
	evidence_begin(&c->evidence, set->tolerance);
	for (i = 0; i < PROBES; i++)
		c->probes[i].position = c->probes[i].at = 0;
	c->saved_valid = 0;
	c->heard_at = 0;
	c->seen_to = c->seen_bytes = c->counted = tp->bytes_acked;
	c->karn = 0;
	c->reduced_to[INTERNET] = c->reduced_to[RAN] = 0;
	c->last_ack_at = 0;
	c->delivered = tp->delivered;
	c->lost = tp->lost;
	c->set = 0;
	map_update(&reports, &c->key, &no_report, 0);
	map_update(&windows, &c->key, &no_windows, 0);
	store_key(tp, &c->key);
	show(c);
}

SEC("struct_ops")
void mdcc_release(u64 *context)
{
	struct tcp_sock *tp = (struct tcp_sock *)context[0];
	u64 words[5];

	words[0] = tp->inet_conn.icsk_ca_priv[0];
	words[1] = tp->inet_conn.icsk_ca_priv[1];
	words[2] = tp->inet_conn.icsk_ca_priv[2];
	words[3] = tp->inet_conn.icsk_ca_priv[3];
	words[4] = tp->inet_conn.icsk_ca_priv[4];
	map_delete(&reports, words);
	map_delete(&windows, words);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops mdcc = {
	.ssthresh = (void *)mdcc_ssthresh,
	.cong_avoid = (void *)mdcc_cong_avoid,
	.set_state = (void *)mdcc_set_state,
	.cwnd_event = (void *)mdcc_cwnd_event,
	.pkts_acked = (void *)mdcc_pkts_acked,
	.undo_cwnd = (void *)mdcc_undo_cwnd,
	.init = (void *)mdcc_init,
	.release = (void *)mdcc_release,
	.name = "mdcc",
};

#include "parity.h"

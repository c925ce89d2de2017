/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * The parts of the kernel's types that the program uses. The loader finds each member by its name in the
 * types of the running kernel (CO-RE), so neither the order nor the rest of a type matters here.
 */
#ifndef AIRLANE_MDCC_KERNEL_H
#define AIRLANE_MDCC_KERNEL_H

#include "types.h"

#define KERNEL __attribute__((preserve_access_index))
#define AF_INET 2
#define AF_INET6 10

enum ca_state { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };
enum ca_event { EVENT_TX_START, EVENT_CWND_RESTART, EVENT_COMPLETE_CWR, EVENT_LOSS };

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
} KERNEL;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport; /* in network byte order */
	u16 skc_num;
	u16 skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
} KERNEL;

struct inet_sock {
	struct sock sk;
} KERNEL;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 bytes_acked;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 rttvar_us;
	u32 snd_cwnd_clamp;
	u32 mss_cache;
	u32 packets_out;
	u32 max_packets_out;
	u32 sacked_out;
	u32 delivered;
	u32 lost;
	u8 is_cwnd_limited : 1;
} KERNEL;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
} KERNEL;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum ca_event ev);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
};

/* Helpers of the kernel, by their numbers in include/uapi/linux/bpf.h. */
struct bpf_spin_lock {
	u32 val;
};

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*ktime_get_ns)(void) = (void *)5;
static void (*spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static void (*spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static void *(*sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;

#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_SK_STORAGE 24
#define NO_PREALLOC 1
#define STORAGE_CREATE 1

/* The form in which libbpf reads the definition of a map. */
#define MAP_UINT(name, value) int(*name)[value]
#define MAP_TYPE(name, value) typeof(value) *name

/* Reads a bit field of an object whose pointer the kernel has checked. */
#define FIELD_BYTE_OFFSET 0
#define FIELD_BYTE_SIZE 1
#define FIELD_LEFT_SHIFT 4
#define FIELD_RIGHT_SHIFT 5
#define BIT_FIELD(s, field)                                                                                  \
	({                                                                                                   \
		const void *p = (const void *)s + __builtin_preserve_field_info(s->field, FIELD_BYTE_OFFSET); \
		u64 value;                                                                                   \
                                                                                                             \
		asm volatile("" : "=r"(p) : "0"(p));                                                         \
		switch (__builtin_preserve_field_info(s->field, FIELD_BYTE_SIZE)) {                          \
		case 1: value = *(const u8 *)p; break;                                                       \
		case 2: value = *(const u16 *)p; break;                                                      \
		case 4: value = *(const u32 *)p; break;                                                      \
		case 8: value = *(const u64 *)p; break;                                                      \
		}                                                                                            \
		value <<= __builtin_preserve_field_info(s->field, FIELD_LEFT_SHIFT);                         \
		value >>= __builtin_preserve_field_info(s->field, FIELD_RIGHT_SHIFT);                        \
		value;                                                                                       \
	})

#endif

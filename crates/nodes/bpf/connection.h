/* SPDX-License-Identifier: MIT OR GPL-2.0-only
 *
 * What the program and the agent share (`key`, `report`, `windows`, `settings`; the agent's side is
 * crates/nodes/src/mdcc/shared.rs), and what the program keeps for a connection.
 */
#ifndef AIRLANE_MDCC_CONNECTION_H
#define AIRLANE_MDCC_CONNECTION_H

#include "evidence.h"
#include "kernel.h"

#define LIST_MAX 8
#define PROBES 32u

/* IPv4 addresses are mapped (RFC 4291 section 2.5.5.2), ports in host order. */
struct key {
	u8 local[16];
	u8 remote[16];
	u16 local_port;
	u16 remote_port;
};

struct block {
	u32 left;
	u32 right;
};

/* The latest message of a PEP about a connection; the agent writes it. */
struct message {
	u64 arrived_at; /* CLOCK_MONOTONIC */
	u64 delay;
	u32 number; /* from 1; 0 before the first */
	u32 unused;
	struct block newest;
	u32 first;
	u32 cumulative;
	u32 ranges;
	u32 holes;
	struct block range[LIST_MAX];
	struct block hole[LIST_MAX];
};

struct report {
	struct bpf_spin_lock lock;
	u32 unused;
	struct message message;
};

/* The state of a connection, for whoever looks. */
struct windows {
	u32 internet;
	u32 internet_ssthresh;
	u32 ran;
	u32 ran_ssthresh;
	u64 pep_srtt;
	u64 reports;
	u32 internet_losses;
	u32 ran_losses;
	u32 heard;
	u32 distrusted;
	u64 began;
	u32 disbelieved; /* losses behind the PEP that the delays do not show */
	u32 unused;
};

struct settings {
	u64 tolerance;
	u32 acks_per_increase;
	u32 hystart;
};

/* A time at which a position was about to be sent. */
struct probe {
	u64 position;
	u64 at;
};

/* The sender's state at this call. */
struct view {
	u64 acked;
	u64 sent;
	u64 srtt;
	u64 timeout;
	u32 una;
	u32 delivered;
	u32 lost;
	u32 sacked_out;
	u32 packets_out;
	u32 max_packets_out;
	u32 limited;
	u32 unused;
};

struct connection {
	struct law law;
	struct law saved; /* before the reduction whose cause is not known yet */
	struct key key;
	struct evidence evidence;
	struct message message;
	struct windows windows;
	struct view view;
	struct probe probes[PROBES];
	u32 probe;
	u32 saved_valid;
	u64 heard_at; /* 0: the PEP is silent */
	u64 pep_rtt; /* of the report that has just arrived, or NEVER */
	u64 seen_to;
	u64 seen_bytes;
	u64 counted; /* bytes that were counted for the internet window */
	u64 karn; /* positions before this may have been sent twice */
	u64 reduced_to[2]; /* what was sent at the last reduction of each window */
	u64 last_ack_at;
	u32 delivered;
	u32 lost;
	u32 set; /* the window that the law has set last; 0 during a reduction */
	u32 unused;
};

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the files of the agent share. */
#ifndef AIRLANE_AGENT_H
#define AIRLANE_AGENT_H

#include <stdint.h>

/* Calls are of the type of reports, or of the next one for those that are made while another call waits. */
enum { REPORTS = 0x88b5, CALLS_MEANWHILE = 0x88b6, AREA_SIZE = 1 << 22 };
enum { REPORT_MAX = 1400, TEXT_MAX = 4096, HOST_COUNT = 128, SETTING_COUNT = 64, SUBFLOW_COUNT = 16 };

/* What a host is for. */
struct host {
	unsigned number;
	char *words;
	char *settings[SETTING_COUNT];
	unsigned count;
	char *network[SETTING_COUNT];
	unsigned lines;
	char *command;
};

/* Reports that a step was not possible, and ends. */
void fail(const char *format, ...);

/* The value of a word of a host, or a default; and as a number. */
const char *text_of(const struct host *host, const char *key, const char *otherwise);
uint64_t number_of(const struct host *host, const char *key);

/* Changes an attribute of an interface. */
void change_interface(const char *name, int attribute, uint32_t value);

/* Sets the host's first interface up, with a route to everywhere. The link has no neighbours to ask. */
void configure(const struct host *host, const char *name);

/* Carries out a line about the network of a host with several paths. */
void configure_path(const struct host *host, const char *line);

#endif

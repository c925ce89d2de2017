// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The first program of a guest kernel, and the only one. It reads its jobs from /jobs, puts each host into a network
 * namespace of its own, and reports through the first network interface, so that reports are in the order of virtual
 * time. `airlane kernel build` compiles it as a static program.
 *
 * /jobs has a line for each host, words of the form key=value, and behind it the lines that belong to it:
 *
 *   host nic=1 address=10.0.0.1 mtu=1500 gro=1 gso=1 role=send to=10.1.0.1 from_port=50000 to_port=5203
 *        start=0 stop=0 bytes=0 write=131072 congestion=cubic every=100000000
 *   sysctl net.ipv4.tcp_ecn=1
 *   run iperf3 -s
 *
 * A host with mptcp=1 has sockets of Multipath TCP. It connects if it has opens=1, and has `nics` interfaces, the first of
 * which is as above. These lines are for the others and for the path manager (ip-mptcp(8)):
 *
 *   interface 2 10.5.0.1      the address of an interface; packets with this address leave through it
 *   address 1 10.0.0.2        a further address of an interface
 *   route 2 10.0.0.2          packets to this address leave through this interface
 *   limits 1 0                subflows besides the first, and accepted addresses of the peer
 *   endpoint 2 10.5.0.1 2     interface, address and MPTCP_PM_ADDR_FLAG_ of an endpoint
 *
 * Times are nanoseconds of CLOCK_REALTIME; a `stop` or `bytes` of 0 means none. Roles: `send` connects at `start` and
 * sends; `sink` accepts connections and discards what arrives; `ask` connects, sends requests of `request` bytes and
 * reads replies of `bytes` bytes, one after the other; `answer` does the other side; `run` starts a program of the
 * host's file system; `calls` makes the system calls that frames to the first network interface ask for.
 *
 * A report is a frame of type 0x88b5: a letter, the number of the host, two bytes in network order, and text or data.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/mptcp.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

/* The slack of timers of programs, in nanoseconds: that of the first program of a kernel (init/init_task.c). */
#define SLACK 50000UL

/* Bytes of one call that discards: no more are possible (MAX_RW_COUNT, include/linux/fs.h), and none are stored. */
#define DISCARD_MAX 0x7ffff000UL

static int reports = -1;
static unsigned current;
static char buffer[1 << 18];

/* Sends a report about the current host. */
static void report(char kind, const void *data, size_t length)
{
	struct { unsigned char destination[6], source[6], type[2], kind, host[2], data[REPORT_MAX]; } frame = {
		.destination = { 2, 255 }, .source = { 2 }, .type = { REPORTS >> 8, REPORTS & 255 },
		.kind = kind, .host = { current >> 8, current & 255 },
	};

	if (length > REPORT_MAX)
		length = REPORT_MAX;
	memcpy(frame.data, data, length);
	if (reports >= 0)
		send(reports, &frame, offsetof(__typeof__(frame), data) + length, 0);
}

/* Reports that a step was not possible, and ends. */
void fail(const char *format, ...)
{
	char text[REPORT_MAX];
	int error = errno, length;
	va_list arguments;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (error)
		length += snprintf(text + length, sizeof text - length, ": %s", strerror(error));
	fprintf(stderr, "agent: %s\n", text);
	report('e', text, length);
	pause();
	_exit(1);
}

/* The value of a word, or a default. */
const char *text_of(const struct host *host, const char *key, const char *otherwise)
{
	static char values[8][256];
	static unsigned turn;
	size_t length = strlen(key);
	const char *at = host->words;

	while ((at = strstr(at, key)) != NULL) {
		if ((at == host->words || at[-1] == ' ') && at[length] == '=') {
			char *value = values[turn++ % 8];

			snprintf(value, sizeof values[0], "%.*s", (int)strcspn(at + length + 1, " "), at + length + 1);
			return value;
		}
		at += length;
	}
	return otherwise;
}

uint64_t number_of(const struct host *host, const char *key)
{
	return strtoull(text_of(host, key, "0"), NULL, 10);
}

static void sleep_until(uint64_t time)
{
	struct timespec at = { .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 };

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	return at.tv_sec * 1000000000ULL + at.tv_nsec;
}

/* Sets a parameter such as net.ipv4.tcp_ecn=1; 0, or the error. */
static int set_parameter(const char *setting)
{
	char path[256] = "/proc/sys/";
	const char *value = strchr(setting, '=');
	size_t base = strlen(path), length = value ? (size_t)(value - setting) : 0;
	int file, error;

	if (!value || length >= sizeof path - base)
		return EINVAL;
	for (size_t i = 0; i < length; i++)
		path[base + i] = setting[i] == '.' ? '/' : setting[i];
	path[base + length] = 0;
	file = open(path, O_WRONLY);
	if (file < 0)
		return errno;
	error = write(file, value + 1, strlen(value + 1)) < 0 ? errno : 0;
	close(file);
	return error;
}

/* Reports the states of the subflows of a connection, each with its number, their count, and both addresses; 0 if it is open. */
static int report_subflows(int connection)
{
	static struct { struct mptcp_subflow_data head; struct mptcp_subflow_addrs of[SUBFLOW_COUNT]; } addresses;
	static struct { struct mptcp_subflow_data head; char of[SUBFLOW_COUNT][512]; } states;
	struct { unsigned char index, count; uint32_t local, remote; char state[512]; } __attribute__((packed)) one;
	socklen_t length = sizeof addresses;
	unsigned size;

	addresses.head = (struct mptcp_subflow_data){ sizeof addresses.head, 0, 0, sizeof addresses.of[0] };
	states.head = (struct mptcp_subflow_data){ sizeof states.head, 0, 0, sizeof states.of[0] };
	if (getsockopt(connection, SOL_MPTCP, MPTCP_SUBFLOW_ADDRS, &addresses, &length))
		return -1;
	length = sizeof states;
	if (getsockopt(connection, SOL_MPTCP, MPTCP_TCPINFO, &states, &length))
		return -1;
	one.count = states.head.num_subflows < SUBFLOW_COUNT ? states.head.num_subflows : SUBFLOW_COUNT;
	size = states.head.size_user < states.head.size_kernel ? states.head.size_user : states.head.size_kernel;
	for (one.index = 0; one.index < one.count; one.index++) {
		one.local = addresses.of[one.index].sin_local.sin_addr.s_addr;
		one.remote = addresses.of[one.index].sin_remote.sin_addr.s_addr;
		/* The elements of the kernel have the size that both sides know. */
		memcpy(one.state, (char *)states.of + one.index * (size_t)states.head.size_user, size);
		report('m', &one, offsetof(__typeof__(one), state) + size);
	}
	return 0;
}

/* Reports the state of a connection at regular times, until it is closed. */
static void sample(const struct host *host, int connection)
{
	uint64_t start = number_of(host, "sample_from"), every = number_of(host, "every");
	int multipath = number_of(host, "mptcp");
	char state[512];

	if (every == 0 || fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (now() > start)
		start += ((now() - start) / every + 1) * every;
	for (uint64_t at = start; ; at += every) {
		socklen_t length = sizeof state;

		sleep_until(at);
		if (multipath ? report_subflows(connection) : getsockopt(connection, IPPROTO_TCP, TCP_INFO, state, &length))
			_exit(0);
		if (!multipath)
			report('t', state, length);
	}
}

/* A socket of TCP, or of Multipath TCP, with the congestion control of the host. */
static int new_socket(const struct host *host)
{
	const char *congestion = text_of(host, "congestion", "");
	int protocol = number_of(host, "mptcp") ? IPPROTO_MPTCP : 0, one = 1;
	int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (made < 0)
		fail("a socket of protocol %d", protocol);
	if (*congestion && setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion)))
		fail("congestion control %s", congestion);
	setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	return made;
}

static int connected(const struct host *host)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(number_of(host, "from_port")) };
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(number_of(host, "to_port")) };
	int connection = new_socket(host);

	peer.sin_addr.s_addr = inet_addr(text_of(host, "to", ""));
	if (bind(connection, (struct sockaddr *)&own, sizeof own))
		fail("port %d", ntohs(own.sin_port));
	sleep_until(number_of(host, "start"));
	report('s', "", 0);
	if (connect(connection, (struct sockaddr *)&peer, sizeof peer)) {
		report('g', strerror(errno), strlen(strerror(errno)));
		pause();
	}
	sample(host, connection);
	return connection;
}

static void interrupted(int signal)
{
	(void)signal;
}

/* Interrupts this process at a time. */
static void interrupt_at(uint64_t time)
{
	struct sigaction action = { .sa_handler = interrupted };
	struct itimerspec when = { .it_value = { time / 1000000000, time % 1000000000 } };
	timer_t timer;

	if (time == 0)
		return;
	sigaction(SIGALRM, &action, NULL);
	if (timer_create(CLOCK_REALTIME, NULL, &timer) || timer_settime(timer, TIMER_ABSTIME, &when, NULL))
		fail("timer");
}

/* A connection of the peer, from the socket that listens at the host's port. */
static int accepted(int listening)
{
	int connection;

	do
		connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	while (connection < 0 && errno == EINTR);
	if (connection < 0)
		fail("accept");
	return connection;
}

static int listening(const struct host *host)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(number_of(host, "from_port")) };
	int server = new_socket(host);

	if (bind(server, (struct sockaddr *)&own, sizeof own) || listen(server, 128))
		fail("port %d", ntohs(own.sin_port));
	return server;
}

/* The one connection of a host that sends: it has opened it, or the peer has. */
static int of_sender(const struct host *host)
{
	int connection;

	if (strcmp(text_of(host, "opens", "1"), "0"))
		return connected(host);
	connection = accepted(listening(host));
	sample(host, connection);
	return connection;
}

static void send_all(const struct host *host)
{
	uint64_t left = number_of(host, "bytes"), stop = number_of(host, "stop");
	size_t chunk = number_of(host, "write");
	int endless = left == 0, connection = of_sender(host);
	ssize_t written = 0;

	if (chunk == 0 || chunk > sizeof buffer)
		chunk = sizeof buffer;
	interrupt_at(stop);
	while ((endless || left > 0) && (stop == 0 || now() < stop)) {
		written = send(connection, buffer, !endless && left < chunk ? left : chunk, MSG_NOSIGNAL);
		if (written < 0 && errno != EINTR) {
			report('g', strerror(errno), strlen(strerror(errno)));
			break;
		}
		if (written > 0 && !endless)
			left -= written;
	}
	shutdown(connection, SHUT_WR);
	/* The sink closes when it has read everything. */
	while (recv(connection, buffer, sizeof buffer, 0) > 0)
		;
	report('a', "", 0);
	pause();
}

/*
 * One call takes everything that arrives until the end: the process then waits and discards inside of the kernel, and
 * the machine is spared a change between kernel and process for each packet. TCP acknowledges and grows its buffer in
 * tcp_recvmsg() each time that it has emptied the queue, as it would between two calls (net/ipv4/tcp.c).
 */
static void discard(int connection)
{
	ssize_t got;

	do
		got = recv(connection, buffer, DISCARD_MAX, MSG_TRUNC | MSG_WAITALL);
	while (got > 0 || (got < 0 && errno == EINTR));
	if (got == 0)
		report('d', "", 0);
	close(connection);
}

static void discard_all(const struct host *host)
{
	int server;

	if (number_of(host, "opens")) {
		discard(connected(host));
		pause();
	}
	server = listening(host);
	for (;;)
		discard(accepted(server));
}

/* Reads so many bytes; 0 if the connection ended before. */
static int read_all(int connection, uint64_t bytes)
{
	while (bytes > 0) {
		ssize_t got = recv(connection, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		bytes -= got;
	}
	return 1;
}

static int write_all(int connection, uint64_t bytes)
{
	while (bytes > 0) {
		ssize_t put = send(connection, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return 0;
		bytes -= put;
	}
	return 1;
}

/* Requests and replies over one connection; each reply is reported with the time that it took. */
static void ask(const struct host *host)
{
	uint64_t request = number_of(host, "request"), reply = number_of(host, "bytes");
	uint64_t count = number_of(host, "count"), pause_ns = number_of(host, "interval");
	int connection = connected(host);

	for (uint64_t turn = 0; count == 0 || turn < count; turn++) {
		uint64_t began = now(), took;

		if (!write_all(connection, request) || !read_all(connection, reply))
			break;
		took = now() - began;
		report('r', &took, sizeof took);
		if (pause_ns)
			sleep_until(began + (took > pause_ns ? took : pause_ns));
	}
	shutdown(connection, SHUT_WR);
	report('a', "", 0);
	pause();
}

static void answer(const struct host *host)
{
	uint64_t request = number_of(host, "request"), reply = number_of(host, "bytes");
	int server = listening(host);

	for (;;) {
		int connection = accepted(server);

		sample(host, connection);
		while (read_all(connection, request) && write_all(connection, reply))
			;
		report('d', "", 0);
		close(connection);
	}
}

/* Runs a program of the machine's file system, and reports its output and its end. */
static void run(const struct host *host)
{
	int output[2], status = 0;
	ssize_t got;
	pid_t child;

	if (mkdir("/machine", 0755) && errno != EEXIST)
		fail("folder");
	if (mount("none", "/machine", "hostfs", MS_RDONLY | MS_NOATIME, "/"))
		fail("the machine's file system");
	if (mount("none", "/machine/tmp", "tmpfs", 0, NULL) || mount("none", "/machine/proc", "proc", 0, NULL))
		fail("file systems");
	if (pipe2(output, O_CLOEXEC))
		fail("pipe");
	sleep_until(number_of(host, "start"));
	child = fork();
	if (child == 0) {
		dup2(output[1], 1);
		dup2(output[1], 2);
		if (chroot("/machine") || chdir("/tmp"))
			_exit(126);
		prctl(PR_SET_TIMERSLACK, SLACK);
		setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
		execl("/bin/sh", "sh", "-c", host->command, NULL);
		_exit(127);
	}
	close(output[1]);
	while ((got = read(output[0], buffer, REPORT_MAX)) > 0)
		report('o', buffer, got);
	waitpid(child, &status, 0);
	got = snprintf(buffer, sizeof buffer, "%d", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	report('x', buffer, got);
	pause();
}

/* A request for a system call: behind the header of its frame, and followed by the first bytes of the area. */
struct request { int64_t number, arguments[6]; };

/* The answer, followed by as many bytes of the area as the request had. */
struct outcome { int64_t result, error; };

/* The memory of calls. Its address is reported, so that requests can contain pointers into it. */
static unsigned char area[AREA_SIZE] __attribute__((aligned(4096)));

/* Makes the calls that frames ask for, one after the other, and reports their results. */
static void make_calls(int frames, char kind)
{
	static unsigned char frame[2048];
	static union { struct outcome outcome; unsigned char bytes[REPORT_MAX]; } answer;
	const size_t before = ETH_HLEN + sizeof(struct request);

	for (;;) {
		struct request request;
		ssize_t got = recv(frames, frame, sizeof frame, 0);
		size_t length = got < (ssize_t)before ? 0 : got - before;
		const int64_t *a = request.arguments;

		if (got < (ssize_t)before || length > sizeof answer - sizeof answer.outcome)
			continue;
		memcpy(&request, frame + ETH_HLEN, sizeof request);
		memcpy(area, frame + before, length);
		answer.outcome.result = syscall(request.number, a[0], a[1], a[2], a[3], a[4], a[5]);
		answer.outcome.error = answer.outcome.result < 0 ? errno : 0;
		memcpy(answer.bytes + sizeof answer.outcome, area, length);
		report(kind, &answer, sizeof answer.outcome + length);
	}
}

/* Serves calls in two processes with the same files: a call that waits does not delay the others. */
static void serve_calls(int meanwhile)
{
	uint64_t address = (uintptr_t)area;

	signal(SIGPIPE, SIG_IGN);
	report('p', &address, sizeof address);
	if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, 0) == 0)
		make_calls(meanwhile, 'i');
	make_calls(reports, 'c');
}

/* Frames of a type on the interface of reports, which has no address. */
static int frames_of(int type)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(type) };
	struct ifreq request = { .ifr_name = "eth0", .ifr_flags = IFF_UP | IFF_NOARP };
	int frames = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	address.sll_ifindex = if_nametoindex("eth0");
	if (frames < 0 || ioctl(frames, SIOCSIFFLAGS, &request) ||
	    bind(frames, (struct sockaddr *)&address, sizeof address))
		fail("the interface of reports");
	return frames;
}

/* What a host does in its namespace. `to_parent` and `from_parent` are pipes for the steps of its start. */
static void serve(const struct host *host, const char *name, int to_parent, int from_parent)
{
	const char *role = text_of(host, "role", "");
	char missing[TEXT_MAX] = "", ready;
	int meanwhile = strcmp(role, "calls") ? -1 : frames_of(CALLS_MEANWHILE);

	current = host->number;
	if (unshare(CLONE_NEWNET | CLONE_NEWNS))
		fail("network namespace");
	mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (write(to_parent, "n", 1) != 1 || read(from_parent, &ready, 1) != 1)
		_exit(1);
	for (unsigned i = 0; i < host->count; i++) {
		int error = set_parameter(host->settings[i]);

		if (error == ENOENT && strlen(missing) + strlen(host->settings[i]) + 2 < sizeof missing)
			strcat(strcat(missing, host->settings[i]), "\n");
		else if ((errno = error) != 0)
			fail("sysctl %s", host->settings[i]);
	}
	/* Parameters of the whole kernel exist in the first namespace only. */
	strcat(missing, "\n");
	if (write(to_parent, missing, strlen(missing)) < 0 || read(from_parent, &ready, 1) != 1)
		_exit(1);
	configure(host, name);
	for (unsigned i = 0; i < host->lines; i++)
		configure_path(host, host->network[i]);
	if (write(to_parent, "c", 1) != 1)
		_exit(1);
	close(to_parent);
	close(from_parent);
	if (!strcmp(role, "send"))
		send_all(host);
	else if (!strcmp(role, "sink"))
		discard_all(host);
	else if (!strcmp(role, "ask"))
		ask(host);
	else if (!strcmp(role, "answer"))
		answer(host);
	else if (!strcmp(role, "run"))
		run(host);
	else if (!strcmp(role, "calls"))
		serve_calls(meanwhile);
	errno = 0;
	fail("role %s", role);
}

static void start(struct host *host)
{
	int to_parent[2], from_parent[2];
	char name[IF_NAMESIZE], settings[TEXT_MAX];
	ssize_t length = 0;
	pid_t child;

	current = host->number;
	snprintf(name, sizeof name, "eth%u", (unsigned)number_of(host, "nic"));
	if (pipe2(to_parent, O_CLOEXEC) || pipe2(from_parent, O_CLOEXEC))
		fail("pipe");
	child = fork();
	if (child == 0) {
		close(to_parent[0]);
		close(from_parent[1]);
		serve(host, name, to_parent[1], from_parent[0]);
	}
	close(to_parent[1]);
	close(from_parent[0]);
	if (read(to_parent[0], settings, 1) != 1)
		return; /* the child has reported why */
	for (unsigned nic = number_of(host, "nic"), end = nic + atoi(text_of(host, "nics", "1")); nic < end; nic++) {
		char one[IF_NAMESIZE];

		snprintf(one, sizeof one, "eth%u", nic);
		if (!number_of(host, "gso"))
			change_interface(one, IFLA_GSO_MAX_SEGS, 1); /* TCP has no other switch */
		change_interface(one, IFLA_NET_NS_PID, child);
	}
	if (write(from_parent[1], "m", 1) != 1)
		fail("pipe");
	do {
		ssize_t got = read(to_parent[0], settings + length, sizeof settings - 1 - length);

		if (got <= 0)
			return;
		length += got;
		settings[length] = 0;
	} while (settings[length - 1] != '\n');
	for (char *line = strtok(settings, "\n"); line; line = strtok(NULL, "\n"))
		if ((errno = set_parameter(line)) != 0)
			fail("sysctl %s", line);
	if (write(from_parent[1], "s", 1) != 1 || read(to_parent[0], settings, 1) != 1)
		return;
	close(to_parent[0]);
	close(from_parent[1]);
}

/* Reads the jobs; the number of hosts. */
static unsigned read_jobs(struct host *hosts)
{
	FILE *jobs = fopen("/jobs", "r");
	unsigned count = 0;
	char line[TEXT_MAX];

	if (!jobs)
		fail("/jobs");
	while (fgets(line, sizeof line, jobs)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "host ", 5) && count < HOST_COUNT) {
			hosts[count] = (struct host){ .number = count, .words = strdup(line + 5) };
			count++;
		} else if (!strncmp(line, "sysctl ", 7) && count && hosts[count - 1].count < SETTING_COUNT) {
			struct host *host = &hosts[count - 1];

			host->settings[host->count++] = strdup(line + 7);
		} else if (!strncmp(line, "run ", 4) && count) {
			hosts[count - 1].command = strdup(line + 4);
		} else if (count && hosts[count - 1].lines < SETTING_COUNT) {
			struct host *host = &hosts[count - 1];

			host->network[host->lines++] = strdup(line);
		} else {
			errno = 0;
			fail("line of /jobs: %s", line);
		}
	}
	fclose(jobs);
	return count;
}

int main(void)
{
	static struct host hosts[HOST_COUNT];
	struct utsname kernel;
	unsigned count;

	mkdir("/proc", 0755);
	mount("none", "/proc", "proc", 0, NULL);
	/* With the usual slack of 50 us, a process that sleeps until a time wakes up so much later (PR_SET_TIMERSLACK). */
	prctl(PR_SET_TIMERSLACK, 1UL);
	reports = frames_of(REPORTS);
	count = read_jobs(hosts);
	for (unsigned i = 0; i < count; i++)
		start(&hosts[i]);
	uname(&kernel);
	report('k', kernel.release, strlen(kernel.release));
	for (;;)
		if (wait(NULL) < 0)
			pause();
}

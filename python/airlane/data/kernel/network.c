// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The interfaces, addresses and routes of a host, and the endpoints of the kernel's path manager of Multipath TCP.
 *
 * Requests go to the kernel by netlink (rtnetlink(7); include/uapi/linux/{genetlink,mptcp_pm}.h).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"

/* A request to netlink: its header, that of its family, and attributes. */
struct message { struct nlmsghdr head; char body[256]; };

/* Begins a request; the place of the header of its family, which has this length. */
static void *begin(struct message *message, int type, int flags, size_t length)
{
	*message = (struct message){ .head = { .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags } };
	message->head.nlmsg_len = NLMSG_LENGTH(length);
	return message->body;
}

/* Adds an attribute, and returns it. */
static struct rtattr *add(struct message *message, int type, const void *value, size_t length)
{
	struct rtattr *attribute = (void *)((char *)message + NLMSG_ALIGN(message->head.nlmsg_len));

	*attribute = (struct rtattr){ .rta_len = RTA_LENGTH(length), .rta_type = type };
	memcpy(RTA_DATA(attribute), value, length);
	message->head.nlmsg_len = NLMSG_ALIGN(message->head.nlmsg_len) + RTA_ALIGN(attribute->rta_len);
	return attribute;
}

static void add_number(struct message *message, int type, uint32_t value)
{
	add(message, type, &value, sizeof value);
}

/* Sends a request of a protocol of netlink; its answer takes its place, with 0 or the error. */
static int ask_netlink(int protocol, struct message *message)
{
	int link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), error = 0;

	if (link < 0 || send(link, message, message->head.nlmsg_len, 0) < 0 || recv(link, message, sizeof *message, 0) < 0)
		error = errno;
	else if (message->head.nlmsg_type == NLMSG_ERROR)
		error = -((struct nlmsgerr *)message->body)->error;
	close(link);
	return error;
}

void change_interface(const char *name, int attribute, uint32_t value)
{
	struct message message;
	struct ifinfomsg *link = begin(&message, RTM_NEWLINK, NLM_F_ACK, sizeof *link);

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = if_nametoindex(name);
	add_number(&message, attribute, value);
	errno = link->ifi_index ? ask_netlink(NETLINK_ROUTE, &message) : ENODEV;
	if (errno)
		fail("attribute %d of interface %s cannot be changed", attribute, name);
}

/* Adds an address to an interface. */
static void add_address(unsigned interface, uint32_t address)
{
	struct message message;
	struct ifaddrmsg *body = begin(&message, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE, sizeof *body);

	*body = (struct ifaddrmsg){ .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = interface };
	add_number(&message, IFA_LOCAL, address);
	if ((errno = ask_netlink(NETLINK_ROUTE, &message)) != 0)
		fail("a further address");
}

/* Adds a route over an interface to a table: to an address, or to everywhere. */
static void add_route(unsigned interface, uint32_t to, unsigned table)
{
	struct message message;
	struct rtmsg *body = begin(&message, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE, sizeof *body);

	*body = (struct rtmsg){ .rtm_family = AF_INET, .rtm_dst_len = to ? 32 : 0, .rtm_table = table,
		.rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_LINK, .rtm_type = RTN_UNICAST };
	if (to)
		add_number(&message, RTA_DST, to);
	add_number(&message, RTA_OIF, interface);
	if ((errno = ask_netlink(NETLINK_ROUTE, &message)) != 0)
		fail("a route");
}

/* Packets from an address have a table of routes of their own. */
static void add_rule(uint32_t from, unsigned table)
{
	struct message message;
	struct fib_rule_hdr *body = begin(&message, RTM_NEWRULE, NLM_F_ACK | NLM_F_CREATE, sizeof *body);

	*body = (struct fib_rule_hdr){ .family = AF_INET, .src_len = 32, .table = table, .action = FR_ACT_TO_TBL };
	add_number(&message, FRA_SRC, from);
	if ((errno = ask_netlink(NETLINK_ROUTE, &message)) != 0)
		fail("a rule of routing");
}

/* The number of the path manager of Multipath TCP among the families of generic netlink. */
static int path_manager(void)
{
	struct message message;
	struct genlmsghdr *body = begin(&message, GENL_ID_CTRL, 0, sizeof *body);
	struct rtattr *one;
	int left;

	body->cmd = CTRL_CMD_GETFAMILY;
	add(&message, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME, sizeof MPTCP_PM_NAME);
	if ((errno = ask_netlink(NETLINK_GENERIC, &message)) != 0)
		fail("Multipath TCP");
	one = (void *)(message.body + GENL_HDRLEN);
	left = message.head.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	for (; RTA_OK(one, left); one = RTA_NEXT(one, left))
		if (one->rta_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)RTA_DATA(one);
	fail("Multipath TCP has no path manager");
	return 0;
}

/* Begins a command to the path manager. */
static void begin_command(struct message *message, int command)
{
	struct genlmsghdr *body;
	int family = path_manager();

	body = begin(message, family, NLM_F_ACK, sizeof *body);
	*body = (struct genlmsghdr){ .cmd = command, .version = MPTCP_PM_VER };
}

/* Adds an endpoint: an address from which subflows are opened, or which is announced. */
static void add_endpoint(unsigned interface, uint32_t address, uint32_t flags)
{
	struct message message;
	struct rtattr *whole;
	uint16_t family = AF_INET;

	begin_command(&message, MPTCP_PM_CMD_ADD_ADDR);
	whole = add(&message, MPTCP_PM_ATTR_ADDR | NLA_F_NESTED, NULL, 0);
	add(&message, MPTCP_PM_ADDR_ATTR_FAMILY, &family, sizeof family);
	add_number(&message, MPTCP_PM_ADDR_ATTR_ADDR4, address);
	add_number(&message, MPTCP_PM_ADDR_ATTR_FLAGS, flags);
	add_number(&message, MPTCP_PM_ADDR_ATTR_IF_IDX, interface);
	whole->rta_len = (char *)&message + message.head.nlmsg_len - (char *)whole;
	if ((errno = ask_netlink(NETLINK_GENERIC, &message)) != 0)
		fail("an endpoint of Multipath TCP");
}

/* Gives an interface of the host its address, and switches it on. */
static void switch_on(const struct host *host, const char *name, uint32_t own)
{
	int link = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { 0 };
	struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
	struct ethtool_value gro = { .cmd = ETHTOOL_SGRO, .data = number_of(host, "gro") };

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
	request.ifr_mtu = number_of(host, "mtu");
	if (ioctl(link, SIOCSIFMTU, &request))
		fail("MTU %d of %s", request.ifr_mtu, name);
	request.ifr_data = (void *)&gro;
	if (ioctl(link, SIOCETHTOOL, &request))
		fail("GRO of %s", name);
	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	address->sin_addr.s_addr = own;
	if (ioctl(link, SIOCSIFADDR, &request))
		fail("address of %s", name);
	address->sin_addr.s_addr = 0xffffffff;
	if (ioctl(link, SIOCSIFNETMASK, &request))
		fail("netmask of %s", name);
	request.ifr_flags = IFF_UP | IFF_NOARP;
	if (ioctl(link, SIOCSIFFLAGS, &request))
		fail("%s cannot be switched on", name);
	close(link);
}

void configure(const struct host *host, const char *name)
{
	int link = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct rtentry route = { .rt_flags = RTF_UP, .rt_dev = (char *)name };

	ioctl(link, SIOCSIFFLAGS, &request);
	switch_on(host, name, inet_addr(text_of(host, "address", "0.0.0.0")));
	((struct sockaddr_in *)&route.rt_dst)->sin_family = AF_INET;
	((struct sockaddr_in *)&route.rt_genmask)->sin_family = AF_INET;
	if (ioctl(link, SIOCADDRT, &route))
		fail("route over %s", name);
	close(link);
}

void configure_path(const struct host *host, const char *line)
{
	char what[16], address[INET_ADDRSTRLEN] = "", name[IF_NAMESIZE];
	unsigned nic = 0, flags = 0, interface;
	uint32_t ip;

	sscanf(line, "%15s %u %15s %u", what, &nic, address, &flags);
	if (!strcmp(what, "limits")) {
		struct message message;

		begin_command(&message, MPTCP_PM_CMD_SET_LIMITS);
		add_number(&message, MPTCP_PM_ATTR_SUBFLOWS, nic);
		add_number(&message, MPTCP_PM_ATTR_RCV_ADD_ADDRS, atoi(address));
		if ((errno = ask_netlink(NETLINK_GENERIC, &message)) != 0)
			fail("the limits of Multipath TCP");
		return;
	}
	snprintf(name, sizeof name, "eth%u", nic);
	ip = inet_addr(address);
	if (!strcmp(what, "interface"))
		switch_on(host, name, ip);
	interface = if_nametoindex(name);
	if (!strcmp(what, "interface")) {
		add_route(interface, 0, nic);
		add_rule(ip, nic);
	} else if (!strcmp(what, "address")) {
		add_address(interface, ip);
	} else if (!strcmp(what, "route")) {
		add_route(interface, ip, RT_TABLE_MAIN);
	} else {
		add_endpoint(interface, ip, flags);
	}
}

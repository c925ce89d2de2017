// Reads the beginnings of packets, and nothing else, until SIGTERM: from a ring of AF_PACKET with the settings of
// `airlane node pep`, or from the ring buffer of copy.bpf.c. It prints the numbers of packets read and lost, and the
// processor time in seconds.
//
//     read packet INTERFACE SERVER       SERVER as a number
//     read bpf RING LOST SLEEP_US        pinned maps; 0 waits to be woken
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SNAP 192
#define BLOCK (128 << 10)
#define SIZE (16 << 20)

static volatile sig_atomic_t stop;
static unsigned long long packets, lost, sum;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

// One use of each header, so that it comes into the cache.
static void use(const unsigned char *bytes)
{
    sum += bytes[0] + bytes[SNAP / 3];
    packets++;
}

static void packet(const char *interface, unsigned int server)
{
    int fd = socket(AF_PACKET, SOCK_DGRAM, 0), version = TPACKET_V3;
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, SKF_AD_OFF + SKF_AD_PROTOCOL},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, ETH_P_IP},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 12},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, server},
        {BPF_RET | BPF_K, 0, 0, SNAP},
        {BPF_RET | BPF_K, 0, 0, 0},
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    struct tpacket_req3 request = {
        .tp_block_size = BLOCK,
        .tp_block_nr = SIZE / BLOCK,
        .tp_frame_size = 2048,
        .tp_frame_nr = SIZE / 2048,
        .tp_retire_blk_tov = 1,
    };
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    address.sll_ifindex = (int)if_nametoindex(interface);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ||
        setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) ||
        setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request))
        fail("ring");
    unsigned char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED || bind(fd, (struct sockaddr *)&address, sizeof address))
        fail("bind");
    puts("ready");
    fflush(stdout);
    for (unsigned int next = 0; !stop;) {
        struct tpacket_block_desc *block = (void *)(memory + (size_t)next * BLOCK);
        _Atomic unsigned int *status = (void *)&block->hdr.bh1.block_status;
        if (!(atomic_load(status) & TP_STATUS_USER)) {
            struct pollfd wait = {fd, POLLIN, 0};
            poll(&wait, 1, 200);
            continue;
        }
        struct tpacket3_hdr *header = (void *)((unsigned char *)block + block->hdr.bh1.offset_to_first_pkt);
        for (unsigned int left = block->hdr.bh1.num_pkts; left; left--) {
            use((unsigned char *)header + header->tp_net);
            header = (void *)((unsigned char *)header + header->tp_next_offset);
        }
        atomic_store(status, TP_STATUS_KERNEL);
        next = (next + 1) % (SIZE / BLOCK);
    }
    struct tpacket_stats_v3 counts;
    socklen_t length = sizeof counts;
    if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &counts, &length))
        fail("counts");
    lost = counts.tp_drops;
}

static int pinned(const char *name)
{
    union bpf_attr attr = {.pathname = (unsigned long long)(size_t)name};
    int fd = (int)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof attr);
    if (fd < 0)
        fail(name);
    return fd;
}

static void bpf(int ring, int losses, unsigned int sleep_us)
{
    long page = sysconf(_SC_PAGESIZE);
    _Atomic unsigned long *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
    unsigned char *kernel = mmap(NULL, page + 2L * SIZE, PROT_READ, MAP_SHARED, ring, page);
    if (consumer == MAP_FAILED || (void *)kernel == MAP_FAILED)
        fail("mmap");
    _Atomic unsigned long *producer = (void *)kernel;
    puts("ready");
    fflush(stdout);
    unsigned long at = atomic_load(consumer);
    while (!stop) {
        unsigned long end = atomic_load(producer);
        while (at < end) {
            _Atomic unsigned int *header = (void *)(kernel + page + (at & (SIZE - 1)));
            unsigned int length = atomic_load(header);
            if (length & BPF_RINGBUF_BUSY_BIT)
                break;
            if (!(length & BPF_RINGBUF_DISCARD_BIT))
                use((unsigned char *)header + BPF_RINGBUF_HDR_SZ + 12);
            at += ((length & ~BPF_RINGBUF_DISCARD_BIT) + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
            atomic_store(consumer, at);
        }
        struct pollfd wait = {ring, POLLIN, 0};
        if (sleep_us)
            usleep(sleep_us);
        else
            poll(&wait, 1, 200);
    }
    unsigned int zero = 0;
    union bpf_attr attr = {.map_fd = (unsigned int)losses};
    attr.key = (unsigned long long)(size_t)&zero;
    attr.value = (unsigned long long)(size_t)&lost;
    if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof attr))
        fail("lost");
}

int main(int count, char **words)
{
    signal(SIGTERM, on_signal);
    if (count == 4 && !strcmp(words[1], "packet"))
        packet(words[2], (unsigned int)strtoul(words[3], NULL, 0));
    else if (count == 5 && !strcmp(words[1], "bpf"))
        bpf(pinned(words[2]), pinned(words[3]), (unsigned int)strtoul(words[4], NULL, 0));
    else
        return 2;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"packets\": %llu, \"lost\": %llu, \"cpu_s\": %.6f, \"sum\": %llu}\n", packets, lost, cpu, sum);
    return 0;
}

/* A transport stack that does no I/O, as Haltere runs it in virtual time.
 *
 * A stack is a shared library with one symbol, `haltere_stack_v1`. It returns a table of functions that lives as long
 * as the library. Each connection has two ends, and each end is one `haltere_end`. Haltere gives it the time, the
 * datagrams that arrive and the bytes that the application writes; it takes the datagrams that are to leave.
 *
 * Times are nanoseconds of virtual time, which begins at 0 and never goes back. One end is called by one thread at a
 * time; two ends may be called by two threads. Random numbers follow from `seed` alone: the same calls give the same
 * answers, or runs do not repeat. Payload has no content: the application writes and reads numbers of bytes.
 *
 * After each of `receive`, `timeout`, `write`, `read` and `close`, Haltere calls `transmit` until it returns 0, and
 * asks for `next_timeout`. A function that fails returns -1, and `error` says why in one line without a full stop. A
 * run whose stack fails ends with that line.
 */
#ifndef HALTERE_STACK_H
#define HALTERE_STACK_H

#include <stddef.h>
#include <stdint.h>

#define HALTERE_STACK_ABI 3
#define HALTERE_NEVER UINT64_MAX

/* One end of a connection. The stack defines it. */
typedef struct haltere_end haltere_end;

/* The ECN field of the IP header (RFC 3168 section 5). */
enum haltere_ecn { HALTERE_NOT_ECT = 0, HALTERE_ECT1 = 1, HALTERE_ECT0 = 2, HALTERE_CE = 3 };

/* A parameter of the stack with its value as text: durations in ns, rates in bit/s, sizes in bytes. */
typedef struct {
    const char *name;
    const char *value;
} haltere_option;

/* What a stack tells a congestion control. */
typedef struct {
    uint64_t now;
    uint64_t sent;         /* when the packet left; of a batch of losses, the last one's */
    uint64_t bytes;        /* of the packet; of a batch of losses, of all */
    uint64_t srtt, min_rtt; /* ns */
    uint8_t app_limited;   /* the connection had nothing more to send */
    uint8_t persistent;    /* persistent congestion (RFC 9002 section 7.6) */
    uint8_t ecn;           /* no loss, but marks */
} haltere_ack;

/* Congestion controls of Haltere, for a stack that takes them. `make` gives a control, to which the other functions
 * refer. A stack frees each. */
typedef struct {
    void *context;
    void *(*make)(void *context, uint64_t max_datagram);
    void *(*copy)(void *control);
    void (*free)(void *control);
    void (*on_sent)(void *control, uint64_t now, uint64_t bytes);
    void (*on_ack)(void *control, const haltere_ack *packet); /* one packet is acknowledged */
    void (*on_acks)(void *control, uint64_t now, uint64_t in_flight); /* that was the last one of an ACK frame */
    void (*on_loss)(void *control, const haltere_ack *batch);
    uint64_t (*window)(void *control);      /* bytes */
    uint64_t (*pacing_rate)(void *control); /* bytes a second; 0: the control sets none */
    uint64_t (*ssthresh)(void *control);    /* bytes; UINT64_MAX: none yet */
} haltere_controls;

/* What an end is made with. What it points to lives until the end is freed. */
typedef struct {
    uint64_t seed;
    uint32_t is_server;
    uint32_t max_datagram; /* the largest UDP payload that the path carries */
    uint32_t ecn;          /* use ECN */
    uint32_t secrets;      /* keep the TLS secrets */
    uint32_t log;          /* write a log */
    const char *control;   /* a control of the stack's own. NULL: those of `ours` */
    const haltere_controls *ours;
    const haltere_option *options;
    size_t options_len;
    uint32_t paths; /* disjoint paths to the peer. More than 1 only for a stack that has `haltere_paths` */
} haltere_config;

/* What an end shows of itself, for the tables. Zero where the stack does not know. */
typedef struct {
    uint64_t cwnd, ssthresh, in_flight; /* bytes; ssthresh UINT64_MAX: none yet */
    uint64_t srtt, rttvar, min_rtt;     /* ns */
    uint64_t pacing_rate;               /* bytes a second */
    uint64_t mtu;                       /* UDP payload */
    uint64_t packets_sent, packets_lost, bytes_lost;
    uint64_t congestion_events, timeouts;
    uint64_t bytes_acked, packets_acked;
    uint32_t is_established, is_closed;
} haltere_info;

/* What a stack of several paths adds. Paths count from 0, on which the connection begins; the client opens the others when
 * it may, and the stack chooses the path of each datagram. */
typedef struct {
    void (*arrives)(haltere_end *end, uint32_t path); /* the next `receive` is of a datagram that came over that path */
    uint32_t (*leaves)(haltere_end *end); /* the path over which the datagrams of the last `transmit` go */
    int32_t (*info)(haltere_end *end, uint32_t path, haltere_info *info);
} haltere_paths;

typedef struct {
    uint32_t abi; /* HALTERE_STACK_ABI */
    /* JSON: { "name": "noq", "version": "1.4.0", "summary": "One sentence.", "controls": ["cubic"], "ours": true,
     * "parameters": [{ "name": "...", "format": "integer", "default": 3, "meaning": "One sentence." }] }. `ours`: the
     * stack takes Haltere's controls. Formats: number, integer, boolean, string, duration, rate, bytes. */
    const char *about;
    const char *(*error)(void); /* why the last call of this thread failed */

    haltere_end *(*open)(const haltere_config *config, uint64_t now); /* NULL: it failed */
    void (*free)(haltere_end *end);

    int32_t (*receive)(haltere_end *end, uint64_t now, uint8_t ecn, const uint8_t *data, size_t len);
    int32_t (*timeout)(haltere_end *end, uint64_t now);
    uint64_t (*next_timeout)(haltere_end *end); /* HALTERE_NEVER: none */
    /* Writes datagrams for the peer, all but the last `*segment` bytes long. Returns the bytes written. */
    int64_t (*transmit)(haltere_end *end, uint64_t now, uint8_t *buffer, size_t capacity, size_t *segment, uint8_t *ecn);

    /* Streams are numbered from 0 in the order in which the client opens them, and go both ways. Writing to the next
     * number opens it. Returns how many bytes the stack takes now. With `fin`, the stream ends after `bytes`: its end
     * counts as one byte more, so `bytes + 1` says that all was taken. */
    int64_t (*write)(haltere_end *end, uint64_t stream, uint64_t bytes, uint8_t fin);
    /* Reads what is there from some stream. Returns the bytes; 0 without `*fin`: nothing is there. */
    int64_t (*read)(haltere_end *end, uint64_t *stream, uint8_t *fin);
    int32_t (*close)(haltere_end *end, uint64_t now);
    int32_t (*info)(haltere_end *end, haltere_info *info);
    /* New TLS secrets in the format of SSLKEYLOGFILE, whole lines. Returns the bytes written. May be NULL. */
    int64_t (*secrets)(haltere_end *end, uint8_t *buffer, size_t capacity);
    /* The next part of the log, a qlog in JSON text sequences. Returns the bytes written; 0: there is no more. Haltere asks
     * when the connection or the run is over. May be NULL. */
    int64_t (*log)(haltere_end *end, uint8_t *buffer, size_t capacity);
    const haltere_paths *paths; /* NULL: a connection has one path */
} haltere_stack;

#ifdef __cplusplus
extern "C"
#endif
const haltere_stack *haltere_stack_v1(void);

#endif

/* A stack in C, as small as one can be that recovers losses: an example of `haltere_stack.h`.
 *
 * Data goes in chunks, each with a number that it keeps when it is sent again. The receiver acknowledges every chunk by
 * its number. A chunk is lost if one that was sent three chunks later is acknowledged, or after a timeout. The window is
 * that of a control of Haltere, or fixed.
 *
 *     cc -shared -fPIC -O2 -I../adapter/include -o libtoy.so toy.c
 */
#include "haltere_stack.h"
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 256, CHUNKS = 4096, HEADER = 16, DATA = 1, ACK = 2, CLOSE = 3 };

typedef struct {
    uint64_t sent;
    uint32_t number, stream;
    uint16_t len;
    uint8_t fin, in_flight, is_waiting; /* waiting: it is to be sent again */
} chunk;

struct haltere_end {
    haltere_config config;
    void *control; /* of Haltere, or NULL */
    uint64_t window, payload;
    uint64_t unsent[STREAMS];
    uint8_t fin[STREAMS]; /* 1: the end is to be sent; 2: it was */
    uint32_t outstanding[STREAMS]; /* chunks that are not acknowledged */
    chunk chunks[CHUNKS]; /* by number modulo CHUNKS */
    uint32_t first, next; /* numbers: the first that is not acknowledged, and the next to be given */
    uint64_t in_flight, waiting;
    uint8_t seen[CHUNKS]; /* of the numbers around `expected` */
    uint32_t expected;
    uint64_t arrived[STREAMS];
    uint8_t ended[STREAMS]; /* 1: the end arrived; 2: it was read */
    uint32_t acks[CHUNKS], acks_from, acks_to;
    uint64_t srtt, min_rtt, timer;
    haltere_info info;
    uint8_t is_closing, close_sent;
};

static const char *message = "";
static const char *error(void) { return message; }

static uint64_t number_of(const haltere_config *config, const char *name, uint64_t otherwise) {
    for (size_t i = 0; i < config->options_len; i++)
        if (!strcmp(config->options[i].name, name)) return strtoull(config->options[i].value, NULL, 10);
    return otherwise;
}

static haltere_end *open_end(const haltere_config *config, uint64_t now) {
    (void)now;
    haltere_end *end = calloc(1, sizeof *end);
    if (!end) {
        message = "there is no memory";
        return NULL;
    }
    end->config = *config;
    end->payload = config->max_datagram - HEADER;
    end->window = number_of(config, "window", 20) * config->max_datagram;
    if (config->ours) end->control = config->ours->make(config->ours->context, config->max_datagram);
    end->info.ssthresh = UINT64_MAX;
    end->info.is_established = 1;
    return end;
}

static void free_end(haltere_end *end) {
    if (end->control) end->config.ours->free(end->control);
    free(end);
}

static chunk *at(haltere_end *end, uint32_t number) { return &end->chunks[number % CHUNKS]; }

static void lose(haltere_end *end, chunk *lost) {
    uint64_t bytes = lost->len + HEADER;
    lost->in_flight = 0;
    lost->is_waiting = 1;
    end->waiting++;
    end->in_flight -= bytes;
    end->info.packets_lost++;
    end->info.bytes_lost += bytes;
}

static void tell_loss(haltere_end *end, uint64_t now, uint64_t sent, uint64_t bytes, uint8_t persistent) {
    haltere_ack batch = {.now = now, .sent = sent, .bytes = bytes, .persistent = persistent};
    end->info.congestion_events++;
    if (end->control) end->config.ours->on_loss(end->control, &batch);
}

static int has_data(haltere_end *end) {
    for (int s = 0; s < STREAMS; s++)
        if (end->unsent[s] || end->fin[s] == 1) return 1;
    return end->waiting > 0;
}

static void acknowledged(haltere_end *end, uint64_t now, uint32_t number) {
    chunk *acked = at(end, number);
    if (acked->number != number || !(acked->in_flight || acked->is_waiting)) return;
    uint64_t bytes = acked->len + HEADER, rtt = now - acked->sent, last_sent = 0, lost = 0;
    end->outstanding[acked->stream]--;
    if (acked->is_waiting) end->waiting--;
    if (acked->in_flight) end->in_flight -= bytes;
    acked->in_flight = acked->is_waiting = 0;
    end->srtt = end->srtt ? end->srtt - end->srtt / 8 + rtt / 8 : rtt;
    if (!end->min_rtt || rtt < end->min_rtt) end->min_rtt = rtt;
    end->info.bytes_acked += bytes;
    end->info.packets_acked++;
    while (end->first != end->next && !at(end, end->first)->in_flight && !at(end, end->first)->is_waiting) end->first++;
    if (end->control) {
        haltere_ack packet = {.now = now, .sent = acked->sent, .bytes = bytes, .srtt = end->srtt,
                              .min_rtt = end->min_rtt, .app_limited = !has_data(end)};
        end->config.ours->on_ack(end->control, &packet);
        end->config.ours->on_acks(end->control, now, end->in_flight);
    }
    for (uint32_t n = end->first; n + 3 <= number && n < number; n++) {
        chunk *old = at(end, n);
        if (!old->in_flight || old->sent > acked->sent) continue;
        lose(end, old);
        lost += old->len + HEADER;
        if (old->sent > last_sent) last_sent = old->sent;
    }
    if (lost) tell_loss(end, now, last_sent, lost, 0);
    end->timer = end->first == end->next ? HALTERE_NEVER : now + 2 * end->srtt + 10000000;
}

static void put(uint8_t *to, uint32_t value) { memcpy(to, &value, 4); }
static uint32_t get(const uint8_t *from) {
    uint32_t value;
    memcpy(&value, from, 4);
    return value;
}

static int32_t receive(haltere_end *end, uint64_t now, uint8_t ecn, const uint8_t *data, size_t len) {
    (void)ecn;
    if (len < HEADER) {
        message = "a datagram is too short";
        return -1;
    }
    uint32_t kind = data[0], number = get(data + 4), stream = get(data + 8);
    if (kind == CLOSE) end->info.is_closed = 1;
    if (kind == ACK)
        for (uint32_t i = 0; i < number; i++) acknowledged(end, now, get(data + HEADER + 4 * i));
    if (kind != DATA || stream >= STREAMS) return 0;
    end->acks[end->acks_to++ % CHUNKS] = number;
    if (number - end->expected >= CHUNKS || end->seen[number % CHUNKS]) return 0;
    end->seen[number % CHUNKS] = 1;
    while (end->seen[end->expected % CHUNKS]) end->seen[end->expected++ % CHUNKS] = 0;
    end->arrived[stream] += len - HEADER;
    if (data[1]) end->ended[stream] = 1;
    return 0;
}

static int32_t timed_out(haltere_end *end, uint64_t now) {
    if (end->timer > now) return 0;
    end->timer = HALTERE_NEVER;
    uint64_t lost = 0, last_sent = 0;
    for (uint32_t n = end->first; n != end->next; n++) {
        chunk *old = at(end, n);
        if (!old->in_flight) continue;
        lose(end, old);
        lost += old->len + HEADER;
        if (old->sent > last_sent) last_sent = old->sent;
    }
    end->info.timeouts++;
    if (lost) tell_loss(end, now, last_sent, lost, 1);
    return 0;
}

static uint64_t next_timeout(haltere_end *end) {
    return end->first == end->next || end->info.is_closed ? HALTERE_NEVER : end->timer;
}

static size_t head(uint8_t *to, uint8_t kind, uint8_t fin, uint32_t number, uint32_t stream) {
    memset(to, 0, HEADER);
    to[0] = kind;
    to[1] = fin;
    put(to + 4, number);
    put(to + 8, stream);
    return HEADER;
}

/* The next chunk to be sent: a lost one, or new data. */
static chunk *choose(haltere_end *end) {
    for (uint32_t n = end->first; end->waiting && n != end->next; n++)
        if (at(end, n)->is_waiting) {
            at(end, n)->is_waiting = 0;
            end->waiting--;
            return at(end, n);
        }
    if (end->next - end->first >= CHUNKS / 2) return NULL;
    for (uint32_t s = 0; s < STREAMS; s++) {
        /* The end goes by itself, when all before it has arrived: then it cannot overtake. */
        int is_end = !end->unsent[s] && end->fin[s] == 1 && !end->outstanding[s];
        if (!end->unsent[s] && !is_end) continue;
        chunk *new = at(end, end->next);
        uint64_t len = end->unsent[s] < end->payload ? end->unsent[s] : end->payload;
        end->unsent[s] -= len;
        *new = (chunk){.number = end->next++, .stream = s, .len = (uint16_t)len, .fin = (uint8_t)is_end};
        if (is_end) end->fin[s] = 2;
        end->outstanding[s]++;
        return new;
    }
    return NULL;
}

static int64_t transmit(haltere_end *end, uint64_t now, uint8_t *buffer, size_t capacity, size_t *segment, uint8_t *ecn) {
    (void)capacity;
    *ecn = end->config.ecn ? HALTERE_ECT0 : HALTERE_NOT_ECT;
    if (end->acks_from != end->acks_to) {
        uint32_t count = end->acks_to - end->acks_from;
        if (count > 100) count = 100;
        size_t len = head(buffer, ACK, 0, count, 0);
        for (uint32_t i = 0; i < count; i++, len += 4) put(buffer + len, end->acks[end->acks_from++ % CHUNKS]);
        return (int64_t)(*segment = len);
    }
    if (end->is_closing && !end->close_sent) {
        end->close_sent = end->info.is_closed = 1;
        return (int64_t)(*segment = head(buffer, CLOSE, 0, 0, 0));
    }
    uint64_t window = end->control ? end->config.ours->window(end->control) : end->window;
    if (end->info.is_closed || end->in_flight + end->config.max_datagram > window) return 0;
    chunk *next = choose(end);
    if (!next) return 0;
    next->sent = now;
    next->in_flight = 1;
    end->in_flight += next->len + HEADER;
    end->info.packets_sent++;
    if (end->control) end->config.ours->on_sent(end->control, now, next->len + HEADER);
    end->timer = now + 2 * end->srtt + (end->srtt ? 10000000 : 1000000000);
    size_t len = head(buffer, DATA, next->fin, next->number, next->stream);
    memset(buffer + len, 0, next->len);
    return (int64_t)(*segment = len + next->len);
}

static int64_t write_some(haltere_end *end, uint64_t stream, uint64_t bytes, uint8_t fin) {
    if (stream >= STREAMS) {
        message = "there are 256 streams at most";
        return -1;
    }
    if (end->unsent[stream] > 1000000 || end->fin[stream]) return 0;
    end->unsent[stream] += bytes;
    if (fin) end->fin[stream] = 1;
    return (int64_t)(bytes + (fin ? 1 : 0));
}

static int64_t read_some(haltere_end *end, uint64_t *stream, uint8_t *fin) {
    for (uint32_t s = 0; s < STREAMS; s++) {
        uint64_t bytes = end->arrived[s];
        int is_end = end->ended[s] == 1;
        if (!bytes && !is_end) continue;
        end->arrived[s] = 0;
        if (is_end) end->ended[s] = 2;
        *stream = s;
        *fin = (uint8_t)is_end;
        return (int64_t)bytes;
    }
    return 0;
}

static int32_t close_end(haltere_end *end, uint64_t now) {
    (void)now;
    end->is_closing = 1;
    return 0;
}

static int32_t tell(haltere_end *end, haltere_info *info) {
    *info = end->info;
    info->cwnd = end->control ? end->config.ours->window(end->control) : end->window;
    if (end->control) info->ssthresh = end->config.ours->ssthresh(end->control);
    info->in_flight = end->in_flight;
    info->srtt = end->srtt;
    info->min_rtt = end->min_rtt;
    info->mtu = end->config.max_datagram;
    return 0;
}

static const haltere_stack TABLE = {
    .abi = HALTERE_STACK_ABI,
    .about = "{\"name\":\"toy\",\"version\":\"1\",\"summary\":\"An example of a stack in C.\",\"controls\":[\"fixed\"],"
             "\"ours\":true,\"parameters\":[{\"name\":\"window\",\"format\":\"integer\",\"default\":20,\"minimum\":1,"
             "\"maximum\":1000,\"meaning\":\"Datagrams in flight with the control `fixed`.\"}]}",
    .error = error,
    .open = open_end,
    .free = free_end,
    .receive = receive,
    .timeout = timed_out,
    .next_timeout = next_timeout,
    .transmit = transmit,
    .write = write_some,
    .read = read_some,
    .close = close_end,
    .info = tell,
};

const haltere_stack *haltere_stack_v1(void) { return &TABLE; }

/* ngtcp2 0.12 as a stack: Debian's library behind `haltere_stack.h`.
 *
 *     apt install libngtcp2-dev
 *     cc -shared -fPIC -O2 -Istacks/adapter/include -o libngtcp2-stack.so stacks/ngtcp2/ngtcp2.c -lngtcp2
 *
 * There is no TLS. The handshake passes messages with the lengths of TLS 1.3, which hold the transport parameters, and
 * packets are not encrypted, at the lengths of AES-128-GCM. So no library for TLS is needed, and runs repeat. ngtcp2
 * counts no lost packets that a program could read: those columns are zero. */
#include "haltere_stack.h"

#include <netinet/in.h>
#include <ngtcp2/ngtcp2.h>
#include <stdlib.h>
#include <string.h>

enum { CID = 8, IV = 12, TAG = 16, CLIENT_HELLO = 320, SERVER_HELLO = 90, SERVER_FLIGHT = 700, FINISHED = 36 };
enum { SEND_BUFFER = 4000000, WINDOW = 16000000, CHUNK = 65536 };

typedef struct {
    uint64_t unsent, arrived;
    uint8_t fin, fin_arrived; /* 1: to be told, 2: told */
} stream;

struct haltere_end {
    haltere_config config;
    ngtcp2_conn *conn;
    ngtcp2_settings settings;
    uint64_t random, now, unsent, packets, acked, mtu, burst;
    stream *streams;
    uint64_t opened, room, first; /* all streams before `first` were read to their end */
    uint8_t hello[CLIENT_HELLO], flight[SERVER_FLIGHT], got[SERVER_FLIGHT];
    size_t got_len;
    int is_closing, is_closed;
};

/* Some thirty years: a sum with a time fits. */
#define FOREVER 1000000000000000000

static const uint8_t ZEROS[CHUNK];
static struct sockaddr_in LOCAL = {.sin_family = AF_INET, .sin_port = 1}, REMOTE = {.sin_family = AF_INET, .sin_port = 2};
static ngtcp2_path PATH = {{(ngtcp2_sockaddr *)&LOCAL, sizeof LOCAL}, {(ngtcp2_sockaddr *)&REMOTE, sizeof REMOTE}, NULL};
static _Thread_local const char *message = "";

static const char *error(void) { return message; }

static int failed(int code) {
    message = code == NGTCP2_ERR_CALLBACK_FAILURE && *message ? message : ngtcp2_strerror(code);
    return -1;
}

/* SplitMix64. */
static void fill(haltere_end *end, uint8_t *to, size_t len) {
    for (size_t i = 0; i < len; i++) {
        uint64_t z = end->random += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        to[i] = (uint8_t)(z ^ (z >> 31));
    }
}

/* ---- packets that are not encrypted ---- */

static int encrypt(uint8_t *to, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *from,
                   size_t len, const uint8_t *nonce, size_t noncelen, const uint8_t *aad, size_t aadlen) {
    (void)aead, (void)ctx, (void)nonce, (void)noncelen, (void)aad, (void)aadlen;
    memmove(to, from, len);
    memset(to + len, 0, TAG);
    return 0;
}

static int decrypt(uint8_t *to, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *ctx, const uint8_t *from,
                   size_t len, const uint8_t *nonce, size_t noncelen, const uint8_t *aad, size_t aadlen) {
    (void)aead, (void)ctx, (void)nonce, (void)noncelen, (void)aad, (void)aadlen;
    if (len < TAG) return NGTCP2_ERR_DECRYPT;
    memmove(to, from, len - TAG);
    return 0;
}

static int mask(uint8_t *to, const ngtcp2_crypto_cipher *cipher, const ngtcp2_crypto_cipher_ctx *ctx, const uint8_t *sample) {
    (void)cipher, (void)ctx, (void)sample;
    memset(to, 0, NGTCP2_HP_MASKLEN);
    return 0;
}

static const ngtcp2_crypto_ctx PLAIN = {.aead = {NULL, TAG}, .max_encryption = UINT64_MAX, .max_decryption_failure = UINT64_MAX};
static const ngtcp2_crypto_aead_ctx AEAD;
static const ngtcp2_crypto_cipher_ctx CIPHER;

static void forget_aead(ngtcp2_conn *conn, ngtcp2_crypto_aead_ctx *ctx, void *end) { (void)conn, (void)ctx, (void)end; }
static void forget_cipher(ngtcp2_conn *conn, ngtcp2_crypto_cipher_ctx *ctx, void *end) { (void)conn, (void)ctx, (void)end; }

/* The next keys are asked for in advance, and are not used: packets have no limit. */
static int update_key(ngtcp2_conn *conn, uint8_t *rx, uint8_t *tx, ngtcp2_crypto_aead_ctx *rx_ctx, uint8_t *rx_iv,
                      ngtcp2_crypto_aead_ctx *tx_ctx, uint8_t *tx_iv, const uint8_t *old_rx, const uint8_t *old_tx, size_t len, void *end) {
    (void)conn, (void)old_rx, (void)old_tx, (void)end;
    memset(rx, 0, len);
    memset(tx, 0, len);
    memset(rx_iv, 0, IV);
    memset(tx_iv, 0, IV);
    *rx_ctx = *tx_ctx = AEAD;
    return 0;
}

/* Not called: servers neither retry nor negotiate versions. */
static int retried(ngtcp2_conn *conn, const ngtcp2_pkt_hd *hd, void *end) {
    (void)conn, (void)hd, (void)end;
    return NGTCP2_ERR_CALLBACK_FAILURE;
}
static int negotiated(ngtcp2_conn *conn, uint32_t version, const ngtcp2_cid *dcid, void *end) {
    (void)conn, (void)version, (void)dcid, (void)end;
    return NGTCP2_ERR_CALLBACK_FAILURE;
}

/* ---- the handshake ---- */

static int initial_keys(ngtcp2_conn *conn) {
    ngtcp2_conn_set_initial_crypto_ctx(conn, &PLAIN);
    return ngtcp2_conn_install_initial_key(conn, &AEAD, ZEROS, &CIPHER, &AEAD, ZEROS, &CIPHER, IV);
}

static int handshake_keys(ngtcp2_conn *conn) {
    ngtcp2_conn_set_crypto_ctx(conn, &PLAIN);
    int code = ngtcp2_conn_install_rx_handshake_key(conn, &AEAD, ZEROS, IV, &CIPHER);
    return code ? code : ngtcp2_conn_install_tx_handshake_key(conn, &AEAD, ZEROS, IV, &CIPHER);
}

/* A message: the length of the transport parameters, those, and zeros. */
static int put_parameters(ngtcp2_conn *conn, uint8_t *to, size_t room) {
    ngtcp2_ssize len = ngtcp2_conn_encode_local_transport_params(conn, to + 2, room - 2);
    if (len < 0) return (int)len;
    to[0] = (uint8_t)(len >> 8);
    to[1] = (uint8_t)len;
    return 0;
}

static int take_parameters(ngtcp2_conn *conn, const uint8_t *from) {
    return ngtcp2_conn_decode_remote_transport_params(conn, from + 2, (size_t)(from[0] << 8 | from[1]));
}

static int client_initial(ngtcp2_conn *conn, void *user) {
    haltere_end *end = user;
    int code = initial_keys(conn);
    if (!code) code = put_parameters(conn, end->hello, CLIENT_HELLO);
    if (!code) code = ngtcp2_conn_submit_crypto_data(conn, NGTCP2_CRYPTO_LEVEL_INITIAL, end->hello, CLIENT_HELLO);
    return code ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static int server_initial(ngtcp2_conn *conn, const ngtcp2_cid *dcid, void *user) {
    (void)dcid, (void)user;
    return initial_keys(conn) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static int server_answers(haltere_end *end, ngtcp2_conn *conn) {
    int code = take_parameters(conn, end->got);
    if (!code) code = ngtcp2_conn_submit_crypto_data(conn, NGTCP2_CRYPTO_LEVEL_INITIAL, ZEROS, SERVER_HELLO);
    if (!code) code = handshake_keys(conn);
    if (!code) code = put_parameters(conn, end->flight, SERVER_FLIGHT);
    if (!code) code = ngtcp2_conn_submit_crypto_data(conn, NGTCP2_CRYPTO_LEVEL_HANDSHAKE, end->flight, SERVER_FLIGHT);
    return code ? code : ngtcp2_conn_install_tx_key(conn, ZEROS, 32, &AEAD, ZEROS, IV, &CIPHER);
}

static int client_finishes(haltere_end *end, ngtcp2_conn *conn) {
    int code = take_parameters(conn, end->got);
    if (!code) code = ngtcp2_conn_submit_crypto_data(conn, NGTCP2_CRYPTO_LEVEL_HANDSHAKE, ZEROS, FINISHED);
    if (!code) code = ngtcp2_conn_install_rx_key(conn, ZEROS, 32, &AEAD, ZEROS, IV, &CIPHER);
    if (!code) code = ngtcp2_conn_install_tx_key(conn, ZEROS, 32, &AEAD, ZEROS, IV, &CIPHER);
    if (!code) ngtcp2_conn_handshake_completed(conn);
    return code;
}

/* Messages arrive in order; each is complete when as many bytes are there as it has. */
static int crypto_arrived(ngtcp2_conn *conn, ngtcp2_crypto_level level, uint64_t offset, const uint8_t *data, size_t len, void *user) {
    haltere_end *end = user;
    int is_initial = level == NGTCP2_CRYPTO_LEVEL_INITIAL, is_server = end->config.is_server != 0;
    size_t whole = is_server ? (is_initial ? CLIENT_HELLO : FINISHED) : (is_initial ? SERVER_HELLO : SERVER_FLIGHT);
    if (offset + len > whole) return NGTCP2_ERR_CALLBACK_FAILURE;
    memcpy(end->got + offset, data, len);
    if (offset + len < whole) return 0;
    int code = 0;
    if (is_server && is_initial) {
        code = server_answers(end, conn);
    } else if (is_server) {
        code = ngtcp2_conn_install_rx_key(conn, ZEROS, 32, &AEAD, ZEROS, IV, &CIPHER);
        if (!code) ngtcp2_conn_handshake_completed(conn);
    } else {
        code = is_initial ? handshake_keys(conn) : client_finishes(end, conn);
    }
    return code ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

/* ---- what ngtcp2 asks for and tells ---- */

static void draw(uint8_t *to, size_t len, const ngtcp2_rand_ctx *ctx) { fill(ctx->native_handle, to, len); }

static int new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t len, void *user) {
    (void)conn;
    fill(user, cid->data, len);
    cid->datalen = len;
    fill(user, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

static int challenge(ngtcp2_conn *conn, uint8_t *data, void *user) {
    (void)conn;
    fill(user, data, NGTCP2_PATH_CHALLENGE_DATALEN);
    return 0;
}

static stream *at(haltere_end *end, uint64_t number) {
    while (number >= end->room) {
        uint64_t room = end->room ? 2 * end->room : 64;
        end->streams = realloc(end->streams, room * sizeof(stream));
        memset(end->streams + end->room, 0, (room - end->room) * sizeof(stream));
        end->room = room;
    }
    if (number >= end->opened) end->opened = number + 1;
    return &end->streams[number];
}

static int data_arrived(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset, const uint8_t *data, size_t len,
                        void *user, void *of_stream) {
    (void)offset, (void)data, (void)of_stream;
    stream *to = at(user, (uint64_t)id / 4);
    to->arrived += len;
    if (flags & NGTCP2_STREAM_DATA_FLAG_FIN) to->fin_arrived = 1;
    ngtcp2_conn_extend_max_stream_offset(conn, id, len);
    ngtcp2_conn_extend_max_offset(conn, len);
    return 0;
}

static int data_acked(ngtcp2_conn *conn, int64_t id, uint64_t offset, uint64_t len, void *user, void *of_stream) {
    (void)conn, (void)id, (void)offset, (void)of_stream;
    ((haltere_end *)user)->acked += len;
    return 0;
}

static int stream_closed(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code, void *user, void *of_stream) {
    (void)flags, (void)id, (void)code, (void)of_stream;
    if (((haltere_end *)user)->config.is_server) ngtcp2_conn_extend_max_streams_bidi(conn, 1);
    return 0;
}

static const ngtcp2_callbacks CALLBACKS = {
    .client_initial = client_initial,
    .recv_client_initial = server_initial,
    .recv_crypto_data = crypto_arrived,
    .encrypt = encrypt,
    .decrypt = decrypt,
    .hp_mask = mask,
    .recv_stream_data = data_arrived,
    .acked_stream_data_offset = data_acked,
    .stream_close = stream_closed,
    .recv_retry = retried,
    .rand = draw,
    .get_new_connection_id = new_cid,
    .update_key = update_key,
    .delete_crypto_aead_ctx = forget_aead,
    .delete_crypto_cipher_ctx = forget_cipher,
    .get_path_challenge_data = challenge,
    .version_negotiation = negotiated,
};

/* ---- what Haltere calls ---- */

static int choose(haltere_end *end, const char *control) {
    static const char *const NAMES[] = {"reno", "cubic", "bbr", "bbr2"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(control, NAMES[i])) {
            end->settings.cc_algo = (ngtcp2_cc_algo)i;
            return 0;
        }
    message = "the control must be one of reno, cubic, bbr and bbr2";
    return -1;
}

static ngtcp2_transport_params parameters(void) {
    ngtcp2_transport_params params;
    ngtcp2_transport_params_default(&params);
    params.initial_max_stream_data_bidi_local = params.initial_max_stream_data_bidi_remote = WINDOW;
    params.initial_max_data = WINDOW;
    params.initial_max_streams_bidi = 1000;
    params.disable_active_migration = 1;
    return params;
}

static void free_end(haltere_end *end) {
    if (end->conn) ngtcp2_conn_del(end->conn);
    free(end->streams);
    free(end);
}

static haltere_end *open_end(const haltere_config *config, uint64_t now) {
    haltere_end *end = calloc(1, sizeof *end);
    *end = (haltere_end){.config = *config, .random = config->seed, .now = now, .mtu = 1452};
    for (size_t i = 0; i < config->options_len; i++)
        if (!strcmp(config->options[i].name, "mtu")) end->mtu = strtoull(config->options[i].value, NULL, 10);
    if (end->mtu > config->max_datagram) end->mtu = config->max_datagram;
    ngtcp2_settings_default(&end->settings);
    end->settings.initial_ts = now;
    end->settings.max_tx_udp_payload_size = end->mtu;
    end->settings.max_window = end->settings.max_stream_window = WINDOW;
    end->settings.handshake_timeout = FOREVER;
    end->settings.rand_ctx.native_handle = end;
    int code = choose(end, config->control);
    if (!code && !config->is_server) {
        ngtcp2_cid dcid = {.datalen = CID}, scid = {.datalen = CID};
        fill(end, dcid.data, CID);
        fill(end, scid.data, CID);
        ngtcp2_transport_params params = parameters();
        code = ngtcp2_conn_client_new(&end->conn, &dcid, &scid, &PATH, NGTCP2_PROTO_VER_V1, &CALLBACKS, &end->settings, &params,
                                      NULL, end);
        if (code) failed(code);
    }
    if (!code) return end;
    free_end(end);
    return NULL;
}

static int accept_client(haltere_end *end, const uint8_t *data, size_t len, uint64_t now) {
    ngtcp2_pkt_hd head;
    int code = ngtcp2_accept(&head, data, len);
    if (code) return code;
    ngtcp2_cid scid = {.datalen = CID};
    fill(end, scid.data, CID);
    ngtcp2_transport_params params = parameters();
    params.original_dcid = head.dcid;
    end->settings.initial_ts = now;
    return ngtcp2_conn_server_new(&end->conn, &head.scid, &scid, &PATH, head.version, &CALLBACKS, &end->settings, &params, NULL, end);
}

static int32_t receive(haltere_end *end, uint64_t now, uint8_t ecn, const uint8_t *data, size_t len) {
    end->now = now;
    int code = end->conn || !end->config.is_server ? 0 : accept_client(end, data, len, now);
    if (code || end->is_closed) return code ? failed(code) : 0;
    code = ngtcp2_conn_read_pkt(end->conn, &PATH, &(ngtcp2_pkt_info){.ecn = ecn}, data, len, now);
    if (code == NGTCP2_ERR_DRAINING || code == NGTCP2_ERR_CLOSING) end->is_closed = 1;
    return code && !end->is_closed ? failed(code) : 0;
}

static int32_t timed_out(haltere_end *end, uint64_t now) {
    end->now = now;
    int code = ngtcp2_conn_handle_expiry(end->conn, now);
    return code ? failed(code) : 0;
}

static uint64_t next_timeout(haltere_end *end) {
    if (!end->conn || end->is_closed) return HALTERE_NEVER;
    uint64_t at = ngtcp2_conn_get_expiry(end->conn);
    return at < end->now ? end->now : at;
}

static int64_t sent(haltere_end *end, int64_t len, size_t *segment, uint8_t *ecn, const ngtcp2_pkt_info *info) {
    *segment = (size_t)len;
    *ecn = end->config.ecn ? (uint8_t)info->ecn : HALTERE_NOT_ECT;
    end->packets++;
    end->burst += (uint64_t)len;
    return len;
}

static int64_t transmit(haltere_end *end, uint64_t now, uint8_t *buffer, size_t capacity, size_t *segment, uint8_t *ecn) {
    ngtcp2_pkt_info info = {0};
    if (!end->conn || end->is_closed) return 0;
    if (end->is_closing) {
        ngtcp2_connection_close_error why;
        ngtcp2_connection_close_error_default(&why);
        ngtcp2_ssize len = ngtcp2_conn_write_connection_close(end->conn, NULL, &info, buffer, capacity, &why, now);
        end->is_closed = 1;
        return len < 0 ? failed((int)len) : len ? sent(end, len, segment, ecn, &info) : 0;
    }
    ngtcp2_conn_stat stat;
    ngtcp2_conn_get_conn_stat(end->conn, &stat);
    size_t room = ngtcp2_conn_get_max_tx_udp_payload_size(end->conn);
    for (uint64_t n = 0; end->burst < stat.send_quantum; n++) {
        /* Last, what is no data. */
        while (n < end->opened && !end->streams[n].unsent && end->streams[n].fin != 1) n++;
        stream *of = n < end->opened ? &end->streams[n] : NULL;
        uint64_t some = of ? (of->unsent < CHUNK ? of->unsent : CHUNK) : 0;
        ngtcp2_vec data = {(uint8_t *)ZEROS, some};
        int is_last = of && of->fin == 1 && some == of->unsent;
        ngtcp2_ssize taken = -1;
        ngtcp2_ssize len = ngtcp2_conn_writev_stream(end->conn, NULL, &info, buffer, room < capacity ? room : capacity, &taken,
                                                     is_last ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0, of ? (int64_t)(4 * n) : -1,
                                                     &data, of ? 1 : 0, now);
        if (taken >= 0 && of) {
            of->unsent -= (uint64_t)taken;
            end->unsent -= (uint64_t)taken;
            if (is_last && (uint64_t)taken == some) of->fin = 2;
        }
        if (len > 0) return sent(end, len, segment, ecn, &info);
        int is_blocked = len == NGTCP2_ERR_STREAM_DATA_BLOCKED || len == NGTCP2_ERR_STREAM_SHUT_WR || len == NGTCP2_ERR_STREAM_NOT_FOUND;
        if (len < 0 && !is_blocked) return failed((int)len);
        if (!of || len == 0) break;
    }
    /* Paces the next burst. */
    ngtcp2_conn_update_pkt_tx_time(end->conn, now);
    end->burst = 0;
    return 0;
}

static int64_t write_some(haltere_end *end, uint64_t number, uint64_t bytes, uint8_t fin) {
    if (!end->conn || end->unsent > SEND_BUFFER) return 0;
    if (!end->config.is_server && number >= end->opened) {
        int64_t id;
        int code = ngtcp2_conn_open_bidi_stream(end->conn, &id, NULL);
        if (code) return code == NGTCP2_ERR_STREAM_ID_BLOCKED ? 0 : failed(code);
    }
    stream *to = at(end, number);
    if (to->fin) return 0;
    to->unsent += bytes;
    end->unsent += bytes;
    to->fin = fin ? 1 : 0;
    return (int64_t)(bytes + (fin ? 1 : 0));
}

static int64_t read_some(haltere_end *end, uint64_t *number, uint8_t *fin) {
    while (end->first < end->opened && end->streams[end->first].fin_arrived == 2) end->first++;
    for (uint64_t n = end->first; n < end->opened; n++) {
        stream *from = &end->streams[n];
        if (!from->arrived && from->fin_arrived != 1) continue;
        uint64_t bytes = from->arrived;
        *number = n;
        *fin = from->fin_arrived == 1;
        from->arrived = 0;
        if (*fin) from->fin_arrived = 2;
        return (int64_t)bytes;
    }
    return 0;
}

static int32_t close_end(haltere_end *end, uint64_t now) {
    end->now = now;
    end->is_closing = 1;
    return 0;
}

static int32_t tell(haltere_end *end, haltere_info *info) {
    *info = (haltere_info){.ssthresh = UINT64_MAX, .mtu = end->mtu, .packets_sent = end->packets, .bytes_acked = end->acked};
    info->is_closed = (uint32_t)end->is_closed;
    if (!end->conn) return 0;
    ngtcp2_conn_stat stat;
    ngtcp2_conn_get_conn_stat(end->conn, &stat);
    info->cwnd = stat.cwnd;
    info->ssthresh = stat.ssthresh;
    info->in_flight = stat.bytes_in_flight;
    int has_rtt = stat.first_rtt_sample_ts != UINT64_MAX;
    info->srtt = has_rtt ? stat.smoothed_rtt : 0;
    info->rttvar = has_rtt ? stat.rttvar : 0;
    info->min_rtt = has_rtt ? stat.min_rtt : 0;
    info->pacing_rate = (uint64_t)(stat.pacing_rate * 1e9);
    info->timeouts = stat.pto_count;
    info->is_established = ngtcp2_conn_get_handshake_completed(end->conn) != 0;
    return 0;
}

static const haltere_stack TABLE = {
    .abi = HALTERE_STACK_ABI,
    .about = "{\"name\":\"ngtcp2\",\"version\":\"" NGTCP2_VERSION "\",\"summary\":\"QUIC by ngtcp2, without TLS.\","
             "\"controls\":[\"reno\",\"cubic\",\"bbr\",\"bbr2\"],\"parameters\":[{\"name\":\"mtu\",\"format\":\"integer\",\"default\":1452,"
             "\"minimum\":1200,\"maximum\":65527,\"meaning\":\"The largest UDP payload in bytes that path MTU discovery looks for.\"}]}",
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

/* DCTCP's marking in a programmable switch: one threshold or two (hysteresis), on the way or by a returned copy.
 *
 * Language: P4_16 for v1model, as BMv2's simple_switch runs it.
 * Source: RFC 8257 section 3.1 (one threshold); Silva, Nacif and Vieira, "Data Center TCP com Histerese em Switches P4",
 * algorithm 1 and figures 3 and 4 (hysteresis, returned packets).
 * The model is that of the discipline `threshold` in crates/haltere-queue/src/threshold.rs:
 *
 *     q = packets found waiting on arrival (enq_qdepth)
 *     congested = q >= upper or (congested and q >= lower)
 *
 * Variants, chosen when it is compiled:
 *     (nothing)                  one threshold, packets are marked
 *     -DHYSTERESIS               two thresholds, packets are marked
 *     -DRETURN                   one threshold, a marked copy goes back to the sender, the original goes on as it is
 *     -DHYSTERESIS -DRETURN      two thresholds, a marked copy goes back
 * With -DRETURN, -DMARK marks the original, too. -DDEPTHS counts the depths that packets find (cases.py). -DSHOW_DEPTH, for the test,
 * overwrites the IP identification.
 *
 * The path of a copy: egress clones the packet into egress, and the clone waits in the queue of the mirror session's port.
 * There its ends are exchanged and its TTL restored, and it is recirculated. Ingress marks it and forwards it by the table.
 * It passes the queue like every packet. Its mark keeps it from being cloned again.
 *
 * What is returned: TCP segments with payload and without SYN, FIN and RST. A returned SYN would look to its sender like a
 * simultaneous open (RFC 9293 section 3.5), and the connection would be reset. UDP has no sender that a copy could slow down.
 *
 * Packets with IP options are forwarded with their options. Fragments are marked, but not returned.
 *
 * Deviations from `threshold`, all of the target: the depth is that of one output port's queue, since simple_switch has no
 * queue that all ports share; what is decided on arrival is carried out when the packet leaves; nothing is dropped here.
 */
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
/* RFC 3168 section 5: 00 is not ECN-capable, 01 and 10 are, 11 says that congestion was met. */
const bit<2> NOT_ECT = 0;
const bit<2> CE = 3;
/* RFC 1700's default, and that of Linux. */
const bit<8> INITIAL_TTL = 64;
/* simple_switch: standard_metadata.instance_type. */
const bit<32> CLONED_AT_EGRESS = 2;
const bit<32> RECIRCULATED = 4;
/* The mirror session through which copies pass; commands.txt gives it a port. */
const bit<32> RETURN_SESSION = 250;

const bit<32> UPPER = 0;
const bit<32> LOWER = 1;
/* Of register `counted`. */
const bit<32> MARKED = 0;
const bit<32> RETURNED = 1;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<2> flags;
    bit<1> more_fragments;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
    varbit<320> options;
}

/* The first byte of an IP header, read before the header is extracted: its length is in it. */
header ip_start_t {
    bit<4> version;
    bit<4> ihl;
}

header tcp_t {
    bit<16> src;
    bit<16> dst;
    bit<32> sequence;
    bit<32> acknowledgment;
    bit<4> data_offset;
    bit<4> reserved;
    bit<5> other_flags;
    bit<1> rst;
    bit<1> syn;
    bit<1> fin;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
}

struct metadata_t {}

parser HaltereParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.ether_type) {
            ETHERTYPE_IPV4: ip_start;
            default: accept;
        }
    }
    /* Version 4 and a header of 5 to 15 words. Ingress drops everything else, since no IPv4 header is valid then. */
    state ip_start {
        transition select(packet.lookahead<bit<8>>()) {
            0x45: ipv4;
            0x46 &&& 0xFE: ipv4;
            0x48 &&& 0xF8: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        /* The options are what the header has beyond its 5 words of 32 bits. */
        packet.extract(h.ipv4, ((bit<32>) packet.lookahead<ip_start_t>().ihl - 5) * 32);
        /* A fragment is no whole segment: it is forwarded and marked like every packet. */
        transition select(h.ipv4.more_fragments, h.ipv4.fragment_offset, h.ipv4.protocol) {
            (0, 0, PROTOCOL_TCP): tcp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(h.tcp);
        transition accept;
    }
}

control HaltereVerifyChecksum(inout headers_t h, inout metadata_t m) {
    apply {
        verify_checksum(h.ipv4.isValid(),
            { h.ipv4.version, h.ipv4.ihl, h.ipv4.dscp, h.ipv4.ecn, h.ipv4.total_length, h.ipv4.identification, h.ipv4.flags,
              h.ipv4.more_fragments, h.ipv4.fragment_offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst,
              h.ipv4.options },
            h.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control HaltereIngress(inout headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    action drop_it() {
        mark_to_drop(standard);
    }
    action forward(bit<48> mac, bit<9> port) {
        standard.egress_spec = port;
        h.ethernet.src = h.ethernet.dst;
        h.ethernet.dst = mac;
        h.ipv4.ttl = h.ipv4.ttl - 1;
    }
    table routes {
        key = { h.ipv4.dst: lpm; }
        actions = { forward; drop_it; }
        size = 1024;
        default_action = drop_it();
    }
    apply {
        if (!h.ipv4.isValid() || h.ipv4.ttl <= 1 || standard.checksum_error == 1) {
            drop_it();
            return;
        }
        /* Figure 4: a packet that comes in again is a returned one. */
        if (standard.instance_type == RECIRCULATED) {
            h.ipv4.ecn = CE;
        }
        routes.apply();
    }
}

control HaltereEgress(inout headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    /* The thresholds in packets, upper first: commands.txt sets them, and they may be changed while it runs. */
    register<bit<19>>(2) thresholds;
#ifdef HYSTERESIS
    /* Algorithm 1's state of each port: one bit. */
    register<bit<1>>(512) congested;
#endif
    /* Packets marked, and packets returned. */
    register<bit<32>>(2) counted;
#ifdef DEPTHS
    register<bit<32>>(128) depths;
#endif

    action count(bit<32> what) {
        bit<32> n;
        counted.read(n, what);
        counted.write(what, n + 1);
    }
    /* The copy goes where its original came from. The TCP checksum stays right: it is a sum over both addresses and both
     * ports, whatever their order, and covers neither TTL nor ECN. */
    action turn_round() {
        bit<48> mac = h.ethernet.src;
        h.ethernet.src = h.ethernet.dst;
        h.ethernet.dst = mac;
        bit<32> address = h.ipv4.src;
        h.ipv4.src = h.ipv4.dst;
        h.ipv4.dst = address;
        bit<16> port = h.tcp.src;
        h.tcp.src = h.tcp.dst;
        h.tcp.dst = port;
        h.ipv4.ttl = INITIAL_TTL;
    }
    apply {
        if (standard.instance_type == CLONED_AT_EGRESS) {
            turn_round();
            recirculate_preserving_field_list(0);
        } else if (h.ipv4.isValid()) {
            bit<19> upper;
            thresholds.read(upper, UPPER);
            bool meets_congestion = standard.enq_qdepth >= upper;
#ifdef HYSTERESIS
            bit<19> lower;
            bit<1> was_congested;
            thresholds.read(lower, LOWER);
            congested.read(was_congested, (bit<32>) standard.egress_port);
            if (was_congested == 1 && standard.enq_qdepth >= lower) {
                meets_congestion = true;
            }
            congested.write((bit<32>) standard.egress_port, meets_congestion ? 1w1 : 1w0);
#endif
#ifdef SHOW_DEPTH
            /* For the test only: what the packet found waiting, where the test can read it. */
            h.ipv4.identification = (bit<16>) standard.enq_qdepth;
#endif
#ifdef DEPTHS
            /* What packets found waiting: a counter for each depth. */
            bit<32> seen;
            depths.read(seen, (bit<32>) standard.enq_qdepth);
            depths.write((bit<32>) standard.enq_qdepth, seen + 1);
#endif
            if (meets_congestion && h.ipv4.ecn != NOT_ECT && h.ipv4.ecn != CE) {
#ifdef RETURN
                /* A sender would take a copy of its SYN, FIN or RST for one of its peer. */
                bool has_payload = h.tcp.isValid()
                    && (((bit<16>) h.ipv4.ihl + (bit<16>) h.tcp.data_offset) << 2) < h.ipv4.total_length;
                if (has_payload && h.tcp.syn == 0 && h.tcp.fin == 0 && h.tcp.rst == 0) {
                    count(RETURNED);
                    clone(CloneType.E2E, RETURN_SESSION);
                }
#ifdef MARK
                count(MARKED);
                h.ipv4.ecn = CE;
#endif
#else
                count(MARKED);
                h.ipv4.ecn = CE;
#endif
            }
        }
    }
}

control HaltereComputeChecksum(inout headers_t h, inout metadata_t m) {
    apply {
        update_checksum(h.ipv4.isValid(),
            { h.ipv4.version, h.ipv4.ihl, h.ipv4.dscp, h.ipv4.ecn, h.ipv4.total_length, h.ipv4.identification, h.ipv4.flags,
              h.ipv4.more_fragments, h.ipv4.fragment_offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst,
              h.ipv4.options },
            h.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control HaltereDeparser(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.ethernet);
        packet.emit(h.ipv4);
        packet.emit(h.tcp);
    }
}

V1Switch(HaltereParser(), HaltereVerifyChecksum(), HaltereIngress(), HaltereEgress(), HaltereComputeChecksum(), HaltereDeparser()) main;

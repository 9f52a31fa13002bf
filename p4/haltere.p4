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
 * and for the test -DSHOW_DEPTH, which overwrites the IP identification.
 *
 * The way of a copy: egress clones the packet into egress (the clone waits in the queue of the mirror session's port); there its
 * ends are exchanged and its TTL restored, and it is recirculated; ingress marks it and forwards it by the table; it
 * passes the queue like every packet, but is never cloned again.
 *
 * Deviations from `threshold`, all of the target: the depth is that of one output port's queue, since simple_switch has no
 * queue that all ports share; what is decided on arrival is carried out when the packet leaves; nothing is dropped here.
 */
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
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
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

/* Both transports begin with their ports, and nothing else is read or written. */
header ports_t {
    bit<16> src;
    bit<16> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t tcp;
    ports_t udp;
}

struct metadata_t {}

parser HaltereParser(packet_in packet, out headers_t h, inout metadata_t m, inout standard_metadata_t standard) {
    state start {
        packet.extract(h.ethernet);
        transition select(h.ethernet.ether_type) {
            ETHERTYPE_IPV4: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(h.ipv4);
        /* A later fragment has no ports; with options they stand elsewhere. Both pass and are marked all the same. */
        transition select(h.ipv4.ihl, h.ipv4.fragment_offset, h.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): tcp;
            (5, 0, PROTOCOL_UDP): udp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(h.tcp);
        transition accept;
    }
    state udp {
        packet.extract(h.udp);
        transition accept;
    }
}

control HaltereVerifyChecksum(inout headers_t h, inout metadata_t m) {
    apply {
        verify_checksum(h.ipv4.isValid() && h.ipv4.ihl == 5,
            { h.ipv4.version, h.ipv4.ihl, h.ipv4.dscp, h.ipv4.ecn, h.ipv4.total_length, h.ipv4.identification, h.ipv4.flags,
              h.ipv4.fragment_offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst },
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
    /* Algorithm 1's state of each port: one bit. */
    register<bit<1>>(512) congested;
    /* Packets marked, and packets returned. */
    register<bit<32>>(2) counted;

    action count(bit<32> what) {
        bit<32> n;
        counted.read(n, what);
        counted.write(what, n + 1);
    }
    /* Where the copy goes, its original came from. Neither checksum of the transport changes: it is a sum over both
     * addresses and both ports, whatever their order, and covers neither TTL nor ECN. */
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
            if (meets_congestion && h.ipv4.ecn != NOT_ECT && h.ipv4.ecn != CE) {
#ifdef RETURN
                if (h.tcp.isValid() && standard.instance_type != RECIRCULATED) {
                    count(RETURNED);
                    clone(CloneType.E2E, RETURN_SESSION);
                }
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
        update_checksum(h.ipv4.isValid() && h.ipv4.ihl == 5,
            { h.ipv4.version, h.ipv4.ihl, h.ipv4.dscp, h.ipv4.ecn, h.ipv4.total_length, h.ipv4.identification, h.ipv4.flags,
              h.ipv4.fragment_offset, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.src, h.ipv4.dst },
            h.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control HaltereDeparser(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.ethernet);
        packet.emit(h.ipv4);
        packet.emit(h.tcp);
        packet.emit(h.udp);
    }
}

V1Switch(HaltereParser(), HaltereVerifyChecksum(), HaltereIngress(), HaltereEgress(), HaltereComputeChecksum(), HaltereDeparser()) main;

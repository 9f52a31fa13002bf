#!/usr/bin/env bash
# The network in which haltere.p4 runs: one network namespace for the switch, one for each host, a virtual cable between.
#
#     p4/net.sh up [HOSTS]     makes it; 6 hosts unless HOSTS is given
#     p4/net.sh down           removes it
#
# The namespaces are p4-switch and p4-h1 to p4-h6 (HALTERE_P4_PREFIX changes the `p4`). Host N has 10.0.0.N, the MAC address
# 00:00:00:00:00:0N and the device eth0; its cable ends at the switch's device portN. Addresses and ports are those of commands.txt.
#
# Three things differ from what `ip` makes:
#   - Every host knows the MAC address of every other: the switch forwards IPv4 only and would drop ARP.
#   - Offloads are off. A host would otherwise leave the TCP checksum to a device that a virtual cable has not, or send
#     segments of up to 64 kB, and simple_switch would forward them as they are.
#   - IPv6 is off, so that nothing is sent unasked.
# Needs root, `ip` and `ethtool`.
set -euo pipefail

prefix=${HALTERE_P4_PREFIX:-p4}
most=6

fail() {
    echo "net.sh: $*" >&2
    exit 1
}

usage() {
    echo "usage: p4/net.sh up [HOSTS] | down" >&2
    exit 2
}

inside() { # NAMESPACE COMMAND...
    ip netns exec "$@"
}

namespaces() {
    ip netns list | awk '{ print $1 }' | grep -E "^${prefix}-(switch|h[0-9]+)\$" || true
}

new_namespace() { # NAMESPACE
    local devices
    ip netns add "$1"
    for devices in all default; do
        # A kernel without IPv6 has no such file.
        inside "$1" sh -c "f=/proc/sys/net/ipv6/conf/$devices/disable_ipv6; [ ! -e \$f ] || echo 1 >\$f"
    done
    ip -n "$1" link set lo up
}

no_offloads() { # NAMESPACE DEVICE
    inside "$1" ethtool -K "$2" rx off tx off sg off tso off gso off gro off >/dev/null
}

cable() { # HOST
    local host="$prefix-h$1" switch="$prefix-switch"
    new_namespace "$host"
    ip link add "port$1" netns "$switch" type veth peer name eth0 netns "$host"
    ip -n "$host" link set eth0 address "00:00:00:00:00:0$1"
    no_offloads "$host" eth0
    no_offloads "$switch" "port$1"
    ip -n "$host" address add "10.0.0.$1/24" dev eth0
    ip -n "$host" link set eth0 up
    ip -n "$switch" link set "port$1" up
}

neighbours() { # HOST HOSTS
    local other
    for other in $(seq 1 "$2"); do
        [ "$other" = "$1" ] || ip -n "$prefix-h$1" neighbour replace "10.0.0.$other" lladdr "00:00:00:00:00:0$other" nud permanent dev eth0
    done
}

up() { # HOSTS
    local host
    [ -z "$(namespaces)" ] || fail "the network must not exist yet, got $(namespaces | tr '\n' ' ')(\`p4/net.sh down\` removes it)"
    trap down EXIT
    new_namespace "$prefix-switch"
    for host in $(seq 1 "$1"); do cable "$host"; done
    for host in $(seq 1 "$1"); do neighbours "$host" "$1"; done
    trap - EXIT
}

down() {
    local namespace
    for namespace in $(namespaces); do ip netns delete "$namespace"; done
}

[ $# -ge 1 ] || usage
[ "$(id -u)" = 0 ] || fail "root is needed for network namespaces"
for tool in ip ethtool; do
    command -v "$tool" >/dev/null || fail "$tool is not on the PATH (Debian: iproute2, ethtool)"
done
case $1 in
up)
    [ $# -le 2 ] || usage
    hosts=${2:-$most}
    [[ $hosts =~ ^[2-$most]$ ]] || fail "HOSTS must be 2 to $most, got $hosts"
    up "$hosts"
    ;;
down)
    [ $# -eq 1 ] || usage
    down
    ;;
*) usage ;;
esac

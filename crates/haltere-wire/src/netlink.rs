//! What the wire asks of the kernel's routing netlink: veth pairs, addresses, neighbours, routes.
//! Source: rtnetlink(7). One request, one acknowledgement; no dump is ever parsed.

use crate::namespace::Discipline;
use netlink_packet_core::{
    DefaultNla, NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::tc::{TcAttribute, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// A connection to the routing tables of the network namespace in which it was opened.
pub struct Netlink(Socket);

/// One end of a veth pair.
#[derive(Debug, Clone)]
pub struct VethEnd<'a> {
    /// The name of the interface.
    pub name: &'a str,
    /// The Ethernet address of the interface.
    pub mac: [u8; 6],
    /// The namespace in which it is made; `None`: this one.
    pub namespace: Option<BorrowedFd<'a>>,
}

impl Netlink {
    /// A connection for the caller's network namespace.
    pub fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink(socket))
    }
    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.header.length as usize];
        request.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        let mut answer = Vec::with_capacity(8192);
        self.0.recv(&mut answer, 0)?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::Error(e) => e.code.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(-code.get()))),
            other => Err(io::Error::other(format!("unexpected answer of the kernel: {other:?}"))),
        }
    }
    /// Makes a veth pair.
    pub fn add_veth(&self, here: &VethEnd<'_>, there: &VethEnd<'_>, mtu: u32) -> io::Result<()> {
        let end = |end: &VethEnd<'_>| {
            let mut link = LinkMessage::default();
            link.attributes = vec![
                LinkAttribute::IfName(end.name.into()),
                LinkAttribute::Address(end.mac.to_vec()),
                LinkAttribute::Mtu(mtu),
            ];
            link.attributes.extend(end.namespace.map(|fd| LinkAttribute::NetNsFd(fd.as_raw_fd())));
            link
        };
        let mut link = end(here);
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(end(there)))),
        ]));
        self.request(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }
    /// Moves an interface of this namespace into another, under another name, and sets its MTU and the most segments of
    /// a buffer that TCP gives it, if given. TCP gives it buffers of several segments whatever the interface's offloads
    /// are.
    pub fn give(&self, index: u32, to: BorrowedFd<'_>, name: &str, mtu: u32, segments: Option<u32>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes =
            vec![LinkAttribute::Mtu(mtu), LinkAttribute::NetNsFd(to.as_raw_fd()), LinkAttribute::IfName(name.into())];
        link.attributes.extend(segments.map(LinkAttribute::GsoMaxSegs));
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }
    /// Sets an interface up.
    pub fn up(&self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }
    /// Gives an interface an address.
    pub fn add_address(&self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.header.scope = AddressScope::Universe;
        let address = IpAddr::V4(address);
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }
    /// Says once and for all which Ethernet address a neighbour has.
    pub fn add_neighbour(&self, index: u32, address: Ipv4Addr, mac: [u8; 6]) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.request(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
    }
    /// Packets with that source address look for their route in a table of their own first.
    pub fn add_rule_from(&self, source: Ipv4Addr, table: u8) -> io::Result<()> {
        let mut message = RuleMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.src_len = 32;
        message.header.table = table;
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![RuleAttribute::Source(IpAddr::V4(source))];
        self.request(RouteNetlinkMessage::NewRule(message), NLM_F_CREATE | NLM_F_EXCL)
    }
    /// A route to one host on the interface's own network, with metrics for TCP, in that table or the main one.
    pub fn add_host_route(
        &self,
        index: u32,
        to: Ipv4Addr,
        table: Option<u8>,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = 32;
        message.header.table = table.unwrap_or(RouteHeader::RT_TABLE_MAIN);
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Link;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Destination(netlink_packet_route::route::RouteAddress::Inet(to)),
            RouteAttribute::Oif(index),
        ];
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE)
    }
    /// Attaches a queue discipline to an interface, or adds a class to one.
    pub fn add_discipline(&self, index: u32, made: &Discipline) -> io::Result<()> {
        const TCA_OPTIONS: u16 = 2;
        // Newer disciplines (`fq_pie`) insist on it.
        let flag = if made.nested { NLA_F_NESTED } else { 0 };
        let mut message = TcMessage::with_index(index as i32);
        (message.header.parent, message.header.handle) = (made.parent.into(), made.handle.into());
        message.attributes = vec![TcAttribute::Kind(made.kind.clone())];
        let options = made.options.clone();
        message.attributes.extend(options.map(|bytes| TcAttribute::Other(DefaultNla::new(TCA_OPTIONS | flag, bytes))));
        let kind =
            if made.is_class { RouteNetlinkMessage::NewTrafficClass } else { RouteNetlinkMessage::NewQueueDiscipline };
        self.request(kind(message), NLM_F_CREATE | NLM_F_REPLACE)
    }
}

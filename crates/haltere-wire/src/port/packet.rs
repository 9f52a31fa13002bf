//! A network interface as a port: AF_PACKET with a memory-mapped receive ring (TPACKET_V2) and `sendmmsg`.
//! Source: packet(7) and the kernel's Documentation/networking/packet_mmap.rst.
//! Model: the kernel writes each frame into the next slot of the ring and releases the slot by its status word; we copy
//! the frame into a pooled buffer and return the slot. V2, not V3: V3 passes blocks, after a timeout of whole
//! milliseconds, which would be added to every packet's delay. Sent frames bypass the interface's own queue discipline:
//! ours is the only one. They leave by a socket of their own, which receives nothing and wants no offload header before
//! a frame. What an offload of the sender left undone ([`Offload`]) is done here, before a queue sees the frame; a port
//! that is opened to pass frames on whole leaves it to who is behind the interface that they leave by, and says so in a
//! header before each frame. A slot holds a packet of the MTU's size; the kernel keeps a longer frame whole in the
//! socket's buffer, in the same order (`PACKET_COPY_THRESH`).
//! Known problems: the kernel takes VLAN tags out of frames (put back here). A long frame for which the buffer has no
//! room is counted and dropped: 32 MB, but what `net.core.rmem_max` allows without CAP_NET_ADMIN in the first user
//! namespace.
#![expect(unsafe_code, reason = "sockets of this family and their rings have no safe wrapper")]

use super::{Port, PortCounters};
use crate::error::{Doing, WireError};
use crate::frame::Frame;
use crate::frame::offload::{self, Offload, Tag};
use crate::sys::{self, check, get_option, mtu, set_option};
use haltere_units::Time;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, socket};
use std::collections::VecDeque;
use std::io;
use std::mem::{size_of, zeroed};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames handed to one `sendmmsg`.
const BATCH: usize = 64;
/// Bytes that the kernel puts before a frame in its slot: header, address, alignment (TPACKET2_HDRLEN is 52), a spare
/// tag.
const SLOT_HEADER: usize = 128;
/// Slots lie in blocks of this size, physically contiguous.
const BLOCK: usize = 1 << 16;
/// Bytes of long frames that wait, if the kernel grants them.
const LONG_FRAMES: i32 = 32 << 20;
const PACKET_IGNORE_OUTGOING: i32 = 23;

/// The kernel's `struct tpacket2_hdr`.
#[repr(C)]
struct SlotHeader {
    status: AtomicU32,
    len: u32,
    snaplen: u32,
    mac: u16,
    net: u16,
    sec: u32,
    nsec: u32,
    vlan_tci: u16,
    vlan_tpid: u16,
    padding: [u8; 4],
}

/// A frame in its slot.
struct Slot<'a> {
    header: &'a SlotHeader,
    status: u32,
    offload: Offload,
    /// Its beginning, if it is longer than the slot.
    bytes: &'a [u8],
}

impl Slot<'_> {
    /// The VLAN tag that the kernel took out of the frame.
    fn tag(&self) -> Option<Tag> {
        let tpid = if self.header.vlan_tpid == 0 { 0x8100 } else { self.header.vlan_tpid };
        (self.status & libc::TP_STATUS_VLAN_VALID != 0).then_some((tpid, self.header.vlan_tci))
    }
    fn is_whole(&self) -> bool {
        self.header.len as usize <= self.bytes.len()
    }
}

#[derive(Debug)]
struct Ring {
    base: NonNull<u8>,
    bytes: usize,
    slot: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this Ring alone; nothing in it is tied to a thread.
unsafe impl Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `base` and `bytes` are those of the mapping made in `Ring::new`, unmapped only here.
        let _ = unsafe { munmap(self.base.cast(), self.bytes) };
    }
}

impl Ring {
    fn new(socket: &OwnedFd, slot: usize, slots: usize) -> io::Result<Ring> {
        let per_block = BLOCK / slot;
        let blocks = slots.div_ceil(per_block);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: (blocks * per_block) as u32,
        };
        set_option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let bytes = BLOCK * blocks;
        let size = NonZeroUsize::new(bytes).ok_or(Errno::EINVAL)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh shared mapping of the socket's ring, of the size just asked for.
        let base = unsafe { mmap(None, size, access, MapFlags::MAP_SHARED, socket, 0) }?.cast();
        Ok(Ring { base, bytes, slot, slots: blocks * per_block, next: 0 })
    }
    /// Passes the next frame, if one has come, to `take`, then returns its slot to the kernel.
    #[inline]
    fn receive<T>(&mut self, take: impl FnOnce(Slot<'_>) -> T) -> Option<T> {
        // SAFETY: `next < slots`, so the slot lies in the mapping; a slot size is a multiple of the header's alignment.
        // The kernel changes the other fields only while the status says that the slot is its own.
        let header = unsafe { &*self.base.as_ptr().add(self.next * self.slot).cast::<SlotHeader>() };
        let status = header.status.load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // The offload header stands right before the frame.
        let start = usize::from(header.mac).clamp(offload::HEADER, self.slot) - offload::HEADER;
        let len = (header.snaplen as usize).min(self.slot - start - offload::HEADER) + offload::HEADER;
        // SAFETY: start + len is bounded by the slot just above, and the slot is ours until its status is written.
        let bytes = unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(self.next * self.slot + start), len) };
        let (offload, bytes) = bytes.split_first_chunk().map_or((Offload::default(), bytes), split);
        let result = take(Slot { header, status, offload, bytes });
        header.status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
        Some(result)
    }
}

fn split<'a>((header, bytes): (&'a [u8; offload::HEADER], &'a [u8])) -> (Offload, &'a [u8]) {
    (Offload::read(header), bytes)
}

/// The fate of a slot's frame.
enum Taken {
    /// It was handed over, or counted and dropped.
    Done,
    /// It waits whole in the socket's buffer; the tag that was taken out of it.
    Long(Option<Tag>),
}

/// A network interface through a packet socket.
#[derive(Debug)]
pub struct PacketPort {
    name: String,
    index: u32,
    // The ring is unmapped before the socket is closed: fields drop in this order.
    ring: Ring,
    socket: OwnedFd,
    sender: OwnedFd,
    /// A long frame on its way through; empty until there is one.
    long: Vec<u8>,
    /// Frames are passed on as they came, with what an offload of the sender left undone.
    whole: bool,
    counters: PortCounters,
}

impl PacketPort {
    /// The interface of that name in the caller's network namespace, with room for `slots` received frames.
    pub fn open(name: &str, slots: usize) -> Result<PacketPort, WireError> {
        PacketPort::open_with(name, slots, false)
    }
    /// The same. `whole`: frames are passed on as they came, with what an offload of the sender left undone, and are
    /// finished behind the interface. They have no VLAN tag.
    pub fn open_with(name: &str, slots: usize, whole: bool) -> Result<PacketPort, WireError> {
        let fail = |error: io::Error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => WireError::Privilege("taking packets from an interface"),
            _ => WireError::os(format!("opening a packet socket for `{name}`"), error),
        };
        let absent = |_| WireError::plan("router", format!("must be given interfaces that exist, got `{name}`"));
        let index = if_nametoindex(name).map_err(absent)?;
        let (socket, sender) = (packet_socket().map_err(fail)?, packet_socket().map_err(fail)?);
        let set_up = || -> io::Result<Ring> {
            let set = |option: i32, value: i32| set_option(socket.as_fd(), libc::SOL_PACKET, option, &value);
            set(libc::PACKET_VERSION, 1)?; // TPACKET_V2
            set(PACKET_IGNORE_OUTGOING, 1)?;
            set(libc::PACKET_VNET_HDR, 1)?;
            set(libc::PACKET_COPY_THRESH, 1)?;
            set_option(sender.as_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)?;
            set_option(sender.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &i32::from(whole))?;
            let buffer = |option| set_option(socket.as_fd(), libc::SOL_SOCKET, option, &LONG_FRAMES);
            buffer(libc::SO_RCVBUFFORCE).or_else(|_| buffer(libc::SO_RCVBUF))?;
            let slot = (SLOT_HEADER + mtu(socket.as_fd(), name)? + 18).next_power_of_two().clamp(2048, BLOCK);
            let ring = Ring::new(&socket, slot, slots)?;
            bind(&socket, index, libc::ETH_P_ALL as u16)?;
            bind(&sender, index, 0)?; // no protocol: it receives nothing
            // SAFETY: all-zero is a valid value of this plain structure.
            let mut promiscuous: libc::packet_mreq = unsafe { zeroed() };
            promiscuous.mr_ifindex = index as i32;
            promiscuous.mr_type = libc::PACKET_MR_PROMISC as u16;
            set_option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
            Ok(ring)
        };
        let ring = set_up().doing(format!("setting up the ring of `{name}`"))?;
        let name = name.to_string();
        let (long, counters) = (Vec::new(), PortCounters::default());
        Ok(PacketPort { name, index, ring, socket, sender, long, whole, counters })
    }
    /// Receives at most `most` frames as they are, each with the kernel's stamp of its arrival (nanoseconds of the wall
    /// clock).
    pub fn receive_stamped(&mut self, most: usize, mut each: impl FnMut(u64, &[u8])) -> usize {
        for count in 0..most {
            let stamped = |Slot { header, bytes, .. }: Slot<'_>| {
                each(u64::from(header.sec) * 1_000_000_000 + u64::from(header.nsec), bytes);
            };
            if self.ring.receive(stamped).is_none() {
                return count;
            }
        }
        most
    }
    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The next long frame of the socket's buffer.
    fn receive_long(&mut self, tag: Option<Tag>, each: &mut dyn FnMut(Frame)) -> io::Result<()> {
        self.long.resize(offload::HEADER + offload::LONGEST, 0);
        let len = loop {
            match recv(self.socket.as_raw_fd(), &mut self.long, MsgFlags::MSG_TRUNC) {
                Ok(len) => break len,
                // The pending error of an interface that went down, told once; the frame still waits.
                Err(Errno::ENETDOWN) => self.counters.is_down = true,
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        };
        match self.long.get(..len).and_then(<[u8]>::split_first_chunk).map(split) {
            Some((offload, bytes)) => hand_over(&mut self.counters, (offload, self.whole), bytes, tag, each),
            None => self.counters.oversize += 1,
        }
        Ok(())
    }
}

/// Passes the packets of a frame to `each`, or the frame itself if it stays `whole`. One that cannot be finished is
/// counted.
#[inline]
fn hand_over(
    counters: &mut PortCounters,
    (offload, whole): (Offload, bool),
    bytes: &[u8],
    tag: Option<Tag>,
    each: &mut dyn FnMut(Frame),
) {
    if offload.is_nothing() {
        each(tag.map_or_else(|| Frame::parse(bytes), |(tpid, tci)| Frame::with_tag(bytes, tpid, tci)));
        return;
    }
    if whole && tag.is_none() {
        counters.whole += 1;
        return each(Frame::whole(bytes, offload));
    }
    counters.unfinished_checksum += u64::from(offload.needs_checksum());
    if !offload.finish(bytes, tag, each) {
        counters.unhandled += 1;
    } else if offload.holds_several() {
        counters.segmented += 1;
    }
}

impl Port for PacketPort {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
    fn receive(&mut self, _now: Time, most: usize, each: &mut dyn FnMut(Frame)) -> io::Result<usize> {
        for count in 0..most {
            let (counters, whole) = (&mut self.counters, self.whole);
            let taken = self.ring.receive(|slot| {
                counters.received += 1;
                counters.received_bytes += u64::from(slot.header.len);
                if slot.is_whole() {
                    hand_over(counters, (slot.offload, whole), slot.bytes, slot.tag(), each);
                } else if slot.status & libc::TP_STATUS_COPY != 0 {
                    return Taken::Long(slot.tag());
                } else {
                    counters.oversize += 1;
                }
                Taken::Done
            });
            match taken {
                Some(Taken::Done) => {}
                Some(Taken::Long(tag)) => self.receive_long(tag, each)?,
                None => return Ok(count),
            }
        }
        Ok(most)
    }
    fn send(&mut self, _now: Time, frames: &mut VecDeque<(Time, Frame)>) -> io::Result<()> {
        while !frames.is_empty() {
            let count = frames.len().min(BATCH);
            let sent = if self.whole {
                let headers: Vec<[u8; offload::HEADER]> =
                    frames.iter().take(count).map(|(_, frame)| frame.offload().write()).collect();
                let parts = headers.iter().zip(frames.iter()).map(|(header, (_, frame))| [&header[..], frame.bytes()]);
                send_batch(&self.sender, parts)?
            } else {
                send_batch(&self.sender, frames.iter().take(count).map(|(_, frame)| [frame.bytes()]))?
            };
            self.counters.sent += sent as u64;
            for (_, frame) in frames.drain(..sent) {
                self.counters.sent_bytes += frame.bytes().len() as u64;
            }
            if sent == 0 {
                // The interface is gone, down, full, or the frame too long for it: this one is lost, like on a real
                // link.
                frames.pop_front();
                self.counters.refused += 1;
            }
        }
        Ok(())
    }
    fn check(&mut self) -> Result<(), WireError> {
        let told: io::Result<i32> = get_option(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR);
        // An interface that is deleted goes down first, and only that is told.
        if !self.counters.is_down && told.is_ok_and(|error| error == 0) {
            return Ok(());
        }
        match sys::is_up(self.socket.as_fd(), self.index) {
            Ok(is_up) => {
                self.counters.is_down = !is_up;
                Ok(())
            }
            Err(_) => Err(WireError::Gone(self.name.clone())),
        }
    }
    fn counters(&mut self) -> PortCounters {
        // Reading resets the kernel's numbers: they are added up here.
        if let Ok(stats) =
            get_option::<libc::tpacket_stats>(self.socket.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS)
        {
            self.counters.overrun += u64::from(stats.tp_drops);
        }
        self.counters
    }
}

/// Sends up to `BATCH` frames of `N` parts each; how many were taken. Errors that concern one frame only give 0.
fn send_batch<'a, const N: usize>(socket: &OwnedFd, frames: impl Iterator<Item = [&'a [u8]; N]>) -> io::Result<usize> {
    // SAFETY: all-zero is a valid value of these plain structures (null pointers, zero lengths).
    let (mut all, mut headers): ([[libc::iovec; N]; BATCH], [libc::mmsghdr; BATCH]) = unsafe { (zeroed(), zeroed()) };
    let mut count = 0;
    for (frame, parts) in frames.zip(&mut all) {
        for (bytes, part) in frame.iter().zip(parts) {
            part.iov_base = bytes.as_ptr().cast_mut().cast();
            part.iov_len = bytes.len();
        }
        count += 1;
    }
    for (header, parts) in headers.iter_mut().zip(&mut all).take(count) {
        header.msg_hdr.msg_iov = parts.as_mut_ptr();
        header.msg_hdr.msg_iovlen = N as _;
    }
    // SAFETY: `count` headers point to parts that point to the frames, all alive during the call; it only reads them.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count as u32, 0) };
    if sent >= 0 {
        return Ok(sent as usize);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOBUFS | libc::EMSGSIZE | libc::EINVAL | libc::EINTR) => Ok(0),
        // Whether it comes back is asked of the interface, see `check`.
        Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => Ok(0),
        _ => Err(error),
    }
}

/// A packet socket that receives nothing yet, for it has no protocol.
fn packet_socket() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(AddressFamily::Packet, SockType::Raw, flags, None)?)
}

fn bind(socket: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all-zero is a valid value of this plain structure.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as i32;
    // SAFETY: pointer and length are those of a sockaddr_ll that lives through the call.
    check(unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    })
}

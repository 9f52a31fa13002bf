//! The fabric as the guest kernel sees it: functions with C's calling convention.
//!
//! The kernel calls one function at a time (its side holds a lock). Memory is the kernel's, taken without waiting; a
//! request that it refuses is served from a reserve. If that is empty, and at every panic, the guest stops with a
//! message, which the host reports.
#![no_std]
#![allow(unsafe_code, reason = "the border to C")]
extern crate alloc;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::fmt::Write;
use core::slice;
use haltere_kernel::fabric::{first_piece, kernel_queues, links_now, next_piece};
use haltere_kernel::queue::FabricQueue;
use haltere_plan::LinkQueue;
use haltere_plan::fabric::{Fabric, FabricPlan, Ports, Routed, differences};
use haltere_plan::plan::LinkPlan;
use haltere_queue::{CONTROL, Ecn, FlowKey, LinkContext, Pkt};
use haltere_units::{ParamError, Time};

unsafe extern "C" {
    fn hk_k_alloc(bytes: usize, align: usize) -> *mut u8;
    fn hk_k_free(at: *mut u8);
    fn hk_k_stop(text: *const u8, len: usize) -> !;
    /// Hands the packet to the device of that node.
    fn hk_k_deliver(node: u32, skb: u64);
    fn hk_k_drop(skb: u64);
    /// Sets the byte with DSCP and ECN.
    fn hk_k_set_tos(skb: u64, tos: u8);
    /// A copy turned round, with CE set, and what it is; 0: it cannot be turned.
    fn hk_k_turn(skb: u64, seen: *mut Seen) -> u64;
    /// The number of a new queue, or an error below zero.
    fn hk_k_queue_new() -> i32;
    /// A packet arrives at the queue: how many were dropped, and where they are told.
    fn hk_k_queue_put(queue: u32, skb: u64, len: u32, tag: u32, dropped: *mut *const Seen) -> u32;
    /// The next packet of the queue; 0: there is none.
    fn hk_k_queue_take(queue: u32, seen: *mut Seen, count: *mut u32, dropped: *mut *const Seen) -> u64;
    fn hk_k_queue_holds(queue: u32, packets: *mut u32, bytes: *mut u32);
    fn hk_k_now() -> u64;
    /// How many requests for memory were refused, and served from the reserve.
    fn hk_k_refused() -> u64;
}

mod queues;

struct Kernel;

// SAFETY: the kernel's allocator returns memory of that size and of the alignment that its side has checked, or null.
unsafe impl GlobalAlloc for Kernel {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { hk_k_alloc(layout.size(), layout.align()) }
    }
    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        unsafe { hk_k_free(at) }
    }
}

#[global_allocator]
static KERNEL: Kernel = Kernel;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let mut text = Short { bytes: [0; 240], len: 0 };
    let _ = write!(text, "{info}");
    // SAFETY: the bytes live on this stack.
    unsafe { hk_k_stop(text.bytes.as_ptr(), text.len) }
}

#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    panic!("unwinding")
}

/// Text without the heap; what does not fit is cut off.
struct Short {
    bytes: [u8; 240],
    len: usize,
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if self.len < self.bytes.len() {
                self.bytes[self.len] = byte;
                self.len += 1;
            }
        }
        Ok(())
    }
}

/// What the kernel's side has read from a packet's headers. `struct hk_seen` in `haltere.c`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Seen {
    src: u32,
    dst: u32,
    /// TCP's sequence number.
    seq: u32,
    /// Length on links, framing included.
    len: u32,
    src_port: u16,
    dst_port: u16,
    /// The node to which it goes.
    node: u16,
    tos: u8,
    protocol: u8,
    /// 1: TCP's sequence number was read; 2: it is a SYN; 4: a copy that was turned round.
    flags: u8,
    /// What a queue of the kernel keeps with the packet: see [`queues`].
    tag: u32,
}

/// TCP's IP protocol number.
const TCP: u8 = 6;
const HAS_SEQ: u8 = 1;
const IS_SYN: u8 = 2;
const IS_TURNED: u8 = 4;
/// Low bits of the senders' initial sequence numbers that are zero: the wire's agents choose them so.
const ISN_BITS: u32 = 30;
/// Linux's `ip_tos2prio`.
const TOS_PRIORITY: [u8; 16] = [0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];

/// A packet of the kernel; dropped, it is freed. With `skb` 0 it is a header without a packet.
struct Packet {
    skb: u64,
    seen: Seen,
}

impl Drop for Packet {
    fn drop(&mut self) {
        if self.skb != 0 {
            // SAFETY: this value owns the packet.
            unsafe { hk_k_drop(self.skb) }
        }
    }
}

impl Packet {
    fn set_tos(&mut self, tos: u8) {
        self.seen.tos = tos;
        if self.skb != 0 {
            // SAFETY: this value owns the packet.
            unsafe { hk_k_set_tos(self.skb, tos) }
        }
    }
}

impl Pkt for Packet {
    #[inline]
    fn len(&self) -> u32 {
        self.seen.len
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.seen.tos & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    fn set_ce(&mut self) {
        self.set_tos(self.seen.tos | 3);
    }
    fn flow(&self) -> FlowKey {
        FlowKey {
            src: self.seen.src.into(),
            dst: self.seen.dst.into(),
            src_port: self.seen.src_port,
            dst_port: self.seen.dst_port,
            protocol: self.seen.protocol,
        }
    }
    fn priority(&self) -> u8 {
        if self.seen.flags & IS_TURNED != 0 {
            return CONTROL;
        }
        TOS_PRIORITY[usize::from(self.seen.tos >> 1) & 15]
    }
    fn dscp(&self) -> u8 {
        self.seen.tos >> 2
    }
    fn set_dscp(&mut self, dscp: u8) {
        self.set_tos(dscp << 2 | self.seen.tos & 3);
    }
    fn reflected(&self) -> Option<Packet> {
        if self.seen.protocol != TCP || !self.ecn().is_capable() || self.skb == 0 {
            return None;
        }
        let mut seen = Seen::default();
        // SAFETY: the kernel's side copies the packet and fills `seen`, or returns 0.
        let skb = unsafe { hk_k_turn(self.skb, &raw mut seen) };
        seen.flags |= IS_TURNED;
        (skb != 0).then_some(Packet { skb, seen })
    }
    fn stream_offset(&self) -> Option<u64> {
        if self.seen.flags & HAS_SEQ == 0 {
            return None;
        }
        // The SYN takes the first number: the first payload byte has the next.
        let from_isn = if self.seen.flags & IS_SYN != 0 { self.seen.seq } else { self.seen.seq.wrapping_sub(1) };
        Some(u64::from(from_isn) & ((1 << ISN_BITS) - 1))
    }
}

impl Routed for Packet {
    type Queue = FabricQueue<Packet>;
    fn queue(params: &LinkQueue, link: &LinkContext) -> Result<FabricQueue<Packet>, ParamError> {
        FabricQueue::new(params, link, queues::CALLS)
    }
    fn destination(&self) -> Option<usize> {
        Some(usize::from(self.seen.node))
    }
    /// Node `i` has the address 10.72.0.1 + i.
    fn source(&self) -> Option<usize> {
        (self.seen.src >> 16 == 10 << 8 | 72).then(|| (self.seen.src as usize & 0xffff).wrapping_sub(1))
    }
}

struct Devices;

impl Ports<Packet> for Devices {
    fn deliver(&mut self, _at: Time, node: usize, packet: Packet) -> bool {
        let skb = packet.skb;
        core::mem::forget(packet);
        // SAFETY: the packet was owned here, and is given away.
        unsafe { hk_k_deliver(node as u32, skb) }
        true
    }
}

/// A fabric, and the kernel's time at which its run begins.
pub struct Handle {
    fabric: Fabric<Packet>,
    /// The links whose queue is the kernel's, by the queue's number.
    queues: Vec<usize>,
    origin: u64,
    written: String,
}

impl Handle {
    fn time(&self, now: u64) -> Time {
        Time::from_ns(now.saturating_sub(self.origin))
    }
    /// Keeps the text, and gives its length.
    ///
    /// # Safety
    /// `text` can be written to.
    unsafe fn show(&mut self, written: String, text: *mut *const u8) -> usize {
        self.written = written;
        // SAFETY: as the caller says.
        unsafe { *text = self.written.as_ptr() };
        self.written.len()
    }
    fn next(&self) -> u64 {
        self.fabric.deadline().map_or(u64::MAX, |at| at.as_ns().saturating_add(self.origin))
    }
}

/// A fabric of the parts in the JSON text, or null; then why not is in `why`.
///
/// # Safety
/// `text` has `len` bytes, `why` has room for 240.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_new(text: *const u8, len: usize, why: *mut u8) -> *mut Handle {
    // SAFETY: as the caller says.
    let text = unsafe { slice::from_raw_parts(text, len) };
    let plan = serde_json::from_slice::<FabricPlan>(text);
    let made =
        plan.map_err(|e| alloc::format!("{e}")).and_then(|plan| Fabric::new(plan).map_err(|e| alloc::format!("{e}")));
    match made {
        Ok(fabric) => {
            let queues = kernel_queues(&fabric.plan().links).map(|(link, _)| link).collect();
            Box::into_raw(Box::new(Handle { fabric, queues, origin: u64::MAX / 2, written: String::new() }))
        }
        Err(error) => {
            // SAFETY: as the caller says.
            unsafe { tell(why, &error) };
            core::ptr::null_mut()
        }
    }
}

/// The run begins at that time of the kernel; returned is when [`hk_advance`] is to be called.
///
/// # Safety
/// `handle` is from [`hk_new`]; so it is for every function below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_start(handle: *mut Handle, origin: u64) -> u64 {
    // SAFETY: as the caller says.
    let handle = unsafe { &mut *handle };
    handle.origin = origin;
    queues::begin_at(origin);
    handle.next()
}

/// A packet comes from the host of that node; returned is when [`hk_advance`] is to be called.
///
/// # Safety
/// See [`hk_start`]; `seen` is what `skb` holds, and `skb` is given away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_arrive(handle: *mut Handle, now: u64, node: u32, skb: u64, seen: *const Seen) -> u64 {
    // SAFETY: as the caller says.
    let (handle, seen) = unsafe { (&mut *handle, *seen) };
    let now = handle.time(now);
    handle.fabric.arrive(now, node as usize, Packet { skb, seen }, &mut Devices);
    handle.next()
}

/// Does what is due; returned is when to call next.
///
/// # Safety
/// See [`hk_start`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_advance(handle: *mut Handle, now: u64) -> u64 {
    // SAFETY: as the caller says.
    let handle = unsafe { &mut *handle };
    let now = handle.time(now);
    handle.fabric.advance(now, &mut Devices);
    handle.next()
}

/// The kernel's queue of that number may have a packet that it withheld; returned is when to call [`hk_advance`].
///
/// # Safety
/// See [`hk_start`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_wake(handle: *mut Handle, now: u64, queue: u32) -> u64 {
    // SAFETY: as the caller says.
    let handle = unsafe { &mut *handle };
    let now = handle.time(now);
    if let Some(&link) = handle.queues.get(queue as usize) {
        handle.fabric.wake(now, link, &mut Devices);
    }
    handle.next()
}

/// The first or the next piece of what the fabric counted: its length, 0 if there is none. The text stays where `text`
/// says until the next call.
///
/// # Safety
/// See [`hk_start`]; `text` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_counted(handle: *mut Handle, first: bool, text: *mut *const u8) -> usize {
    // SAFETY: as the caller says.
    let handle = unsafe { &mut *handle };
    let written = if first {
        // SAFETY: a call without arguments.
        first_piece(&mut handle.fabric, unsafe { hk_k_refused() })
    } else {
        next_piece(&mut handle.fabric)
    };
    // SAFETY: as the caller says.
    unsafe { handle.show(written, text) }
}

/// The links as they are now, as JSON: the length of the text, which stays where `text` says until the next call.
///
/// # Safety
/// See [`hk_start`]; `text` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_now(handle: *mut Handle, now: u64, text: *mut *const u8) -> usize {
    // SAFETY: as the caller says.
    let handle = unsafe { &mut *handle };
    let now = handle.time(now);
    handle.fabric.advance(now, &mut Devices);
    let written = links_now(&mut handle.fabric, now);
    // SAFETY: as the caller says.
    unsafe { handle.show(written, text) }
}

/// The links are those of the fabric in the JSON text from now on; returned is when to call [`hk_advance`]. If they
/// cannot be, `why` says why not.
///
/// # Safety
/// See [`hk_start`]; `text` has `len` bytes, `why` has room for 240.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_change(handle: *mut Handle, now: u64, text: *const u8, len: usize, why: *mut u8) -> u64 {
    // SAFETY: as the caller says.
    let (handle, text) = unsafe { (&mut *handle, slice::from_raw_parts(text, len)) };
    let now = handle.time(now);
    let plan = serde_json::from_slice::<FabricPlan>(text).map_err(|e| alloc::format!("{e}"));
    if let Err(error) = plan.and_then(|plan| change(&mut handle.fabric, now, plan.links)) {
        // SAFETY: as the caller says.
        unsafe { tell(why, &error) };
    }
    handle.next()
}

fn change(fabric: &mut Fabric<Packet>, now: Time, links: Vec<LinkPlan>) -> Result<(), String> {
    let is_kernels = |link: &LinkPlan| kernel_queues(slice::from_ref(link)).next().is_some();
    let old = &fabric.plan().links;
    let changed = differences(old, &links)?;
    if let Some((index, _)) =
        changed.iter().find(|(i, queue)| *queue && (is_kernels(&old[*i]) || is_kernels(&links[*i])))
    {
        return Err(alloc::format!("{}: queue must stay if it is one of Linux's own", links[*index].name));
    }
    for (index, queue) in changed {
        fabric.change(now, index, links[index].clone(), queue, &mut Devices).map_err(|e| alloc::format!("{e}"))?;
    }
    Ok(())
}

/// Writes the text, cut to 239 bytes, and a 0.
///
/// # Safety
/// `why` has room for 240.
unsafe fn tell(why: *mut u8, text: &str) {
    // SAFETY: as the caller says.
    let why = unsafe { slice::from_raw_parts_mut(why, 240) };
    why.fill(0);
    why.iter_mut().zip(text.bytes().take(239)).for_each(|(to, byte)| *to = byte);
}

/// Ends a fabric and frees the packets in it.
///
/// # Safety
/// See [`hk_start`]; the handle is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hk_free(handle: *mut Handle) {
    // SAFETY: made by `Box::into_raw`.
    drop(unsafe { Box::from_raw(handle) });
}

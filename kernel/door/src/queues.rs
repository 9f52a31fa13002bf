//! The kernel's own queue disciplines, as [`haltere_kernel::queue`] calls them.
//!
//! The kernel frees a packet that it drops; its side tells which. A mark shows when the packet leaves. So a packet in
//! such a queue has a tag in the kernel: its number, whether it was turned round, and the byte with its ECN field when
//! it came.

use crate::{IS_TURNED, Packet, Seen};
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use haltere_kernel::queue::Calls;
use haltere_queue::{Backlog, DropReason, Ecn, Fate, MarkReason, Pkt};
use haltere_units::Time;

pub(crate) const CALLS: Calls<Packet> =
    Calls { make, enqueue, dequeue, backlog, now, number, number_of: |pkt| pkt.seen.tag >> 9, header };

/// The kernel's time at which the run begins.
static ORIGIN: AtomicU64 = AtomicU64::new(0);

pub(crate) fn begin_at(origin: u64) {
    ORIGIN.store(origin, Ordering::Relaxed);
}

const TURNED: u32 = 1 << 8;

fn make(_tc: &str) -> Result<u32, String> {
    // SAFETY: a call without arguments. The program in the guest attaches the discipline.
    let queue = unsafe { crate::hk_k_queue_new() };
    u32::try_from(queue).map_err(|_| alloc::format!("a queue that the kernel can make (error {queue})"))
}

fn now() -> Time {
    // SAFETY: a call without arguments.
    Time::from_ns(unsafe { crate::hk_k_now() }.saturating_sub(ORIGIN.load(Ordering::Relaxed)))
}

fn number(pkt: &mut Packet, number: u32) {
    pkt.seen.tag = number << 9;
}

fn header(pkt: &Packet) -> Packet {
    Packet { skb: 0, seen: pkt.seen }
}

fn enqueue(queue: u32, pkt: Packet, fate: &mut dyn Fate<Packet>) {
    let turned = if pkt.seen.flags & IS_TURNED != 0 { TURNED } else { 0 };
    let tag = pkt.seen.tag & !0x1ff | turned | u32::from(pkt.seen.tos);
    let (skb, len) = (pkt.skb, pkt.seen.len);
    core::mem::forget(pkt);
    let mut dropped = core::ptr::null();
    // SAFETY: the packet was owned here and is given away.
    let count = unsafe { crate::hk_k_queue_put(queue, skb, len, tag, &raw mut dropped) };
    tell(dropped, count, DropReason::Overlimit, fate);
}

fn dequeue(queue: u32, fate: &mut dyn Fate<Packet>) -> Option<Packet> {
    let (mut seen, mut count, mut dropped) = (Seen::default(), 0, core::ptr::null());
    // SAFETY: the kernel's side fills all three; the packet is ours from here on.
    let skb = unsafe { crate::hk_k_queue_take(queue, &raw mut seen, &raw mut count, &raw mut dropped) };
    tell(dropped, count, DropReason::Congestion, fate);
    if skb == 0 {
        return None;
    }
    if seen.tag & TURNED != 0 {
        seen.flags |= IS_TURNED;
    }
    let pkt = Packet { skb, seen };
    if pkt.ecn() == Ecn::Ce && seen.tag & 3 != 3 {
        fate.marked(&pkt, MarkReason::Congestion);
    }
    Some(pkt)
}

/// Reports what the kernel's discipline dropped.
fn tell(dropped: *const Seen, count: u32, reason: DropReason, fate: &mut dyn Fate<Packet>) {
    for place in 0..count as usize {
        // SAFETY: so many are there, until the next call of the kernel's side.
        let seen = unsafe { *dropped.add(place) };
        fate.dropped(Packet { skb: 0, seen }, reason);
    }
}

fn backlog(queue: u32) -> Backlog {
    let (mut packets, mut bytes) = (0, 0);
    // SAFETY: the kernel's side fills both.
    unsafe { crate::hk_k_queue_holds(queue, &raw mut packets, &raw mut bytes) };
    Backlog { packets, bytes: bytes.into() }
}

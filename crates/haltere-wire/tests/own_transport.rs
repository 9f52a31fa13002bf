//! Our transport against the kernel's.

mod transfer;

use haltere_congestion::CongestionParams;

#[test]
fn a_transfer_each_way_with_a_linux_kernel_over_loss_and_reordering() {
    transfer::transfer(&CongestionParams::default_of("cubic").unwrap(), 0, &Default::default());
}

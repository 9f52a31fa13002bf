//! The network between the hosts, inside the guest kernel.

//! The network between the hosts: packets, links, and the paths over them.

pub(crate) mod ahead;
pub(crate) mod border;
pub(crate) mod detours;
pub(crate) mod fabric;
pub(crate) mod flight;
pub(crate) mod link;
pub(crate) mod packet;

//! What flows do: the explicit plan of each traffic kind, and what the contract must know of it.
//!
//! `apps!` below is the registry. A kind is one file of this folder and one line. From the line follow [`AppPlan`], its
//! names and what every world may ask of a flow through the trait [`App`]: which protocol it speaks, what its TCP
//! endpoints are, whether its flows arrive during the run. A world matches on [`AppPlan`] in one place only, where it
//! makes what runs the flow.

mod kind;
mod prelude;

pub use kind::{App, Protocol, TcpPlan, is_over, positive_span};

use crate::fault::Fault;
use alloc::boxed::Box;
use alloc::format;
use core::ops::Deref;
use serde::{Deserialize, Serialize};

macro_rules! apps {
    ($($variant:ident, $module:ident, $plan:ty);+ $(;)?) => {
        $(pub mod $module;)+

        /// What a flow does: the explicit plan of its traffic kind. It derefs to [`App`], so `flow.app.tcp()` asks any
        /// kind.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the plan of the kind of that name")]
        pub enum AppPlan { $($variant($plan)),+ }

        impl AppPlan {
            /// The names of all kinds of plans, in the registry's order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            /// The source text of each kind's plan, in the registry's order: two processes that exchange plans must
            /// have the same.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!(concat!(stringify!($module), ".rs"))),+];

            /// The name of the traffic kind.
            pub fn kind(&self) -> &'static str {
                let name = match self { $(AppPlan::$variant(_) => stringify!($module)),+ };
                self.kind_of_entry().unwrap_or(name)
            }
        }
        impl Deref for AppPlan {
            type Target = dyn App;
            fn deref(&self) -> &(dyn App + 'static) {
                match self { $(AppPlan::$variant(plan) => plan.as_app()),+ }
            }
        }
        $(impl From<$plan> for AppPlan {
            fn from(plan: $plan) -> AppPlan {
                AppPlan::$variant(plan)
            }
        })+
    };
}

apps! {
    Bulk, bulk, bulk::BulkPlan;
    OnOff, on_off, on_off::OnOffPlan;
    Cbr, cbr, cbr::CbrPlan;
    Ping, ping, ping::PingPlan;
    Ftp, ftp, ftp::FtpPlan;
    Multipath, multipath, Box<multipath::MultipathPlan>;
    Arrivals, arrivals, Box<arrivals::ArrivalsPlan>;
    Web, web, Box<web::WebPlan>;
    Rpc, rpc, Box<rpc::RpcPlan>;
    Video, video, Box<video::VideoPlan>;
    Voip, voip, voip::VoipPlan;
    Program, program, Box<program::ProgramPlan>;
    Outside, outside, Box<outside::OutsidePlan>;
}

/// Refuses a traffic entry at `place`: a world, such as `on the wire`, has the `known` kinds and no other.
pub fn unknown_to_world(place: &str, world: &str, known: &[&str], app: &AppPlan) -> Fault {
    let rule = format!("one of `{}` {world}", known.join("`, `"));
    Fault::new(place, "kind", rule, format!("`{}`", app.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::{Bytes, Dur};

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names = AppPlan::NAMES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), AppPlan::NAMES.len());
    }
    #[test]
    fn a_world_without_a_kind_says_which_it_has() {
        let ping = ping::PingPlan { interval: Dur::from_ms(1), payload: Bytes::ZERO, ecn: false };
        let fault = unknown_to_world("traffic[2]", "on the moon", &["bulk", "cbr"], &ping.into());
        assert_eq!(fault.to_string(), "traffic[2]: kind must be one of `bulk`, `cbr` on the moon, got `ping`");
    }
}

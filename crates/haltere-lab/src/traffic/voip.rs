//! Telephone calls.

use super::prelude::*;
use haltere_plan::plan::VoipPlan;

/// Telephone calls over UDP: packets of a codec at a constant rate, a playout buffer, and the mean opinion score of
/// what is heard. `from` talks and `to` listens; `direction = "both"` is a conversation. The table `voices` has loss,
/// delay, jitter and score of each flow.
///
/// Source: ITU-T G.107 (2015), the E-model; for its delay term R. Cole and J. Rosenbluth, "Voice over IP performance
/// monitoring", ACM SIGCOMM Computer Communication Review 31(2), 2001. R = 93.2 - Id - Ie_eff, with Id = 0.024 d + 0.11
/// (d - 177.3) H(d - 177.3) of the delay d from mouth to ear in ms, and Ie_eff = Ie + (95 - Ie) P / (P + Bpl) of the
/// lost and late packets P in per cent. MOS = 1 + 0.035 R + 7e-6 R (R - 60) (100 - R).
///
/// Deviations: there is no silence suppression: a packet leaves every interval.
///
/// Known problems: losses count as random, though a full queue drops packets in bursts. The playout buffer does not
/// adapt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Voip {
    #[serde(flatten)]
    pub(crate) ends: Ends,
    /// The codec.
    #[serde(default)]
    pub codec: Codec,
    /// The playout buffer: the first packet is played so long after it arrived. A packet that comes after its time is
    /// lost to the listener.
    #[serde(default = "playout")]
    pub playout: Dur,
}

/// A codec: its packets, and Ie and Bpl of ITU-T G.113, appendix I.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// G.711 with packet loss concealment: 160 B every 20 ms, 64 kbit/s. Ie = 0, Bpl = 25.1.
    #[default]
    G711,
    /// G.729A: 20 B every 20 ms, 8 kbit/s. Ie = 11, Bpl = 19, those of G.729A with voice activity detection.
    G729a,
}

defaults! { playout: Dur = Dur::from_ms(60); }

/// Bytes of an RTP header (RFC 3550).
const RTP_HEADER: u64 = 12;

impl TrafficKind for Voip {
    fn about() -> About {
        About { table: Some("voices"), noun: "call", ..About::PLAIN }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        refuse_if!(self.playout > Dur::from_secs(10), entry.fault("playout", "at most 10s", self.playout));
        // Of the codec: bytes of a packet, the delay of a frame and of what is read in advance, Ie and Bpl.
        let (bytes, delay, impairment, robustness) = match self.codec {
            Codec::G711 => (160, Dur::from_ms(20), 0.0, 25.1),
            Codec::G729a => (20, Dur::from_ms(25), 11.0, 19.0),
        };
        let plan = VoipPlan {
            packet: Bytes::new(RTP_HEADER + bytes),
            interval: Dur::from_ms(20),
            playout: self.playout,
            codec_delay: delay,
            impairment,
            robustness,
        };
        Ok(vec![plan.into()])
    }
}

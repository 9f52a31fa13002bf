//! Adaptive video.

use super::prelude::*;
use haltere_plan::plan::VideoPlan;

/// Adaptive video over TCP, as DASH and HLS stream it: a player fetches segments one after the other, each at a bitrate
/// that follows from its buffer. `to` is the player and `from` the server, so video goes the way that data goes in all
/// kinds. The table `segments` has the bitrate, the time and the stall of each segment.
///
/// Source: T.-Y. Huang et al., "A buffer-based approach to rate adaptation: evidence from a large video streaming
/// service", SIGCOMM 2014: algorithm 1, BBA-0.
///
/// Deviations: the paper's buffer holds 240 s, its reservoir 90 s, and its cushion ends at 216 s. Here `buffer` is 30
/// s, so that an experiment of a minute reaches the end; the reservoir and the cushion are the same parts of it.
///
/// Known problems: every segment of a bitrate has the same size; the player never leaves before `stop`; a video has no
/// end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Video {
    /// Between whom and when. No segment is asked for after `stop`.
    #[serde(flatten)]
    pub(crate) ends: Ends,
    /// The TCP of the connection. Nagle's algorithm is off unless `tcp` turns it on.
    #[serde(flatten)]
    pub(crate) side: TcpSide,
    /// Playing time of a segment.
    #[serde(default = "segment")]
    pub segment: Dur,
    /// The bitrates at which the video is there, in ascending order. The default has ten, from 235 kbit/s to 5 Mbit/s.
    #[serde(default = "ladder")]
    #[schemars(length(min = 1, max = 1000))]
    pub ladder: Vec<Rate>,
    /// Playing time that the buffer holds, at least two segments.
    #[serde(default = "buffer")]
    pub buffer: Dur,
    /// With at most this much in the buffer, the player requests the lowest bitrate. If it is not given, 3/8 of the
    /// buffer.
    pub reservoir: Option<Dur>,
    /// From the reservoir on, the playing time over which the bitrate grows from the lowest to the highest. If it is
    /// not given, it ends at 9/10 of the buffer.
    pub cushion: Option<Dur>,
}

defaults! {
    segment: Dur = Dur::from_secs(4);
    ladder: Vec<Rate> = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5000].map(|kbit| Rate::from_bps(kbit * 1000)).into();
    buffer: Dur = Dur::from_secs(30);
}

impl TrafficKind for Video {
    fn about() -> About {
        About { request_response: true, table: Some("segments"), noun: "viewer", ..About::TCP }
    }
    fn plan(&self, entry: &Entry<'_>) -> Result<Vec<AppPlan>, ScenarioError> {
        let (segment, buffer) = (self.segment, self.buffer);
        refuse_if!(segment < Dur::from_ms(10), entry.fault("segment", "at least 10ms", segment));
        if buffer < segment.saturating_add(segment) {
            let rule = format!("at least two segments of {segment}");
            return Err(entry.fault("buffer", rule, buffer).out_of_range());
        }
        let wrong = self.ladder.windows(2).position(|two| two[0] >= two[1]).map(|at| at + 1);
        if let Some(at) = wrong.or((self.ladder[0] == Rate::ZERO).then_some(0)) {
            let rule = "above 0bit and above the bitrate before it";
            return Err(entry.fault(&format!("ladder[{at}]"), rule, self.ladder[at]).out_of_range());
        }
        let reservoir = self.reservoir.unwrap_or(buffer.mul_f64(0.375));
        let cushion = self.cushion.unwrap_or(buffer.mul_f64(0.9).saturating_sub(reservoir));
        if cushion.is_zero() || reservoir.saturating_add(cushion) > buffer {
            let (name, got) = if self.cushion.is_some() { ("cushion", cushion) } else { ("reservoir", reservoir) };
            let rule = format!("such that reservoir and cushion are above 0 and fit into the buffer of {buffer}");
            return Err(entry.fault(name, rule, got).out_of_range());
        }
        let ladder = self.ladder.as_slice();
        entry.tcp_without_nagle(&self.side, |tcp| {
            Box::new(VideoPlan { tcp, segment, ladder: ladder.into(), buffer, reservoir, cushion }).into()
        })
    }
}

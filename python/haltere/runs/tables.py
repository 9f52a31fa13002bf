"""The tables of results."""

#: What a row is, by table.
ROWS = {
    "flows": "a flow; of `poisson`, `incast` and `permutation` with arrivals, a traffic entry",
    "links": "a direction of a link",
    "flow_series": "a flow and a sample (`[measure] flows`)",
    "queue_series": "a watched queue and a sample (`[measure] queues`)",
    "pings": "an answered ping",
    "tasks": "an upload of `ftp`",
    "completions": "a flow of `poisson`, `incast` or `replay`, or a response of `web` or `rpc`",
    "pages": "a page of `web`",
    "segments": "a segment of `video`",
    "voices": "a flow of `voip`",
    "programs": "a client or server of `program`",
    "outputs": "a place to which such a program wrote: `stdout`, `stderr` or a file in its folder",
    "sockets": "a connection of hosts with programs, in one direction",
    "paths": "a path of a multipath connection and a sample",
    "coefficients": "a pair of paths and a verdict of a correlator",
    "delays": "a write of a multipath application with a rate",
    "depths": "a watched queue and a depth at dequeue that occurred (`[measure] depths`)",
    "delay_summary": "a link or flow whose delays were measured (`[measure] delays`)",
    "delay_bins": "a bin of such a histogram that is not empty",
    "queue_state": "an inner variable of a watched queue and a sample (`[measure] state`)",
    "flow_state": "an inner variable of a sender and a sample (`[measure] state`)",
    "packets": "a packet at a logged link (`[measure] packets`)",
    "points": "a point of the sweep",
    "runs": "a run",
}

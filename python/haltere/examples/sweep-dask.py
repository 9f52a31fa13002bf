# A sweep of 500 runs with Dask and pandas.
#
# The delay that a ping sees under load, for ten rates, five disciplines and ten seeds. Dask makes the runs on
# the machines of a cluster; here it is one machine. A run that is there is not made again, so the sweep can
# be stopped and goes on. pandas gets the values with what was swept beside them. CoDel's target is a time, so
# the delay stays low at all rates; that of a buffer in packets falls as the rate grows.
#
#   python sweep-dask.py
#   haltere plot results/sweep-dask --y ping_p95 --x rate --by queue --log-x --log-y
#
# Then try: `Client("tcp://10.0.0.7:8786")` instead of the local cluster, and `out="s3://bucket/sweep"`.

from dask.distributed import Client, LocalCluster

import haltere

EXPERIMENT = {
    "title": "Delay under load by rate and discipline",
    "duration": "8s",
    "warmup": "2s",
    "topology": {
        "dumbbell": {
            "pairs": 3,
            "access": {"rate": "1Gbit", "delay": "1ms"},
            "bottleneck": {"rate": "10Mbit", "delay": "18ms", "queue": {"kind": "drop_tail", "limit": "200p"}},
        }
    },
    "traffic": [
        {"name": "bulk", "kind": "bulk", "pairs": [1, 2]},
        {"name": "ping", "kind": "ping", "pairs": [3], "interval": "50ms"},
    ],
}
# Another discipline keeps the keys that both have: here `limit`.
SWEEP = {
    "topology.dumbbell.bottleneck.rate": {"logspace": {"from": "2Mbit", "to": "40Mbit", "count": 10}},
    "topology.dumbbell.bottleneck.queue": ["drop_tail", "codel", "pie", "fq_codel", "sfq"],
}


def main(seeds: int = 10, out: str = "results/sweep-dask") -> None:
    """Makes the runs and prints the 95th percentile of the ping by rate and discipline."""
    experiment = haltere.Scenario.from_dict(EXPERIMENT).sweep(SWEEP)
    with LocalCluster(processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        results = experiment.run(seeds=seeds, out=out, executor=client.get_executor(pure=False))

    pings = results.pandas("pings", labels=True)  # a row for each ping, with its rate and queue
    late = pings[pings["at_ns"] > 2e9]  # the warm-up is in the table, too
    table = late.groupby(["rate", "queue"], sort=False)["rtt_ns"].quantile(0.95).unstack() / 1e6
    print(table.round(1).to_string())


if __name__ == "__main__":
    main()

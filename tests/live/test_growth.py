# SPDX-License-Identifier: GPL-2.0-or-later
"""Series over the run, and verdicts on which sites grow."""

import os

import schema
from lib import (exact, heap_sites, load_report, need_long, need_root, need_speed, run_memtraced,
                 scratch, started, target, test, trace, with_function)

BESIDE_OTHERS = True
VERDICTS = {"leak": "leak", "slow_leak": "leak", "cache": "cache", "lru": "cache",
            "sawtooth": "steady", "warm_up": "steady", "busy": "steady", "backlog": "growing"}


def site_of(process, function):
    sites = with_function(heap_sites(process), function)
    assert len(sites) == 1, (function, len(sites))
    return sites[0]


def verdicts(process):
    found = {}
    for function in VERDICTS:
        growth = site_of(process, function)["growth"]
        found[function] = growth and growth["verdict"]
    return found


def check_series(process):
    """The last point is the report's state, those before it only grow where counts do."""
    points, alloc = process["timeline"]["points"], process["alloc"]
    for key in ("live_bytes", "live_blocks", "allocs", "frees", "bytes"):
        assert points[-1][key] == alloc[key], (key, points[-1], alloc)
    for key in ("time_ns", "allocs", "frees", "bytes"):
        values = [point[key] for point in points]
        assert values == sorted(values), (key, values)
    for point in points:
        assert point["live_blocks"] == point["allocs"] - point["frees"], point
        assert point["live_bytes"] <= alloc["peak_bytes"], point
    for site in heap_sites(process):
        if site["series"] is not None:
            assert len(site["series"]) == len(points)
            assert site["series"][-1] == site["live_bytes"], site
    # what sites hold is what the process does, at each sample
    followed = [site["series"] for site in heap_sites(process) if site["series"]]
    for i, point in enumerate(points[:-1]):
        assert sum(series[i] or 0 for series in followed) == point["live_bytes"], (i, point)


def judged_otherwise():
    """The verdicts of a run that are not those of the target's kinds of sites."""
    run_ = trace([target("growth"), "700"], "--sample-interval=0.1", timeout=100)
    process = run_.only_process()
    exact(run_.report)
    check_series(process)
    assert len(process["timeline"]["points"]) >= 30, "too slow a machine for a verdict"
    assert process["growth"]["verdict"] == "leak", process["growth"]
    return {name: verdict for name, verdict in verdicts(process).items()
            if verdict != VERDICTS[name]}


@test(need_root, need_speed, timeout=240)
def every_kind_of_site_gets_its_verdict():
    """What a stall of the machine makes of a series no second run has."""
    wrong = judged_otherwise()
    again = judged_otherwise() if wrong else {}
    assert not wrong.keys() & again.keys(), (wrong, again)


@test(need_root, need_speed, timeout=120)
def a_table_sorted_by_growth_begins_with_the_leak_of_a_running_process():
    """Attached in the middle, without a restart."""
    with started([target("growth"), "900", "7"]) as process:
        process.lines.until("ready")
        done = run_memtraced("-p", str(process.pid), "--sample-interval=0.1", "-d", "6",
                             "--sort", "growth", "--top", "2", timeout=100)
        process.kill()
    assert done.returncode == 0, done.stderr
    heads = [line for line in done.stdout.split("\n") if line.startswith("  #")]
    assert heads[0].startswith("  #1  leak, ~"), done.stdout
    assert heads[1].startswith("  #2  leak, ~"), done.stdout
    assert "grown since the start" in heads[0], done.stdout


@test(need_root)
def few_samples_have_no_verdict():
    process = trace([target("growth"), "50"], "--sample-interval=1h").only_process()
    assert process["growth"] is None
    # Its end alone, as it had no sample before.
    assert len(process["timeline"]["points"]) == 1, process["timeline"]
    assert all(site["growth"] is None and site["series"] is None for site in process["sites"])


@test(need_root, timeout=120)
def a_recording_has_the_series_too():
    with scratch() as folder:
        record, live = os.path.join(folder, "run.rec"), os.path.join(folder, "run.json")
        done = run_memtraced("--sample-interval=50ms", "-o", f"record:{record}", "-o",
                             f"json:{live}", "--", target("growth"), "80", timeout=100)
        assert done.returncode == 0, done.stderr
        again = run_memtraced("report", record, "-f", "json")
        assert again.returncode == 0, again.stderr
        report, want = schema.loads(again.stdout), load_report(live)
    for key in ("timeline", "growth"):
        assert report["processes"][0][key] == want["processes"][0][key], key
    assert want["processes"][0]["timeline"], "no samples"
    assert [site["series"] for site in report["processes"][0]["sites"]] == \
        [site["series"] for site in want["processes"][0]["sites"]]


@test(need_root, need_long, timeout=400)
def of_many_seeds_95_percent_are_judged_right():
    """The table of live programs: each kind with eight seeds, 60 samples."""
    right, counted = {function: 0 for function in VERDICTS}, 0
    for seed in range(101, 109):
        process = trace([target("growth"), "1400", str(seed)], "--sample-interval=0.2",
                        timeout=200).only_process()
        found = verdicts(process)
        counted += 1
        for function, verdict in VERDICTS.items():
            right[function] += found[function] == verdict
        print(f"seed {seed}, {len(process['timeline']['points'])} points: {found}")
    for function, n in right.items():
        print(f"{function:12} {VERDICTS[function]:8} {n} of {counted} right")
    assert sum(right.values()) >= 0.95 * counted * len(VERDICTS)

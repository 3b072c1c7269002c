# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written where: formats, files, intervals, filters."""

import json
import os
import re
import signal

import schema
from lib import (ROOT, called_by, heap_sites, load_report, memtraced, need_program, need_root,
                 process_state, run, run_memtraced, scratch, started, target, test, total, trace,
                 with_function)

BESIDE_OTHERS = True
FRAME_LINE = re.compile(r"^\t *[0-9a-f]+ \S.* \(.+\)$")
HEADER_LINE = re.compile(r"^\S.+ +\d+/\d+ +(\[\d+\] +)?\d+\.\d{6,9}: +\d+ [^: ]+: $")


def events(text):
    """perf-script text as (period, frames); anything outside its grammar is an error."""
    found, header, frames = [], None, []
    assert text == "" or text.endswith("\n\n") or text.startswith("#"), repr(text[-80:])
    for line in text.split("\n")[:-1]:
        if line.startswith("#"):
            continue
        if line == "":
            assert header, "an empty line that ends no event"
            found.append((int(header.split(":")[1].split()[0]), frames))
            header, frames = None, []
        elif header is None:
            assert HEADER_LINE.match(line), f"not a header: {line!r}"
            header = line
        else:
            assert FRAME_LINE.match(line), f"not a frame: {line!r}"
            frames.append(line.strip())
    assert header is None, "the last event is not ended"
    return found


def documented_recipe():
    """The guide's program for jq that puts the frames into sites."""
    with open(os.path.join(ROOT, "docs", "guide", "json.md"), encoding="utf-8") as file:
        (recipe,) = re.findall(r"^    jq -c '(.*?)'$", file.read(), re.M | re.S)
    return recipe


@test(need_root, need_program("jq"))
def stacks_are_written_once_and_the_documented_recipe_expands_them():
    done = run_memtraced("-f", "json", "--", target("leak"), "100", "0")
    assert done.returncode == 0, done.stderr
    jq = run(["jq", "-c", documented_recipe()], input=done.stdout)
    assert jq.returncode == 0, jq.stderr
    raw, report = json.loads(done.stdout), schema.loads(done.stdout)
    expanded = [json.loads(line) for line in jq.stdout.splitlines()]
    sites = report["processes"][0]["sites"]
    assert [site["frames"] for site in expanded] == [site["frames"] for site in sites]
    assert with_function(sites, "leak_one"), sites
    n_frames = sum(len(site["frames"]) for site in sites)
    assert len(raw["stacks"]) < n_frames, (len(raw["stacks"]), n_frames)
    assert "frames" not in raw["processes"][0]["sites"][0]


@test(need_root)
def json_on_stdout_is_one_object_and_nothing_else():
    done = run_memtraced("-f", "json", "--", target("million"), "100")
    assert done.returncode == 0, done.stderr
    schema.check(schema.loads(done.stdout))
    assert done.stdout.count("\n") == 1 and done.stdout.endswith("}\n")
    assert "done 100" in done.stderr, "the command's own stdout goes to stderr"


@test(need_root)
def json_in_a_file_leaves_stdout_to_the_command():
    run = trace([target("million"), "100"])
    assert run.stdout == "done 100\n", run.stdout


@test(need_root)
def an_interval_gives_a_line_of_json_each_time():
    with started([memtraced(), "-f", "json", "-i", "0.1", "--", target("leak"), "600",
                  "1000"]) as process:
        reports = []
        while (line := process.lines.next()) is not None:
            reports.append(schema.loads(line))
            schema.check(reports[-1])
        assert process.wait(10) == 0
    assert len(reports) >= 3, len(reports)
    seen = [report["processes"][0]["alloc"]["allocs"] for report in reports]
    assert seen == sorted(seen), seen
    assert seen[-1] >= 1200
    elapsed = [report["elapsed_ns"] for report in reports]
    assert elapsed == sorted(set(elapsed)), elapsed


@test(need_root)
def each_interim_report_is_consistent_in_itself():
    """While four threads allocate at full speed; schema.check compares sites with totals."""
    with started([memtraced(), "-f", "json", "-i", "0.05", "--", target("threads"), "4",
                  "150000"]) as process:
        count = 0
        while (line := process.lines.next()) is not None:
            schema.check(schema.loads(line))
            count += 1
        assert process.wait(10) == 0
    assert count >= 2


@test(need_root)
def a_file_is_replaced_whole_at_each_interval():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        with started([memtraced(), "-o", f"json:{path}", "-i", "0.1", "--", target("leak"), "500",
                      "1000"]) as process:
            process.lines.until("ready")
            versions = set()
            while process.poll() is None:
                if os.path.exists(path):
                    report = load_report(path)
                    versions.add(report["elapsed_ns"])
            assert process.returncode == 0
        versions.add(load_report(path)["elapsed_ns"])
        assert len(versions) >= 2, versions
        assert os.listdir(folder) == ["report.json"], os.listdir(folder)


@test(need_root)
def percent_p_in_a_path_is_the_pid():
    with scratch() as folder:
        done = run_memtraced("-o", f"json:{folder}/out.%p", "--", target("forks"), "12")
        assert done.returncode == 0, done.stderr
        pid = int(re.search(r"^parent (\d+)$", done.stdout, re.M).group(1))
        assert os.listdir(folder) == [f"out.{pid}"], os.listdir(folder)
        assert load_report(f"{folder}/out.{pid}")["processes"][0]["pid"] == pid


UNPACKED_BY = {".gz": "gzip", ".zst": "zstd"}


@test(need_root, need_program("gzip", "zstd"), each=UNPACKED_BY, in_turn=1)
def a_file_is_packed_as_its_name_says(suffix):
    formats = ("json", "html", "folded", "massif", "perf-script", "callgrind", "pprof")
    with scratch() as folder:
        def place(form, end):
            return os.path.join(folder, form + end)

        words = [f"-o{form}:{place(form, end)}" for form in formats for end in ("", suffix)]
        done = run_memtraced(*words, "--", target("leak"), "50", "0")
        assert done.returncode == 0, done.stderr
        for form in formats:
            with open(place(form, ""), "rb") as file:
                plain = file.read()
            if form == "pprof":  # is gzip's in itself, and stays so
                with open(place(form, suffix), "rb") as file:
                    assert file.read() == plain
                continue
            unpacked = run([UNPACKED_BY[suffix], "-dc", place(form, suffix)])
            assert unpacked.returncode == 0, (form, unpacked.stderr)
            assert unpacked.stdout == plain.decode(), form
        words = [f"-operf-script:{place('each', end)}" for end in ("", suffix)]
        done = run_memtraced("-e", "write", "--each", *words, "--", "sh", "-c",
                             "for i in 1 2 3; do echo $i; done")
        assert done.returncode == 0, done.stderr
        text = run([UNPACKED_BY[suffix], "-dc", place("each", suffix)]).stdout
        with open(place("each", ""), encoding="utf-8") as file:
            assert text == file.read()
        assert len(events(text)) == 3, text


@test(need_root)
def a_symbolic_link_is_not_followed():
    with scratch() as folder:
        victim, link = os.path.join(folder, "victim"), os.path.join(folder, "link")
        with open(victim, "w", encoding="ascii") as file:
            file.write("precious")
        os.symlink(victim, link)
        run_memtraced("-o", f"json:{link}", "--", "/bin/true")
        with open(victim, encoding="ascii") as file:
            assert file.read() == "precious"


@test(need_root)
def output_files_belong_to_the_user_that_called_sudo():
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        env = dict(os.environ, SUDO_UID="65534", SUDO_GID="65534", SUDO_USER="nobody")
        done = run_memtraced("-o", f"json:{path}", "--", "/bin/true", env=env)
        assert done.returncode == 0, done.stderr
        assert os.stat(path).st_uid == 65534
        closed = os.path.join(folder, "closed")
        os.mkdir(closed, 0o700)
        done = run_memtraced("-o", f"json:{closed}/report.json", "--", "/bin/true", env=env)
        assert done.returncode == 2, "wrote as root where the user may not"


@test(need_root)
def folded_counts_are_the_live_bytes():
    with scratch() as folder:
        folded, report = os.path.join(folder, "folded"), os.path.join(folder, "json")
        done = run_memtraced("-o", f"folded:{folded}", "-o", f"json:{report}", "--",
                             target("leak"), "100", "0")
        assert done.returncode == 0, done.stderr
        process = load_report(report)["processes"][0]
        with open(folded, encoding="utf-8") as file:
            lines = [line.rstrip("\n").rpartition(" ") for line in file if line.strip()]
        counts = {stack: int(count) for stack, _, count in lines}
        assert len(counts) == len(lines), "a stack stands there twice"
        leaks = sum(n for stack, n in counts.items() if ";leak_one;" in stack and
                    stack.endswith(";malloc"))
        own = with_function(heap_sites(process), "leak_one")
        assert leaks == total(own, "live_bytes") == sum(64 + i % 64 for i in range(100))
        assert sum(counts.values()) == total(heap_sites(process), "live_bytes")
        for stack in counts:
            assert stack.split(";")[0] == f"leak-{process['pid']}", stack


@test(need_root)
def perf_script_text_keeps_to_the_grammar_of_its_readers():
    done = run_memtraced("-f", "perf-script", "--", target("leak"), "50", "0")
    assert done.returncode == 0, done.stderr
    found = events(done.stdout)
    assert found, "no events"
    leaks = [period for period, frames in found if " malloc+0x" in frames[0] and
             any(" leak_one+0x" in frame for frame in frames)]
    assert sum(leaks) == sum(64 + i % 64 for i in range(50)), leaks
    for _, frames in found:
        assert frames, "an event without frames"


@test(need_root)
def the_table_fits_80_columns_and_has_no_colours_in_a_file():
    done = run_memtraced("--", target("exceptions"), "20")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    wide = [line for line in done.stdout.splitlines() if len(line) > 80]
    assert not wide, wide
    always = run_memtraced("--color=always", "--", target("exceptions"), "20")
    assert "\x1b[" in always.stdout
    plain = re.sub(r"\x1b\[[0-9;]*m", "", always.stdout)
    assert "\x1b" not in plain


@test(need_root)
def the_table_names_the_leaking_function_first():
    done = run_memtraced("--", target("leak"), "2000", "0")
    assert done.returncode == 0, done.stderr
    assert "leak_one" in done.stdout and "leak.c:" in done.stdout, done.stdout


@test(need_root)
def stacks_have_functions_files_and_lines():
    run = trace([target("leak"), "50", "0"], library=None)
    site, = [s for s in called_by(run.only_process(), "leak") if s["live_blocks"] == 50]
    names = [frame["function"] for frame in site["frames"] if not frame["inline"]]
    # wrap.c's malloc, which the linker has put in between, then the program.
    assert names[:4] == ["malloc", "__wrap_malloc", "leak_one", "main"], names
    frame = with_function([{"frames": [f]} for f in site["frames"]], "leak_one")[0]["frames"][0]
    assert frame["file"].endswith("leak.c") and frame["line"] > 10, frame
    with open(frame["file"] if os.path.exists(frame["file"]) else os.path.join(
            os.path.dirname(__file__), "..", "targets", "leak.c"), encoding="utf-8") as file:
        assert "malloc(size)" in file.read().splitlines()[frame["line"] - 1], frame


@test(need_root)
def size_filters_leave_out_the_other_blocks():
    run = trace([target("dl"), "10"], "--min-size=2000", "--max-size=2300", filtered=True)
    for site in run.only_process()["sites"]:
        if site["class"] == "heap" and site["allocs"]:
            assert 2000 * site["allocs"] <= site["bytes"] <= 2300 * site["allocs"], site
    assert total(with_function(run.only_process()["sites"], "leak_from_b"), "allocs") == 10


@test(need_root)
def sites_are_sorted_as_asked():
    keys = {"bytes": "live_bytes", "count": "live_blocks", "peak": "peak_bytes",
            "temporary": "temporary"}
    for order, key in keys.items():
        run = trace([target("exceptions"), "20"], f"--sort={order}")
        values = [site[key] for site in heap_sites(run.only_process())]
        assert values == sorted(values, reverse=True), (order, values)


@test(need_root)
def nothing_is_stopped_while_reports_are_made():
    with started([target("leak"), "0", "500"]) as process:
        pid = process.lines.until("ready")
        with started([memtraced(), "-p", pid, "-f", "json", "-i", "0.1"]) as tracer:
            for _ in range(5):
                assert tracer.lines.next() is not None
                assert process_state(int(pid))[0] not in "Tt"
            tracer.send_signal(signal.SIGINT)
            tracer.wait(20)

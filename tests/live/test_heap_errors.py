# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong uses of the heap, against what the target does and against what memcheck says of it."""

import os
import re
import signal

from lib import (ATTACH_PATHS, Skip, attach_option, attached, load_report, need_forms,
                 need_kernel, need_program, need_root, run, run_memtraced, scaled, scratch,
                 send_line, started, target, test)
from test_allocators import library_path

BESIDE_OTHERS = True
TRANSLATES = True
EACH_PATH = sorted(ATTACH_PATHS)
ABORTED = 128 + signal.SIGABRT
KINDS = {"InvalidFree": ("invalid-free", "double-free"), "FishyValue": ("suspicious-size",),
         "ReallocSizeZero": ("realloc-zero",)}


def parse(path):
    from xml.etree import ElementTree  # which the machines of other kernels do not have
    return ElementTree.parse(path)


def errors_of(case, *options, rounds=1, status=0, program="heap_errors"):
    """The errors of the processes that have any; in each process."""
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(*options, "-o", f"json:{path}", "--", target(program), case,
                             str(rounds))
        assert done.returncode == status, (done.returncode, done.stderr)
        report = load_report(path)
    assert all(process["further_heap_errors"] == 0 for process in report["processes"])
    found = [process["heap_errors"] for process in report["processes"] if process["heap_errors"]]
    assert len(found) <= 1, found
    return found[0] if found else []


def only_error(*args, **how):
    errors = errors_of(*args, **how)
    assert len(errors) == 1, errors
    assert errors[0]["certain"], errors
    return errors[0]


def own(frames):
    """Functions of the target's own code, from the innermost out."""
    names = [frame["function"] for frame in frames
             if os.path.basename(frame["object"] or "").startswith("heap_errors")]
    return names[:names.index("main") + 1]


@test(need_root, need_kernel(5, 15), each=EACH_PATH, every_kernel=["perf"])
def a_double_free_is_told_with_the_block_though_it_kills_the_program(path):
    error = only_error("double", attach_option(path), status=ABORTED)
    assert (error["kind"], error["count"]) == ("double-free", 1), error
    assert own(error["frames"]) == ["frees_wrongly", "twice", "main"], error["frames"]
    assert error["block"] == {"addr": error["addr"], "size": 100, "offset": 0}, error
    assert own(error["allocated"]) == ["makes", "twice", "main"], error["allocated"]
    assert error["freed"] is None, error


@test(need_root, each=EACH_PATH)
def with_heap_errors_the_earlier_free_is_known(path):
    error = only_error("double", attach_option(path), "--heap-errors", status=ABORTED)
    assert (error["kind"], error["count"], error["block"]["size"]) == ("double-free", 1, 100)
    assert own(error["freed"]) == ["frees", "twice", "main"], error["freed"]
    assert error["freed"][0]["function"] == "free", error["freed"]
    assert own(error["allocated"]) == ["makes", "twice", "main"], error["allocated"]


@test(need_root, each=EACH_PATH)
def an_address_inside_a_block_is_no_block(path):
    error = only_error("interior", attach_option(path), status=ABORTED)
    assert (error["kind"], error["count"]) == ("invalid-free", 1), error
    assert (error["block"]["size"], error["block"]["offset"]) == (200, 16), error
    assert own(error["frames"]) == ["frees_wrongly", "interior", "main"], error["frames"]
    assert own(error["allocated"]) == ["makes", "interior", "main"], error["allocated"]


@test(need_root)
def what_was_never_on_the_heap_is_no_block():
    error = only_error("wild", status=ABORTED)
    assert (error["kind"], error["block"], error["allocated"]) == ("invalid-free", None, None)
    assert own(error["frames"]) == ["frees_wrongly", "wild", "main"], error["frames"]


@test(need_root, need_kernel(5, 15))
def realloc_of_a_freed_block_is_a_double_free():
    error = only_error("resize")
    assert (error["kind"], error["block"]["size"]) == ("double-free", 300), error
    assert error["frames"][0]["function"] == "realloc", error["frames"]
    assert own(error["frames"]) == ["resizes", "resize", "main"], error["frames"]


@test(need_root)
def a_child_that_frees_twice_what_it_inherited_is_found():
    error = only_error("child")
    assert (error["kind"], error["count"]) == ("double-free", 1), error
    assert own(error["frames"]) == ["frees_wrongly", "in_child", "main"], error["frames"]


@test(need_root, each=EACH_PATH)
def requests_that_fail_or_are_of_negative_size_are_told(path):
    option = attach_option(path)
    for case, kind, size in (("failed", "failed-allocation", 1 << 46),
                             ("negative", "suspicious-size", 2 ** 64 - 16)):
        error = only_error(case, option, rounds=20)
        assert (error["kind"], error["count"], error["size"]) == (kind, 20, size), error
        assert own(error["frames"]) == ["asks", case, "main"], error["frames"]


@test(need_root, each=EACH_PATH)
def products_that_are_too_large_are_no_errors_of_the_program(path):
    """It is told by NULL, as memcheck has it: they are failed allocations and nothing else."""
    errors = errors_of("product", attach_option(path), "--heap-errors", rounds=20)
    assert {error["kind"] for error in errors} == {"failed-allocation"}, errors
    assert sum(error["count"] for error in errors) == 60, errors


@test(need_root)
def a_leak_check_of_them_is_clean():
    done = run_memtraced("--leak-check=full", "--error-exitcode=9", "--", target("heap_errors"),
                         "product")
    assert done.returncode == 0 and "ERROR SUMMARY: 0 errors" in done.stderr, done.stderr


@test(need_root, each=EACH_PATH)
def realloc_to_size_zero_is_told(path):
    error = only_error("zero", attach_option(path), rounds=20)
    assert (error["kind"], error["count"]) == ("realloc-zero", 20), error
    assert own(error["frames"]) == ["resizes", "zero", "main"], error["frames"]


@test(need_root, each=EACH_PATH)
def a_right_use_of_the_heap_is_no_error(path):
    assert errors_of("right", attach_option(path), "--heap-errors", rounds=200) == []


@test(need_root)
def on_attach_frees_of_older_blocks_are_no_errors():
    with started([target("attach"), "500"]) as process:
        process.lines.until("ready")
        with attached([process.pid]) as session:
            for _ in range(2):
                send_line(process)
            report = session.finish(None)
    (found,) = report["processes"]
    assert found["alloc"]["unknown_frees"] > 0, found["alloc"]
    assert found["heap_errors"] == [], found["heap_errors"]


@test(need_root, each=EACH_PATH)
def frees_of_an_allocator_that_is_not_known_are_no_errors_and_not_exact(path):
    with scratch() as folder:
        report = os.path.join(folder, "report.json")
        done = run_memtraced(attach_option(path), "-o", f"json:{report}", "--leak-check=full",
                             "--error-exitcode=9", "--", target("unchecked"))
        assert done.returncode == 0, (done.returncode, done.stderr)
        found = load_report(report)
    (process,) = found["processes"]
    assert process["heap_errors"] == [], process["heap_errors"]
    given_back = int(done.stdout.split()[0])
    assert found["coverage"]["lost"] == {"allocation-unknown": given_back}, found["coverage"]
    assert not found["coverage"]["exact"], found["coverage"]


def need_jemalloc():
    if not os.path.exists(target("foreign")):
        raise Skip("jemalloc's static library is not installed")


@test(need_root, need_kernel(5, 15), need_jemalloc, each=EACH_PATH)
def a_block_given_to_another_allocator_is_told(path):
    with scratch() as folder:
        report = os.path.join(folder, "report.json")
        done = run_memtraced(attach_option(path), "-o", f"json:{report}", "--", target("foreign"),
                             "50")
        assert done.returncode in (0, ABORTED, 128 + signal.SIGSEGV), (done.returncode, done.stderr)
        (process,) = load_report(report)["processes"]
    (error,) = process["heap_errors"]
    assert (error["kind"], error["count"], error["block"]["size"]) == ("foreign-free", 1, 300)
    names = [[frame["function"] for frame in error[key]][:3] for key in ("frames", "allocated")]
    assert names == [["free", "frees_wrongly", "main"], ["_rjem_malloc", "makes", "main"]], names


@test(need_root, each=["jemalloc", "tcmalloc"])
def reallocarray_takes_blocks_of_any_allocator(name):
    """The C library's calls realloc, which another allocator stands in for."""
    path = library_path(name)
    with scratch() as folder:
        report = os.path.join(folder, "report.json")
        done = run_memtraced(f"--env=LD_PRELOAD={path}", "-o", f"json:{report}", "--",
                             target("reallocs"), "100")
        assert done.returncode == 0, done.stderr
        (process,) = load_report(report)["processes"]
    assert process["alloc"]["allocs"] > 100, process["alloc"]
    foreign = [error for error in process["heap_errors"] if error["kind"] == "foreign-free"]
    assert not foreign, foreign


# --- forms of allocation -------------------------------------------------------------------------

PAIRS = {f"void pair<{made}, {taken}>()": made != taken for made in range(3) for taken in range(3)}


def mismatches(process):
    """{pair: how often it was wrong}; all else is none of these."""
    found = {}
    for error in process["heap_errors"]:
        if error["kind"] in ("suspicious-size", "failed-allocation"):
            continue  # the requests that fail: new asks twice
        assert error["kind"] == "mismatched-free", error
        names = [frame["function"] for frame in error["frames"]]
        (pair,) = [name for name in names if name in PAIRS]
        assert pair in [frame["function"] for frame in error["allocated"]], error
        assert error["block"]["size"] == 128, error
        found[pair] = found.get(pair, 0) + error["count"]
    return found


def run_mismatches(*options, preload="", memory=()):
    with scratch() as folder:
        report = os.path.join(folder, "report.json")
        environment = [f"--env=LD_PRELOAD={preload}"] if preload else []
        done = run_memtraced(*options, *environment, "-o", f"json:{report}", "--",
                             target("mismatches"), "4", *memory)
        assert done.returncode == 0, (done.returncode, done.stderr)
        (process,) = load_report(report)["processes"]
    return process


@test(need_root, need_kernel(5, 15), need_forms, each=EACH_PATH, every_kernel=["perf", "session"])
def what_one_form_has_made_and_another_takes_is_told(path):
    """Three ways each of making and of taking, four times; nothing that is right is an error."""
    found = mismatches(run_mismatches(attach_option(path), "--heap-errors"))
    assert found == {pair: 4 * 9 for pair, wrong in PAIRS.items() if wrong}, found


@test(need_root, need_kernel(5, 15), need_forms, each=["jemalloc", "tcmalloc", "mimalloc"],
      in_turn=1)
def so_it_is_with_a_preloaded_allocator(name):
    """The last two have functions that are free and forms of delete at once: nobody can tell by
    which name one was called, and nothing is said. What is said is right."""
    found = mismatches(run_mismatches("--heap-errors", preload=library_path(name),
                                      memory=["memory"]))
    wrong = {pair: 4 * 9 for pair, wrong in PAIRS.items() if wrong}
    if name == "jemalloc":
        assert found == wrong, found
    assert all(found[pair] <= wrong[pair] for pair in found), found


@test(need_root)
def without_heap_errors_forms_are_not_looked_at():
    assert mismatches(run_mismatches()) == {}
    assert mismatches(run_mismatches("--heap-errors", "--unwind=fp")) == {}


@test(need_root, need_kernel(5, 15), need_forms)
def all_right_forms_at_random_are_no_errors():
    for name in ("", "jemalloc", "tcmalloc", "mimalloc"):
        with scratch() as folder:
            report = os.path.join(folder, "report.json")
            words = [f"--env=LD_PRELOAD={library_path(name)}"] if name else []
            done = run_memtraced("--heap-errors", *words, "-o", f"json:{report}", "--",
                                 target("operators"), str(scaled(3000, 100000)),
                                 env=dict(os.environ, SELF_COUNTS=folder))
            assert done.returncode == 0, done.stderr
            (process,) = load_report(report)["processes"]
        assert process["heap_errors"] == [], (name, process["heap_errors"])
        assert process["alloc"]["allocs"] > 1000, process["alloc"]


@test(need_root, need_kernel(5, 15), need_forms)
def on_attach_forms_are_told_as_well():
    with started([target("mismatches"), "4", "wait"]) as process:
        process.lines.until("ready")
        with attached([process.pid], "--heap-errors") as session:
            send_line(process)
            report = session.finish(None)
    (process,) = report["processes"]
    found = mismatches(process)
    assert found == {pair: 4 * 9 for pair, wrong in PAIRS.items() if wrong}, found


@test(need_root, need_program("valgrind"), need_forms, timeout=300)
def memcheck_finds_the_same_mismatches():
    with scratch() as folder:
        path = os.path.join(folder, "memcheck.xml")
        run(["valgrind", "--leak-check=no", "--xml=yes", f"--xml-file={path}",
             "--show-mismatched-frees=yes", target("mismatches"), "4", "memory"], timeout=120)
        tree = parse(path)
    counts = {pair.findtext("unique"): int(pair.findtext("count"))
              for pair in tree.iter("pair") if pair.findtext("unique")}
    theirs = {}
    for error in tree.iter("error"):
        if error.findtext("kind") == "MismatchedFree":
            (pair,) = [name for frame in error.find("stack").iter("frame")
                       if (name := frame.findtext("fn")) in PAIRS]
            theirs[pair] = theirs.get(pair, 0) + counts[error.findtext("unique")]
    assert theirs == mismatches(run_mismatches("--heap-errors")), theirs


def memcheck(case, program="heap_errors"):
    """(kind, functions of the program's code, the blocks' sizes) of each error."""
    with scratch() as folder:
        path = os.path.join(folder, "memcheck.xml")
        run(["valgrind", "--leak-check=no", "--xml=yes", f"--xml-file={path}", target(program),
             case, "1"], timeout=120)
        tree = parse(path)
    found = []
    for error in tree.iter("error"):
        if error.findtext("kind") not in KINDS:
            continue  # what it knows of reads and writes
        stacks = [[frame.findtext("fn") for frame in stack.iter("frame")
                   if frame.findtext("obj", "").endswith(program)]
                  for stack in error.findall("stack")]
        sizes = [int(text.text.split("block of size ")[1].split()[0].replace(",", ""))
                 for text in error.findall("auxwhat") if "block of size" in text.text]
        found.append((error.findtext("kind"), stacks, sizes))
    return found


@test(need_root, need_program("valgrind"), timeout=300)
def memcheck_finds_the_same():
    # It knows of realloc to size 0 since 3.21.
    for case in ("double", "interior", "wild", "resize", "negative"):
        found = memcheck(case)
        assert len(found) == 1, (case, found)
        kind, stacks, sizes = found[0]
        status = 0 if case in ("negative", "resize") else ABORTED
        error = only_error(case, "--heap-errors", status=status)
        assert error["kind"] in KINDS[kind], (case, kind, error)
        assert own(error["frames"]) == stacks[0], (case, stacks, error["frames"])
        if kind != "InvalidFree" or not sizes:
            continue
        assert sizes == [error["block"]["size"]], (case, sizes, error["block"])
        ours = [own(error[key]) for key in ("freed", "allocated") if error[key]]
        assert ours == stacks[1:], (case, stacks, ours)


def leak_text(case, *options, tool="memtraced"):
    """The text of one tool's leak check."""
    with scratch() as folder:
        path = os.path.join(folder, "log")
        if tool == "valgrind":
            run(["valgrind", "--leak-check=full", f"--log-file={path}", *options,
                 target("heap_errors"), case, "1"], timeout=120)
        else:
            run_memtraced("--leak-check=full", f"--log-file={path}", *options, "--",
                          target("heap_errors"), case, "1")
        with open(path, encoding="utf-8") as file:
            return file.read()


HEADS = re.compile(r"Invalid free|Argument '|realloc\(\) with size| Address 0x| Block was alloc'd")


def errors_in(text):
    """[(what is said, [functions of the program's code])], addresses left out."""
    found, wanted = [], False
    for line in re.findall(r"^==\d+== (.*)$", text, re.M):
        frame = re.match(r"   (?:at|by) 0x[0-9A-F]+: (.*) \((.*)\)$", line)
        if HEADS.match(line):
            found.append((re.sub(r"0x[0-9a-f]+", "0x", line), []))
            wanted = True
        elif frame and wanted and frame[2].startswith("heap_errors.c"):
            found[-1][1].append(frame[1])
        elif not frame:
            wanted = False
    return found


@test(need_root, need_program("valgrind"), each=("double", "interior", "resize", "negative"),
      in_turn=2,
      timeout=120)
def the_text_of_leak_checks_has_memchecks_words_and_stacks(case):
    """What memcheck says of reads and writes comes between, and is no part of what is compared."""
    ours = errors_in(leak_text(case, "--heap-errors"))
    theirs = errors_in(leak_text(case, tool="valgrind"))
    assert len(ours) > 0, leak_text(case)
    assert ours == theirs, f"ours: {ours}\nmemcheck: {theirs}"


@test(need_root)
def heap_errors_in_leak_checks_are_suppressed_and_counted_once():
    def ends(text):
        return re.findall(r"ERROR SUMMARY: (.*)$", text, re.M)

    with scratch() as folder:
        path = os.path.join(folder, "made.supp")
        options = ("--errors-for-leak-kinds=none", "--gen-suppressions=all",
                   "--show-leak-kinds=none")
        for case, status in (("double", ABORTED), ("negative", 0), ("zero", 0)):
            text = leak_text(case, *options)
            assert ends(text) == ["1 errors from 1 contexts (suppressed: 0 from 0)"], text
            assert text.index("HEAP SUMMARY") > text.index(errors_in(text)[0][0].split("0x")[0])
            (entry,) = re.findall(r"^\{$.*?^\}$", text, re.M | re.S)
            with open(path, "w", encoding="utf-8") as file:
                file.write(entry + "\n")
            text = leak_text(case, *options, f"--suppressions={path}")
            assert ends(text) == ["0 errors from 0 contexts (suppressed: 1 from 1)"], text
            assert errors_in(text) == [], text
            assert re.search(r"used_suppression: +1 <insert_a_suppression_name_here> \S+:2$", text,
                             re.M), text
            for files, wanted in (([], 9), ([f"--suppressions={path}"], status)):
                done = run_memtraced("--leak-check=full", "--errors-for-leak-kinds=none",
                                     "--error-exitcode=9", *files, "--", target("heap_errors"),
                                     case, "1")
                assert done.returncode == wanted, (case, files, done.returncode, done.stderr)


@test(need_root)
def how_often_is_said_where_an_error_came_again():
    with scratch() as folder:
        path = os.path.join(folder, "log")
        run_memtraced("--leak-check=full", f"--log-file={path}", "--", target("heap_errors"),
                      "negative", "20")
        with open(path, encoding="utf-8") as file:
            text = file.read()
    assert "note: 20 times so far" in text, text
    assert "ERROR SUMMARY: 20 errors from 1 contexts" in text, text

# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of C functions that Go calls: they go on in the goroutine that has called, as Go's own
runtime.Callers() tells it, whether a thread or a goroutine waits on its stack."""

import os

from lib import Skip, load_report, need_long, need_root, run, run_memtraced, scratch, test

BESIDE_OTHERS = True
GO = """
package main
/*
#include <stdlib.h>
static void *get(int n) { return malloc(n); }
*/
import "C"
import ("fmt"; "runtime"; "unsafe")

var kept []unsafe.Pointer

//go:noinline
func take(n int) {
    callers := make([]uintptr, 500)
    kept = append(kept, C.get(C.int(n)))
    frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
    fmt.Print(n)
    for more := true; more; {
        var frame runtime.Frame
        frame, more = frames.Next()
        fmt.Print(" ", frame.Function)
    }
    fmt.Println()
}

//go:noinline
func deep(levels, n int) {
    if levels > 0 {
        deep(levels - 1, n)
    } else {
        take(n)
    }
    runtime.KeepAlive(levels)
}

func main() {
    done := make(chan bool)
    for i := 0; i < 40; i++ {
        deep(i, 100000 + i)
        i := i % 10
        go func() { // a stack that has to grow
            deep(30 * i, 200000 + i)
            done <- true
        }()
        <-done
    }
}
"""


@test(need_root, need_long, each=("exe", "pie"), timeout=180)
def go_s_stacks_are_what_go_says(mode):
    with scratch() as folder:
        with open(os.path.join(folder, "main.go"), "w", encoding="ascii") as file:
            file.write(GO)
        env = dict(os.environ, CGO_ENABLED="1", GOFLAGS="-mod=mod", GOCACHE=f"{folder}/cache")
        try:
            run(["go", "build", f"-buildmode={mode}", "-o", "program", "main.go"], cwd=folder,
                env=env)
        except FileNotFoundError:
            raise Skip("go is not installed") from None
        path = os.path.join(folder, "report.json")
        done = run_memtraced("-o", f"json:{path}", "--", f"{folder}/program")
        assert done.returncode == 0, done.stderr[-2000:]
        report = load_report(path)
    wanted = {}
    for line in done.stdout.splitlines():
        size, *functions = line.split(" ")
        wanted.setdefault(int(size), set()).add(tuple(functions))
    assert len(wanted) == 50, len(wanted)
    seen = {}
    for process in report["processes"]:
        for site in process["sites"]:
            names = [(frame["function"] or "").removesuffix(".abi0")
                     for frame in site["frames"]]
            if "runtime.asmcgocall" in names and "main.take" in names and site["allocs"]:
                seen.setdefault(site["bytes"] // site["allocs"], set()).add(
                    tuple(names[names.index("main.take"):]))
    assert seen == wanted, [(size, wanted[size], seen.get(size)) for size in wanted
                            if seen.get(size) != wanted[size]][0]
    coverage = report["coverage"]
    cut = coverage["stacks_truncated"]
    assert cut * 1000 <= coverage["stacks_complete"] + cut, coverage["cut"]

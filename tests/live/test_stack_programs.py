# SPDX-License-Identifier: GPL-2.0-or-later
"""How many stacks of programs of many kinds are complete, why the others are cut, and are they the
same as libdwfl's (--check-stacks)? The table is what users can expect of their own programs."""

import os
import shutil

from lib import (Skip, load_report, need_long, need_root, run, run_memtraced, scratch, target,
                 test)
from stacks_table import Table, write_programs
from test_programs import PYTHON_SCRIPT
from test_stacks import OPEN, PERL_SCRIPT, SAME, SQL, WRONG

BESIDE_OTHERS = True
GO = """
package main
/*
#include <stdlib.h>
static void *get(int n) { return malloc(n); }
*/
import "C"
func main() {
    for i := 1; i < 3000; i++ {
        C.free(C.get(C.int(i)))
    }
}
"""

CXX = """
#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>
int main()
{
    std::map<std::string, std::vector<std::unique_ptr<int>>> all;
    std::regex word("w([0-9]+)x*");
    for (int i = 0; i < 3000; i++) {
        std::string text = "w" + std::to_string(i * 7919 % 3001) + std::string(i % 40, 'x');
        if (std::regex_match(text, word))
            all[text].push_back(std::make_unique<int>(i));
    }
    return all.empty();
}
"""

RUST = """
use std::collections::BTreeMap;
fn main() {
    let mut all: BTreeMap<String, Vec<Box<u32>>> = BTreeMap::new();
    for i in 0..4000u32 {
        all.entry(format!("{}", i * 7919 % 997)).or_default().push(Box::new(i));
    }
    println!("{}", all.len());
}
"""

C = """
#include <stdlib.h>
void *volatile block;
int main(void) { for (int i = 1; i < 3000; i++) free(block = malloc(i)); return 0; }
"""

HASKELL = """
import qualified Data.Map as M
import Foreign.Marshal.Alloc
main = mapM_ (\\i -> allocaBytes i (const (pure ())) >> mallocBytes i >>= free) [1 .. 3000]
"""

OCAML = "let () = for i = 1 to 300 do ignore (Bytes.create (300000 + i)); Gc.compact () done"

JAVA = """
public class T {
    public static void main(String[] a) {
        var all = new java.util.ArrayList<String>();
        for (int i = 0; i < 100000; i++)
            all.add("x" + i);
        System.out.println(all.size());
    }
}
"""

RUBY = "a = (1..20000).map { |i| 'x' * (i % 300) }; puts a.map { |s| s.sub(/x+$/, 'y') }.size"
PHP = "$a = []; for ($i = 0; $i < 20000; $i++) $a[] = str_repeat('x', $i % 3000); echo count($a);"
ERLANG = "[binary:copy(<<1>>, I) || I <- lists:seq(1, 5000)], halt()."
LISP = "(progn (loop for i from 1 to 300 do (sb-alien:free-alien (sb-alien:make-alien char i))) " \
       "(sb-ext:exit))"
NODE = "let a = []; for (let i = 0; i < 3e4; i++) a.push(Buffer.alloc(i % 100 + 9000)); " \
       "console.log(a.length)"
PAGE = "data:text/html,<h1>a page</h1><script>document.write(Array(999).join('<p>x'))</script>"


def built(compiler, name, text, *options):
    """Makes a command of a program that is compiled first."""
    def command(folder):
        source, out = os.path.join(folder, name), os.path.join(folder, "program")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        run([*compiler, *options, "-o", out, source], cwd=folder)
        return [out]
    return command


def go_program(folder):
    with open(os.path.join(folder, "main.go"), "w", encoding="ascii") as file:
        file.write(GO)
    out = os.path.join(folder, "program")
    run(["go", "build", "-o", out, "main.go"], cwd=folder,
        env=dict(os.environ, CGO_ENABLED="1", GOFLAGS="-mod=mod", GOCACHE=f"{folder}/cache"))
    return [out]


def java_program(folder):
    path = os.path.join(folder, "T.java")
    with open(path, "w", encoding="ascii") as file:
        file.write(JAVA)
    return ["java", path]


def clang_program(folder):
    path = os.path.join(folder, "a.cc")
    with open(path, "w", encoding="ascii") as file:
        file.write(CXX)
    return ["clang++", "-O2", "-c", "-o", f"{folder}/a.o", path]


# name: the programs that it needs, and its command
PROGRAMS = {
    "C, glibc": (["cc"], built(["cc"], "a.c", C, "-O2")),
    "C, musl": (["musl-gcc"], built(["musl-gcc"], "a.c", C, "-O2")),
    "C, static musl": (["musl-gcc"], built(["musl-gcc"], "a.c", C, "-O2", "-static")),
    "C++": (["g++"], built(["g++"], "a.cc", CXX, "-O2")),
    "C++, exceptions": ([], lambda _: [target("exceptions"), "2000"]),
    "Rust": (["rustc"], built(["rustc"], "a.rs", RUST, "-O")),
    "Go with cgo": (["go"], go_program),
    "Haskell (GHC)": (["ghc"], built(["ghc"], "a.hs", HASKELL, "-O")),
    "OCaml": (["ocamlopt"], built(["ocamlopt"], "a.ml", OCAML)),
    "clang": (["clang++"], clang_program),
    "python3": (["/usr/bin/python3"], lambda _: ["/usr/bin/python3", "-c", PYTHON_SCRIPT]),
    "python3, imports": (["/usr/bin/python3"], lambda _: [
        "/usr/bin/python3", "-c", "import asyncio, email, http.client, unittest, xml.dom.minidom"]),
    "perl": (["perl"], lambda _: ["perl", "-e", PERL_SCRIPT]),
    "ruby": (["ruby"], lambda _: ["ruby", "-e", RUBY]),
    "php": (["php"], lambda _: ["php", "-r", PHP]),
    "node": (["node"], lambda _: ["node", "-e", NODE]),
    "java": (["java"], java_program),
    "erlang": (["erl"], lambda _: ["erl", "-noshell", "-eval", ERLANG]),
    "sbcl": (["sbcl"], lambda _: ["sbcl", "--noinform", "--non-interactive", "--eval", LISP]),
    "sqlite3": (["sqlite3"], lambda _: ["sqlite3", ":memory:", SQL]),
    "ffmpeg": (["ffmpeg"], lambda _: [
        "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=2:size=320x240", "-f",
        "null", "-"]),
    "chromium": (["chromium"], lambda _: [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", PAGE]),
}

# Of what 99.9 % are complete but for these, and why.
LESS = {
    "erlang": "code that its JIT compiler makes has no information and uses rbp for other "
              "values; it calls C on the scheduler's stack, in a frame that is aligned at run "
              "time, so that no distance to the caller is known",
    "java": "code of the optimizing compiler (C2) has no information and uses rbp for other "
            "values; interpreted code and code of C1 keep frame pointers",
}


def listed(counts):
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if count)


@test(need_root, need_long, each=PROGRAMS, timeout=300)
def stacks_of_a_program(name):
    needed, command = PROGRAMS[name]
    missing = [one for one in needed if not shutil.which(one)]
    if missing:
        raise Skip(f"{missing[0]} is not installed")
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced("--check-stacks=20000", "-o", f"json:{path}", "--", *command(folder),
                             timeout=250)
        assert done.returncode == 0, done.stderr[-2000:]
        report = load_report(path)
    coverage = report["coverage"]
    complete, cut = coverage["stacks_complete"], coverage["stacks_truncated"]
    results = coverage["stack_check"]["results"]
    compared = sum(count for key, count in results.items() if key not in OPEN)
    same = sum(results.get(key, 0) for key in SAME)
    share = 100 * complete / (complete + cut) if complete + cut else 0
    Table.programs.append(f"{name:18} {complete + cut:9} {share:9.3f} % {compared:9} {same:9}  "
                          f"{listed(coverage['cut'])}".rstrip())
    print(f"# {Table.programs[-1]}", flush=True)
    assert not any(results.get(key) for key in WRONG), results
    assert name in LESS or share >= 99.9, (name, share, coverage["cut"])


@test(need_root, need_long)
def table_of_programs():
    if not Table.programs:
        raise Skip("no program was traced in this run")
    if os.environ.get("MEMTRACED_STACK_PROGRAMS"):
        write_programs(os.environ["MEMTRACED_STACK_PROGRAMS"], LESS)

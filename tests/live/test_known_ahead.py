# SPDX-License-Identifier: GPL-2.0-or-later
"""A command's libraries are known before it maps them, so that it is not stopped at each."""

import functools
import os
import subprocess

import schema
from lib import need_program, need_root, run_memtraced, scratch, test, workdir

BESIDE_OTHERS = True
UNTRANSLATED = True
LIBRARIES = 24

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
int f0(void);
int main(void)
{
	char line[256], byte;
	FILE *file = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), file))
		if (strncmp(line, "voluntary", 9) == 0)
			fputs(line, stderr);
	for (int i = 0; i < 64; i++)
		free(memset(malloc(1 << 20), 1, 1 << 20));
	return f0() == LIBRARIES && getrandom(&byte, 1, 0) == 1 ? 0 : 1;
}
"""


@functools.lru_cache(maxsize=1)
def build():
    """A program and a chain of libraries in a folder of their own, each of which needs the next."""
    folder = os.path.join(workdir(), "known_ahead")
    library = os.path.join(folder, "lib")
    os.makedirs(library)

    def compile_(out, source, *words):
        subprocess.run(["gcc", "-O1", "-o", out, "-x", "c", "-", f"-L{library}", *words],
                       input=source, text=True, check=True)

    for i in reversed(range(LIBRARIES)):
        last = i == LIBRARIES - 1
        source = f"int f{i + 1}(void); int f{i}(void) {{ return 1 + " \
            f"{0 if last else f'f{i + 1}()'}; }}"
        compile_(f"{library}/lib{i}.so", source, "-shared", "-fPIC", "-Wl,-rpath,$ORIGIN",
                 *([] if last else [f"-l:lib{i + 1}.so"]))
    program = os.path.join(folder, "program")
    compile_(program, MAIN.replace("LIBRARIES", str(LIBRARIES)), "-l:lib0.so",
             "-Wl,-rpath,$ORIGIN/lib", f"-Wl,-rpath-link,{library}")
    return program


@test(need_root, need_program("gcc"), each=["-e getrandom", "--sample", "--max-overhead=5%"],
      in_turn=1)
def a_command_does_not_wait_at_each_library(options):
    program = build()
    with scratch() as folder:
        path = os.path.join(folder, "report.json")
        done = run_memtraced(*options.split(), "-o", f"json:{path}", "--", program)
        assert done.returncode == 0, done.stderr[-2000:]
        # It prints what it has waited for until main: each stop is one.
        waits = int(done.stderr.split("voluntary_ctxt_switches:")[1].split()[0])
        assert waits < LIBRARIES / 2, done.stderr
        with open(path, encoding="utf-8") as file:
            coverage = schema.load(file)["coverage"]
        assert coverage["stacks_complete"] > 0 == coverage["stacks_truncated"], coverage
        assert coverage["lost"] == {}, coverage

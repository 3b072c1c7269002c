# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that others have made to mislead who opens them: pipes, links and bombs where memtraced
looks for maps of code and debug information, or writes its reports."""

import functools
import os
import re
import resource
import signal
import struct
import subprocess
import zlib

from lib import (Skip, attached, heap_sites, load_report, memtraced, need_program, need_root, run,
                 run_memtraced, scratch, send_line, started, target, test, total, with_function)
from test_jit import CALLS, jit_frames, made_code
from test_service import NOBODY

BESIDE_OTHERS = True
READER = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
path = sys.argv[1]
os.mkfifo(path); os.chmod(path, 0o666)
fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
os.set_blocking(fd, True)
print("there", flush=True)
sys.stdin.readline()
data = os.read(fd, 65536)
print(len(data), flush=True)
"""


# --- outputs -----------------------------------------------------------------------------------


@test(need_root)
def a_pipe_that_another_user_has_put_there_gets_no_report():
    """In folders as /tmp, where anybody may be first at a name: fs.protected_fifos of the kernel is
    about those who would create it."""
    with scratch() as folder:
        os.chmod(folder, 0o1777)
        path = os.path.join(folder, "report")
        with started(["/usr/bin/python3", "-c", READER, path]) as reader:
            reader.lines.until("there")
            for option in ("-ojson:", "-orecord:", "--leak-check=full --log-file="):
                *more, last = option.split()
                done = run_memtraced(*more, last + path, "--", target("leak"), "10", "0")
                assert done.returncode in (1, 2) and path in done.stderr, done
            send_line(reader)
            assert reader.lines.next() == "0", "it has read the report"
        # Of root's own folder it is root's to say what stands there.
        os.chmod(folder, 0o755)
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(pipe, "rb") as reading:
            done = run_memtraced("-ofolded:" + path, "--", target("leak"), "10", "0")
            assert done.returncode == 0 and b";leak_one;" in reading.read(), done


@test(need_root)
def a_link_in_a_folder_of_all_gives_no_other_file_away():
    with scratch() as folder:
        os.chmod(folder, 0o1777)
        victim = os.path.join(folder, "victim")
        for make in (os.link, os.symlink):
            with open(victim, "w", encoding="ascii") as file:
                file.write("precious")
            path = os.path.join(folder, make.__name__)
            make(victim, path)
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            run_memtraced("-ojson:" + path, "--", "/bin/true")
            with open(victim, encoding="ascii") as file:
                assert file.read() == "precious", make


# --- maps of code ------------------------------------------------------------------------------


def put(kind, path, secret):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "link to a device":
        os.symlink("/dev/zero", path)
    elif kind == "link to a file":
        os.symlink(secret, path)
    else:
        os.chown(secret, NOBODY, NOBODY)
        os.link(secret, path)


@test(need_root, each=["pipe", "folder", "link to a device", "link to a file",
                       "another user's file"])
def a_map_of_code_that_is_none_is_not_read(kind):
    with made_code("map") as (process, session):
        path = f"/tmp/perf-{process.pid}.map"
        send_line(process)
        process.lines.until("written")
        secret = path + ".secret"
        with open(path, encoding="ascii") as file:
            lines = re.sub("jit (one|two)", "jit stolen", file.read())
        os.unlink(path)
        try:
            with open(secret, "w", encoding="ascii") as file:
                file.write(lines)
            put(kind, path, secret)
            send_line(process)
            process.wait(20)
            report = session.finish(sig=None)
        finally:
            os.unlink(secret)
            if os.path.isdir(path):
                os.rmdir(path)
        sites = with_function(heap_sites(report["processes"][0]), "phase_two")
        assert total(sites, "allocs") == CALLS, sites
        assert not any("stolen" in frame["function"] for site in sites
                       for frame in jit_frames(site)), sites


# --- debug information -------------------------------------------------------------------------

SHF_COMPRESSED = 0x800
MIB = 1 << 20


def zlib_bomb(mib):
    """A stream of that many MiB of zeros, without its right checksum, which comes last."""
    packer = zlib.compressobj(9)
    head = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + more * (mib - 1) + packer.flush()


def patched(path, change):
    """Calls change(name, header, file) for each section of an ELF64 file; a header that is returned
    replaces the old one."""
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        at, = struct.unpack_from("<Q", data, 0x28)
        size, n, names = struct.unpack_from("<HHH", data, 0x3a)
        headers = [list(struct.unpack_from("<IIQQQQIIQQ", data, at + i * size)) for i in range(n)]
        for i, header in enumerate(headers):
            start = headers[names][4] + header[0]
            name = data[start:data.index(b"\0", start)].decode()
            change(name, header, data)
            struct.pack_into("<IIQQQQIIQQ", data, at + i * size, *header)
        file.seek(0)
        file.write(data)


def bomb(mib, name, header, data):
    """A section that says that it is 2^40 bytes; or one that is so many MiB."""
    if mib is None and name.startswith(".debug_"):
        assert header[2] & SHF_COMPRESSED, name
        struct.pack_into("<Q", data, header[4] + 8, 1 << 40)
    elif mib and name in (".debug_str", ".debug_line", ".debug_info"):
        packed = struct.pack("<IIQQ", 1, 0, mib * MIB, 1) + zlib_bomb(mib)
        header[2] |= SHF_COMPRESSED
        header[4], header[5] = len(data), len(packed)
        data.extend(packed)


@test(need_root, need_program("objcopy"), each=["2^40 bytes, it says", 200, 8192])
def compressed_debug_information_takes_no_memory_without_end(mib):
    """Names from the symbol table are there all the same."""
    with scratch() as folder:
        program, report = os.path.join(folder, "leak"), os.path.join(folder, "report")
        subprocess.run(["objcopy", "--compress-debug-sections=zlib", target("leak"), program],
                       check=True)
        patched(program, functools.partial(bomb, mib if isinstance(mib, int) else None))
        with started([memtraced(), f"-ojson:{report}", "--", program, "100", "0"]) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, status
        (traced,) = load_report(report)["processes"]
        assert with_function(traced["sites"], "leak_one"), traced["sites"][:2]
    assert usage.ru_maxrss < 1 << 20, f"{usage.ru_maxrss} KiB"


LIBRARY = r"""
#include <stdlib.h>
static __attribute__((noinline)) void *INNER(size_t n)
{
	return malloc(n);
}
__attribute__((noinline)) void *entry(size_t n)
{
	void *block = INNER(n);

	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}
"""
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
void *entry(size_t n);
int main(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() > 0)
		if (!entry(1000))
			return 1;
	return 0;
}
"""
# A root of its own, with all of ours, and beside the library a debug file of its own for it.
OWN_ROOT = """
mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir -p old usr .$2 && mount --rbind /usr usr &&
for d in bin lib lib64; do ln -s usr/$d $d; done
for f in library.so program; do touch .$2/$f && mount --bind $2/$f .$2/$f; done &&
cp $2/false.debug .$2/names.debug && pivot_root . old && exec $2/program
"""


def library_of_root(folder):
    """With a program that uses it; false.debug has another name for a function of it."""
    def cc(*words, source):
        done = run(["cc", "-g", "-O1", "-x", "c", "-", *words], input=source)
        assert done.returncode == 0, done.stderr

    library, false, program = (os.path.join(folder, name)
                               for name in ("library.so", "false.debug", "program"))
    for name, path in (("true_name", library), ("false_name", false)):
        cc("-shared", "-fPIC", "-Wl,--build-id=0x0123456789abcdef", f"-DINNER={name}", "-o", path,
           source=LIBRARY)
    done = run(["objcopy", "--strip-all", f"--add-gnu-debuglink={false}", library])
    assert done.returncode == 0, done.stderr
    with open(library, "rb") as file:
        text = file.read()
    with open(library, "wb") as file:
        file.write(text.replace(b"false.debug\0", b"names.debug\0"))
    cc("-o", program, "-x", "none", library, source=PROGRAM)
    return program


@test(need_root, need_program("cc", "objcopy", "unshare", "pivot_root"))
def a_debug_file_of_ones_own_names_nothing_in_anothers_file():
    """Of a library of root's that two users' processes have mapped."""
    if run(["unshare", "-U", "true"], user=NOBODY, group=NOBODY, extra_groups=[]).returncode:
        raise Skip("users may make no user namespaces here")
    with scratch() as folder:
        os.chmod(folder, 0o755)
        program, root = library_of_root(folder), os.path.join(folder, "root")
        os.mkdir(root)
        os.chmod(root, 0o777)
        hostile = ["unshare", "-U", "-r", "-m", "sh", "-c", OWN_ROOT, "sh", root, folder]
        with started(hostile, user=NOBODY, group=NOBODY, extra_groups=[]) as theirs, \
                started([program]) as ours:
            for process in (theirs, ours):
                process.lines.until("ready")
            with attached([theirs.pid, ours.pid]) as session:
                for process in (theirs, ours):
                    send_line(process)
                session.next_report()
                report = session.finish()
    names = {process["pid"]: str(heap_sites(process)) for process in report["processes"]}
    assert all("library.so" in text for text in names.values()), names
    assert "false_name" not in names[ours.pid], names[ours.pid]
    # It was found, and refused.
    assert report["coverage"]["lost"].get("symbols-unread"), report["coverage"]


def with_files_of(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@test(need_root, each=["file", "stdout", "record"])
def a_limit_of_file_sizes_is_an_error_of_the_output(where):
    """A user who may run memtraced by sudo has root's run with such limits; the command has them,
    too, and the signal's action."""
    command = ["/bin/sh", "-c", "grep SigIgn: /proc/self/status >&2"]
    with scratch() as folder:
        path = os.path.join(folder, "report")
        option = ["-f", "json"] if where == "stdout" else \
            ["-o", f"{where if where == 'record' else 'json'}:{path}"]
        with open(path, "w", encoding="ascii") as file:
            done = run_memtraced("-q", *option, "--", *command, preexec_fn=with_files_of(8192),
                                 stdout=file)
        assert done.returncode == 2, done
        assert "File too large" in done.stderr, done.stderr
        assert os.listdir(folder) == ["report"], os.listdir(folder)
        ignored = int(re.search(r"SigIgn:\s*(\w+)", done.stderr).group(1), 16)
        assert not ignored >> (signal.SIGXFSZ - 1) & 1, done.stderr

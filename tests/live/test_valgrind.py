# SPDX-License-Identifier: GPL-2.0-or-later
"""Valgrind's command line and its XML: what reads memcheck's output reads ours, and finds the same;
`ctest -T memcheck` passes and fails as with Valgrind."""

import concurrent.futures
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import xml.etree.ElementTree

import clients
from leaks import leaker, memcheck, read_sums, records
from lib import (ROOT, Skip, as_users_do, memtraced, need_program, need_root, run,
                 run_memtraced, scratch, target, test)

BESIDE_OTHERS = True
TRANSLATES = True
HERE = os.path.dirname(os.path.abspath(__file__))
GRAMMAR = os.path.join(HERE, "valgrind_xml.rng")
# of Qt Creator's parser (src/plugins/valgrind/xmlprotocol), which ends at any other
KINDS_OF_QT_CREATOR = {
    "ClientCheck", "InvalidFree", "InvalidJump", "InvalidRead", "InvalidWrite",
    "Leak_DefinitelyLost", "Leak_PossiblyLost", "Leak_StillReachable", "Leak_IndirectlyLost",
    "MismatchedFree", "Overlap", "SyscallParam", "UninitCondition", "UninitValue"}


@contextlib.contextmanager
def link():
    """A folder with valgrind-memtraced in it, and no files with options elsewhere."""
    with scratch() as folder:
        os.symlink(memtraced(), os.path.join(folder, "valgrind-memtraced"))
        yield folder


def environment(folder, **more):
    left = {name: value for name, value in os.environ.items() if name != "VALGRIND_OPTS"}
    return {**left, "HOME": folder, **more}


def by_link(folder, *args, **how):
    how.setdefault("env", environment(folder))
    how.setdefault("cwd", folder)
    return run([os.path.join(folder, "valgrind-memtraced"), *args], **how)


def contents(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="strict") as file:
        return file.read()


def validated(path):
    """The root of an XML file that follows the grammar of the protocol."""
    done = run(["xmllint", "--noout", "--relaxng", GRAMMAR, path])
    assert done.returncode == 0, done.stderr + contents(path)
    return xml.etree.ElementTree.parse(path).getroot()


def shape(text):
    """Lines without what differs between runs and tools: addresses, objects, the first lines."""
    lines = re.sub(r"==\d+== ?", "", text).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("Command:"))
    lines = [re.sub(r"0x[0-9A-Fa-f]+", "0x", line) for line in lines[begin:]]
    return [re.sub(r" \((?:in )?[^()]*(?:\.so|malloc\.c)[^()]*\)$", "", line) for line in lines]


@test(need_root, need_program("valgrind"), each=("summary", "full", "no"), in_turn=1)
def the_text_is_memchecks_line_by_line(check):
    with link() as folder:
        ours = by_link(folder, f"--leak-check={check}", leaker("objects"))
        theirs = run(["valgrind", f"--leak-check={check}", leaker("objects")],
                     env=environment(folder))
    assert ours.returncode == theirs.returncode, (ours, theirs)
    assert ours.stdout == theirs.stdout
    assert shape(ours.stderr) == shape(theirs.stderr), ours.stderr + theirs.stderr


@test(need_root, need_program("valgrind"), each=("libc streams", "cxx throws"))
def what_a_library_holds_counts_unless_it_is_freed(library_of_program):
    library, program = library_of_program.split()
    options = (f"--run-{library}-freeres=no", "--leak-check=full", leaker(program))
    with link() as folder:
        ours, theirs = by_link(folder, *options), run(["valgrind", *options],
                                                      env=environment(folder))
    assert str(read_sums(ours.stderr)) == str(read_sums(theirs.stderr)), (ours, theirs)
    assert read_sums(ours.stderr)["still reachable"][0] > 1000, ours


HOLDS = "{\n   pool\n   Memcheck:Leak\n   fun:malloc\n   ...\n   obj:*/libstdc++.so*\n}\n"


@test(need_root, need_program("valgrind"), each=("--default-suppressions=no", "--suppressions=",
                                                 "--suppressions= --run-cxx-freeres=no"))
def what_a_library_holds_is_freed_before_suppressions_are_asked(options):
    with link() as folder:
        supp = os.path.join(folder, "supp")
        with open(supp, "w", encoding="ascii") as file:
            file.write(HOLDS)
        command = ["--leak-check=full", *[word.replace("suppressions=", f"suppressions={supp}")
                                          if word == "--suppressions=" else word
                                          for word in options.split()], leaker("throws")]
        ours, theirs = by_link(folder, *command), run(["valgrind", *command],
                                                      env=environment(folder))
    found = [re.findall(r"(?:in use at exit|suppressed|lost|reachable): .*|ERROR SUMMARY.*",
                        text.stderr) for text in (ours, theirs)]
    assert found[0] == found[1], found


@test(need_root, need_program("valgrind"))
def what_glibc_keeps_of_threads_counts_as_freed():
    with link() as folder:
        texts = [by_link(folder, leaker("threads_gone")).stderr,
                 run(["valgrind", leaker("threads_gone")], env=environment(folder)).stderr]
    ours, theirs = (re.search("total heap usage.*", text)[0] for text in texts)
    assert ours == theirs, texts


@test(need_root)
def quiet_prints_errors_alone_and_the_file_is_there_without_any():
    with link() as folder:
        done = by_link(folder, "-q", "--leak-check=full", "--log-file=a.%p.%q{WHO}.%%", "true",
                       env=environment(folder, WHO="me"))
        assert done.returncode == 0 and not done.stderr, done
        name, = [name for name in os.listdir(folder) if name.startswith("a.")]
        assert re.fullmatch(r"a\.\d+\.me\.%", name), name
        assert contents(folder, name) == ""
        done = by_link(folder, "-q", "--leak-check=full", leaker("shapes"))
        assert "definitely lost in loss record" in done.stderr, done.stderr
        assert "SUMMARY" not in done.stderr and "note:" not in done.stderr, done.stderr
        done = by_link(folder, "--log-file=a.%q{NOT_SET}", "true")
        assert done.returncode == 1, done
        assert "the environment has no variable 'NOT_SET'" in done.stderr, done.stderr


@test(need_root)
def files_and_the_environment_come_first_in_valgrinds_order():
    with link() as folder:
        home, work = os.path.join(folder, "home"), os.path.join(folder, "work")
        for path in (home, work):
            os.mkdir(path)
        for path, words in ((home, "--leak-check=full --num-callers=1"), (work, "-q")):
            with open(os.path.join(path, ".valgrindrc"), "w", encoding="ascii") as file:
                file.write(words)

        def text(*args):
            done = by_link(folder, *args, leaker("shapes"), cwd=work,
                           env=environment(home, VALGRIND_OPTS="--num-callers='2'"))
            return done.stderr

        # the home's --leak-check, the environment's --num-callers, and -q of the folder
        said = text()
        assert "SUMMARY" not in said and "definitely lost in loss record" in said, said
        assert all(len(record[5]) <= 2 for record in records(said)), said
        assert max(len(record[5]) for record in records(said)) == 2, said
        assert "Rerun with --leak-check=full" in text("--command-line-only=yes")
        # others could have written the folder's
        os.chmod(os.path.join(work, ".valgrindrc"), 0o666)
        said = text()
        assert "./.valgrindrc: not read" in said and "ERROR SUMMARY" in said, said


@test(need_root)
def what_a_process_executes_is_traced_if_that_is_asked_for():
    """Its own blocks before that are not looked at, as memcheck does not."""
    with link() as folder:
        options = ("--leak-check=full", "--error-exitcode=9")
        done = by_link(folder, *options, leaker("executes"))
        assert done.returncode == 0, done
        assert "SUMMARY" not in done.stderr, done.stderr
        done = by_link(folder, *options, "--trace-children=yes", leaker("executes"))
        assert done.returncode == 9, done
        assert [record[0] for record in records(done.stderr)] == [55], done.stderr
        assert done.stderr.count("Command: ") == 2, done.stderr
        forks = [sys.executable, "-c", "import os, ctypes\npid = os.fork()\n"
                 "if pid: os.waitpid(pid, 0)\nos._exit(0)"]
        both = by_link(folder, *forks).stderr
        one = by_link(folder, "--child-silent-after-fork=yes", *forks).stderr
        assert both.count("HEAP SUMMARY") == 2 and one.count("HEAP SUMMARY") == 1, both + one


@test(need_root, need_program("valgrind"))
def programs_that_are_skipped_are_not_traced_nor_is_what_they_start():
    script = (f"{leaker('shapes')}; {leaker('objects')} not; {leaker('objects')} skip-me;"
              f"sh -c 'true; {leaker('tree_lost')}; true' skip-me; true")
    options = ("--trace-children=yes", "--trace-children-skip=*/sha?es,/nothing",
               "--trace-children-skip-by-arg=x,skip*")
    with link() as folder:
        # but of sh, whose arguments are quoted in another way
        ours, theirs = (sorted(re.findall("Command: /.*", text)) for text in (
            by_link(folder, *options, "sh", "-c", script).stderr,
            run(["valgrind", *options, "sh", "-c", script], env=environment(folder)).stderr))
    assert len(ours) == 1 and ours == theirs, (ours, theirs)


@test(need_root, need_program("valgrind"), each=("memcheck", "massif"))
def lines_begin_with_the_time(tool):
    options = (f"--tool={tool}", "--time-stamp=yes", leaker("shapes"))
    with link() as folder:
        ours, theirs = (re.sub(r"\d", "0", re.sub(r"(\.\d+) \d+== .*", r"\1 0==", text)).split("\n")
                        for text in (by_link(folder, *options).stderr,
                                     run(["valgrind", *options], env=environment(folder)).stderr))
    assert set(ours) == set(theirs) == {"==00:00:00:00.000 0==", ""}, (ours, theirs)


@test(need_root)
def a_pool_tells_of_its_blocks_and_asks_for_a_check():
    with link() as folder:
        done = by_link(folder, "--leak-check=full", "--show-leak-kinds=all", leaker("pool_told"))
        asked, ended = done.stderr.split("HEAP SUMMARY:")
        for text, kept, lost in ((asked, (201, 2), (123, 3)), (ended, (100, 1), (224, 4))):
            sums = read_sums("in use at exit: 0 bytes in 0 blocks" + text)
            assert sums["still reachable"] == kept and sums["definitely lost"] == lost, text
        assert all("pool_get" in record[5] for record in records(ended)), ended
        done = run_memtraced("--leak-check=full", "--", leaker("pool_told"))
        assert "the process asks for it" in done.stderr, done.stderr


@test(need_root, need_program("gcc"))
def a_pool_in_a_library_is_told_of_where_our_library_counts():
    source = os.path.join(ROOT, "tests", "targets", "leaks", "pool_told.c")
    with link() as folder:
        built = ["gcc", "-O0", "-fno-builtin", f"-I{ROOT}", f"-I{os.path.dirname(source)}"]
        main = os.path.join(folder, "main.c")
        with open(main, "w", encoding="ascii") as file:
            file.write("int pool_main(void);\nint main(void) { return pool_main(); }\n")
        for more in ([*built, "-Dmain=pool_main", "-fPIC", "-shared", "-o", "libpool.so", source],
                     [*built, "-o", "program", main, "-L.", "-lpool", "-Wl,-rpath,$ORIGIN"]):
            done = run(more, cwd=folder)
            assert done.returncode == 0, done.stderr
        with as_users_do():
            done = by_link(folder, "--leak-check=full", "--show-leak-kinds=all", "./program")
    ended = done.stderr.split("HEAP SUMMARY:")[1]
    assert read_sums(ended)["definitely lost"] == (224, 4), done.stderr
    assert all("pool_get" in record[5] for record in records(ended)), ended


@test(need_root, need_program("valgrind"))
def checks_that_a_program_asks_for_are_memchecks():
    """Full ones, sums alone, what has grown and what has changed since the one before."""
    options = ("--leak-check=summary", "--show-leak-kinds=all", leaker("asks"))
    with link() as folder:
        texts = [by_link(folder, *options).stderr,
                 run(["valgrind", *options], env=environment(folder)).stderr]
    ours, theirs = (re.findall(r"[\d,]+(?: \([+-][\d,]+\))? bytes in .*",
                               text.replace("in new loss", "in loss")) for text in texts)
    if "LEAK SUMMARY" in texts[1].split("HEAP SUMMARY")[0]: # built with Valgrind's headers
        assert ours == theirs, texts
    assert len(ours) > 30, texts


SUPPRESSES = "{{\n   hides\n   Memcheck:Leak\n   fun:malloc\n   fun:{}\n}}\n"


@test(need_root, need_program("valgrind"))
def a_program_asks_whether_it_is_looked_at_and_what_was_found():
    with link() as folder:
        supp = os.path.join(folder, "supp")
        with open(supp, "w", encoding="ascii") as file:
            file.write(SUPPRESSES.format("hidden"))
        options = (f"--suppressions={supp}", leaker("counts_leaks"))
        ours = by_link(folder, *options).stdout
        theirs = run(["valgrind", *options], env=environment(folder)).stdout
        alone = run([leaker("counts_leaks")]).stdout
        library = run([memtraced(), "valgrind", "-q", *options], cwd=folder,
                      env=environment(folder, MEMTRACED_EXACT_PRELOAD="yes")).stdout
    assert ours.startswith("running 1\nleaked 0/0 dubious 0/0 "), ours
    assert "leaked 90/2 dubious 70/1 reachable 60/1" in ours, ours
    if "leaked 90/2" in theirs: # built with Valgrind's headers
        assert ours == theirs, theirs
    assert library == ours, library
    assert alone == "running 0\n" + 3 * ("leaked 0/0 dubious 0/0 reachable 0/0 "
                                         "suppressed 0/0\n"), alone


@test(need_root, need_program("strip"))
def a_stripped_program_still_asks_for_checks():
    """By its USDT probes; the sums are a function's, which has no name any more."""
    with link() as folder:
        program = os.path.join(folder, "stripped")
        assert run(["strip", "-o", program, leaker("counts_leaks")]).returncode == 0
        done = by_link(folder, program)
    assert done.stdout.startswith("running 1\n"), done
    assert done.stderr.count("LEAK SUMMARY") == 3, done.stderr


@test(need_root)
def a_signal_that_ends_the_program_ends_us():
    with link() as folder:
        done = by_link(folder, "--error-exitcode=3", leaker("killed"))
    assert done.returncode == -signal.SIGTERM, done


@test(need_root, need_program("ms_print"))
def massif_and_what_is_not_there():
    with link() as folder:
        done = by_link(folder, "--tool=massif", "--stacks=yes", leaker("shapes"))
        assert done.returncode == 0, done.stderr
        assert "without effect: --stacks" in done.stderr, done.stderr
        pid = re.search(r"==(\d+)== Command: ", done.stderr).group(1)
        assert "MB" in (shown := run(["ms_print", os.path.join(folder, f"massif.out.{pid}")])
                        .stdout) or "KB" in shown or " B" in shown, shown
        done = by_link(folder, "--tool=helgrind", "true")
        assert done.returncode == 1 and "expected one of memcheck, massif" in done.stderr, done
        assert by_link(folder, "--version").stdout.startswith("valgrind-3."), done
        done = run_memtraced("valgrind", "-q", "--track-origins=yes", "--vgdb-error=0", "true",
                             env=environment(folder))
        assert done.returncode == 0 and not done.stderr, done


# --- XML ------------------------------------------------------------------------------------------


def leaks_of(root):
    """{(bytes, blocks): kind} of the errors that are leaks."""
    return sorted((error.findtext("kind"), int(error.findtext("xwhat/leakedbytes")),
                   int(error.findtext("xwhat/leakedblocks")))
                  for error in root.iter("error") if error.find("xwhat/leakedbytes") is not None)


@test(need_root, need_program("valgrind", "xmllint"))
def the_xml_has_what_memchecks_has():
    command = [leaker("objects")]
    options = ("--xml=yes", "--show-leak-kinds=all", "--leak-check-heuristics=all")
    with link() as folder:
        ours, theirs = (os.path.join(folder, name) for name in ("ours", "theirs"))
        done = by_link(folder, *options, f"--xml-file={ours}", *command)
        assert done.returncode == 0 and not done.stderr, done
        run(["valgrind", *options, f"--xml-file={theirs}", *command], env=environment(folder))
        # of the grammar that the other writer follows, too
        ours, theirs = validated(ours), validated(theirs)
        assert leaks_of(ours) == leaks_of(theirs), (leaks_of(ours), leaks_of(theirs))
        assert len(leaks_of(ours)) > 5
        assert ours.findtext("args/argv/exe") == command[0]
        frame = ours.find("error/stack/frame[fn='main']")
        assert frame.findtext("file") == "objects.c" and int(frame.findtext("line")), frame


@test(need_root, need_program("valgrind", "xmllint"), each=("probes", "library"))
def errors_name_their_threads(way):
    """By the order in which they began."""
    if way == "probes" and os.uname().machine != "x86_64":
        raise Skip("mismatched forms are known on x86-64 alone")
    command = [leaker("thread_errors")]
    found = []
    with link() as folder:
        env = environment(folder, MEMTRACED_EXACT_PRELOAD="no" if way == "probes" else "yes")
        path = os.path.join(folder, "xml")
        for checker in (os.path.join(folder, "valgrind-memtraced"), "valgrind"):
            text = run([checker, *command], env=env).stderr
            run([checker, "--xml=yes", f"--xml-file={path}", *command], env=env)
            found.append((re.findall(r"== (Thread \d+:|Mismatched free)", text),
                          [(error.findtext("kind"), error.findtext("tid"))
                           for error in validated(path).findall("error")]))
    assert found[0] == found[1], found
    assert [tid for _, tid in found[0][1]] == ["1", "3", "2", "1"], found


@test(need_root, need_program("xmllint"))
def the_xml_of_errors_and_of_what_is_suppressed():
    with link() as folder:
        supp, path = os.path.join(folder, "supp"), os.path.join(folder, "xml")
        command = [target("heap_errors"), "zero", "3"]
        done = by_link(folder, "--xml=yes", f"--xml-file={path}", "--gen-suppressions=all",
                       *command)
        root = validated(path)
        error = root.find("error")
        assert error.findtext("what") == "realloc() with size 0", done.stderr
        unique = error.findtext("unique")
        pair = root.find(f"errorcounts/pair[unique='{unique}']")
        assert pair.findtext("count") == "3", contents(path)
        assert error.findtext("suppression/skind") == "Memcheck:ReallocZero"
        with open(supp, "w", encoding="ascii") as file:
            file.write(error.findtext("suppression/rawtext").replace("<insert_a_suppression_name"
                                                                     "_here>", "ours & theirs"))
        by_link(folder, "--xml=yes", f"--xml-file={path}", f"--suppressions={supp}", *command)
        root = validated(path)
        assert root.find("error") is None, contents(path)
        assert root.findtext("suppcounts/pair[name='ours & theirs']/count") == "3"


@test(need_root, need_program("xmllint"))
def several_processes_are_one_document_or_one_each():
    with link() as folder:
        options = ("--leak-check=full", "--xml=yes")
        script = f"{leaker('shapes')}; {leaker('shapes')}; true"
        by_link(folder, *options, "--trace-children=yes", "--xml-file=one", "sh", "-c", script)
        root = validated(os.path.join(folder, "one"))
        notes = {note.text for note in root.findall("error/auxwhat")}
        assert len(notes) == 2 and all("(shapes)" in note for note in notes), notes
        by_link(folder, *options, "--trace-children=yes", "--xml-file=each.%p", "sh", "-c", script)
        each = [name for name in os.listdir(folder) if name.startswith("each.")]
        roots = [validated(os.path.join(folder, name)) for name in each]
        assert len(each) == 3, each
        assert sorted(bool(root.findall("error")) for root in roots) == [False, True, True]
        assert all(f"each.{root.findtext('pid')}" in each for root in roots)


@test(need_root, need_program("xmllint"))
def hostile_names_are_text():
    with link() as folder:
        name = os.path.join(folder, "a<b>&\x1b]]>\x01\udcff\u202e")
        os.symlink(leaker("shapes"), name)
        command = [name, "<arg>\x02"]
        # memtraced's own options, for a process that it did not start by this command line
        done = run_memtraced("--leak-check=full", "--gen-suppressions=all", "--xml=yes",
                             f"--xml-file={folder}/xml", "--", *command)
        assert done.returncode == 0, done.stderr
        root = validated(os.path.join(folder, "xml"))
        assert root.findtext("args/argv/arg") == "<arg>\\x02"
        assert root.findtext("args/argv/exe").endswith("/a<b>&\\x1b]]>\\x01\\xff\\u{202e}")
        assert root.findall("error")


@test(need_root)
def descriptors_take_both():
    """Whole, through pipes that are slower than we write, and without a copy of them in the
    program."""
    with link() as folder:
        reading, xml_fd = os.pipe()
        text_reading, text_fd = os.pipe()
        with subprocess.Popen(
                [os.path.join(folder, "valgrind-memtraced"), "--xml=yes", "--leak-check=full",
                 f"--xml-fd={xml_fd}", f"--log-fd={text_fd}", "sh", "-c",
                 f"ls /proc/self/fd; exec {leaker('shapes')}"], pass_fds=(xml_fd, text_fd),
                env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
            os.close(xml_fd)
            os.close(text_fd)
            with os.fdopen(reading, encoding="utf-8") as file:
                document = file.read()
            with os.fdopen(text_reading, encoding="utf-8") as file:
                text = file.read()
            shown = process.stdout.read().split()
        assert process.returncode == 0, process.returncode
        assert str(xml_fd) not in shown and str(text_fd) not in shown, shown
        assert xml.etree.ElementTree.fromstring(document).tag == "valgrindoutput"
        assert "SUMMARY" not in text, text
        done = by_link(folder, "--xml=yes", "--xml-fd=77", "true")
        assert done.returncode == 1 and "--xml-fd=77: there is no such descriptor" in done.stderr


def received(server):
    """All that one connection sends."""
    connection, _ = server.accept()
    with connection, connection.makefile("rb") as file:
        return file.read()


def as_qt_creator(folder, checker, *options_and_command):
    """What it starts, in its order (valgrindrunner, memchecktool); the XML that it receives. It
    accepts one connection of each kind."""
    with socket.create_server(("127.0.0.1", 0)) as xml_server, \
            socket.create_server(("127.0.0.1", 0)) as text_server, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        document, text = (pool.submit(received, server) for server in (xml_server, text_server))
        xml_port, text_port = (server.getsockname()[1] for server in (xml_server, text_server))
        done = run([checker, "--child-silent-after-fork=yes", f"--xml-socket=127.0.0.1:{xml_port}",
                    f"--log-socket=127.0.0.1:{text_port}", "--xml=yes", "--smc-check=stack",
                    "--tool=memcheck", "--gen-suppressions=all", "--track-origins=yes",
                    "--show-reachable=yes", "--leak-check=full", *options_and_command],
                   cwd=folder, env=environment(folder), timeout=120)
        document, text = document.result(timeout=30), text.result(timeout=30)
    path = os.path.join(folder, "xml")
    with open(path, "wb") as file:
        file.write(document)
    return done, text, path


@test(need_root, need_program("xmllint"))
def qt_creator_reads_each_error():
    """What its parser wants: protocol 4 of a tool that it knows, kinds that it knows, numbers. It
    skips no element that it does not know within a stack or a suppression."""
    with link() as folder:
        done, text, path = as_qt_creator(folder, os.path.join(folder, "valgrind-memtraced"),
                                         "--num-callers=25", target("mismatches"), "1", "memory")
        assert done.returncode == 0 and text == b"", (done, text)
        assert done.stderr.startswith("memtraced: without effect: --track-origins;"), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        root = validated(path)
    assert root.findtext("protocolversion") == "4"
    assert root.findtext("protocoltool") == "memcheck"
    assert [status.findtext("state") for status in root.findall("status")] == \
        ["RUNNING", "FINISHED"]
    kinds = {error.findtext("kind") for error in root.findall("error")}
    assert kinds <= KINDS_OF_QT_CREATOR, kinds
    assert kinds
    for error in root.findall("error"):
        assert int(error.findtext("unique"), 16) >= 0 and int(error.findtext("tid")) >= 1
        assert error.findtext("what") or error.findtext("xwhat/text")
        assert all(child.tag == "frame" for stack in error.findall("stack") for child in stack)
        assert {child.tag for child in error.find("suppression")} <= \
            {"sname", "skind", "skaux", "rawtext", "sframe"}


def suppressions_of_qt_creator(root):
    """What its dialog writes of all errors: no raw text, but a name of the first frame's, the kind
    and at most 23 frames."""
    entries = []
    for error in root.findall("error"):
        found = error.find("suppression")
        frames = [f"fun:{frame.findtext('fun')}" if frame.findtext("fun") else
                  f"obj:{frame.findtext('obj')}" for frame in found.findall("sframe")]
        name = error.findtext("stack/frame/fn") or error.findtext("stack/frame/obj")
        lines = [f"{name}[{found.findtext('skind')}]", found.findtext("skind"),
                 *frames[:23 if len(frames) >= 24 else None]]
        entries.append("".join(f"   {line}\n" for line in lines))
    return "".join(f"{{\n{entry}}}\n" for entry in entries)


@test(need_root, need_program("valgrind", "xmllint"),
      each=("objects", "functions", "thread_errors"), in_turn=1)
def what_qt_creator_suppresses_is_hidden_in_both_tools(name):
    with link() as folder:
        checkers = (os.path.join(folder, "valgrind-memtraced"),
                    run(["sh", "-c", "command -v valgrind"]).stdout.strip())
        for writer in checkers:
            _, _, path = as_qt_creator(folder, writer, "--num-callers=40", leaker(name))
            # memcheck's own does not follow the grammar with suppressions in it
            root = xml.etree.ElementTree.parse(path).getroot()
            supp = os.path.join(folder, "supp")
            assert root.findall("error"), contents(path)
            with open(supp, "w", encoding="utf-8") as file:
                file.write(suppressions_of_qt_creator(root))
            for reader in checkers:
                _, text, path = as_qt_creator(folder, reader, f"--suppressions={supp}",
                                              "--num-callers=40", leaker(name))
                root = xml.etree.ElementTree.parse(path).getroot()
                assert not root.findall("error"), (writer, reader, contents(path), contents(supp))
                assert root.findall("suppcounts/pair"), (text, contents(path))


# What KDevelop's plugin (kdev-valgrind, which Debian has not) gives with its settings as they are.
KDEVELOP = ("--tool=memcheck", "--num-callers=12", "--max-stackframe=2000000", "--error-limit=yes",
            "--leak-resolution=high", "--show-leak-kinds=definite,possible",
            "--leak-check-heuristics=all", "--keep-stacktraces=alloc-and-free",
            "--freelist-vol=20000000", "--freelist-big-blocks=1000000", "--undef-value-errors=no",
            "--show-mismatched-frees=yes", "--partial-loads-ok=yes", "--track-origins=no",
            "--expensive-definedness-checks=no", "--xml=yes")


@test(need_root)
def kdevelop_shows_each_error_at_its_place():
    """As its parser has it: lines with an element alone, trimmed, and of each error a text, a
    stack, and the first frame with a file, which it opens."""
    with link() as folder, socket.create_server(("127.0.0.1", 0)) as server, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        document = pool.submit(received, server)
        done = by_link(folder, *KDEVELOP, f"--xml-socket=127.0.0.1:{server.getsockname()[1]}",
                       leaker("shapes"), timeout=120)
        lines = document.result(timeout=30).decode().splitlines()
    assert done.returncode == 0 and not done.stderr, done
    root = xml.etree.ElementTree.fromstring(" ".join(line.strip() for line in lines
                                                     if "<" in line))
    errors = root.findall("error")
    assert len(errors) > 3, lines
    for error in errors:
        assert any(error.findtext(name) for name in ("what", "xwhat/text", "auxwhat")), error
        frame = next(frame for frame in error.findall("stack/frame") if frame.findtext("file"))
        place = os.path.join(frame.findtext("dir"), frame.findtext("file"))
        assert os.path.exists(place) or "malloc.c" in place, place
        assert int(frame.findtext("line")) > 0


# What Test::Valgrind (Debian's libtest-valgrind-perl), which gives --xml-fd and reads with
# XML::Twig, hands on of each error.
PERL = r"""
use Test::Valgrind::Session; use Test::Valgrind::Tool::memcheck; use Test::Valgrind::Command;
use Test::Valgrind::Action;
package Told; our @ISA = ('Test::Valgrind::Action');
sub report {
    my ($self, $session, $report) = @_;
    return if $report->is_diag;
    my $data = $report->data;
    print join(' ', $report->kind, $data->{leakedbytes}, $data->{leakedblocks}), "\n";
}
package Run; our @ISA = ('Test::Valgrind::Command');
sub suppressions_tag { 'none' }
package main;
my ($valgrind, @command) = @ARGV;
Test::Valgrind::Session->new(valgrind => $valgrind, no_def_supp => 1, allow_no_supp => 1)->run(
    action => Told->new, tool => Test::Valgrind::Tool::memcheck->new(callers => 24),
    command => Run->new(args => \@command));
"""


@test(need_root, need_program("perl", "valgrind"))
def perls_test_valgrind_reads_it():
    if run(["perl", "-MTest::Valgrind::Session", "-e", "1"]).returncode:
        raise Skip("perl has no Test::Valgrind")
    with link() as folder:
        ours, theirs = (run(["perl", "-e", PERL, checker, leaker("shapes")], cwd=folder,
                            env=environment(folder))
                        for checker in (os.path.join(folder, "valgrind-memtraced"),
                                        run(["sh", "-c", "command -v valgrind"]).stdout.strip()))
    assert ours.returncode == 0, ours.stderr
    shown = sorted(ours.stdout.split("\n"))
    assert len(shown) > 10, shown
    clients.same("Test::Valgrind", "XML", "leaks", len(shown), len(theirs.stdout.split("\n")))
    assert shown == sorted(theirs.stdout.split("\n")), (ours.stdout, theirs.stdout)


# --- ctest ----------------------------------------------------------------------------------------

TESTS = """
add_test(clean "/bin/true")
add_test(loses "{shapes}")
add_test(fails "/bin/false")
add_test(dies "{killed}")
add_test(executes "{executes}")
add_test(becomes "/usr/bin/env" "{shapes}")
add_test(starts "/bin/sh" "-c" "{shapes}; {objects}; exec {list_lost}")
add_test(started "/bin/sh" "-c" "{shapes} && true")
"""


def ctest(folder, checker, options=""):
    """What ctest says of each test, its defects, and its exit status."""
    build = os.path.join(folder, "of-" + os.path.basename(checker))
    os.mkdir(build)
    with open(os.path.join(build, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
        file.write(TESTS.format(**{name: leaker(name) for name in (
            "shapes", "killed", "executes", "objects", "list_lost")}))
    with open(os.path.join(build, "DartConfiguration.tcl"), "w", encoding="utf-8") as file:
        file.write(f"SourceDirectory: {build}\nBuildDirectory: {build}\nSite: here\n"
                   f"BuildName: any\nMemoryCheckCommand: {checker}\n"
                   f"MemoryCheckCommandOptions: {options}\n")
    done = run(["ctest", "-T", "memcheck"], cwd=build, env=environment(folder), timeout=120)
    said = re.sub(r" +\d+\.\d\d sec.*", "", done.stdout.replace(build, "")).splitlines()
    tests = [line.strip() for line in said if re.search(r"MemCheck:? *#\d", line)]
    begin = next((i for i, line in enumerate(said) if "Memory checking results" in line), 0)
    failed = [line.strip() for line in said if re.match(r"\s+\d+ - ", line)]
    return tests, said[begin:], failed, done.returncode


@test(need_root, need_program("ctest", "valgrind"), each=(
    "", "--error-exitcode=5 -q --leak-check=full", "--trace-children=yes --error-exitcode=5 "
    "--leak-check=full", "--trace-children=yes --log-file=all.%p"), in_turn=1)
def ctest_passes_and_fails_as_with_valgrind(options):
    with link() as folder:
        valgrind = run(["sh", "-c", "command -v valgrind"]).stdout.strip()
        theirs = ctest(folder, valgrind, options)
        ours = ctest(folder, os.path.join(folder, "valgrind-memtraced"), options)
    if options.startswith("--trace-children=yes --error"):
        # Valgrind's processes write over each other's lines in one file.
        several = [re.search(r"#(\d): start\w+ \.+   Defects: (\d+)", line) for line in ours[0]]
        assert [found.groups() for found in several if found] == [("7", "11"), ("8", "9")], ours
        ours, theirs = (([line for line in tests if not re.search(r": start\w+ .*Defects", line)],
                         [], *rest) for tests, _, *rest in (ours, theirs))
    assert ours == theirs, f"{ours}\n{theirs}"
    tests, results, failed, status = ours
    assert len(tests) >= 8 and status != 0 and failed, ours
    if not options:
        assert any("Memory Leak - " in line for line in results), results


@test(need_root, need_program("valgrind"))
def the_sums_of_one_command_line_are_the_others():
    """All of it at once: what a script reads."""
    command = [leaker("news")]
    with link() as folder:
        ours = read_sums(by_link(folder, "--leak-check=full", *command).stderr)
    assert ours == read_sums(memcheck(command)), ours

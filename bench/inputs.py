# SPDX-License-Identifier: GPL-2.0-or-later
"""What the measured programs read: generated, the same bytes each time, into a folder that names
its size, so that another size does not take it for its own."""

import json
import os
import random
import shutil
import subprocess

WORDS = ("block site stack frame page heap arena chunk list table index queue buffer thread lock "
         "signal event timer socket file path name value key map tree node leaf root").split()


class Inputs:
    """path(name) of each input; made on first use, kept whole by a rename."""

    def __init__(self, folder, scale):
        self.folder = os.path.join(folder, f"inputs-{scale:g}")
        self.scale = scale
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name, make):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            text = make(random.Random(name), self.scale)
            with open(path + "~", "w", encoding="utf-8") as file:
                file.write(text)
            os.rename(path + "~", path)
        return path

    def records(self):
        return self.path("records.json", records)

    def script(self, name, text):
        return self.path(name, lambda _, scale: text.replace("SCALE", f"{scale:g}"))

    def sql(self):
        return self.path("rows.sql", sql)

    def c_source(self):
        return self.path("source.c", c_source)

    def xml(self):
        return self.path("tree.xml", xml)

    def text(self):
        return self.path("text", prose)

    def repository(self):
        path = os.path.join(self.folder, "repository")
        if not os.path.exists(path):
            make_repository(path + "~", random.Random("repository"), int(400 * self.scale))
            os.rename(path + "~", path)
        return path


def record(rand, number):
    return {"id": number, "name": f"{rand.choice(WORDS)} {number}", "score": rand.random() * 100,
            "tags": rand.sample(WORDS, 4), "active": rand.random() < 0.5,
            "place": {"x": rand.randint(0, 999), "y": rand.randint(0, 999)}}


def records(rand, scale):
    return json.dumps([record(rand, number) for number in range(int(12000 * scale))], indent=1)


def sql(rand, scale):
    lines = ["CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, owner INT, price REAL);",
             "CREATE INDEX item_owner ON item(owner);", "BEGIN;"]
    lines += [f"INSERT INTO item VALUES({n},'{rand.choice(WORDS)} {n}',{n % 97},{n * 7 % 1000});"
              for n in range(int(25000 * scale))]
    lines += ["COMMIT;",
              "SELECT owner, count(*), sum(price) FROM item GROUP BY owner ORDER BY 3;",
              "SELECT name, group_concat(owner) FROM item WHERE price > 500 GROUP BY name;"]
    return "\n".join(lines) + "\n"


def c_source(rand, scale):
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    for n in range(int(50 * scale)):
        word = rand.choice(WORDS)
        lines += [f"struct {word}_{n} {{ int size; char *name; struct {word}_{n} *next; }};",
                  f"static int use_{n}(struct {word}_{n} *p, int limit)", "{",
                  "\tint sum = 0;",
                  f"\tfor (int i = 0; p && i < limit + {n}; i++, p = p->next)",
                  f"\t\tsum += p->size * {rand.randint(2, 99)} + (p->name ? "
                  "(int)strlen(p->name) : i % 3);",
                  "\treturn sum;", "}",
                  f"int {word}_{n}_total(struct {word}_{n} *p)", "{",
                  f"\treturn use_{n}(p, {rand.randint(2, 99)}) ^ {n};", "}"]
    return "\n".join(lines) + "\n"


def xml(rand, scale):
    lines = ["<?xml version=\"1.0\"?>", "<items>"]
    for n in range(int(22000 * scale)):
        lines.append(f"  <item id=\"{n}\" kind=\"{rand.choice(WORDS)}\"><name>"
                     f"{' '.join(rand.sample(WORDS, 3))}</name><size>{rand.randint(1, 9999)}"
                     "</size></item>")
    return "\n".join(lines + ["</items>"]) + "\n"


def prose(rand, scale):
    return "\n".join(" ".join(rand.choices(WORDS, k=12)) for _ in range(int(50000 * scale)))


def make_repository(path, rand, commits):
    """Files that change line by line, by one fast-import: no clock, no user's configuration."""
    shutil.rmtree(path, ignore_errors=True)
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    files = {f"src/{word}.txt": [f"{word} line {n}" for n in range(150)] for word in WORDS[:20]}
    stream = []
    for number in range(commits):
        date = 1700000000 + number * 3600
        message = f"commit {number}\n\nThe body of it.\n"
        stream += ["commit refs/heads/master",
                   f"committer A Committer <a@example.org> {date} +0000",
                   f"data {len(message)}", message]
        for name in sorted(files) if number == 0 else rand.sample(sorted(files), 3):
            lines = files[name]
            for _ in range(5):
                lines[rand.randrange(len(lines))] = " ".join(rand.sample(WORDS, 5))
            text = "\n".join(lines) + "\n"
            stream += [f"M 100644 inline {name}", f"data {len(text)}", text]
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], check=True,
                   input="\n".join(stream) + "\n", text=True)
    subprocess.run(["git", "-C", path, "symbolic-ref", "HEAD", "refs/heads/master"], check=True)

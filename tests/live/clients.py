# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that read our formats, by what they showed: tests compare that with our own report
here, run.py prints the table. Pictures of those with windows are kept beside what is built."""

import os

from lib import Place

HEAD = ("client", "format", "what", "it showed", "we report")
ROWS = {}


def same(client, form, what, shown, ours):
    """What a client shows is what we report; a row of the table."""
    assert shown == ours, f"{client} shows {shown!r} as {what}, we report {ours!r}"
    ROWS[(client, form, what)] = (str(shown), str(ours))


def picture(name):
    """Where a picture of a client is kept."""
    folder = os.path.join(Place.build, "tests", "pictures")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, f"{name}.png")


def lines():
    table = [HEAD] + [(*key, *row) for key, row in ROWS.items()]
    if len(table) == 1:
        return []
    widths = [max(len(row[i]) for row in table) for i in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in table]

# SPDX-License-Identifier: GPL-2.0-or-later
"""Loses 600 bytes now and then, as docs/guide/growth.md shows it."""

import time

lost = []
print("ready", flush=True)
while True:
    lost.append(bytes(600))
    time.sleep(0.005)

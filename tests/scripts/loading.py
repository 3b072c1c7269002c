# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of scripts/ as modules."""

import importlib.machinery
import importlib.util
import os

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")


def load(name):
    """A new module of a script in Python: "check-words"."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module

"""Progress bars of long calls, if tqdm is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any


def bar(work: str) -> Any:
    """Returns a bar of tqdm from 0 to 100 per cent, or None without tqdm.

    A notebook shows a widget if ipywidgets is installed. TQDM_DISABLE=1 hides all bars.
    """
    has_widgets = "ipykernel" in sys.modules and importlib.util.find_spec("ipywidgets") is not None
    try:
        tqdm = importlib.import_module("tqdm.auto" if has_widgets else "tqdm")
    except ImportError:
        return None
    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
    return tqdm.tqdm(total=100, desc=work, leave=False, bar_format=layout)

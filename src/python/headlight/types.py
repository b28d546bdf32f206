"""Types of arguments and results."""

from typing import Any

import numpy.typing

ArrayLike = numpy.typing.ArrayLike
Array = numpy.typing.NDArray[Any]

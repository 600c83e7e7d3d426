"""The types of arguments."""

from __future__ import annotations

import os
from typing import Callable, Optional, Union

#: A key, a value or an operand. The call copies it.
Bytes = Union[bytes, bytearray, memoryview]
#: The first key of a range, the key behind it, or the prefix of its keys; None: not limited.
Bound = Optional[Bytes]
PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: A comparator: negative, zero or positive, as the first key stands before, at or after the second.
Order = Callable[[bytes, bytes], int]

"""A disk that is full, for tests: from a place on, no file of this process grows.

The limit is that of a file's size (RLIMIT_FSIZE), whose signal Python ignores. The system then says
"File too large" where of a full disk it says "No space left on device".
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

import pytest

SAID = os.strerror(errno.EFBIG)


@contextlib.contextmanager
def full_from(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, in bytes, as long as the block runs."""
    resource = pytest.importorskip("resource", reason="there is no limit of a file's size here")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

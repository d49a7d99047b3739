"""File locks that the kernel releases however their holder ends, kill -9 included."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import Self

from pgrecall.embedded.account import ELSEWHERE
from pgrecall.errors import StartRefused

if sys.platform != "win32":
    import fcntl


class FileLock:
    """An open lock file. `close` releases the lock, unless a process inherited the descriptor."""

    def __init__(self, path: Path) -> None:
        """Opens the file, and makes it for the owner of its directory if it is not there. Raises OSError."""
        self.descriptor = _open(path)  # closed to child processes, unless passed to them

    def shared(self) -> bool:
        """Take or keep it together with others; False if one holds it alone."""
        return self._take(fcntl.LOCK_SH | fcntl.LOCK_NB)

    def alone(self) -> bool:
        """Take it alone; False if others hold it: then a shared hold of ours is gone too."""
        return self._take(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, operation: int) -> bool:
        try:
            fcntl.flock(self.descriptor, operation)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}:
                raise
            raise StartRefused(
                "The file system of the data directory knows no locks (flock): servers could not share it",
                f"Put the data on a local disk. {ELSEWHERE}",
            ) from error
        return True


def _open(path: Path) -> int:
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if os.geteuid() == 0:
            owner = path.parent.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        return descriptor
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW)

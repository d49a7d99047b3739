"""The command as a user runs it: in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

START_SECONDS = 60.0
"""A bound for a start on a busy machine, not a promise."""


def pgrecall(
    cwd: Path, /, *arguments: str, answer: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """`pgrecall ARGUMENTS`, done; `answer` is what is typed."""
    return subprocess.run(
        [sys.executable, "-m", "pgrecall", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        input=answer,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )


class Serving:
    """`pgrecall serve` on a free port, from when it says that it serves. `python`: of another environment."""

    def __init__(self, cwd: Path, /, *options: str, python: str = sys.executable, **environment: str) -> None:
        self._output = cwd / "output"
        started = time.monotonic()
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [python, "-m", "pgrecall", "serve", "--port", "0", *options],
                cwd=cwd,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        while (found := re.search(r"serving on +(\S+)", self.output())) is None:
            if self.process.poll() is not None or time.monotonic() - started > START_SECONDS:
                self.stop(signal.SIGKILL)
                raise AssertionError(f"it does not serve: {self.output()}")
            time.sleep(0.05)
        self.url = found[1]
        self.seconds = time.monotonic() - started

    def output(self) -> str:
        return self._output.read_text()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code, once it has ended."""
        self.process.send_signal(number)
        return self.process.wait(START_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()

"""Naga and Tint, the two WGSL compilers, each behind a process that answers one text a line.

Tint needs `npm install --prefix tests/tint`; naga needs some GPU adapter, a software one will do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent
_TINT = _HERE / "tint"


class Validator:
    """One compiler. Its process starts with the first text, and anew if a text made it abort."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._known: dict[str, str] = {}

    def errors(self, text: str) -> str:
        """Return what the compiler says against a WGSL text: nothing if it accepts it."""
        if text not in self._known:
            self._known[text] = self._ask(text)
        return self._known[text]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def _ask(self, text: str) -> str:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(text) + "\n")
        self._process.stdin.flush()
        # Tint prints its warnings among the answers.
        answer = self._process.stdout.readline()
        while answer and not answer.startswith('"'):
            answer = self._process.stdout.readline()
        if not answer:
            code = self._process.wait()
            self.close()
            return f"{self.name} ended with code {code}"
        message = json.loads(answer)
        assert isinstance(message, str)
        return message


def naga() -> Validator | None:
    """Return naga, or None without an adapter."""
    probe = Validator("naga", [sys.executable, str(_HERE / "naga_worker.py")])
    accepts = not probe.errors("@compute @workgroup_size(1) fn main() {}")
    return probe if accepts else None


def tint() -> Validator | None:
    """Return Tint, or None without node or its package."""
    node = shutil.which("node")
    if node is None or not (_TINT / "node_modules" / "webgpu").is_dir():
        return None
    return Validator("tint", [node, os.fspath(_TINT / "validate.mjs")])

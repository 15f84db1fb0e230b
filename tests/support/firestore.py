"""The real Firestore emulator for tests: started by them, on loopback, ended by its number.

It comes with the Google Cloud SDK and needs Java. Named by ``FIRESTORE_EMULATOR_JAR`` or found
beside ``gcloud``; elsewhere tests that need it are skipped by that name. Fakes lose updates.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

JAR = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"
MISSING = (
    "The Firestore emulator is not there (FIRESTORE_EMULATOR_JAR, or Google Cloud SDK, and Java)"
)
READY_SECONDS = 60.0


def jar() -> Path | None:
    """The emulator, wherever it is; None if it, or Java, is not there."""
    if shutil.which("java") is None:
        return None
    named = os.environ.get("FIRESTORE_EMULATOR_JAR")
    if named:
        return Path(named)
    gcloud = shutil.which("gcloud")
    roots = [Path(gcloud).resolve().parent.parent] if gcloud else []
    for root in (*roots, Path("/usr/lib/google-cloud-sdk"), Path("/usr/share/google-cloud-sdk")):
        if (root / JAR).is_file():
            return root / JAR
    return None


@contextmanager
def emulator() -> Iterator[str]:
    """A new, empty emulator; gives its host and port.

    Raises:
        FileNotFoundError: There is none on this machine.
    """
    found = jar()
    if found is None:
        raise FileNotFoundError(MISSING)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        ["java", "-Duser.language=en", "-Xmx1g", "-cp", str(found), MAIN, "start",
         "--host=127.0.0.1", f"--port={port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ChildProcessError("The Firestore emulator ended at once.")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                time.sleep(0.5)  # it listens a little before it serves
                return
        time.sleep(0.1)
    raise TimeoutError("The Firestore emulator did not get ready.")

"""What holds for every test: no key or setting of the person running them, and no deadlines."""

import os
import signal

import pytest
from hypothesis import settings

# Whoever starts the tests may have blocked or ignored signals, which every child would inherit: a
# server that never sees its children end, a program that cannot be stopped.
signal.pthread_sigmask(signal.SIG_SETMASK, set())
for _number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
    signal.signal(_number, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines that run tests are shared: how long one example takes there says nothing about the code.
settings.register_profile("shared-machine", deadline=None, print_blob=True, max_examples=40)
# HYPOTHESIS_PROFILE=thorough looks longer: for a night, or for a change in the pure rooms.
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shared-machine"))


@pytest.fixture(autouse=True)
def _nobodys_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes away keys and settings, so that a test never reaches a real model or database."""
    for name in list(os.environ):
        if name.startswith(("LOCAL_", "GOOGLE_", "GEMINI_")):
            monkeypatch.delenv(name)

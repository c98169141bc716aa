"""Runs one function per device, in threads that pass one baton: exactly one runs at a time, in a fixed order.

A device runs until it must wait for its group; then the next one that can go on does. A thread starts when it
first gets the baton. When nobody can go on, or two devices of a group call different collectives, all stop
with a DivergenceError; an exception on one device stops all and is raised with a note that names the device.
"""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any

from msgspec import Struct

from shardc.runtime.collectives import COLLECTIVES, Array
from shardc.runtime.comm import Call, Comm
from shardc.runtime.groups import MeshGroups, Names


class DivergenceError(RuntimeError):
    """Devices that should meet in one collective don't; the text names them and where each of them is."""


class _Stopped(BaseException):
    """Unwinds a waiting device after another one failed."""


class _Meeting(Struct):
    """The devices of one group that have called so far, with their calls and arrays."""

    calls: dict[int, Call] = {}
    blocks: dict[int, Array] = {}


class EmulatedComm(Comm):
    """A device of this process."""

    def __init__(self, scheduler: Scheduler, position: int) -> None:
        super().__init__(scheduler.groups, position)
        self._scheduler = scheduler

    def _meet(self, call: Call, x: Array) -> Array:
        return self._scheduler.meet(self.position, call, x)


class Scheduler:
    """One run of `task` on every position of the mesh; `run` gives the results in position order."""

    def __init__(self, groups: MeshGroups, task: Callable[[EmulatedComm], Any]) -> None:
        self.groups = groups
        size = groups.mesh.size
        self._task = task
        self._context = contextvars.copy_context()
        self._ready = deque(range(size))
        self._batons = [Lock() for _ in range(size)]
        self._threads: list[Thread | None] = [None] * size
        self._meetings: dict[tuple[Names, int], _Meeting] = {}
        self._waiting: dict[int, Call] = {}
        self._received: dict[int, Array] = {}
        self._results: dict[int, Any] = {}
        self._failure: BaseException | None = None
        self._done = Lock()

    def run(self) -> list[Any]:
        """Every device's result; raises what stopped them, if something did."""
        for baton in self._batons:
            baton.acquire()
        self._done.acquire()
        self._pass_on()
        try:
            self._done.acquire()
        except BaseException as interrupt:
            self._stop(interrupt)
            raise
        for thread in self._threads:
            if thread is not None:
                thread.join()
        if self._failure is not None:
            raise self._failure
        return [self._results[position] for position in range(self.groups.mesh.size)]

    def meet(self, position: int, call: Call, x: Array) -> Array:
        """Called on the device's own thread: wait for the group, and take the device's result."""
        if self._failure is not None:
            raise _Stopped
        groups = self.groups.over(call.axes)
        key = (call.axes, groups.group[position])
        members = groups.members[groups.group[position]]
        meeting = self._meetings.setdefault(key, _Meeting())
        self._agree(meeting, position, call)
        meeting.calls[position], meeting.blocks[position] = call, x
        if len(meeting.calls) == len(members):
            del self._meetings[key]
            results = COLLECTIVES[call.kind]([meeting.blocks[m] for m in members], dict(call.params))
            self._received.update(zip(members, results, strict=True))
            self._ready.extend(m for m in members if m != position)
        else:
            self._wait(position, call)
        return self._received.pop(position)

    def _agree(self, meeting: _Meeting, position: int, call: Call) -> None:
        first, expected = next(iter(meeting.calls.items()), (position, call))
        if not call.joins(expected):
            raise DivergenceError(
                f"devices that differ only along {', '.join(call.axes)} call different collectives:\n"
                f"    {self.groups.device(first)}: {expected} at {expected.where}\n"
                f"    {self.groups.device(position)}: {call} at {call.where}"
            )

    def _wait(self, position: int, call: Call) -> None:
        self._waiting[position] = call
        self._pass_on()
        self._batons[position].acquire()
        del self._waiting[position]
        if self._failure is not None:
            raise _Stopped

    def _pass_on(self) -> None:
        """Give the baton to the next device that can go on; if there is none, the run is over."""
        if self._ready:
            position = self._ready.popleft()
            if self._threads[position] is not None:
                self._batons[position].release()
            else:
                self._start(position)
        elif len(self._results) == self.groups.mesh.size:
            self._done.release()
        else:
            self._stop(DivergenceError(self._deadlock()))

    def _start(self, position: int) -> None:
        run = self._context.copy().run
        thread = Thread(target=run, args=(self._live, position), name=f"device {position}", daemon=True)
        self._threads[position] = thread
        thread.start()

    def _live(self, position: int) -> None:
        try:
            self._results[position] = self._task(EmulatedComm(self, position))
        except _Stopped:
            return
        except BaseException as error:
            if not isinstance(error, DivergenceError):
                error.add_note(f"on {self.groups.device(position)} of {self.groups.mesh}")
            self._stop(error)
            return
        if self._failure is None:
            self._pass_on()

    def _stop(self, reason: BaseException) -> None:
        """End the run: every waiting device unwinds."""
        if self._failure is not None:
            return
        self._failure = reason
        for position in list(self._waiting):
            self._batons[position].release()
        self._done.release()

    def _deadlock(self) -> str:
        where = {p: f"wait in {call} at {call.where}" for p, call in self._waiting.items()}
        where |= {p: "left device_main" for p in self._results}
        states: dict[str, list[int]] = {}
        for position in sorted(where):
            states.setdefault(where[position], []).append(position)
        lines = [f"    {_some([self.groups.device(p) for p in ps])} {text}" for text, ps in states.items()]
        return "no device can go on:\n" + "\n".join(lines)


def _some(devices: list[str]) -> str:
    """The first few, and how many more."""
    more = f" and {len(devices) - 4} more" if len(devices) > 4 else ""
    return ", ".join(devices[:4]) + more

"""Pieces and rounds against element-by-element counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.forms.pieces import ElementRun, Piece, Round, Window, pieces, rounds, sent


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[ElementRun], Window, list[int], int]:
    devices, blocks = draw(st.integers(2, 6)), draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    runs: list[ElementRun] = []
    place = draw(st.integers(0, 3))
    for source, block in enumerate(blocks):
        step, gap = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        first = draw(st.integers(0, block * devices - 1))
        count = draw(st.integers(0, (block * devices - 1 - first) // step + 1))
        runs.append(ElementRun(source, first, place, count, step, gap))
        place += count * gap
    pitch, width = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    return runs, Window(draw(st.integers(-4, 2)), pitch, width, place), blocks, devices


@given(problems())
def test_every_place_gets_its_element_once(problem: tuple[list[ElementRun], Window, list[int], int]) -> None:
    runs, window, blocks, devices = problem
    wanted = {
        (device, made - window.start(device)): (run.source, run.first + k * run.step)
        for device in range(devices)
        for run in runs
        for k in range(run.count)
        for made in [run.place + k * run.gap]
        if window.start(device) <= made < window.start(device) + window.width
    }
    given_ = [
        ((p.receiver, p.at + k * p.gap), (p.source, p.sender * blocks[p.source] + p.start + k * p.step))
        for p in pieces(runs, window, blocks, devices)
        for k in range(p.count)
    ]
    assert len(given_) == len(wanted)
    assert dict(given_) == wanted


@given(problems())
def test_in_a_round_a_device_sends_and_receives_once(
    problem: tuple[list[ElementRun], Window, list[int], int],
) -> None:
    runs, window, blocks, devices = problem
    found = pieces(runs, window, blocks, devices)
    crossing, home = rounds(found, devices)
    assert sorted(map(str, found)) == sorted(str(p) for round in crossing + home for p in round)
    for round in crossing + home:
        assert len({p.sender for p in round}) == len({p.receiver for p in round}) == len(round)
        assert len({(p.step, p.gap) for p in round}) == 1
    assert all(p.sender == p.receiver for round in home for p in round)


@given(st.integers(2, 6), st.data())
def test_pieces_of_one_length_take_as_few_rounds_as_the_busiest_device_has_pieces(
    devices: int, data: st.DataObject
) -> None:
    device = st.integers(0, devices - 1)
    ends = data.draw(st.lists(st.tuples(device, device), max_size=15))
    found = [Piece(0, s, r, 0, i, 1, 1, 1) for i, (s, r) in enumerate(ends) if s != r]
    crossing, _ = rounds(found, devices)
    busiest = max(
        (sum(getattr(p, end) == d for p in found) for d in range(devices) for end in ("sender", "receiver")),
        default=0,
    )
    assert sent(crossing) == len(crossing) == busiest


def test_a_piece_is_tried_a_few_times_however_many_devices_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, fits = 0, Round.fits

    def counted(round: Round, piece: Piece) -> bool:
        nonlocal tried
        tried += 1
        return fits(round, piece)

    def halo(devices: int) -> float:
        nonlocal tried
        tried, size = 0, 4 * devices
        found = pieces([ElementRun(0, 0, 0, size)], Window(-1, 4, 6, size), [4], devices)
        rounds(found, devices)
        return tried / devices

    monkeypatch.setattr(Round, "fits", counted)
    assert halo(2048) < 1.1 * halo(64)

"""Lines of benchmarks/rates.py about series: levels over runs, stalls in seconds, series without a
level, and writes that end unwritten.

A line is a function that returns its cells: text, or a pair of hits and tries.
"""

import math
import random
from functools import partial
from statistics import median

import numpy as np
from tests.rigs.synthetic import Noise, flat, settling, steps

from diskbench.analysis.phases import step_phases
from diskbench.analysis.run_course import run_course
from diskbench.analysis.setting import Setting, Stretch, device_rate
from diskbench.analysis.unsteady import dips, drift, two_modes, two_modes_of_runs
from diskbench.model.expectation import Load

CASES = 200
FALL, FALLS_AT = 0.5, 0.4
SECONDS, LEVEL = 1800, 1000.0
KINDS = {
    "sd 5 %, φ 0.5": (LEVEL, Noise(0.05, 0.5)),
    "sd 60 %, φ 0.9": (LEVEL, Noise(0.60, 0.9)),
    "12 IOPS": (12.0, Noise(0.0)),
}
"""Level and noise; I/Os are whole ones, so that a second of a slow disk may have none by chance."""
STALL_CASES = 25


def splits(count, noise):
    """How often a stationary series of so many runs is split, and a fall by half is found."""
    split = used_up = found = missed = elsewhere = 0
    at = round(FALLS_AT * count)
    for seed in range(CASES):
        course = run_course(flat(LEVEL, count, noise, seed=seed).tolist())
        split += len(course) > 1
        used_up += any(level.kind == "baseline" for level in course)
        levels = [(LEVEL, at), (FALL * LEVEL, count - at)]
        fallen = run_course(steps(levels, noise, seed=seed).tolist())
        cuts = [level.start for level in fallen[1:]]
        hit = any(abs(cut - at) <= 1 for cut in cuts)
        found += hit
        missed += not hit
        elsewhere += any(abs(cut - at) > 1 for cut in cuts)
    return (split, CASES), (used_up, CASES), (found, CASES), (missed, CASES), (elsewhere, CASES)


SPLITS = {
    f"{count} runs, φ {phi:g}, sd {100 * sd:g} %": partial(splits, count, Noise(sd, phi))
    for count in (20, 100, 200)
    for phi, sd in ((0.0, 0.15), (0.44, 0.15), (0.8, 0.15))
}


def bursts(levels, noise):
    """How often the kinds and the first runs of several bursts are all right."""
    right = 0
    kinds = [
        "burst" if rate == max(rate for rate, _ in levels) else "baseline" for rate, _ in levels
    ]
    starts = np.cumsum([0, *(count for _, count in levels[:-1])]).tolist()
    for seed in range(CASES):
        course = run_course(steps(levels, noise, seed=seed).tolist())
        right += [level.kind for level in course] == kinds and [
            level.start for level in course
        ] == starts
    return ((right, CASES),)


COURSES = (
    ((3000, 5), (100, 6), (3000, 2), (100, 6)),
    ((3000, 12), (900, 9), (3000, 3), (900, 12), (3000, 2), (900, 12)),
    ((3000, 2), (1200, 8), (3000, 2), (1200, 8)),
)
BURSTS = {
    ", ".join(f"{count} at {rate:,}" for rate, count in levels)
    + f"; φ {phi:g}, sd {100 * sd:g} %": partial(bursts, levels, Noise(sd, phi))
    for levels in COURSES
    for phi, sd in ((0.0, 0.05), (0.44, 0.1))
}


def stalled(length, part, kind):
    """How often stretches of `length` seconds, together `part` of the time, are found."""
    wanted = found = told = false = quiet = 0
    for seed in range(STALL_CASES):
        draw = random.Random(f"{length} {part} {kind} {seed}")
        spans = placed(length, part, draw)
        quiet += len(named(counted(kind, seed, ())))
        stalls = named(counted(kind, seed, spans))
        wanted += len(spans)
        found += sum(any(a < end and start < b for a, b in stalls) for start, end in spans)
        told += len(stalls)
        false += sum(not any(a < end and start < b for start, end in spans) for a, b in stalls)
    return (found, wanted), (false, told), (quiet, STALL_CASES * SECONDS)


def counted(kind, seed, spans):
    """I/Os of each second: what is left of it is done at the level, with noise, in whole I/Os."""
    level, noise = KINDS[kind]
    left = np.ones(SECONDS)
    for start, end in spans:
        for second in range(int(start), min(SECONDS, math.ceil(end))):
            left[second] -= max(0.0, min(end, second + 1) - max(start, second))
    rates = flat(level, SECONDS, noise, seed=seed) * np.maximum(left, 0.0)
    return np.random.default_rng(seed).poisson(rates).astype(float)


def named(values):
    """The stalls that are named, as pairs of seconds."""
    return [(one.start_s, one.end_s) for one in step_phases(values, values * 4096).stalls]


def placed(length, part, draw):
    """Stretches that begin at any moment, with at least their own length of work between two."""
    count = max(1, round(part * SECONDS / length))
    room = SECONDS - 2 * length * count
    gaps = sorted(draw.uniform(0, max(room, 0)) for _ in range(count))
    starts = [gap + 2 * length * number for number, gap in enumerate(gaps)]
    return [(start, start + length) for start in starts]


STALLS = {
    f"{length:g} s, {100 * part:g}%, {kind}": partial(stalled, length, part, kind)
    for length in (1, 2, 90)
    for part in (0.05, 0.25)
    if part * SECONDS >= length / 2
    for kind in KINDS
}

# --- Series without a level: drift, dips, and two modes
USUAL = 5000.0
LOW = 0.4
PERIOD_S, DIP_S = 60, 6
TURNS = ((USUAL, 13), (LOW * USUAL, 9), (USUAL, 31), (LOW * USUAL, 17))
RULES = (drift, dips, two_modes)


def noise_alone(seconds, noise):
    """How often noise about one level is called a drift, dips or two modes."""
    series = [flat(USUAL, seconds, noise, seed=seed) for seed in range(CASES)]
    return tuple((sum(rule(values) is not None for values in series), CASES) for rule in RULES)


def planted(seconds, noise):
    """How often a rate that halves, dips and two rates in turn are found."""
    halves = dipped = turned = 0
    for seed in range(CASES):
        slow = settling(USUAL, 0.2 * USUAL, seconds / 0.98, seconds, noise, seed=seed)
        halves += drift(slow) is not None
        dip = [(USUAL, PERIOD_S - DIP_S), (LOW * USUAL, DIP_S)] * (seconds // PERIOD_S)
        found = dips(steps(dip, noise, seed=seed))
        dipped += found is not None and abs(found.every_s - PERIOD_S) <= 1
        turns = TURNS * max(1, seconds // sum(length for _, length in TURNS))
        turned += two_modes(steps(turns, noise, seed=seed)) is not None
    return (halves, CASES), (dipped, CASES), (turned, CASES)


def modes(count, noise):
    """How often runs at one level are called two modes, and runs at two rates by chance are."""
    false = found = 0
    for seed in range(CASES):
        values = flat(USUAL, count, noise, seed=seed)
        false += two_modes_of_runs(values) is not None
        is_low = np.random.default_rng(seed).permutation(np.arange(count) < LOW * count)
        found += two_modes_of_runs(values * np.where(is_low, LOW, 1.0)) is not None
    return (false, CASES), (found, CASES)


FALSE = ((0.15, 0.0), (0.15, 0.5), (0.3, 0.9), (0.15, 0.97))
UNSTEADY = {
    f"{kind}, {seconds:,} s, φ {phi:g}, sd {100 * sd:g} %": partial(rule, seconds, Noise(sd, phi))
    for kind, rule, lengths, noises in (
        ("false", noise_alone, (120, 3600), FALSE),
        ("found", planted, (600,), ((0.05, 0.0), (0.15, 0.5))),
    )
    for seconds in lengths
    for sd, phi in noises
}
MODES = {
    f"{count} runs, φ {phi:g}, sd {100 * sd:g} %": partial(modes, count, Noise(sd, phi))
    for count in (6, 10, 40)
    for sd, phi in ((0.15, 0.0), (0.15, 0.44))
}

# --- Writes that end with a part of them still in memory. The kernel begins to hold a writer back
# between the mean of vm.dirty_background_ratio and vm.dirty_ratio (15 % with its defaults) and the
# latter (20 %), of the memory that is free or can be freed: freerun and limit in
# mm/page-writeback.c. What is unwritten at the end lies between them.
TAIL_NEAR = 0.10
HELD = (0.15, 0.20)
DIRTYABLE = (0.80, 1.00)
BLOCK = 1 << 20
LOAD = Load(block_bytes=BLOCK, read_share=0.0, random=False, direct=False)


def tail(multiple):
    """The figures of writes of `multiple` times the memory, before and after the correction."""
    before = corrected = said = 0
    errors = []
    for seed in range(CASES):
        draw = random.Random(f"{multiple} {seed}")
        true = draw.uniform(10, 500)
        left = draw.uniform(*HELD) * draw.uniform(*DIRTYABLE) / multiple
        measured = true / (1 - left) if left < 1 else float("inf")
        setting = Setting(load=LOAD, memory_share=1 / multiple)
        found = device_rate(Stretch(measured, None), setting)
        before += abs(measured / true - 1) <= TAIL_NEAR
        if found == measured:
            continue
        said += 1
        error = found / true - 1
        corrected += abs(error) <= TAIL_NEAR
        errors.append(error)
    most = max(errors, key=abs, default=None)
    middle, worst = ("–", "–") if most is None else (f"{median(errors):+.1%}", f"{most:+.1%}")
    return (before, CASES), (said, CASES), (corrected, said), middle, worst


TAILS = {f"{multiple:g}": partial(tail, multiple) for multiple in (0.5, 1.0, 2.0, 8.0)}

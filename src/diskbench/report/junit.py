"""The steps of trials as a JUnit report, which CI systems show beside the tests of a build.

The form is the one that Jenkins and GitLab read (the XML Schema of Jenkins's xunit plugin, 2024):
a suite per trial, a case per step, a failure per condition that a figure misses.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from diskbench.report.assemble.lines import StepLine
from diskbench.report.assemble.view import View
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s
from diskbench.visible import visible


def junit_report(
    named: Sequence[tuple[str, View]], without: Sequence[tuple[str, str, str]] = ()
) -> bytes:
    """The XML of a JUnit report on trials, UTF-8; each with the name of its suite (else its
    profile).

    A step without a figure is a case with an error; so is a trial that ended before its last step.
    A condition that no step answers is a case of its own. `without` are trials that have no
    result: name, state and why.
    """
    suites = [_suite(name, view) for name, view in named]
    suites += [_suite_without(*trial) for trial in without]
    root = ET.Element("testsuites", _sums(suites))
    root.extend(suites)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite_without(name: str, state: str, why: str) -> ET.Element:
    suite = ET.Element("testsuite", {"name": visible(f"diskbench {name}")})
    case = ET.SubElement(suite, "testcase", {"name": "all steps", "classname": "diskbench"})
    _add(case, "error", state, why)
    return _counted(suite)


def _suite(name: str, view: View) -> ET.Element:
    subject = view.subject
    suite = ET.Element("testsuite", {"name": visible(f"diskbench {name or subject.profile}")})
    facts = ET.SubElement(suite, "properties")
    for name, values in view.facts:
        value = visible("; ".join(text for text in values if text))
        ET.SubElement(facts, "property", {"name": name, "value": value})
    by_step: dict[str, list[StepLine]] = {}
    for line in view.lines:
        by_step.setdefault(line.step, []).append(line)
    for step, lines in by_step.items():
        case = _case(suite, view, step)
        for missed in view.missed:
            if missed.step == step:
                _add(case, "failure", missed.threshold.source, missed.text)
        ET.SubElement(case, "system-out").text = visible("\n".join(map(_figures, lines)))
    for missed in view.missed:
        if missed.step not in by_step:
            case = _case(suite, view, missed.threshold.source)
            _add(case, "failure", missed.threshold.source, missed.text)
    if view.unfinished or not view.lines:
        why = view.unfinished or view.missing
        _add(_case(suite, view, "all steps"), "error", subject.state or "", why)
    return _counted(suite)


def _counted(suite: ET.Element) -> ET.Element:
    for name, count in _sums([suite]).items():
        suite.set(name, count)
    return suite


def _case(suite: ET.Element, view: View, name: str) -> ET.Element:
    subject = view.subject
    place = ".".join(["diskbench", subject.profile])
    return ET.SubElement(suite, "testcase", {"name": visible(name), "classname": visible(place)})


def _add(case: ET.Element, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, kind, {"message": visible(message)}).text = visible(text)


def _figures(line: StepLine) -> str:
    parts = [f"{format_iops(line.iops.median)} IOPS"] if line.iops else []
    parts += [f"{format_mb_per_s(line.bytes_per_s.median)} MB/s"] if line.bytes_per_s else []
    latencies = (("mean", line.mean_ns), ("p99", line.p99_ns), ("max", line.max_ns))
    parts += [
        f"{name} {format_latency_ns(latency.median)}" for name, latency in latencies if latency
    ]
    return f"{line.direction}: {', '.join(parts)}"


def _sums(elements: Sequence[ET.Element]) -> dict[str, str]:
    paths = {"tests": "testcase", "failures": "testcase[failure]", "errors": "testcase[error]"}
    return {
        name: str(sum(len(element.findall(path)) for element in elements))
        for name, path in paths.items()
    }

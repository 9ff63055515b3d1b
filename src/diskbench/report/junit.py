"""The steps of trials as a JUnit report, which CI systems show beside the tests of a build.

The form is the one that Jenkins and GitLab read (the XML Schema of Jenkins's xunit plugin, 2024):
a suite per trial, a case per step, a failure per condition that a figure misses.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from diskbench.parallel import grouped
from diskbench.report.assemble.lines import StepLine
from diskbench.report.assemble.view import View
from diskbench.report.assemble.words import NONE
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
    root = ET.Element("testsuites")
    for name, view in named:
        _add_suite(root, name, view)
    for name, state, why in without:
        suite = ET.SubElement(root, "testsuite", {"name": visible(f"diskbench {name}")})
        _add(_case(suite, "diskbench", "all steps"), "error", state, why)
    paths = {"tests": "testcase", "failures": "testcase[failure]", "errors": "testcase[error]"}
    for name, path in paths.items():
        for suite in root:
            suite.set(name, str(len(suite.findall(path))))
        root.set(name, str(len(root.findall(f"*/{path}"))))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_suite(root: ET.Element, name: str, view: View) -> None:
    subject = view.subject
    title, place = f"diskbench {name or subject.profile}", f"diskbench.{subject.profile}"
    suite = ET.SubElement(root, "testsuite", {"name": visible(title)})
    facts = ET.SubElement(suite, "properties")
    for name, values in view.facts:
        value = visible("; ".join(text for text in values if text))
        ET.SubElement(facts, "property", {"name": name, "value": value})
    by_step = grouped(view.lines, lambda line: line.step)
    for step, lines in by_step.items():
        case = _case(suite, place, step)
        for missed in view.missed:
            if missed.step == step:
                _add(case, "failure", missed.threshold.source, missed.text)
        ET.SubElement(case, "system-out").text = visible("\n".join(map(_figures, lines)))
    for missed in view.missed:
        if missed.step not in by_step:
            case = _case(suite, place, missed.threshold.source)
            _add(case, "failure", missed.threshold.source, missed.text)
    if view.unfinished or not view.lines:
        why = view.unfinished or view.missing
        _add(_case(suite, place, "all steps"), "error", subject.state or "", why)


def _case(suite: ET.Element, place: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", {"name": visible(name), "classname": visible(place)})


def _add(case: ET.Element, kind: str, message: str, text: str) -> None:
    ET.SubElement(case, kind, {"message": visible(message)}).text = visible(text)


def _figures(line: StepLine) -> str:
    known = {name: cell.text for name, cell in line.cells.items() if cell.text != NONE}
    parts = [f"{known[name]} {name}" for name in ("IOPS", "MB/s") if name in known]
    parts += [f"{name} {known[name]}" for name in ("mean", "p99", "max") if name in known]
    return f"{line.direction}: {', '.join(parts)}"
